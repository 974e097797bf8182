package simulation

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Every pod of a simulation is a copy of the template, and every change of a pod copies the
// pod again. To save memory, the template keeps only the fields that matter.

// slimJob returns a Job whose template has only the fields on which decisions and lost nodes
// depend.
func slimJob(job *batchv1.Job) *batchv1.Job {
	slim := *job
	t := &slim.Spec.Template
	t.ObjectMeta = metav1.ObjectMeta{Labels: selected(t.Labels, job.Spec.Selector), Finalizers: t.Finalizers}
	t.Spec = slimSpec(&t.Spec)
	return &slim
}

// slimPod returns an existing pod with only the fields on which decisions depend.
func slimPod(pod *corev1.Pod, selector *metav1.LabelSelector) *corev1.Pod {
	slim := *pod
	slim.Labels = selected(pod.Labels, selector)
	slim.ManagedFields = nil
	slim.Annotations = map[string]string{}
	for key, value := range pod.Annotations {
		if strings.HasPrefix(key, "batch.kubernetes.io/") {
			slim.Annotations[key] = value
		}
	}
	slim.Spec = slimSpec(&pod.Spec)
	return &slim
}

func slimSpec(spec *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers:                slimContainers(spec.InitContainers),
		Containers:                    slimContainers(spec.Containers),
		RestartPolicy:                 spec.RestartPolicy,
		NodeName:                      spec.NodeName,
		Tolerations:                   spec.Tolerations,
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
		ActiveDeadlineSeconds:         spec.ActiveDeadlineSeconds,
		SchedulingGates:               spec.SchedulingGates,
	}
}

func slimContainers(containers []corev1.Container) (out []corev1.Container) {
	for _, c := range containers {
		out = append(out, corev1.Container{Name: c.Name, Image: "image", RestartPolicy: c.RestartPolicy,
			RestartPolicyRules: c.RestartPolicyRules})
	}
	return out
}

// selected returns the labels that a selector reads, and the generated labels.
func selected(labels map[string]string, selector *metav1.LabelSelector) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if slices.Contains(generatedLabels, key) || selector != nil && asksFor(selector, key) {
			out[key] = value
		}
	}
	return out
}

func asksFor(selector *metav1.LabelSelector, key string) bool {
	_, ok := selector.MatchLabels[key]
	return ok || slices.ContainsFunc(selector.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}
