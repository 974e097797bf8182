package decide

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

// Creation is a pod to create.
type Creation struct {
	// Index is the completion index, or tracking.NoIndex.
	Index int32
	// Replaces is the failed pod whose failure counts the new one takes over; nil
	// when there is none.
	Replaces *corev1.Pod

	counts backoff.Counts // the failures of the index so far
	from   *blueprint
}

// blueprint is what the new pods of a Job have in common. It shares nothing with the
// Job, so pods can be made from it at any later time.
type blueprint struct {
	job      string // its name
	indexed  bool
	perIndex bool
	pod      corev1.Pod
}

// blueprint copies the template, and adds the finalizer, the owner and the variable
// with the index.
func (v *View) blueprint() *blueprint {
	job := v.Job
	t := job.Spec.Template.DeepCopy()
	if !slices.Contains(t.Finalizers, batchv1.JobTrackingFinalizer) {
		t.Finalizers = append(t.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if job.Spec.Selector == nil {
		t.Labels = withGeneratedLabels(t.Labels, job)
	}
	if v.Spec.Indexed {
		for i := range t.Spec.InitContainers {
			addIndexVariable(&t.Spec.InitContainers[i])
		}
		for i := range t.Spec.Containers {
			addIndexVariable(&t.Spec.Containers[i])
		}
	}
	return &blueprint{job: job.Name, indexed: v.Spec.Indexed, perIndex: v.Spec.PerIndex, pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       job.Namespace,
			Labels:          t.Labels,
			Annotations:     t.Annotations,
			Finalizers:      t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{v.Config.Controller.Reference(job)},
		},
		Spec: t.Spec,
	}}
}

// creation is that of a pod of a Job that is not Indexed.
func (b *blueprint) creation() Creation { return Creation{Index: tracking.NoIndex, from: b} }

// creationFor is that of the pod of an index. With a backoff limit per index the pod
// carries the failures of the index so far, which it takes over from the pod
// that it replaces.
func (b *blueprint) creationFor(index int32, replaces *tracking.Record) Creation {
	c := Creation{Index: index, from: b}
	if b.perIndex && replaces != nil {
		c.Replaces = replaces.Pod
		c.counts = replaces.Counts.Next(!replaces.Is(tracking.Ignored))
	}
	return c
}

// Pod makes the complete object to create; its name is generated.
func (c Creation) Pod() *corev1.Pod {
	b := c.from
	if b == nil {
		return nil
	}
	pod := b.pod.DeepCopy()
	pod.Labels, pod.Annotations = notNil(pod.Labels), notNil(pod.Annotations)
	if !b.indexed {
		pod.GenerateName = namePrefix(b.job)
		return pod
	}
	text := strconv.Itoa(int(c.Index))
	pod.GenerateName = indexedNamePrefix(b.job, text)
	pod.Annotations[batchv1.JobCompletionIndexAnnotation] = text
	pod.Labels[batchv1.JobCompletionIndexAnnotation] = text
	pod.Spec.Hostname = b.job + "-" + text
	if b.perIndex {
		c.counts.Annotate(pod.Annotations)
	}
	return pod
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
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
