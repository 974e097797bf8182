package diagnose

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// crowd holds the pods of a namespace, of any owner, ready for look-ups.
type crowd struct {
	all       []*corev1.Pod
	names     map[string]*corev1.Pod
	images    map[string]*corev1.Pod   // by an image, the first pod that has had it
	succeeded map[string][]*corev1.Pod // by an image, the pods that succeeded with it
	failed    map[string][]*corev1.Pod // and those that failed
	addresses map[string]*corev1.Pod   // by their IP address
	jobs      map[string][]*corev1.Pod // by the name of their Job
	workloads map[string][]*corev1.Pod // by the name of a StatefulSet and so on, those that have not ended
}

// hash is what a Deployment adds to the names of its ReplicaSets.
var hash = regexp.MustCompile(`-[a-z0-9]{5,10}$`)

func crowdOf(pods []*corev1.Pod) *crowd {
	byName := func() map[string][]*corev1.Pod { return map[string][]*corev1.Pod{} }
	c := &crowd{all: pods, names: map[string]*corev1.Pod{}, images: map[string]*corev1.Pod{}, succeeded: byName(),
		failed: byName(), addresses: map[string]*corev1.Pod{}, jobs: byName(), workloads: byName()}
	for _, pod := range pods {
		c.names[pod.Name] = pod
		if ip := pod.Status.PodIP; ip != "" && !pod.Spec.HostNetwork {
			c.addresses[ip] = pod
		}
		if of := metav1.GetControllerOfNoCopy(pod); of != nil && of.Kind == "Job" {
			c.jobs[of.Name] = append(c.jobs[of.Name], pod)
		}
		if of := workloadOf(pod); of != "" && !hasEnded(pod) {
			c.workloads[of] = append(c.workloads[of], pod)
		}
		for i := range pod.Status.ContainerStatuses {
			of := &pod.Status.ContainerStatuses[i]
			if of.ImageID == "" {
				continue
			}
			if c.images[of.Image] == nil {
				c.images[of.Image] = pod
			}
			switch pod.Status.Phase {
			case corev1.PodSucceeded:
				c.succeeded[of.Image] = append(c.succeeded[of.Image], pod)
			case corev1.PodFailed:
				c.failed[of.Image] = append(c.failed[of.Image], pod)
			}
		}
	}
	return c
}

// workloadOf returns the name of what runs a pod; empty for those of Jobs.
func workloadOf(pod *corev1.Pod) string {
	of := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{Name: pod.Name})
	switch of.Kind {
	case "Job":
		return ""
	case "ReplicaSet":
		return hash.ReplaceAllString(of.Name, "")
	}
	return of.Name
}

// all returns the pods of the Job, and the others of its namespace that are given.
func (f *facts) all() (pods []*corev1.Pod) {
	for _, r := range f.pods {
		pods = append(pods, r.Pod)
	}
	for _, pod := range f.near.all {
		if !metav1.IsControlledBy(pod, f.Job) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// pulled names a pod of the namespace that has had an image before, so that its name is right.
func (f *facts) pulled(image string) string {
	pod := f.near.images[image]
	if pod == nil || pod.Namespace != f.Job.Namespace || metav1.IsControlledBy(pod, f.Job) {
		return ""
	}
	return "; pod " + pod.Name + " had this image before"
}

// mentioned returns a pod of another owner that a message names, with its phase.
func (f *facts) mentioned(message string) string {
	for word := range strings.FieldsFuncSeq(message, func(r rune) bool {
		return r != '-' && !unicode.IsLower(r) && !unicode.IsDigit(r)
	}) {
		if pod := f.near.names[word]; pod != nil && podName.MatchString(word) && !metav1.IsControlledBy(pod, f.Job) {
			return "pod " + pod.Name + ownedBy(pod) + " is " + string(pod.Status.Phase)
		}
	}
	return ""
}
