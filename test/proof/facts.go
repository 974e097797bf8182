package proof

import (
	"cmp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/tracking"
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

func (p *policies) of(job *batchv1.Job, o *Options) *rules {
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
	replace, policy := job.Spec.PodReplacementPolicy, o.policy(job)
	failedOnly := policy != nil || !o.WithoutReplacement && replace != nil && *replace == batchv1.Failed
	r := &rules{selector, policy, failedOnly, map[*corev1.Pod]batchv1.PodFailurePolicyAction{}}
	(*p)[job] = r
	return r
}

// policy returns the failure policy in force.
func (o *Options) policy(job *batchv1.Job) *failurepolicy.Spec {
	policy := cmp.Or(o.Policy, failurepolicy.FromAPI(job.Spec.PodFailurePolicy))
	if policy == nil || o.WithoutPolicy {
		return nil
	}
	next := &failurepolicy.Spec{}
	for _, rule := range policy.Rules {
		if !o.WithoutPerIndex || rule.Action != batchv1.PodFailurePolicyActionFailIndex {
			next.Rules = append(next.Rules, rule)
		}
	}
	return next
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

// names returns the keys of the controller.
func (o *Options) names() tracking.Keys { return o.Keys.WithDefaults() }

func (o *Options) hasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, o.names().Finalizer)
}

func (o *Options) withoutFinalizer(pod *corev1.Pod) *corev1.Pod {
	next := *pod
	next.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(f string) bool { return f == o.names().Finalizer })
	return &next
}

func (o *Options) indexOf(pod *corev1.Pod) int32 {
	n, err := strconv.ParseInt(pod.Annotations[o.names().Index], 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int32(n)
}
