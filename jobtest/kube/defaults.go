package kube

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/validation/defaulting"
)

// setPointer sets a value that is nil.
func setPointer[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

// defaultPod sets the defaults of a pod.
func defaultPod(pod *corev1.Pod) {
	defaultPodSpec(&pod.Spec)
	setPointer(&pod.Spec.EnableServiceLinks, true)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			defaultRequests(&containers[i].Resources)
		}
	}
}

// defaultRequests uses the limit of a resource as its request if there is none.
func defaultRequests(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, named := r.Requests[name]; !named {
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

// defaultPodSpec sets the defaults of the spec of a pod or a pod template. The API server always
// shows the service account under both names.
func defaultPodSpec(spec *corev1.PodSpec) {
	*spec = *defaulting.PodSpec(spec)
	spec.ServiceAccountName, spec.DeprecatedServiceAccount =
		cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount),
		cmp.Or(spec.DeprecatedServiceAccount, spec.ServiceAccountName)
}

// admitPod does what the admission plugins Priority and DefaultTolerationSeconds
// do, which are on by default.
func admitPod(pod *corev1.Pod) {
	setPointer(&pod.Spec.Priority, int32(0))
	setPointer(&pod.Spec.PreemptionPolicy, corev1.PreemptLowerPriority)
	seconds := int64(300)
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerated := false
		for _, t := range pod.Spec.Tolerations {
			tolerated = tolerated || (t.Key == taint || t.Key == "") &&
				(t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !tolerated {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: &seconds})
		}
	}
}

// qosClass returns Guaranteed if each container has limits for CPU and memory that equal
// its requests, BestEffort if no container has requests or limits, and Burstable otherwise.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	any, all := false, true
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				request, limit := r.Requests[name], r.Limits[name]
				any = any || !request.IsZero() || !limit.IsZero()
				all = all && !limit.IsZero() && request.Cmp(limit) == 0
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// podSpecErrors returns the most common errors in the spec of a pod.
func podSpecErrors(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	names := map[string]bool{}
	for i, c := range spec.Containers {
		at := path.Child("containers").Index(i)
		if c.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			for _, msg := range utilvalidation.IsDNS1123Label(c.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), c.Name, msg))
			}
		}
		if names[c.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names[c.Name] = true
		if c.Image == "" {
			errs = append(errs, field.Required(at.Child("image"), ""))
		}
	}
	switch spec.RestartPolicy {
	case corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever:
	default:
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), spec.RestartPolicy,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure,
				corev1.RestartPolicyNever}))
	}
	return errs
}

// changedPodSpec rejects changes of the spec of a pod, except for the mutable fields. It
// does not check that tolerations are only added.
func changedPodSpec(spec, old *corev1.PodSpec) field.ErrorList {
	allowed := old.DeepCopy()
	allowed.ActiveDeadlineSeconds = spec.ActiveDeadlineSeconds
	allowed.TerminationGracePeriodSeconds = spec.TerminationGracePeriodSeconds
	allowed.Tolerations = spec.Tolerations
	for _, images := range [][2][]corev1.Container{{allowed.Containers, spec.Containers},
		{allowed.InitContainers, spec.InitContainers}} {
		for i := range min(len(images[0]), len(images[1])) {
			images[0][i].Image = images[1][i].Image
		}
	}
	if equality.Semantic.DeepEqual(allowed, spec) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"),
		fmt.Sprintf("pod updates may not change fields other than %s",
			"`spec.containers[*].image`,`spec.initContainers[*].image`,"+
				"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"+
				"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))}
}
