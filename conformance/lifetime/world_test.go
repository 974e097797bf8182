package lifetime

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// A world is what the API server stores, what the caches show of it, and what a
// controller remembers. Objects in it never change; they are replaced. So a
// clone is cheap, and two clones can go different ways.
type world struct {
	now  time.Time
	job  *batchv1.Job
	pods map[types.UID]*corev1.Pod // as stored
	seen map[types.UID]*corev1.Pod // as the cache shows them
	born int                       // pods created so far

	created, deleted, stripped uids // written, not yet seen
	memory                     backoff.Record
	next                       time.Duration // until jobfate wants to look again
	tampered                   bool          // somebody tampers with the pods
	lagging                    bool          // caches lag
}

type uids map[types.UID]bool

func (w *world) clone() *world {
	c := *w
	c.pods, c.seen = maps.Clone(w.pods), maps.Clone(w.seen)
	c.created, c.deleted, c.stripped = maps.Clone(w.created), maps.Clone(w.deleted), maps.Clone(w.stripped)
	return &c
}

func newWorld(job *batchv1.Job, now time.Time) *world {
	return &world{
		now: now, job: job,
		pods: map[types.UID]*corev1.Pod{}, seen: map[types.UID]*corev1.Pod{},
		created: uids{}, deleted: uids{}, stripped: uids{},
		memory: backoff.Record{Job: job.UID},
	}
}

// view returns the pods that the cache shows, by index and UID. That is the
// order in which jobfate looks at pods; the real controller takes the order of
// its cache, so it is handed this one.
func (w *world) view() []*corev1.Pod {
	pods := slices.Collect(maps.Values(w.seen))
	indexed := isIndexed(w.job)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		if indexed {
			if c := cmp.Compare(tracking.IndexOf(a), tracking.IndexOf(b)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.UID, b.UID)
	})
	return pods
}

// stored returns the pods that the API server stores, by age.
func (w *world) stored() []*corev1.Pod {
	pods := slices.Collect(maps.Values(w.pods))
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return pods
}

func (w *world) clock() *metav1.Time { return ptr(metav1.NewTime(w.now.Truncate(time.Second))) }

// unseen returns the pods of which the cache does not show what is stored.
func (w *world) unseen() []types.UID {
	var list []types.UID
	for uid, pod := range w.pods {
		if w.seen[uid] != pod {
			list = append(list, uid)
		}
	}
	for uid := range w.seen {
		if w.pods[uid] == nil {
			list = append(list, uid)
		}
	}
	slices.Sort(list)
	return list
}

// observe lets the cache catch up with one pod. What was in flight for it has
// then been seen.
func (w *world) observe(uid types.UID) {
	pod := w.pods[uid]
	if pod == nil {
		delete(w.seen, uid)
	} else {
		w.seen[uid] = pod
	}
	delete(w.created, uid)
	if pod == nil || pod.DeletionTimestamp != nil {
		delete(w.deleted, uid)
	}
	if !tracking.HasFinalizer(pod) {
		delete(w.stripped, uid)
	}
}

func (w *world) observeAll() {
	for _, uid := range w.unseen() {
		w.observe(uid)
	}
}

// change replaces a stored pod by a changed copy. One that nothing holds any
// more is gone.
func (w *world) change(uid types.UID, f func(*corev1.Pod)) {
	old := w.pods[uid]
	if old == nil {
		return
	}
	pod := old.DeepCopy()
	f(pod)
	n, _ := strconv.Atoi(old.ResourceVersion)
	pod.ResourceVersion = strconv.Itoa(n + 1)
	w.pods[uid] = pod
	if pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && *pod.DeletionGracePeriodSeconds == 0 {
		delete(w.pods, uid)
	}
}

// The API server's part of what controllers and users ask for.

func (w *world) create(sent *corev1.Pod) types.UID {
	pod := sent.DeepCopy()
	uid := types.UID(fmt.Sprintf("uid-%04d", w.born))
	pod.UID, pod.Name, pod.ResourceVersion = uid, fmt.Sprintf("%s%05d", pod.GenerateName, w.born), "1"
	pod.Namespace = w.job.Namespace
	pod.CreationTimestamp, pod.Status.Phase = *w.clock(), corev1.PodPending
	w.pods[uid] = pod
	w.born++
	return uid
}

// remove deletes a pod with grace: at once if it has no node or has ended.
func (w *world) remove(uid types.UID, grace int64) {
	w.change(uid, func(p *corev1.Pod) {
		if p.Spec.NodeName == "" || ended(p) {
			grace = 0
		}
		if p.DeletionTimestamp != nil {
			p.DeletionGracePeriodSeconds = ptr(min(grace, *p.DeletionGracePeriodSeconds))
			return
		}
		p.DeletionTimestamp = ptr(metav1.NewTime(w.clock().Add(time.Duration(grace) * time.Second)))
		p.DeletionGracePeriodSeconds = ptr(grace)
	})
}

func (w *world) strip(uid types.UID) {
	w.change(uid, func(p *corev1.Pod) {
		p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	})
}

func (w *world) adopt(uid types.UID) {
	w.change(uid, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		if !tracking.HasFinalizer(p) {
			p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
		}
	})
}

func (w *world) release(uid types.UID) {
	w.strip(uid)
	w.change(uid, func(p *corev1.Pod) { p.OwnerReferences = nil })
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func alive(p *corev1.Pod) bool { return !ended(p) && p.DeletionTimestamp == nil }

func isIndexed(j *batchv1.Job) bool { return *j.Spec.CompletionMode == batchv1.IndexedCompletion }

func isTrue(st *batchv1.JobStatus, t batchv1.JobConditionType) bool {
	return slices.ContainsFunc(st.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == t && c.Status == corev1.ConditionTrue
	})
}

func terminal(j *batchv1.Job) bool {
	return isTrue(&j.Status, batchv1.JobComplete) || isTrue(&j.Status, batchv1.JobFailed)
}

func decided(st *batchv1.JobStatus) bool {
	return isTrue(st, batchv1.JobSuccessCriteriaMet) || isTrue(st, batchv1.JobFailureTarget)
}

func ptr[T any](v T) *T { return &v }
