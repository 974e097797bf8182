package proof

import (
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/failurepolicy"
)

// policies caches the rules of specs.
type policies map[*batchv1.Job]*rules

// rules holds what a spec says about pods.
type rules struct {
	selector   labels.Selector
	policy     *failurepolicy.Spec
	failedOnly bool // only pods with the phase Failed count as failed
	actions    map[*corev1.Pod]batchv1.PodFailurePolicyAction
}

func (p *policies) of(job *batchv1.Job) *rules {
	if r := (*p)[job]; r != nil {
		return r
	}
	if *p == nil || len(*p) > 10_000 {
		*p = policies{}
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	replace := job.Spec.PodReplacementPolicy
	failedOnly := job.Spec.PodFailurePolicy != nil || replace != nil && *replace == batchv1.Failed
	r := &rules{selector, failurepolicy.FromAPI(job.Spec.PodFailurePolicy), failedOnly,
		map[*corev1.Pod]batchv1.PodFailurePolicyAction{}}
	(*p)[job] = r
	return r
}

func (r *rules) selects(pod *corev1.Pod) bool { return r.selector.Matches(labels.Set(pod.Labels)) }

func (r *rules) action(pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	if r.policy == nil {
		return ""
	}
	action, ok := r.actions[pod]
	if !ok {
		action = r.policy.Match(pod).Action
		r.actions[pod] = action
	}
	return action
}

func hasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func withoutFinalizer(pod *corev1.Pod) *corev1.Pod {
	next := *pod
	next.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	return &next
}

func indexOf(pod *corev1.Pod) int32 {
	n, err := strconv.ParseInt(pod.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int32(n)
}

// tampered reports whether a client has changed what only controllers may change.
func tampered(old, now *corev1.Pod) bool {
	return hasFinalizer(old) != hasFinalizer(now) || !maps.Equal(old.Annotations, now.Annotations) ||
		!maps.Equal(old.Labels, now.Labels)
}
