package sync

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// The relation of a pod to a Job, in the simplest form.

func selects(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

func controls(job *batchv1.Job, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == job.UID && owner.Name == job.Name
}

func adoptable(job *batchv1.Job, pod *corev1.Pod) bool {
	return metav1.GetControllerOf(pod) == nil && selects(job, pod) && job.DeletionTimestamp == nil && pod.DeletionTimestamp == nil
}

// ours reports whether the Job has the pod after the claims: it owns the pod, or adopts it and the pod
// is not gone.
func (d *dispute) ours(pod *corev1.Pod) bool {
	job := d.them.in.Job
	return controls(job, pod) && selects(job, pod) || adoptable(job, pod) && !apierrors.IsNotFound(d.fail.Adopt[pod.Name])
}

// finalized reports whether the Job has the pod, and the pod has the finalizer or gets it by
// adoption.
func (d *dispute) finalized(pod *corev1.Pod) bool {
	return d.ours(pod) && (builtin.HasFinalizer(pod) || metav1.GetControllerOf(pod) == nil)
}

// tracked reports whether the pod has the finalizer and is not counted yet.
func (d *dispute) tracked(pod *corev1.Pod) bool {
	return d.finalized(pod) && !slices.Contains(d.them.in.Stripped, pod.UID)
}

// valid reports whether the index of the pod allows it to count.
func valid(job *batchv1.Job, pod *corev1.Pod) bool {
	if !indexed(job) {
		return true
	}
	index := builtin.IndexOf(pod)
	if job.Spec.Completions == nil {
		return index == 0 // the default is 1
	}
	return index >= 0 && index < *job.Spec.Completions
}

// failed reports whether the pod counts as failed by its phase.
func (d *dispute) failed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed ||
		pod.Status.Phase != corev1.PodSucceeded && pod.DeletionTimestamp != nil && !d.onlyFailedReplaced()
}

// active reports whether the pod has not ended and is not being deleted.
func active(pod *corev1.Pod) bool { return !podutil.IsPodTerminal(pod) && pod.DeletionTimestamp == nil }

// replacePod puts a changed copy of a pod into the input.
func (d *dispute) replacePod(i int, change func(*corev1.Pod)) {
	pod := d.them.in.Pods[i].DeepCopy()
	change(pod)
	d.them.in.Pods[i] = pod
}

func (d *dispute) pod(name string) *corev1.Pod {
	if i := slices.IndexFunc(d.them.in.Pods, func(p *corev1.Pod) bool { return p.Name == name }); i >= 0 {
		return d.them.in.Pods[i]
	}
	return nil
}
