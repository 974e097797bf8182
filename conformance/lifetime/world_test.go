package lifetime

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/conformance/fixture"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// builtin holds the finalizer, labels and annotations of the built-in Job controller.
var builtin tracking.Keys

// A world is a cluster, a cache of it, and the memory of a controller. Clones are independent.
type world struct {
	*cluster.Cluster
	cache *cluster.Cache

	created, deleted, stripped uids // written, but not observed
	memory                     backoff.Record
	inDoubt                    bool      // whether the memory is in doubt
	requeueAt                  time.Time // the requeue time of jobfate

	writes map[types.UID]int // the number of writes to each pod
	wrote  string            // the version of the last pod that the controller created or patched
	judge  *judge            // nil in the world of the real controller
}

type uids map[types.UID]bool

// judge is a referee, its state, and its first verdict.
type judge struct {
	referee.Rules
	ghost    referee.Ghost
	tampered bool
	verdict  error
}

func newWorld(c *cluster.Cluster, tampered bool) *world {
	w := &world{
		Cluster: c, cache: c.NewCache(false),
		created: uids{}, deleted: uids{}, stripped: uids{},
		memory: backoff.Record{Job: c.Job().UID},
		writes: map[types.UID]int{}, judge: &judge{tampered: tampered},
	}
	w.judge.ghost.Started(c.Job())
	w.Watch = w.watch
	return w
}

// clone returns a world like this one, without a judge.
func (w *world) clone() *world {
	c := *w
	c.Cluster = w.Cluster.Clone()
	c.cache = w.cache.Clone(c.Cluster)
	c.created, c.deleted, c.stripped = maps.Clone(w.created), maps.Clone(w.deleted), maps.Clone(w.stripped)
	c.writes, c.judge = maps.Clone(w.writes), nil
	c.Watch = c.watch
	return &c
}

// judged returns a clone in which the judge continues.
func (w *world) judged() *world {
	c := w.clone()
	j := *w.judge
	j.ghost = j.ghost.Clone()
	c.judge = &j
	return c
}

func (w *world) watch(s cluster.Step) {
	switch {
	case s.Pod != nil:
		w.writes[s.Pod.UID]++
	case s.OldPod != nil:
		w.writes[s.OldPod.UID]++
	}
	if q := s.Request; q != nil && s.Pod != nil && (q.Verb == cluster.Create || q.Verb == cluster.Patch) {
		w.wrote = s.Pod.ResourceVersion
	}
	if w.judge == nil {
		return
	}
	v := w.judge.See(&w.judge.ghost, &s)
	if v != nil && v.Property == "S22" {
		v = nil // single decisions are compared, without the write that stores a verdict first
	}
	// The referee cannot judge changes of tampered pods.
	if v != nil && w.judge.verdict == nil && (!w.judge.tampered || s.Pod == nil && s.OldPod == nil) {
		w.judge.verdict = v
	}
}

// seen returns the pods that the cache shows, ordered by index and UID. That is the order of
// jobfate. The real controller uses the order of its cache, so it gets the pods in this order too.
func (w *world) seen() []*corev1.Pod {
	return fixture.InOrder(w.Job(), w.cache.View().Pods)
}

func (w *world) shown(uid types.UID) *corev1.Pod {
	for _, p := range w.cache.View().Pods {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// observed removes the writes in flight of a pod whose current state is in the cache.
func (w *world) observed(uid types.UID) {
	pod := w.Pod(uid)
	delete(w.created, uid)
	if pod == nil || pod.DeletionTimestamp != nil {
		delete(w.deleted, uid)
	}
	if !builtin.HasFinalizer(pod) {
		delete(w.stripped, uid)
	}
}

func (w *world) observeAll() {
	lagging, _ := w.cache.Lagging()
	w.cache.ShowAll()
	for _, uid := range lagging {
		w.observed(uid)
	}
}

func (w *world) stale() bool {
	lagging, _ := w.cache.Lagging()
	return len(lagging) > 0
}

// restart makes the controller lose its memory, including the backoff record.
func (w *world) restart() {
	w.observeAll()
	w.created, w.deleted, w.stripped = uids{}, uids{}, uids{}
	w.memory, w.wrote = backoff.Record{Job: w.Job().UID}, ""
	w.judge.Backoff.Base = -1 // the referee no longer checks delays
}

// The methods below apply the writes of the real controller.

func (w *world) strip(uid types.UID) {
	w.Edit(uid, func(p *corev1.Pod) { p.Finalizers = slices.DeleteFunc(p.Finalizers, isTracking) })
}

func (w *world) adopt(uid types.UID) {
	w.Edit(uid, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.Job(), batchv1.SchemeGroupVersion.WithKind("Job"))}
		p.Finalizers = append(slices.DeleteFunc(p.Finalizers, isTracking), batchv1.JobTrackingFinalizer)
	})
}

func (w *world) release(uid types.UID) {
	w.Edit(uid, func(p *corev1.Pod) {
		p.OwnerReferences, p.Finalizers = nil, slices.DeleteFunc(p.Finalizers, isTracking)
	})
}

func isTracking(finalizer string) bool { return finalizer == batchv1.JobTrackingFinalizer }

// stored returns the pods as they are stored, without their versions, which
// depend on the order of writes.
func (w *world) stored() []*corev1.Pod {
	pods := w.Pods()
	for i, pod := range pods {
		p := *pod
		p.ResourceVersion = ""
		pods[i] = &p
	}
	return pods
}

func isIndexed(j *batchv1.Job) bool { return *j.Spec.CompletionMode == batchv1.IndexedCompletion }

func terminal(j *batchv1.Job) bool {
	return isTrue(&j.Status, batchv1.JobComplete) || isTrue(&j.Status, batchv1.JobFailed)
}

func decided(st *batchv1.JobStatus) bool {
	return isTrue(st, batchv1.JobSuccessCriteriaMet) || isTrue(st, batchv1.JobFailureTarget)
}
