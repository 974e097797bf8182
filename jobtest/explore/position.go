package explore

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// The resource versions that a sync meets. Only equality and order count: what
// the cache shows is older than the controller's own last status, or newer.
const (
	versionBehind = "1"  // of an object or a cache that lacks what the controller knows
	versionFloor  = "2"  // of the barrier, and of what an earlier sync has relied on
	versionLate   = "3"  // of a pod that has changed since, and of a cache with such pods
	versionKnown  = "4"  // of the Job, in the memory
	versionSeen   = "5"  // of what the caches show, if it is stored
	versionOwn    = "6"  // of a pod after a request of the controller
	versionFirst  = "7"  // of the Job after the first status of a sync
	versionSecond = "8"  // and after the second
	versionAll    = "9"  // of a cache of pods that shows everything
	versionRead   = "10" // of what was read live
	versionOther  = "11" // of anything else
)

// sight is what a controller sees and remembers when a sync begins.
type sight struct {
	job              uint16
	behind           bool
	jobPast, podPast bool // the caches lack what the barrier covers
	memory           uint32
	pods             [MaxPods]uint16
	complete         uint8 // a bit for each place of which the cache shows all
}

// answer is what became of a request, as the controller sees it.
type answer struct {
	kind  answerKind
	place uint8  // of a pod that was created, from 1 on
	job   uint16 // the version of a Job that was read
	pod   uint16 // and of a pod that was read, patched or deleted
	mark  mark   // of that
	list  list   // of pods that were listed
}

// list is the pods that a live list shows.
type list struct {
	pods  [MaxPods]uint16
	marks [MaxPods]mark
}

type answerKind uint8

const (
	fine answerKind = iota
	gone
	conflict
	failed
	quota
	invalid
	exists
	givenUp
)

// position is a controller within a sync: what it saw, and the answers so far.
type position struct {
	view     cluster.View
	read     *cluster.View // with what was read live before the request
	sight    sight
	answers  []answer
	mentions uint8 // the places that it knows of
	memory   uint32
	after    time.Duration
	err      error
	// request is what it asks for next; nil at the end of the sync.
	request *cluster.Request
	asks    string // what it says
	own     mark   // of its next status
	next    map[answer]uint32
}

// begin returns the position at the beginning of a sync.
func (x *search) begin(s *state) uint32 {
	key := sight{job: s.seenJob, behind: s.behind, jobPast: s.past, memory: s.memory}
	for i := range s.pods {
		key.pods[i] = s.pods[i].seen
		key.podPast = key.podPast || s.pods[i].past
		if s.pods[i].seen == s.pods[i].stored {
			key.complete |= 1 << i
		}
	}
	if n, ok := x.begins[key]; ok {
		return n
	}
	n := x.step(x.view(key), key, nil)
	x.begins[key] = n
	return n
}

// view makes what the caches show.
func (x *search) view(key sight) cluster.View {
	v := cluster.View{Now: x.now, JobsVersion: versionLate, PodsVersion: versionAll, Barrier: versionFloor}
	if key.job != 0 {
		setJob(&v, x.job(key.job, seenVersion(key.behind)))
	}
	for i, n := range key.pods {
		version := versionSeen
		if key.complete&(1<<i) == 0 {
			version, v.PodsVersion = versionLate, versionLate
		}
		if n != 0 {
			v.Pods = append(v.Pods, x.pod(n, version))
		}
	}
	if key.jobPast {
		v.JobsVersion = versionBehind
	}
	if key.podPast {
		v.PodsVersion = versionBehind
	}
	if x.Lies {
		v.JobsVersion, v.PodsVersion = versionAll, versionAll
	}
	return v
}

// setJob has a view show a Job, the only one there is; nil for none.
func setJob(v *cluster.View, job *batchv1.Job) {
	v.Job, v.Jobs = job, nil
	if job != nil {
		v.Jobs = []*batchv1.Job{job}
	}
}

func seenVersion(behind bool) string {
	if behind {
		return versionBehind
	}
	return versionSeen
}

// versioned is a version of an object with a resource version.
type versioned struct {
	n       uint16
	version string
}

// job and pod return versions of objects with a resource version. No caller changes
// them.
func (x *search) job(n uint16, version string) *batchv1.Job {
	return withVersion(x.versionedJobs, &x.jobs, versioned{n, version}, func(job *batchv1.Job) { job.ResourceVersion = version })
}

func (x *search) pod(n uint16, version string) *corev1.Pod {
	return withVersion(x.versionedPods, &x.pods, versioned{n, version}, func(pod *corev1.Pod) { pod.ResourceVersion = version })
}

// withVersion is a copy of an object with a resource version, made once. No version
// stays none.
func withVersion[T any](known map[versioned]*T, all *table[*T], key versioned, set func(*T)) *T {
	if key.n == 0 {
		return nil
	}
	object, ok := known[key]
	if !ok {
		copied := *all.values[key.n]
		object = &copied
		set(object)
		known[key] = object
	}
	return object
}

// answered returns the position after an answer.
func (x *search) answered(at uint32, a answer) uint32 {
	p := x.positions[at]
	if n, ok := p.next[a]; ok {
		return n
	}
	n := x.step(p.view, p.sight, append(p.answers[:len(p.answers):len(p.answers)], a))
	if p.next == nil {
		p.next = map[answer]uint32{}
	}
	p.next[a] = n
	return n
}

func (a answer) asError(r *cluster.Request) error {
	resource := schema.GroupResource{Resource: "pods"}
	if r.Verb == cluster.Status {
		resource = schema.GroupResource{Group: "batch", Resource: "jobs"}
	}
	switch a.kind {
	case gone:
		return apierrors.NewNotFound(resource, r.Name)
	case conflict:
		return apierrors.NewConflict(resource, r.Name, errChanged)
	case failed:
		return apierrors.NewInternalError(errChanged)
	case quota:
		return apierrors.NewForbidden(resource, r.Name, errQuota)
	case exists:
		return apierrors.NewAlreadyExists(resource, r.Pod.Name)
	case givenUp:
		return cluster.ErrGivenUp
	case invalid:
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, r.Name, nil)
	}
	return nil
}
