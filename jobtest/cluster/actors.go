package cluster

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/validation"
)

// What happens to the cluster from outside. A pod that is not there is left
// alone.

// Start schedules a pod and runs it.
func (c *Cluster) Start(uid types.UID) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return StartPod(p, c.Now) })
}

// End ends the containers of a pod with an exit code.
func (c *Cluster) End(uid types.UID, code int32) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return EndPod(p, code, c.Now) })
}

// Restart restarts the containers of a pod in place.
func (c *Cluster) Restart(uid types.UID) { c.act(uid, RestartPod) }

// Ready sets whether a pod is ready.
func (c *Cluster) Ready(uid types.UID, ready corev1.ConditionStatus) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return ReadyPod(p, ready, c.Now) })
}

// Disrupt announces the eviction of a pod with the condition DisruptionTarget.
func (c *Cluster) Disrupt(uid types.UID) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return DisruptPod(p, c.Now) })
}

// Lose loses the node of a pod: the pod is marked as failed, with a disruption,
// and deleted by force.
func (c *Cluster) Lose(uid types.UID) {
	c.Disrupt(uid)
	c.act(uid, FailPod)
	c.Delete(uid, 0)
}

// Delete deletes a pod, with a grace in seconds; zero is by force.
func (c *Cluster) Delete(uid types.UID, grace int64) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return DeletePod(p, grace, c.Now) })
}

// Vanish tears a pod out, whatever holds it.
func (c *Cluster) Vanish(uid types.UID) {
	c.act(uid, func(*corev1.Pod) *corev1.Pod { return nil })
}

// Edit changes a pod at will.
func (c *Cluster) Edit(uid types.UID, how func(*corev1.Pod)) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return EditPod(p, how) })
}

func (c *Cluster) act(uid types.UID, f func(*corev1.Pod) *corev1.Pod) {
	if old := c.pods.get(uid); old != nil {
		c.putPod(old, f(old), nil, nil)
	}
}

// Add creates a pod that is none of the controller's making. It returns nil, and
// creates none, when there is a pod of that name.
func (c *Cluster) Add(pod *corev1.Pod) *corev1.Pod {
	next, err := c.newPod(pod)
	if err != nil {
		return nil
	}
	c.putPod(nil, next, nil, nil)
	return next
}

// EditJob changes the spec of the Job as a user does. It fails when the API
// server refuses the change.
func (c *Cluster) EditJob(how func(*batchv1.JobSpec)) error {
	if c.job == nil {
		return fmt.Errorf("there is no Job")
	}
	next, err := EditJob(c.job, how)
	if err == nil {
		c.putJob(next, nil, nil)
	}
	return err
}

// SetStatus puts a status in the place of the Job's, and checks nothing: for what
// begins in the middle of a Job's life, and for damage.
func (c *Cluster) SetStatus(status batchv1.JobStatus) {
	if c.job != nil {
		next := *c.job
		next.Status = *status.DeepCopy()
		c.putJob(&next, nil, nil)
	}
}

// EditJob returns the next version of a Job whose spec a user changes.
func EditJob(job *batchv1.Job, how func(*batchv1.JobSpec)) (*batchv1.Job, error) {
	next := job.DeepCopy()
	how(&next.Spec)
	next.Generation++
	if errs := validation.Update(next, job); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return next, nil
}

// DeleteJob deletes the Job. In the background it is gone at once; in the
// foreground it waits for its pods; orphans stay behind without an owner. The
// rest is for CollectGarbage to do.
func (c *Cluster) DeleteJob(policy metav1.DeletionPropagation) {
	if c.job == nil || c.job.DeletionTimestamp != nil {
		return
	}
	c.putJob(DeleteJob(c.job, policy, c.Now), nil, nil)
}

// DeleteJob returns the next version of a Job that is deleted; nil when it is
// gone at once.
func DeleteJob(job *batchv1.Job, policy metav1.DeletionPropagation, now time.Time) *batchv1.Job {
	finalizer := ""
	switch policy {
	case metav1.DeletePropagationForeground:
		finalizer = metav1.FinalizerDeleteDependents
	case metav1.DeletePropagationOrphan:
		finalizer = metav1.FinalizerOrphanDependents
	default:
		return nil
	}
	next := job.DeepCopy()
	at := stamp(now)
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &at, new(int64)
	next.Finalizers = append(next.Finalizers, finalizer)
	return next
}

// CollectGarbage does what garbage collection has to do now: it deletes the pods
// of a Job that is gone or waits for them, takes the owner from orphans, and
// removes a Job that waits for nothing any more. It reports whether there was
// anything.
func (c *Cluster) CollectGarbage() bool {
	before := c.version
	deleting := c.job != nil && c.job.DeletionTimestamp != nil
	orphans := deleting && c.job.Finalizers[len(c.job.Finalizers)-1] == metav1.FinalizerOrphanDependents
	dependents := 0
	for _, pod := range c.Pods() {
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case owner == nil || !OwnedByJob(owner) || c.job != nil && owner.UID == c.job.UID && !deleting:
		case c.job != nil && owner.UID == c.job.UID && orphans:
			c.act(pod.UID, OrphanPod)
		default:
			dependents++
			c.Delete(pod.UID, DefaultGrace)
		}
	}
	if deleting && (dependents == 0 || c.noneLeft()) {
		c.putJob(nil, nil, nil)
	}
	return c.version != before
}

// OwnedByJob reports whether an owner is a Job of a cluster, under whatever kind.
func OwnedByJob(owner *metav1.OwnerReference) bool {
	return strings.HasPrefix(string(owner.UID), jobUID)
}

func (c *Cluster) noneLeft() bool {
	for _, pod := range c.Pods() {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.UID == c.job.UID {
			return false
		}
	}
	return true
}

// OrphanPod takes the owner from a pod.
func OrphanPod(pod *corev1.Pod) *corev1.Pod {
	return EditPod(pod, func(p *corev1.Pod) { p.OwnerReferences = nil })
}
