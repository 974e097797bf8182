package explore

import (
	"math/bits"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// The resource versions that a sync meets. Only equality and order count: what
// the cache shows is older than the controller's own last status, or newer.
const (
	versionBehind = "1"
	versionFirst  = "3"
	versionSecond = "4"
	versionSeen   = "9"
	versionOther  = "10"
)

// sight is what a controller sees and remembers when a sync begins.
type sight struct {
	job      uint16
	behind   bool
	memory   uint32
	pods     [MaxPods]uint16
	complete uint8 // a bit for each place of which the cache shows all
}

// answer is what became of a request, as the controller sees it.
type answer struct {
	kind  answerKind
	place uint8  // of a pod that was created, from 1 on
	job   uint16 // the version of a Job that was read
}

type answerKind uint8

const (
	fine answerKind = iota
	gone
	conflict
	failed
	quota
	invalid
)

// position is a controller within a sync: what it saw, and the answers so far.
type position struct {
	view     cluster.View
	sight    sight
	answers  []answer
	mentions uint8 // the places that it knows of
	memory   uint32
	after    time.Duration
	err      error
	// request is what it asks for next; nil at the end of the sync.
	request *cluster.Request
	asks    string // what it says
	next    map[answer]uint32
}

// begin returns the position at the beginning of a sync.
func (x *search) begin(s *state) uint32 {
	key := sight{job: s.seenJob, behind: s.behind, memory: s.memory}
	for i := range s.pods {
		key.pods[i] = s.pods[i].seen
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
	v := cluster.View{Now: x.now, Complete: func(uid types.UID) bool {
		for i := range uids {
			if uids[i] == uid {
				return key.complete&(1<<i) != 0
			}
		}
		return true
	}}
	if key.job != 0 {
		v.Job = x.job(key.job, seenVersion(key.behind))
	}
	for _, n := range key.pods {
		if n != 0 {
			v.Pods = append(v.Pods, x.pod(n, versionSeen))
		}
	}
	return v
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

// job and pod return versions of objects with a resource version. Nobody changes
// them.
func (x *search) job(n uint16, version string) *batchv1.Job {
	if n == 0 {
		return nil
	}
	key := versioned{n, version}
	job, ok := x.versionedJobs[key]
	if !ok {
		copied := *x.jobs.values[n]
		copied.ResourceVersion = version
		job = &copied
		x.versionedJobs[key] = job
	}
	return job
}

func (x *search) pod(n uint16, version string) *corev1.Pod {
	if n == 0 {
		return nil
	}
	key := versioned{n, version}
	pod, ok := x.versionedPods[key]
	if !ok {
		copied := *x.pods.values[n]
		copied.ResourceVersion = version
		pod = &copied
		x.versionedPods[key] = pod
	}
	return pod
}

// step runs the controller from a position with the answers so far, and adds that
// position. After those each request is answered as it is when nothing goes wrong,
// for most often nothing does: the positions after such answers are added as well,
// and one run makes them all.
func (x *search) step(view cluster.View, sight sight, answers []answer) uint32 {
	first := uint32(len(x.positions))
	run := &run{search: x, job: sight.job, version: seenVersion(sight.behind), own: versionFirst}
	run.at = x.position(view, sight, answers)
	controller := x.memories.values[sight.memory].Clone()
	after, err := controller.Sync(&cluster.Client{View: view, Send: run.send})
	if last := run.at; last.request == nil {
		last.after, last.err, last.memory = after, err, x.memoryNumber(controller)
	}
	return first
}

// position adds a position of which the request is not known yet.
func (x *search) position(view cluster.View, sight sight, answers []answer) *position {
	p := &position{view: view, sight: sight, answers: answers}
	for i, n := range sight.pods {
		if n != 0 {
			p.mentions |= 1 << i
		}
	}
	for _, a := range answers {
		if a.place > 0 {
			p.mentions |= 1 << (a.place - 1)
		}
	}
	x.positions = append(x.positions, p)
	return p
}

// run is the API server for a controller that goes through a sync.
type run struct {
	*search
	at      *position // the last one so far
	given   int       // how many of its answers were given
	job     uint16    // as the controller's own status has left it
	version string
	own     string // the version that its next status will get
}

// send gives the next answer. A controller that asks for what cannot go well is
// killed.
func (r *run) send(q *cluster.Request) (cluster.Answer, error) {
	p := r.at
	if p.request != nil {
		return cluster.Answer{}, cluster.ErrKilled
	}
	if r.given == len(p.answers) {
		p.request, p.asks = q, asText(q)
		a, ok := r.expected(p)
		if !ok {
			return cluster.Answer{}, cluster.ErrKilled
		}
		n := uint32(len(r.positions))
		p.next = map[answer]uint32{a: n}
		r.at = r.position(p.view, p.sight, append(p.answers[:len(p.answers):len(p.answers)], a))
	}
	a := r.at.answers[r.given]
	r.given++
	if err := a.asError(q); err != nil {
		return cluster.Answer{}, err
	}
	switch q.Verb {
	case cluster.Create:
		return cluster.Answer{Pod: r.created(q, int(a.place))}, nil
	case cluster.Get:
		return cluster.Answer{Job: r.search.job(a.job, versionOther)}, nil
	case cluster.Status:
		e := r.status(r.job, r.version, q, asText(q))
		if e.err != nil {
			return cluster.Answer{}, e.err
		}
		r.job, r.version, r.own = e.version, r.own, versionSecond
		return cluster.Answer{Job: r.search.job(r.job, r.version)}, nil
	}
	return cluster.Answer{}, nil
}

// expected is the answer to the request of a position when nothing goes wrong, as
// far as the controller's view tells.
func (r *run) expected(p *position) (a answer, ok bool) {
	switch p.request.Verb {
	case cluster.Get:
		a.job = r.job
	case cluster.Status:
		return a, r.job != 0 && r.status(r.job, r.version, p.request, p.asks).err == nil
	case cluster.Create:
		used := r.jobMentions(p.sight.job) | r.memoryMentions(p.sight.memory) | p.mentions
		a.place = uint8(bits.TrailingZeros8(^used) + 1)
		return a, int(a.place) <= r.Pods
	}
	return a, true
}

// asText is what a request to change something says.
func asText(r *cluster.Request) string {
	switch {
	case r.Verb == cluster.Delete:
		return encoded(r.Options)
	case r.Job != nil:
		return encoded(r.Job)
	}
	return string(r.Patch)
}

// created is the pod that a creation leads to in a place.
func (x *search) created(r *cluster.Request, place int) *corev1.Pod {
	return cluster.NewPod(r.Pod, place, metaTime(x.now))
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
	case invalid:
		return apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, r.Name, nil)
	}
	return nil
}
