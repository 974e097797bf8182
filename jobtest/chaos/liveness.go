package chaos

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// These constants limit how long a Job may take after the faults have stopped.
const (
	// patience is the number of syncs, each on a fresh view, after which the controller
	// must send no more requests.
	patience = 25
	// rounds is the number of rounds after which the Job must have ended; each completion
	// adds perPod. In a round, each pod advances by a step.
	rounds, perPod = 150, 6
	// unsteady is the number of rounds in which pods may fail or be stuck.
	unsteady = 40
)

// runToEnd stops all faults and runs the Jobs to their end.
func (r *run) runToEnd() {
	r.Faultless = true
	for len(r.leaders) > 1 {
		r.stopLeader(r.leaders[1])
	}
	r.each(r.deadline)
	r.each(r.rest)
	r.each(r.resume)
	if r.Broken() {
		return
	}
	stuck := map[types.UID]bool{}
	for _, pod := range r.c.Pods() {
		stuck[pod.UID] = r.Chance(30, "stuck")
	}
	limit := rounds
	for _, job := range r.c.Jobs() {
		limit += perPod * size(job)
	}
	for round := range limit {
		r.beginStep(fmt.Sprint("round ", round))
		r.each(r.settle)
		if r.Broken() {
			return
		}
		if round == unsteady {
			clear(stuck)
		}
		moved := r.advancePods(stuck, round < unsteady)
		if r.c.CollectGarbage() {
			moved = true
		}
		if !moved && r.allEnded() {
			r.Found(checkFinalizers(r.keys(), r.c.Pods()))
			return
		}
		r.passTime()
	}
	r.each(func() {
		if !r.ended() || len(r.slots) == 1 {
			r.violate("L2", "pods terminate, but the Job has not ended after %d rounds", limit)
		}
	})
}

// resume changes the Job so that it can run. A Job that is being deleted does not release
// the pods that it no longer selects, in Kubernetes either, so a user restores their label.
func (r *run) resume() {
	job := r.c.Job()
	if job == nil {
		return
	}
	_ = r.c.EditJob(func(s *batchv1.JobSpec) { // rejected after the end of the Job
		s.Suspend, s.Parallelism = new(bool), new(max(1, *s.Parallelism))
	})
	if job.DeletionTimestamp == nil {
		return
	}
	key, value := jobtest.Selected(job)
	for _, pod := range r.c.Pods() {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && cluster.OwnedByJob(owner) &&
			r.isInFocus(owner, pod) && value != "" && pod.Labels[key] != value {
			r.c.Edit(pod.UID, func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) })
		}
	}
}

// late is how long after the deadline a controller may sync the Job.
const late = time.Second

// deadline rejects all creations, as a quota does, and syncs only when the controller has
// set a requeue. The Job must have its verdict when its deadline has passed (L5): a sync
// that fails must not discard the requeue.
func (r *run) deadline() {
	job := r.c.Job()
	if job == nil || job.Spec.ActiveDeadlineSeconds == nil || *job.Spec.ActiveDeadlineSeconds > 100 ||
		referee.Decided(job) || *job.Spec.Suspend ||
		job.DeletionTimestamp != nil {
		return
	}
	r.NoCreations = true
	defer func() { r.NoCreations = false }()
	r.beginStep("no faults, but no pod can be created")
	const syncs = 300
	for range syncs {
		r.leaders[0].cache.ShowAll()
		before := r.c.Version()
		out := r.sync(r.leaders[0])
		job := r.c.Job()
		if r.Broken() || referee.Decided(job) {
			return
		}
		var end time.Time
		if job.Status.StartTime != nil {
			end = job.Status.StartTime.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second)
		}
		switch {
		case r.c.Version() != before, end.IsZero():
			r.c.Now = r.c.Now.Add(time.Millisecond) // its own writes trigger a sync
		case out.At.IsZero():
			r.violate("L5", "the deadline is %s, but the controller has set no requeue", end.Format("15:04:05"))
		case out.At.After(end.Add(late)) && out.At.After(r.c.Now.Add(late)):
			r.violate("L5", "the deadline is %s, but the controller has set a requeue for %s",
				end.Format("15:04:05"), out.At.Format("15:04:05"))
		case out.At.After(r.c.Now):
			r.c.Now = out.At
		default:
			r.c.Now = r.c.Now.Add(time.Millisecond)
		}
		if r.Broken() {
			return
		}
		r.beginStep("the requeue is due")
	}
	r.violate("L5", "after %d syncs the Job has no verdict, but its deadline is %ds", syncs,
		*job.Spec.ActiveDeadlineSeconds)
}

// rest runs the Job until nothing changes any more. Unlike resume, it leaves the spec as it
// is: the Job may be suspended or have a parallelism of 0.
func (r *run) rest() {
	r.beginStep("faultless")
	if r.Chance(30, "suspended") {
		_ = r.c.EditJob(func(s *batchv1.JobSpec) { s.Suspend = new(true) }) // rejected after the end
	}
	r.settle()
}

// size returns the number of pods that a Job needs: the larger of completions and
// parallelism. It is capped, so that a Job with huge values does not need too many rounds.
func size(job *batchv1.Job) int {
	if job == nil {
		return 0
	}
	n := *job.Spec.Parallelism
	if c := job.Spec.Completions; c != nil {
		n = max(n, *c)
	}
	return int(min(n, 100_000))
}

