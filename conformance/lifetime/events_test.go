package lifetime

import (
	"fmt"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/tracking"
)

// A podEvent is something that happens to a stored pod.
type podEvent struct {
	name   string
	weight int
	can    func(*corev1.Pod) bool
	do     func(t *rapid.T, w *world, uid types.UID)
}

var podEvents = []podEvent{
	{"pod starts", 16, waiting, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { start(p) })
	}},
	{"pod becomes ready", 4, running, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { setCondition(p, corev1.PodReady, corev1.ConditionTrue, w) })
	}},
	{"pod becomes unready", 1, running, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { setCondition(p, corev1.PodReady, corev1.ConditionFalse, w) })
	}},
	{"pod succeeds", 9, exits, func(t *rapid.T, w *world, uid types.UID) { w.exit(uid, 0) }},
	{"pod fails", 9, exits, func(t *rapid.T, w *world, uid types.UID) {
		w.exit(uid, pick[int32](t, "exit code", 1, 42, 2, 137))
	}},
	{"pod fails without a word", 1, exits, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	}},
	{"container restarts", 3, running, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ })
	}},
	{"pod is disrupted", 3, func(p *corev1.Pod) bool { return !ended(p) }, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { setCondition(p, corev1.DisruptionTarget, corev1.ConditionTrue, w) })
	}},
	{"node is lost", 1, running, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodUnknown
			setCondition(p, corev1.PodReady, corev1.ConditionUnknown, w)
		})
	}},
	{"user deletes pod", 3, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil }, func(t *rapid.T, w *world, uid types.UID) {
		w.remove(uid, pick[int64](t, "grace", 30, 1, 0))
	}},
	{"terminating pod exits 0", 3, terminating, func(t *rapid.T, w *world, uid types.UID) { w.exit(uid, 0) }},
	{"terminating pod fails", 6, terminating, func(t *rapid.T, w *world, uid types.UID) {
		w.exit(uid, pick[int32](t, "exit code", 137, 42, 1))
	}},
	{"pod vanishes", 1, func(*corev1.Pod) bool { return true }, func(t *rapid.T, w *world, uid types.UID) {
		delete(w.pods, uid)
	}},
}

// tamperings are what nobody should do to pods. They happen in some lifetimes.
var tamperings = []podEvent{
	{"a twin appears", 3, owned, func(t *rapid.T, w *world, uid types.UID) {
		twin := w.pods[uid].DeepCopy()
		twin.DeletionTimestamp, twin.DeletionGracePeriodSeconds = nil, nil
		twin.Finalizers, twin.Status, twin.Spec.NodeName = []string{batchv1.JobTrackingFinalizer}, corev1.PodStatus{}, ""
		twin.GenerateName = "twin-"
		w.create(twin)
	}},
	{"finalizer is removed", 1, tracking.HasFinalizer, func(t *rapid.T, w *world, uid types.UID) { w.strip(uid) }},
	{"index is edited", 1, owned, func(t *rapid.T, w *world, uid types.UID) {
		annotate(w, uid, batchv1.JobCompletionIndexAnnotation, pick(t, "index", "0", "1", "9", "x", "-1"))
	}},
	{"failure count is edited", 1, owned, func(t *rapid.T, w *world, uid types.UID) {
		annotate(w, uid, batchv1.JobIndexFailureCountAnnotation, pick(t, "failures", "0", "1", "2", "5", "x"))
	}},
	{"phase flips", 2, ended, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) {
			if p.Status.Phase == corev1.PodFailed {
				p.Status.Phase = corev1.PodSucceeded
			} else {
				p.Status.Phase = corev1.PodFailed
			}
		})
	}},
	{"labels are edited", 1, owned, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { p.Labels = map[string]string{"other": "label"} })
	}},
	// The last is left out where caches lag: a pod that is orphaned while it is
	// counted would be adopted, with a finalizer, and counted again, by Kubernetes
	// as well as by jobfate.
	{"pod is orphaned", 1, func(p *corev1.Pod) bool { return owned(p) && tracking.HasFinalizer(p) }, func(t *rapid.T, w *world, uid types.UID) {
		w.change(uid, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}},
}

func owned(p *corev1.Pod) bool { return len(p.OwnerReferences) > 0 }

func annotate(w *world, uid types.UID, key, value string) {
	w.change(uid, func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = value
	})
}

func waiting(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodPending && p.DeletionTimestamp == nil
}

func running(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// exits reports whether a pod can end on its own. One that waits starts first.
func exits(p *corev1.Pod) bool { return running(p) || waiting(p) }

func terminating(p *corev1.Pod) bool { return !ended(p) && p.DeletionTimestamp != nil }

func start(p *corev1.Pod) {
	p.Spec.NodeName = "node"
	p.Status.Phase = corev1.PodRunning
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	for _, c := range p.Spec.InitContainers {
		s := corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, s)
	}
}

// exit ends a pod: its first container with the code, the others with 0.
func (w *world) exit(uid types.UID, code int32) {
	w.change(uid, func(p *corev1.Pod) {
		if waiting(p) {
			start(p)
		}
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i := range list {
				list[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: *w.clock()}}
			}
		}
		if len(p.Status.ContainerStatuses) > 0 {
			p.Status.ContainerStatuses[0].State.Terminated.ExitCode = code
		}
		setCondition(p, corev1.PodReady, corev1.ConditionFalse, w)
		if p.DeletionTimestamp != nil {
			p.DeletionGracePeriodSeconds = ptr[int64](0)
		}
	})
}

