package jobfate

import (
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

const (
	// indexVariable tells the containers of an Indexed Job their index.
	indexVariable = "JOB_COMPLETION_INDEX"
	// longestPrefix is how much of a generated name the API server keeps before
	// the five random characters.
	longestPrefix = 63 - 5
)

// factory makes the pods of a Job.
type factory struct {
	*step
	template *corev1.PodTemplateSpec // with all that the pods have in common
}

// common returns the template with what all pods of the Job have: the
// finalizer, and the variable with the index.
func (f *factory) common() *corev1.PodTemplateSpec {
	if f.template != nil {
		return f.template
	}
	t := f.job.Spec.Template.DeepCopy()
	if !slices.Contains(t.Finalizers, batchv1.JobTrackingFinalizer) {
		t.Finalizers = append(t.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if f.job.Spec.Selector == nil {
		t.Labels = withGeneratedLabels(t.Labels, f.job)
	}
	if f.indexed {
		for i := range t.Spec.InitContainers {
			addIndexVariable(&t.Spec.InitContainers[i])
		}
		for i := range t.Spec.Containers {
			addIndexVariable(&t.Spec.Containers[i])
		}
	}
	f.template = t
	return t
}

// withGeneratedLabels adds the labels that the API server puts into the template
// of a Job without a selector of its own.
func withGeneratedLabels(labels map[string]string, job *batchv1.Job) map[string]string {
	all := map[string]string{
		"controller-uid":           string(job.UID),
		"job-name":                 job.Name,
		batchv1.ControllerUidLabel: string(job.UID),
		batchv1.JobNameLabel:       job.Name,
	}
	maps.Copy(all, labels)
	return all
}

func addIndexVariable(c *corev1.Container) {
	for i := range c.Env {
		if c.Env[i].Name == indexVariable {
			return
		}
	}
	c.Env = append(c.Env, corev1.EnvVar{
		Name: indexVariable,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']",
		}},
	})
}

// pod makes a pod of a Job that is not Indexed.
func (f *factory) pod() Creation {
	return Creation{Index: tracking.NoIndex, Pod: f.build(namePrefix(f.job.Name))}
}

// podForIndex makes the pod of an index. With a backoff limit per index the pod
// carries the failures of the index so far, which it takes over from the pod
// that it replaces.
func (f *factory) podForIndex(index int32, replaces *tracking.Record) Creation {
	text := strconv.Itoa(int(index))
	pod := f.build(indexedNamePrefix(f.job.Name, text))
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = text
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = text
	pod.Spec.Hostname = f.job.Name + "-" + text
	c := Creation{Index: index, Pod: pod}
	if !f.perIndex {
		return c
	}
	var counts backoff.Counts
	if replaces != nil {
		c.Replaces = replaces.Pod
		counts = replaces.Counts.Next(!replaces.Is(tracking.Ignored))
	}
	counts.Annotate(pod.Annotations)
	return c
}

func (f *factory) build(prefix string) *corev1.Pod {
	t := f.common()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    prefix,
			Namespace:       f.job.Namespace,
			Labels:          clone(t.Labels),
			Annotations:     clone(t.Annotations),
			Finalizers:      slices.Clone(t.Finalizers),
			OwnerReferences: []metav1.OwnerReference{f.controller.Reference(f.job)},
		},
	}
	t.Spec.DeepCopyInto(&pod.Spec)
	return pod
}

// clone copies a map, with room for what is added. It never returns nil.
func clone(m map[string]string) map[string]string {
	out := make(map[string]string, len(m)+3)
	maps.Copy(out, m)
	return out
}

// namePrefix is the Job's name with a dash, unless that is no name for a pod.
func namePrefix(job string) string {
	prefix := job + "-"
	if len(apivalidation.NameIsDNSSubdomain(prefix, true)) > 0 {
		return job
	}
	return prefix
}

// indexedNamePrefix is the Job's name and the index, between dashes. A long name
// is cut so that the index is not.
func indexedNamePrefix(job, index string) string {
	suffix := "-" + index + "-"
	if keep := longestPrefix - len(suffix); len(job) > keep {
		job = job[:keep]
	}
	return job + suffix
}
