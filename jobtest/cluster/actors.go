package cluster

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/validation"
)

// These methods act as kubelets, users and the garbage collector. A method for a pod that
// does not exist does nothing.

// Start schedules a pod and runs it.
func (c *Cluster) Start(uid types.UID) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return StartPod(p, c.Now) })
}

// End terminates the containers of a pod with an exit code.
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

// Lose loses the node of a pod: it marks the pod as disrupted and failed, and force-deletes
// it.
func (c *Cluster) Lose(uid types.UID) {
	c.Disrupt(uid)
	c.act(uid, FailPod)
	c.Delete(uid, 0)
}

// Delete deletes a pod with a grace period in seconds; zero is a forced deletion.
func (c *Cluster) Delete(uid types.UID, grace int64) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return DeletePod(p, grace, c.Now) })
}

// Vanish removes a pod regardless of its finalizers.
func (c *Cluster) Vanish(uid types.UID) {
	c.act(uid, func(*corev1.Pod) *corev1.Pod { return nil })
}

// Edit applies any change to a pod.
func (c *Cluster) Edit(uid types.UID, how func(*corev1.Pod)) {
	c.act(uid, func(p *corev1.Pod) *corev1.Pod { return EditPod(p, how) })
}

func (c *Cluster) act(uid types.UID, f func(*corev1.Pod) *corev1.Pod) {
	if old := c.pods.get(uid); old != nil {
		c.putPod(old, f(old), nil, nil)
	}
}

// Add creates a pod on behalf of a user. It returns nil if the name is in use.
func (c *Cluster) Add(pod *corev1.Pod) *corev1.Pod {
	next, err := c.newPod(pod, c.Focused().Namespace)
	if err != nil {
		return nil
	}
	c.putPod(nil, next, nil, nil)
	return next
}

// EditJob changes the spec of the Job as a user does. It fails if the API server would
// reject the change.
func (c *Cluster) EditJob(how func(*batchv1.JobSpec)) error {
	if c.Job() == nil {
		return fmt.Errorf("there is no Job")
	}
	next, err := EditJob(c.Job(), how)
	if err == nil {
		c.putJob(c.focus, next, nil, nil)
	}
	return err
}

// SetStatus replaces the status of the Job without validation: for tests that begin in the
// middle of a Job's life, and for damaged statuses.
func (c *Cluster) SetStatus(status batchv1.JobStatus) {
	if job := c.Job(); job != nil {
		next := *job
		next.Status = *status.DeepCopy()
		c.putJob(c.focus, &next, nil, nil)
	}
}

// EditJob returns the next version of a Job after a user changes its spec.
func EditJob(job *batchv1.Job, how func(*batchv1.JobSpec)) (*batchv1.Job, error) {
	next := job.DeepCopy()
	how(&next.Spec)
	if !equality.Semantic.DeepEqual(next.Spec, job.Spec) {
		next.Generation++
	}
	if errs := validation.Update(next, job); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return next, nil
}

// DeleteJob deletes the Job. With background deletion the Job is removed at once. With foreground
// deletion it stays until its pods are gone. With the policy Orphan its pods lose their owner.
// CollectGarbage completes the deletion.
func (c *Cluster) DeleteJob(policy metav1.DeletionPropagation) {
	if job := c.Job(); job != nil && job.DeletionTimestamp == nil {
		c.putJob(c.focus, DeleteJob(job, policy, c.Now), nil, nil)
	}
}

// DeleteJob returns the next version of a Job after its deletion; nil if it is removed at
// once.
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
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = new(stamp(now)), new(int64)
	next.Generation++
	next.Finalizers = append(next.Finalizers, finalizer)
	return next
}

// CollectGarbage acts as the garbage collector. It deletes the pods of Jobs that are gone
// or in foreground deletion, removes the owner references of orphans, and removes the Jobs
// that were waiting for this. It reports whether it changed anything.
func (c *Cluster) CollectGarbage() bool {
	before := c.version
	for _, pod := range c.Pods() {
		c.act(pod.UID, func(p *corev1.Pod) *corev1.Pod { return CollectPod(p, c.jobOf, c.Now) })
	}
	for at := range c.slots {
		if job := c.slots[at].job; job != nil && Settled(job, Objects(c.Pods())) != "" {
			c.putJob(at, nil, nil, nil)
		}
	}
	return c.version != before
}

// OwnedByJob reports whether an owner is a Job of a cluster. It ignores the kind, which
// adapters for custom resources change.
func OwnedByJob(owner *metav1.OwnerReference) bool {
	return strings.HasPrefix(string(owner.UID), jobUID)
}

// OrphanPod removes the owner references of a pod.
func OrphanPod(pod *corev1.Pod) *corev1.Pod {
	return EditPod(pod, func(p *corev1.Pod) { p.OwnerReferences = nil })
}
