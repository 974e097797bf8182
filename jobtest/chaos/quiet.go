package chaos

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// How long a Job may take when nothing stands in its way any more.
const (
	// patience is the number of syncs, each on a fresh view, within which nothing
	// is left to be asked for.
	patience = 25
	// rounds is the number of rounds, in each of which every pod gets on, within
	// which the Job ends, and perPod how many more each completion may take.
	rounds, perPod = 150, 6
	// unsteady is the number of rounds in which pods may fail, or be stuck.
	unsteady = 40
)

// quiet ends all faults and leads the Jobs to their end.
func (r *run) quiet() {
	r.calm = true
	for len(r.leaders) > 1 {
		r.dismiss(r.leaders[1])
	}
	r.each(r.deadline)
	r.each(r.rest)
	r.each(r.resume)
	if r.broken != nil {
		return
	}
	stuck := map[types.UID]bool{}
	for _, pod := range r.c.Pods() {
		stuck[pod.UID] = r.chance(30)
	}
	limit := rounds
	for _, job := range r.c.Jobs() {
		limit += perPod * size(job)
	}
	for round := range limit {
		r.tell("round " + number(round))
		r.each(r.settle)
		if r.broken != nil {
			return
		}
		if round == unsteady {
			clear(stuck)
		}
		moved := r.getOn(stuck, round < unsteady)
		if r.c.CollectGarbage() {
			moved = true
		}
		if !moved && r.allEnded() {
			r.broken = held(r.c.Pods())
			return
		}
		r.pass()
	}
	r.each(func() {
		if !r.ended() || len(r.sites) == 1 {
			r.violate("L2", "pods terminate, and the Job has not ended after %d rounds", limit)
		}
	})
}

// resume lets a Job run. A Job that is being deleted does not release the pods that it no
// longer selects, neither here nor in Kubernetes: a user puts their label back.
func (r *run) resume() {
	r.editJob(func(s *batchv1.JobSpec) bool {
		s.Suspend = new(bool)
		s.Parallelism = ptr(max(1, *s.Parallelism))
		return true
	})
	job := r.c.Job()
	if job == nil || job.DeletionTimestamp == nil {
		return
	}
	key, value := mark(job)
	for _, pod := range r.c.Pods() {
		if owned(pod) && r.is(&pod.OwnerReferences[0], pod) && value != "" && pod.Labels[key] != value {
			r.c.Edit(pod.UID, setLabel(key, value))
		}
	}
}

// late is how much later than the deadline a controller may look at a Job.
const late = time.Second

// deadline refuses all creations, as a quota does, and calls the controller only when it
// wants to be called. The Job must be decided when its deadline has passed (L5): that a
// look fails is no reason to forget the next one.
func (r *run) deadline() {
	job := r.c.Job()
	if job == nil || job.Spec.ActiveDeadlineSeconds == nil || *job.Spec.ActiveDeadlineSeconds > 100 || isDecided(job) || *job.Spec.Suspend ||
		job.DeletionTimestamp != nil {
		return
	}
	r.noPods = true
	defer func() { r.noPods = false }()
	r.tell("calm, but no pod can be created")
	const looks = 300
	for range looks {
		r.leaders[0].cache.ShowAll()
		before := r.c.Version()
		out := r.sync(r.leaders[0])
		job := r.c.Job()
		if r.broken != nil || isDecided(job) {
			return
		}
		var end time.Time
		if job.Status.StartTime != nil {
			end = job.Status.StartTime.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second)
		}
		switch {
		case r.c.Version() != before, end.IsZero():
			r.c.Now = r.c.Now.Add(time.Millisecond) // its own writes call it
		case out.At.IsZero():
			r.violate("L5", "the deadline is %s, and the controller does not want to look again", end.Format("15:04:05"))
		case out.At.After(end.Add(late)) && out.At.After(r.c.Now.Add(late)):
			r.violate("L5", "the deadline is %s, and the controller looks again at %s", end.Format("15:04:05"), out.At.Format("15:04:05"))
		case out.At.After(r.c.Now):
			r.c.Now = out.At
		default:
			r.c.Now = r.c.Now.Add(time.Millisecond)
		}
		if r.broken != nil {
			return
		}
		r.tell("the controller looks again")
	}
	r.violate("L5", "after %d looks the Job is not decided, and its deadline is %ds", looks, *job.Spec.ActiveDeadlineSeconds)
}

// isDecided reports whether the status says how the Job ends, or there is no Job.
func isDecided(job *batchv1.Job) bool {
	return isOver(job) || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobSuccessCriteriaMet || c.Type == batchv1.JobFailureTarget) && c.Status == corev1.ConditionTrue
	})
}

// rest lets the Job come to rest as it is: suspended, it may be, or with a
// parallelism of 0.
func (r *run) rest() {
	r.tell("calm")
	if r.chance(30) {
		r.suspend(true)
	}
	r.settle()
}