func setCondition(p *corev1.Pod, t corev1.PodConditionType, status corev1.ConditionStatus, w *world) {
	c := corev1.PodCondition{Type: t, Status: status, LastTransitionTime: *w.clock()}
	at := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	switch {
	case at < 0:
		p.Status.Conditions = append(p.Status.Conditions, c)
	case p.Status.Conditions[at].Status != status:
		p.Status.Conditions[at] = c
	}
}

const nothing = "nothing happens"

// happen draws one thing that happens, and returns its name.
func happen(t *rapid.T, w *world) string {
	n := among(t, 200, "event")
	if len(w.pods) == 0 {
		n = 155 + n*45/200 // nothing can happen to pods
	}
	switch {
	case n < 155:
		return podHappening(t, w)
	case n < 180:
		return w.wait(t)
	case n < 196:
		return userChanges(t, w)
	case n == 196:
		w.observeAll()
		w.created, w.deleted, w.stripped = uids{}, uids{}, uids{}
		w.memory = backoff.Record{Job: w.job.UID}
		return "controller restarts"
	case n == 197 && w.job.DeletionTimestamp == nil && chance(t, 50, "Job deletion"):
		job := w.job.DeepCopy()
		job.DeletionTimestamp, job.Finalizers = w.clock(), []string{"foregroundDeletion"}
		w.job = job
		return "Job is deleted"
	}
	return nothing
}

func podHappening(t *rapid.T, w *world) string {
	// Little happens to pods that have ended.
	pods, going := w.stored(), w.stored()
	going = slices.DeleteFunc(going, ended)
	if len(going) > 0 && !chance(t, 10, "any pod") {
		pods = going
	}
	events := podEvents
	if w.tampered && chance(t, 15, "tampering") {
		pods, events = w.stored(), tamperings
		if w.lagging {
			events = events[:len(events)-1]
		}
	}
	return draw(t, w, pods[among(t, len(pods), "pod")], events)
}

// draw lets one of the events that can happen to the pod happen.
func draw(t *rapid.T, w *world, pod *corev1.Pod, events []podEvent) string {
	var fit []podEvent
	total := 0
	for _, e := range events {
		if e.can(pod) {
			fit = append(fit, e)
			total += e.weight
		}
	}
	if total == 0 {
		return nothing
	}
	n := among(t, total, "what")
	for _, e := range fit {
		if n < e.weight {
			e.do(t, w, pod.UID)
			return e.name
		}
		n -= e.weight
	}
	return nothing
}

// wait lets time pass. Clocks have fractions of a second, stored times have not.
func (w *world) wait(t *rapid.T) string {
	if w.next > 0 && chance(t, 50, "to the next look") {
		w.now = w.now.Add(w.next)
		return "the next look is due"
	}
	w.now = w.now.Add(pick(t, "time", time.Second, 300*time.Millisecond, 10*time.Second, 40*time.Second, 3*time.Minute))
	return "time passes"
}

// userChanges changes the spec; what the API server refuses does not happen.
func userChanges(t *rapid.T, w *world) string {
	job := w.job.DeepCopy()
	spec := &job.Spec
	name := ""
	switch among(t, 12, "change") {
	case 0, 1:
		if !*spec.Suspend && among(t, 2, "suspend") == 0 {
			return nothing
		}
		spec.Suspend = ptr(spec.Suspend == nil || !*spec.Suspend)
		name = "Job is resumed"
		if *spec.Suspend {
			name = "Job is suspended"
		}
	case 2, 3, 4:
		spec.Parallelism = ptr(int32(among(t, 7, "parallelism")))
		name = "parallelism changes"
	case 5, 6, 7:
		n := int32(among(t, 8, "completions"))
		spec.Parallelism, spec.Completions = &n, &n
		name = "completions change with parallelism"
		if !isIndexed(job) {
			return nothing
		}
	case 8:
		spec.ActiveDeadlineSeconds = pick(t, "deadline", nil, ptr[int64](60), ptr[int64](1), ptr[int64](600), ptr[int64](math.MaxInt32))
		name = "deadline changes"
	case 9:
		spec.BackoffLimit = ptr(pick[int32](t, "backoffLimit", 0, 1, 3, math.MaxInt32))
		name = "backoffLimit changes"
	case 10:
		if spec.MaxFailedIndexes != nil {
			spec.MaxFailedIndexes = ptr(int32(among(t, 5, "maxFailedIndexes")))
		}
		name = "maxFailedIndexes changes"
	case 11:
		spec.PodReplacementPolicy = ptr(pick(t, "replacement", batchv1.Failed, batchv1.TerminatingOrFailed))
		name = "replacement policy changes"
	}
	stored, errs := apiserver.Update(w.job, job)
	if len(errs) > 0 {
		return "change is refused"
	}
	w.job = stored
	return name
}

// catchUp lets the cache see some of what it has not seen yet.
func (w *world) catchUp(t *rapid.T, lag int) {
	for _, uid := range w.unseen() {
		if lag == 0 || !chance(t, lag, "unseen") {
			w.observe(uid)
		}
	}
}

// collect is the garbage collector, for a Job that is being deleted.
func (w *world) collect() {
	if w.job.DeletionTimestamp == nil {
		return
	}
	for _, pod := range w.stored() {
		if pod.DeletionTimestamp == nil {
			w.remove(pod.UID, 30)
		}
	}
}

func describe(p *corev1.Pod) string {
	del := ""
	if p.DeletionTimestamp != nil {
		del = " deleted"
	}
	if !tracking.HasFinalizer(p) {
		del += " stripped"
	}
	return fmt.Sprintf("%s %s%s index %d counts %+v rv %s", p.UID, p.Status.Phase, del, tracking.IndexOf(p), backoff.CountsOf(p.Annotations), p.ResourceVersion)
}
