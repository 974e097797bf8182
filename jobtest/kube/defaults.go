package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// setDefault sets a value that is zero.
func setDefault[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

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

// defaultPodSpec sets the defaults of the spec of a pod or a pod template.
func defaultPodSpec(spec *corev1.PodSpec) {
	setDefault(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	setPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
	if spec.ServiceAccountName != "" {
		setDefault(&spec.DeprecatedServiceAccount, spec.ServiceAccountName)
	} else {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
}

func defaultContainer(c *corev1.Container) {
	setDefault(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			setDefault(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			setDefault(&probe.TimeoutSeconds, 1)
			setDefault(&probe.PeriodSeconds, 10)
			setDefault(&probe.SuccessThreshold, 1)
			setDefault(&probe.FailureThreshold, 3)
			if probe.HTTPGet != nil {
				setDefault(&probe.HTTPGet.Path, "/")
				setDefault(&probe.HTTPGet.Scheme, corev1.URISchemeHTTP)
			}
		}
	}
}

// pullPolicy returns Always for the tag latest, which is the default tag.
func pullPolicy(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if !tagged || tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultVolume(v *corev1.VolumeSource) {
	const readable = 0o644
	switch {
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case v.Secret != nil:
		setPointer(&v.Secret.DefaultMode, int32(readable))
	case v.ConfigMap != nil:
		setPointer(&v.ConfigMap.DefaultMode, int32(readable))
	case v.DownwardAPI != nil:
		setPointer(&v.DownwardAPI.DefaultMode, int32(readable))
	case v.Projected != nil:
		setPointer(&v.Projected.DefaultMode, int32(readable))
	case v.HostPath != nil:
		setPointer(&v.HostPath.Type, corev1.HostPathUnset)
	}
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
			tolerated = tolerated || (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !tolerated {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
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
			for _, msg := range validation.IsDNS1123Label(c.Name) {
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
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}))
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
	for _, images := range [][2][]corev1.Container{{allowed.Containers, spec.Containers}, {allowed.InitContainers, spec.InitContainers}} {
		for i := range min(len(images[0]), len(images[1])) {
			images[0][i].Image = images[1][i].Image
		}
	}
	if equality.Semantic.DeepEqual(allowed, spec) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), fmt.Sprintf("pod updates may not change fields other than %s",
		"`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))}
}
