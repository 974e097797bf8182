package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// templateMutable reports whether parts of the pod template of this Job may change: the Job
// is suspended and has no active pods. If the Job ran before, its controller must also have
// set the condition Suspended.
func templateMutable(old *batchv1.Job) bool {
	if !deref(old.Spec.Suspend, false) || old.Status.Active != 0 {
		return false
	}
	return !set(old.Status.StartTime) || viewOf(&old.Status, &old.Spec).suspended
}

// changedTemplate checks the change of the template. While the template is mutable, its
// scheduling directives and the resources of its containers may change, so they are copied
// from the new template before the two are compared. Its metadata is then not compared at
// all, as in the API server.
func changedTemplate(job, old *batchv1.Job) field.ErrorList {
	now, was := stored(&job.Spec.Template), stored(&old.Spec.Template)
	if !templateMutable(old) {
		return immutable("template", &now, &was)
	}
	was.Spec.NodeSelector = now.Spec.NodeSelector
	was.Spec.Tolerations = now.Spec.Tolerations
	was.Spec.SchedulingGates = now.Spec.SchedulingGates
	was.Spec.Affinity = withNodeAffinityOf(now.Spec.Affinity, was.Spec.Affinity)
	was.Spec.Containers = withResourcesOf(now.Spec.Containers, was.Spec.Containers)
	was.Spec.InitContainers = withResourcesOf(now.Spec.InitContainers, was.Spec.InitContainers)
	return immutable("template.spec", now.Spec, was.Spec)
}

// stored returns a shallow copy of the template in the form in which the API server stores
// it. The API server reads a nil security context as an empty one, and serviceAccount as
// serviceAccountName.
func stored(template *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	s := *template
	if s.Spec.SecurityContext == nil {
		s.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if s.Spec.ServiceAccountName == "" {
		s.Spec.ServiceAccountName = s.Spec.DeprecatedServiceAccount
	}
	s.Spec.DeprecatedServiceAccount = ""
	return s
}

// withNodeAffinityOf returns the old affinity with the node affinity of the new one. It
// returns nil if the new affinity is nil and the old one has nothing but a node affinity:
// such an affinity may be added or removed as a whole.
func withNodeAffinityOf(now, was *corev1.Affinity) *corev1.Affinity {
	merged := deref(was, corev1.Affinity{})
	merged.NodeAffinity = deref(now, corev1.Affinity{}).NodeAffinity
	if now == nil && merged == (corev1.Affinity{}) {
		return nil
	}
	return &merged
}

// withResourcesOf returns the old containers with the resources of the new ones, if their
// numbers are equal. Containers correspond by position, so a renamed container still differs.
func withResourcesOf(now, was []corev1.Container) []corev1.Container {
	if len(now) != len(was) {
		return was
	}
	merged := make([]corev1.Container, len(was))
	for i := range was {
		merged[i] = was[i]
		merged[i].Resources = now[i].Resources
	}
	return merged
}