// size is how many pods a Job asks for: its completions, and no fewer than run at a
// time. It is capped, so that a controller that comes to no end is found out.
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

// settle lets the controller look, on a fresh view each time, until it asks for
// nothing (L1).
func (r *run) settle() {
	l := r.leaders[0]
	quiet := 0
	for range patience {
		l.cache.ShowAll()
		before := r.writes
		out := r.sync(l)
		switch {
		case r.broken != nil:
			return
		case r.writes == before && out.Err == nil:
			if quiet++; quiet == 2 {
				r.seeCounts()
				r.seeActive()
				if job := r.c.Job(); job != nil && job.DeletionTimestamp == nil && referee.Due(job) {
					r.violate("L1", "the Job has succeeded, and the status does not say so: %s", statusLine(&job.Status))
				}
				return
			}
		case quiet > 0:
			r.violate("L1", "the controller asked for nothing, and then, though nothing has changed, it does")
		}
	}
	r.violate("L1", "after %d looks at the same the controller still asks for something", patience)
}

// seeCounts checks that the status of a Job that has not ended tells how many
// pods are active, ready and terminating.
func (r *run) seeCounts() {
	if r.ended() {
		return
	}
	job := r.c.Job()
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		selector = labels.Nothing() // the API server would have refused the Job
	}
	var active, ready, leaving int32
	for _, pod := range r.c.Pods() {
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
	if st.Active != active || st.Ready == nil || *st.Ready != ready || st.Terminating == nil || *st.Terminating != leaving {
		r.violate("L1", "the status says %s, and of the pods %d are active, %d ready, %d terminating", statusLine(st), active, ready, leaving)
	}
}

// seeActive checks that no more pods are active than the Job asks for: none when
// it is suspended. Pods that another client has added or tampered with do not count. A
// Job without completions that has a success lets those run that it has, and one
// that is being deleted leaves its pods to garbage collection.
func (r *run) seeActive() {
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
		if metav1.IsControlledBy(pod, job) && cluster.IsActive(pod) && !r.at.ghost.Strange[pod.UID] {
			active++
		}
	}
	if active > wanted {
		r.violate("L1", "nothing more is asked for, and %d pods are active instead of %d: %s", active, wanted, specLine(job))
	}
}

func isReady(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
}

// getOn lets each pod get on by a step, unless it is stuck. It reports whether
// there was any.
func (r *run) getOn(stuck map[types.UID]bool, fails bool) bool {
	moved := false
	for _, pod := range r.c.Pods() {
		code := int32(0)
		if fails {
			code = one(r.dice, int32(0), 0, 1, 42)
		}
		before := r.c.Version()
		switch {
		case stuck[pod.UID] || cluster.HasEnded(pod):
		case pod.DeletionTimestamp != nil:
			r.c.End(pod.UID, one(r.dice, 137, code))
		case pod.Status.Phase != corev1.PodRunning:
			r.c.Start(pod.UID)
		case !fails || r.chance(60):
			r.c.End(pod.UID, code)
		}
		moved = moved || r.c.Version() != before || stuck[pod.UID] && !cluster.HasEnded(pod)
	}
	return moved
}

// pass lets the time pass. Where only that is left to wait for, the controller
// must have said so, and it must not want to act any earlier (L5).
func (r *run) pass() {
	first, at := r.soonest(r.leaders[0])
	after := at.Sub(r.c.Now)
	r.turn(first)
	switch {
	case !at.After(r.c.Now):
		r.c.Now = r.c.Now.Add(time.Second)
	case after > time.Second && r.chance(50):
		// The least wait is a second, so that one is not exact.
		r.probe(at.Add(-time.Millisecond), at)
		r.c.Now = at
	case r.chance(50):
		r.c.Now = at
	default:
		r.c.Now = r.c.Now.Add(min(time.Second, after))
	}
}

// probe lets the controller look at a time when it must not find anything to do,
// if nothing else has changed since it has settled.
func (r *run) probe(at, promised time.Time) {
	l := r.leaders[0]
	if upto := l.cache.Upto(); upto != r.c.Version() {
		return
	}
	r.c.Now = at
	before := r.writes
	r.tell("just before the requeue")
	if out := r.sync(l); r.broken == nil && (r.writes != before || out.Err != nil) {
		r.violate("L5", "the controller wanted to look again at %v and has something to do at %v", promised, at)
	}
}

// ended reports whether the Job has ended, or is gone.
func (r *run) ended() bool { return isOver(r.c.Job()) }

// isOver reports whether a Job has ended, or is gone.
func isOver(job *batchv1.Job) bool {
	return job == nil || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// held returns a violation if a pod of a Job that has ended or is gone is held
// back by the finalizer (L3).
func held(pods []*corev1.Pod) *referee.Violation {
	for _, pod := range pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner != nil && cluster.OwnedByJob(owner) && hasFinalizer(pod) {
			return &referee.Violation{Property: "L3", Text: podLine(pod) + " keeps its finalizer"}
		}
	}
	return nil
}
