package jobtest

import (
	"maps"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Life describes what happens to a Job and its pods in a cluster, except the actions of its
// controller.
type Life struct {
	// Tampered says that clients edit pods in ways that break controllers.
	Tampered bool
	// Lag is the percentage of the changed pods that lag in a cache.
	Lag int
}

// Lives generates lives. Most are quiet.
func Lives() *rapid.Generator[Life] {
	return rapid.Custom(func(t *rapid.T) Life {
		return Life{Tampered: chance(t, 15, "tampered"), Lag: pick(t, "lag", 0, 0, 0, 20, 60)}
	})
}

// Lead runs a Job through a part of its life, up to the last sync of the controller, whose
// cache lags.
func Lead(t *rapid.T, controller cluster.Controller) {
	life := Lives().Draw(t, "life")
	c, err := cluster.New(LivelyJobs().Draw(t, "job"), noon)
	if err != nil {
		t.Fatalf("the API server rejects a generated Job: %v", err)
	}
	cache := c.NewCache(false)
	out := c.Run(controller, cache)
	for range among(t, 40, "steps") {
		life.Happen(t, c, out.At)
		c.CollectGarbage()
		life.CatchUp(t, cache)
		if cache.View().Job == nil {
			return
		}
		out = c.Run(controller, cache)
	}
}

// Happen makes one event happen and returns its name: a kubelet reports, a user interferes,
// or time passes. Look is when the controller's requeue is due; zero if there is none. The
// name is empty if nothing happens.
func (l Life) Happen(t *rapid.T, c *cluster.Cluster, look time.Time) string {
	n := among(t, 200, "event")
	if len(c.Pods()) == 0 {
		n = 155 + n*45/200 // no event of a pod is possible
	}
	switch {
	case n < 155:
		return l.podHappens(t, c)
	case n < 180:
		return passTime(t, c, look)
	case n < 197 && c.Job() != nil:
		return drawEdit(t, c)
	case n == 197 && c.Job() != nil && c.Job().DeletionTimestamp == nil && chance(t, 50, "Job deletion"):
		c.DeleteJob(metav1.DeletePropagationForeground)
		return "Job is deleted"
	}
	return ""
}

// CatchUp makes a cache catch up with the Job, and with the pods that do not lag. It
// returns the pods with which it has caught up.
func (l Life) CatchUp(t *rapid.T, cache *cluster.Cache) (shown []types.UID) {
	late, versions := cache.Late()
	for range versions {
		cache.ShowJob()
	}
	for _, uid := range slices.Clone(late) {
		if l.Lag == 0 || !chance(t, l.Lag, "unseen") {
			cache.ShowPod(uid)
			shown = append(shown, uid)
		}
	}
	return shown
}

// Happenings returns the names of the events in lives: those of pods, of tampered pods and
// all others.
func Happenings() (pods, tampered, others []string) {
	for _, e := range podEvents {
		pods = append(pods, e.name)
	}
	for _, e := range tamperings {
		tampered = append(tampered, e.name)
	}
	others = []string{"Job is deleted", "Job is suspended", "Job is resumed", "time passes", "the requeue is due"}
	return pods, tampered, append(others, slices.Sorted(maps.Keys(jobEdits))...)
}

// passTime advances the time. Clocks have fractions of a second, stored times do not.
func passTime(t *rapid.T, c *cluster.Cluster, look time.Time) string {
	if look.After(c.Now) && chance(t, 50, "to the requeue") {
		c.Now = look
		return "the requeue is due"
	}
	c.Now = c.Now.Add(pick(t, "time", time.Second, 300*time.Millisecond, 10*time.Second, 40*time.Second, 3*time.Minute))
	return "time passes"
}

// jobEdits are changes of the spec of a Job by users.
var jobEdits = map[string]func(*rapid.T, *batchv1.JobSpec){
	"parallelism changes": func(t *rapid.T,
		s *batchv1.JobSpec) {
		s.Parallelism = ptr(int32(among(t, 7, "parallelism")))
	},
	"completions change with parallelism": func(t *rapid.T, s *batchv1.JobSpec) {
		n := int32(among(t, 8, "completions"))
		s.Parallelism, s.Completions = ptr(n), ptr(n)
	},
	"deadline changes": func(t *rapid.T, s *batchv1.JobSpec) {
		s.ActiveDeadlineSeconds = pick(t, "deadline", nil, ptr[int64](60), ptr[int64](1), ptr[int64](600),
			ptr[int64](math.MaxInt32))
	},
	"backoffLimit changes": func(t *rapid.T, s *batchv1.JobSpec) {
		s.BackoffLimit = ptr(pick[int32](t, "backoffLimit", 0, 1, 3, math.MaxInt32))
	},
	"maxFailedIndexes changes": func(t *rapid.T, s *batchv1.JobSpec) {
		s.MaxFailedIndexes = ptr(int32(among(t, 5, "maxFailedIndexes")))
	},
	"replacement policy changes": func(t *rapid.T, s *batchv1.JobSpec) {
		s.PodReplacementPolicy = ptr(pick(t, "replacement", batchv1.Failed, batchv1.TerminatingOrFailed))
	},
}

// drawEdit changes the spec, unless the API server rejects the change.
func drawEdit(t *rapid.T, c *cluster.Cluster) string {
	spec := &c.Job().Spec
	name := weighted(t, "edit", w(2, "suspend"), w(3, "parallelism changes"),
		w(3, "completions change with parallelism"),
		w(1, "deadline changes"), w(1, "backoffLimit changes"), w(1, "maxFailedIndexes changes"),
		w(1, "replacement policy changes"))
	edit := jobEdits[name]
	switch {
	case name == "suspend" && isSuspended(c.Job()):
		name, edit = "Job is resumed", func(_ *rapid.T, s *batchv1.JobSpec) { s.Suspend = ptr(false) }
	case name == "suspend" && rapid.Bool().Draw(t, "suspend"):
		name, edit = "Job is suspended", func(_ *rapid.T, s *batchv1.JobSpec) { s.Suspend = ptr(true) }
	case name == "suspend",
		name == "completions change with parallelism" && *spec.CompletionMode != batchv1.IndexedCompletion,
		name == "maxFailedIndexes changes" && spec.MaxFailedIndexes == nil:
		return ""
	}
	if c.EditJob(func(s *batchv1.JobSpec) { edit(t, s) }) != nil {
		return "change is rejected"
	}
	return name
}

// podHappens makes an event of a pod happen.
func (l Life) podHappens(t *rapid.T, c *cluster.Cluster) string {
	pods, events := c.Pods(), podEvents
	if l.Tampered && chance(t, 15, "tampering") {
		if events = tamperings; l.Lag > 0 {
			events = events[:len(events)-1]
		}
	} else if going := slices.DeleteFunc(c.Pods(), cluster.HasEnded); len(going) > 0 && !chance(t, 10, "any pod") {
		pods = going // ended pods have few events
	}
	pod := pods[among(t, len(pods), "pod")]
	var fit []weight[podEvent]
	for _, e := range events {
		if e.can(pod) {
			fit = append(fit, w(e.of, e))
		}
	}
	if len(fit) == 0 {
		return ""
	}
	e := weighted(t, "what", fit...)
	e.do(t, c, pod)
	return e.name
}

// podEvent is an event of a pod.
type podEvent struct {
	name string
	of   int // its weight
	can  func(*corev1.Pod) bool
	do   func(*rapid.T, *cluster.Cluster, *corev1.Pod)
}

var podEvents = []podEvent{
	{"pod starts", 16, waiting, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Start(p.UID)
		if !chance(t, 30, "ready") {
			c.Ready(p.UID, corev1.ConditionFalse)
		}
	}},
	{"pod becomes ready", 4, running, func(_ *rapid.T, c *cluster.Cluster,
		p *corev1.Pod) {
		c.Ready(p.UID, corev1.ConditionTrue)
	}},
	{"pod becomes unready", 1, running, func(_ *rapid.T, c *cluster.Cluster,
		p *corev1.Pod) {
		c.Ready(p.UID, corev1.ConditionFalse)
	}},
	{"pod succeeds", 9, exits, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) { c.End(p.UID, 0) }},
	{"pod fails", 9, exits, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.End(p.UID, pick[int32](t, "exit code", 1, 42, 2, 137))
	}},
	{"pod fails without container statuses", 1, exits, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Edit(p.UID, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	}},
	{"container restarts", 3, running, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) { c.Restart(p.UID) }},
	{"pod is disrupted", 3, goesOn, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) { c.Disrupt(p.UID) }},
	{"node is lost", 1, running, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Ready(p.UID, corev1.ConditionUnknown)
		c.Edit(p.UID, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown })
	}},
	{"user deletes pod", 3, stays, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Delete(p.UID, pick[int64](t, "grace", 30, 1, 0))
	}},
	{"terminating pod exits 0", 3, terminating,
		func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) { c.End(p.UID, 0) }},
	{"terminating pod fails", 6, terminating, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.End(p.UID, pick[int32](t, "exit code", 137, 42, 1))
	}},
	{"pod vanishes", 1, anyPod, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) { c.Vanish(p.UID) }},
}