// settle runs syncs, each on a fresh view, until the controller sends no requests (L1).
func (r *run) settle() {
	l := r.leaders[0]
	quiet := 0
	for range patience {
		l.cache.ShowAll()
		before := r.Writes
		out := r.sync(l)
		switch {
		case r.Broken():
			return
		case r.Writes == before && out.Err == nil:
			if quiet++; quiet == 2 {
				r.checkCounts()
				r.checkActive()
				if job := r.c.Job(); job != nil && job.DeletionTimestamp == nil && referee.Due(job) {
					r.violate("L1", "the Job has succeeded, but its status does not say so: %s",
						story.Status(&job.Status))
				}
				return
			}
		case quiet > 0:
			r.violate("L1", "the controller sent no request in a sync, but sends one in the next although "+
				"nothing has changed")
		}
	}
	r.violate("L1", "after %d syncs without a change from outside, the controller still sends requests", patience)
}

// checkCounts checks the numbers of active, ready and terminating pods in the status of a Job
// that has not ended.
func (r *run) checkCounts() {
	if r.ended() {
		return
	}
	job := r.c.Job()
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		selector = labels.Nothing() // the API server would have rejected the Job
	}
	var active, ready, leaving int32
	for _, pod := range r.c.Pods() {
		pod = r.Rules.Counted(pod, r.c.Now)
		switch owner := metav1.GetControllerOfNoCopy(pod); {
		case owner == nil || owner.UID != job.UID || cluster.HasEnded(pod) || !selector.Matches(labels.Set(pod.Labels)):
		case pod.DeletionTimestamp != nil:
			leaving++
		default:
			active++
			if slices.ContainsFunc(pod.Status.Conditions, isReady) {
				ready++
			}
		}
	}
	st := &job.Status
	if st.Active != active || st.Ready == nil || *st.Ready != ready || st.Terminating == nil ||
		*st.Terminating != leaving {
		r.violate("L1", "the status says %s, but %d pods are active, %d ready, %d terminating", story.Status(st),
			active, ready, leaving)
	}
}

// checkActive checks that no more pods are active than the Job needs, and none if it is
// suspended. Pods that another client added or edited do not count. A Job without
// completions keeps its running pods after a success, and a Job that is being deleted
// leaves its pods to garbage collection.
func (r *run) checkActive() {
	job := r.c.Job()
	if r.ended() || job.DeletionTimestamp != nil {
		return
	}
	wanted := *job.Spec.Parallelism
	switch {
	case *job.Spec.Suspend:
		wanted = 0
	case job.Spec.Completions == nil && job.Status.Succeeded > 0:
		return
	}
	active := int32(0)
	for _, pod := range r.c.Pods() {
		if metav1.IsControlledBy(pod, job) && cluster.IsActive(pod) && !r.at.ghost.Tampered[pod.UID] {
			active++
		}
	}
	if active > wanted {
		r.violate("L1", "the controller sends no more requests, but %d pods are active instead of %d: %s",
			active, wanted, story.Spec(job))
	}
}

func isReady(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
}

// advancePods advances each pod by a step, unless it is stuck. It reports whether there was
// such a pod.
func (r *run) advancePods(stuck map[types.UID]bool, fails bool) bool {
	moved := false
	for _, pod := range r.c.Pods() {
		code := int32(0)
		if fails {
			code = driver.Pick(r, int32(0), 0, 1, 42)
		}
		before := r.c.Version()
		switch {
		case stuck[pod.UID] || cluster.HasEnded(pod):
		case pod.DeletionTimestamp != nil:
			r.c.End(pod.UID, driver.Pick(r, 137, code))
		case pod.Status.Phase != corev1.PodRunning:
			r.c.Start(pod.UID)
		case !fails || r.Chance(60, "ends"):
			r.c.End(pod.UID, code)
		}
		moved = moved || r.c.Version() != before || stuck[pod.UID] && !cluster.HasEnded(pod)
	}
	return moved
}

// passTime advances the time. If the Job waits only for a time, the controller must have set a
// requeue, and must have nothing to do before that (L5).
func (r *run) passTime() {
	first, at := r.soonest(r.leaders[0])
	after := at.Sub(r.c.Now)
	r.focusOn(first)
	switch {
	case !at.After(r.c.Now):
		r.c.Now = r.c.Now.Add(time.Second)
	case after > time.Second && r.Chance(50, "probe"):
		// The minimum delay is a second, so a requeue after one second may be early.
		r.probe(at.Add(-time.Millisecond), at)
		r.c.Now = at
	case r.Chance(50, "requeue"):
		r.c.Now = at
	default:
		r.c.Now = r.c.Now.Add(min(time.Second, after))
	}
}

// probe runs a sync at a time when the controller must have nothing to do, because nothing
// has changed since it settled.
func (r *run) probe(at, promised time.Time) {
	l := r.leaders[0]
	if upto := l.cache.Upto(); upto != r.c.Version() {
		return
	}
	r.c.Now = at
	before := r.Writes
	r.beginStep("just before the requeue")
	if out := r.sync(l); !r.Broken() && (r.Writes != before || out.Err != nil) {
		r.violate("L5", "the controller has set a requeue for %v, but already sends requests at %v", promised, at)
	}
}

// ended reports whether the Job has ended, or is gone.
func (r *run) ended() bool { return referee.Ended(r.c.Job()) }

// checkFinalizers returns a violation if a pod of a Job that has ended or is gone, or a pod without a
// controller, has the finalizer (L3).
func checkFinalizers(k tracking.Keys, pods []*corev1.Pod) *referee.Violation {
	for _, pod := range pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if (owner == nil || cluster.OwnedByJob(owner)) && k.HasFinalizer(pod) {
			return &referee.Violation{Property: "L3", Text: story.Pod(k, pod) + " keeps its finalizer"}
		}
	}
	return nil
}
