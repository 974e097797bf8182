package proof

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

func controller(pod *corev1.Pod) types.UID {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.UID
	}
	return ""
}

// get checks a live read of the Job.
func (f *Follower) get(w *world, at int, job *batchv1.Job) {
	w.by[at].job = job
	f.step(w, "get", at, [3]int16{}, func(p *pod) {
		c, s := &p.of[at], &p.server
		c[on], c[cur], c[listing], c[compl] = 0, s[alive], s[inF]|s[inS], s[comp]
		c[over] = truth(isLast(job))
		c[interim] = s[ft] | s[scm]
	})
}

// list checks a live list of the pods.
func (f *Follower) list(w *world, at int, e *cluster.Event) {
	job := w.by[at].job
	f.step(w, "list", at, [3]int16{}, func(p *pod) {
		c, s := &p.of[at], &p.server
		c[on] = 1
		f.see(p, at, job, find(e.OldPods, p.uid), w.by[at].now)
		mustSelect(p, at)
		c[pcur] = truth(find(e.OldPods, p.uid) != nil)
		if s[had] != 0 {
			c[met] = 1
			if s[own]&s[fin] == 0 {
				c[knows] = 1
			}
		}
	})
}

func find(pods []*corev1.Pod, uid types.UID) *corev1.Pod {
	for _, p := range pods {
		if p.UID == uid && uid != "" {
			return p
		}
	}
	return nil
}

// isNew reports whether the pods of a view are as new as its Job.
func isNew(v *cluster.View) int16 {
	return truth(!older(v.PodsVersion, v.Job.ResourceVersion))
}

// look checks a decision on the content of caches.
func (f *Follower) look(w *world, at int, e *cluster.Event) {
	v := w.by[at].view
	w.by[at].job = v.Job
	given := [3]int16{int16(v.Job.Status.Failed), int16(v.Job.Status.Succeeded), isNew(v)}
	f.step(w, "look", at, given, func(p *pod) { f.lookAt(p, at, v, given, e) })
}

// mayLook reports whether the model allows that decision. A sync that sends no request may have decided or not.
func (f *Follower) mayLook(w *world, at int, e *cluster.Event) bool {
	v := w.by[at].view
	given := [3]int16{int16(v.Job.Status.Failed), int16(v.Job.Status.Succeeded), isNew(v)}
	for _, before := range w.pods {
		after := *before
		f.lookAt(&after, at, v, given, e)
		if after.out == "" && !f.p.actions["look"].holds(f.frame(w, check{"look", before, &after, at, given})) {
			return false
		}
	}
	return true
}

func (f *Follower) lookAt(p *pod, at int, v *cluster.View, given [3]int16, e *cluster.Event) {
	c, s := &p.of[at], &p.server
	failed, succeeded := lists(v.Job)
	shown := find(v.Pods, p.uid)
	c[on], c[mF], c[mS] = 1, given[0], given[1]
	c[cur] = truth(e.OldJob != nil && e.OldJob.UID == v.Job.UID && e.OldJob.ResourceVersion == v.Job.ResourceVersion)
	c[listing] = truth(slices.Contains(failed, p.uid) || slices.Contains(succeeded, p.uid))
	c[mP] = c[listing]
	c[compl] = truth(f.has(v.Job.Status.CompletedIndexes, p.index))
	c[over] = truth(isLast(v.Job))
	c[interim] = truth(isTrue(v.Job, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet))
	f.see(p, at, v.Job, shown, v.Now)
	if c[adopts]&c[met]&s[own]&s[fin] != 0 && p.out == "" {
		p.out = "kept"
	}
	mustSelect(p, at)
	stored := find(e.OldPods, p.uid)
	c[pcur] = truth(shown != nil && stored != nil && shown.ResourceVersion == stored.ResourceVersion)
	isnew := given[2] != 0
	if isnew && (s[fp] > 0 && given[0] == s[fp]+s[fr] || s[sp] > 0 && given[1] == s[sp]+s[sr]) {
		c[knows] = 1
	}
	if s[had] != 0 && s[own]&s[fin] == 0 && (c[adopts] != 0 || c[sees] == 0) &&
		(c[met] != 0 || isnew && c[listing] != 0) {
		c[knows] = 1
	}
	if c[sees] != 0 && c[adopts] == 0 || isnew && c[listing] != 0 {
		c[met] = 1
	}
}

// mustSelect excludes a pod for which the assumption selecting does not hold.
func mustSelect(p *pod, at int) {
	if c, s := &p.of[at], &p.server; c[sees] == 0 && c[strays]&s[own]&s[fin] != 0 && p.out == "" {
		p.out = "selecting"
	}
}

// see sets what a process observes of a pod.
func (f *Follower) see(p *pod, at int, job *batchv1.Job, shown *corev1.Pod, now time.Time) {
	c := &p.of[at]
	for _, v := range []int{sees, adopts, overP, finP, good, atIndex, strays, counts, verdict} {
		c[v] = 0
	}
	if shown == nil || shown.Namespace != job.Namespace {
		return
	}
	r, owner := f.policy.of(job, &f.Options), controller(shown)
	finished, deleted := isTrue(job, batchv1.JobComplete, batchv1.JobFailed), job.DeletionTimestamp != nil
	c[adopts] = truth(owner == "" && r.selects(shown) && shown.DeletionTimestamp == nil && !deleted && !finished)
	c[strays] = truth(owner == job.UID && !r.selects(shown))
	// A Job that is being deleted leaves the pods alone that it does not select.
	c[sees] = c[adopts] | truth(owner == job.UID && f.hasFinalizer(shown) && !p.acked[at] &&
		(c[strays] == 0 || finished || !deleted))
	counted := f.Counted(shown, now) // with the phase by which it counts
	c[overP] = truth(cluster.HasEnded(shown))
	c[finP] = truth(cluster.HasEnded(counted) || shown.DeletionTimestamp != nil && !r.failedOnly)
	c[good] = truth(counted.Status.Phase == corev1.PodSucceeded)
	failed, succeeded := lists(job)
	if c[finP] != 0 {
		switch {
		case slices.Contains(failed, p.uid):
			c[good] = 0
		case slices.Contains(succeeded, p.uid):
			c[good] = 1
		}
	}
	index := int32(-1)
	if indexed(job) {
		index = f.indexOf(shown)
		c[atIndex] = truth(index == p.index)
	}
	action := r.action(shown)
	valid := !indexed(job) || index >= 0 && index < *job.Spec.Completions
	c[counts] = truth(valid && (c[good] != 0 || action != batchv1.PodFailurePolicyActionIgnore))
	c[verdict] = truth(counted.Status.Phase == corev1.PodFailed && c[good] == 0 && owner == job.UID && c[strays] == 0 &&
		action == batchv1.PodFailurePolicyActionFailJob)
}