// tamperings are edits of pods that no client should make. The last one is omitted if caches
// lag: if a pod is orphaned while it is being counted, Kubernetes and jobfate both adopt it,
// with a finalizer, and count it again.
var tamperings = []podEvent{
	{"a duplicate appears", 3, owned, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		twin := p.DeepCopy()
		twin.Name, twin.GenerateName, twin.Finalizers, twin.Spec.NodeName = "", "twin-",
			[]string{batchv1.JobTrackingFinalizer}, ""
		twin.DeletionTimestamp, twin.DeletionGracePeriodSeconds = nil, nil
		c.Add(twin)
	}},
	{"finalizer is removed", 1, tracking.Keys{}.HasFinalizer, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Edit(p.UID, func(p *corev1.Pod) { p.Finalizers = nil })
	}},
	{"index is edited", 1, owned, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		annotate(c, p, batchv1.JobCompletionIndexAnnotation, pick(t, "index", "0", "1", "9", "x", "-1"))
	}},
	{"failure count is edited", 1, owned, func(t *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		annotate(c, p, batchv1.JobIndexFailureCountAnnotation, pick(t, "failures", "0", "1", "2", "5", "x"))
	}},
	{"phase flips", 2, cluster.HasEnded, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		phase := corev1.PodFailed
		if p.Status.Phase == corev1.PodFailed {
			phase = corev1.PodSucceeded
		}
		c.Edit(p.UID, func(p *corev1.Pod) { p.Status.Phase = phase })
	}},
	{"labels are edited", 1, owned, func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
		c.Edit(p.UID, func(p *corev1.Pod) { p.Labels = map[string]string{"other": "label"} })
	}},
	{"pod is orphaned", 1, func(p *corev1.Pod) bool { return owned(p) && tracking.Keys{}.HasFinalizer(p) },
		func(_ *rapid.T, c *cluster.Cluster, p *corev1.Pod) {
			c.Edit(p.UID, func(p *corev1.Pod) { p.OwnerReferences = nil })
		}},
}

func annotate(c *cluster.Cluster, p *corev1.Pod, key, value string) {
	c.Edit(p.UID, func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = value
	})
}

func anyPod(*corev1.Pod) bool        { return true }
func owned(p *corev1.Pod) bool       { return len(p.OwnerReferences) > 0 }
func stays(p *corev1.Pod) bool       { return p.DeletionTimestamp == nil }
func goesOn(p *corev1.Pod) bool      { return !cluster.HasEnded(p) }
func waiting(p *corev1.Pod) bool     { return p.Status.Phase == corev1.PodPending && stays(p) }
func running(p *corev1.Pod) bool     { return p.Status.Phase == corev1.PodRunning && stays(p) }
func exits(p *corev1.Pod) bool       { return running(p) || waiting(p) }
func terminating(p *corev1.Pod) bool { return goesOn(p) && p.DeletionTimestamp != nil }
