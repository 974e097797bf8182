package explore

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// These are the resource versions that a sync can observe. Only their equality and order matter,
// for example whether the cache is older than the last status write of the controller.
const (
	versionBehind = "1"  // of an object or a cache older than what the controller knows
	versionFloor  = "2"  // of the barrier, and of the reads of earlier syncs
	versionLater  = "3"  // of a pod that changed later, and of a cache that lacks such changes
	versionKnown  = "4"  // of the Job in the memory
	versionSeen   = "5"  // of objects in the caches that are up to date
	versionOwn    = "6"  // of a pod after a request of the controller
	versionFirst  = "7"  // of the Job after the first status of a sync
	versionSecond = "8"  // and after the second
	versionThird  = "9"  // and after the third
	versionAll    = "10" // of a cache of pods that shows everything
	versionRead   = "11" // of objects that were read live
	versionOther  = "12" // of anything else
)

// syncInput is what a controller observes and remembers when a sync begins.
type syncInput struct {
	job              uint16
	behind           bool
	jobPast, podPast bool // the caches lack changes before the barrier
	memory           uint32
	pods             [maxPods]uint16
	complete         uint8 // a bit for each place whose pod the cache shows as stored
	asNew            bool  // the cache of pods lacks changes, but only later ones than the stored Job
}

// answer is the result of a request as the controller sees it.
type answer struct {
	kind  answerKind
	place uint8  // of a created pod, counted from 1
	job   uint16 // the version of a Job that was read
	pod   uint16 // the version of a pod that was read, patched or deleted
	mark  mark   // of that
	list  list   // the listed pods
}

// list has the pods of a live list.
type list struct {
	pods  [maxPods]uint16
	marks [maxPods]mark
}

type answerKind uint8

const (
	fine answerKind = iota
	gone
	conflict
	failed
	quota
	invalid
	givenUp
)

// position is a point in a sync, given by the input of the sync and the answers so far.
type position struct {
	view     cluster.View
	read     *cluster.View // the view with the live reads before the request
	input    syncInput
	answers  []answer
	mentions uint8 // the places of the pods that it refers to
	memory   uint32
	after    time.Duration
	err      error
	// request is the next request; nil at the end of the sync.
	request *cluster.Request
	asks    string // the content of the request
	own     mark   // of its next status
	next    map[answer]uint32
}

// begin returns the position at the beginning of a sync.
func (x *search) begin(s *state) uint32 {
	lagging := uint8(s.lagging() &^ theJob)
	key := syncInput{job: s.seenJob, behind: s.behind, jobPast: s.past, memory: s.memory}
	for i := range s.pods {
		key.pods[i] = s.pods[i].seen
		key.podPast = key.podPast || s.pods[i].past
		if s.pods[i].seen == s.pods[i].stored {
			key.complete |= 1 << i
		}
	}
	key.asNew = lagging != 0 && lagging&^s.since == 0 && !s.behind && !key.podPast
	return x.begins.get(key, func() uint32 { return x.step(x.view(key), key, nil) })
}

// view returns the content of the caches.
func (x *search) view(key syncInput) cluster.View {
	v := cluster.View{Now: noon, JobsVersion: versionLater, PodsVersion: versionAll, Barrier: versionFloor}
	if key.job != 0 {
		setJob(&v, x.job(key.job, seenVersion(key.behind)))
	}
	for i, n := range key.pods {
		version := versionSeen
		if key.complete&(1<<i) == 0 {
			version, v.PodsVersion = versionLater, versionLater
		}
		if n != 0 {
			v.Pods = append(v.Pods, x.pod(n, version))
		}
	}
	if key.asNew {
		v.PodsVersion = versionSeen
	}
	if key.jobPast {
		v.JobsVersion = versionBehind
	}
	if key.podPast {
		v.PodsVersion = versionBehind
	}
	return v
}

// setJob sets the only Job of a view; nil means none.
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

// job and pod return versions of objects with a resource version. Callers must not change
// them.
func (x *search) job(n uint16, version string) *batchv1.Job {
	return withVersion(&x.versionedJobs, &x.jobs, versioned{n, version},
		func(job *batchv1.Job) { job.ResourceVersion = version })
}

func (x *search) pod(n uint16, version string) *corev1.Pod {
	return withVersion(&x.versionedPods, &x.pods, versioned{n, version},
		func(pod *corev1.Pod) { pod.ResourceVersion = version })
}

// withVersion returns a copy of an object with a resource version, and makes it once. It
// returns nil for the number zero.
func withVersion[T any](known *computed[versioned, *T], all *table[string, *T], key versioned, set func(*T)) *T {
	if key.n == 0 {
		return nil
	}
	return known.get(key, func() *T {
		object := *all.values[key.n]
		set(&object)
		return &object
	})
}

// answered returns the position after an answer.
func (x *search) answered(at uint32, a answer) uint32 {
	p := x.positions[at]
	if n, ok := p.next[a]; ok {
		return n
	}
	n := x.step(p.view, p.input, append(p.answers[:len(p.answers):len(p.answers)], a))
	if p.next == nil {
		p.next = map[answer]uint32{}
	}
	p.next[a] = n
	return n
}

func (a answer) asError(r *cluster.Request) error {
	resource := corev1.Resource("pods")
	if r.Verb == cluster.Status {
		resource = batchv1.Resource("jobs")
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
	case givenUp:
		return cluster.ErrGivenUp
	case invalid:
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, r.Name, nil)
	}
	return nil
}
