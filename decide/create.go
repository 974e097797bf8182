package decide

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/tracking"
)

// longestPrefix is the length to which the API server cuts generateName before it appends
// five random characters.
const longestPrefix = 63 - 5

// blueprint holds what the new pods of a Job have in common. It shares no memory with the Job, so
// pods can be made from it later.
type blueprint struct {
	job      string // its name
	perIndex bool
	keys     *tracking.Keys
	pod      corev1.Pod
}

// blueprint copies the template, and adds the finalizer, the owner reference, the labels and
// the index variable.
func (s *state) blueprint() *blueprint {
	job, keys := s.Job, s.spec.Keys()
	t := job.Spec.Template.DeepCopy()
	if !slices.Contains(t.Finalizers, keys.Finalizer) {
		t.Finalizers = append(t.Finalizers, keys.Finalizer)
	}
	if s.spec.Indexed {
		for i := range t.Spec.InitContainers {
			addIndexVariable(&t.Spec.InitContainers[i], keys)
		}
		for i := range t.Spec.Containers {
			addIndexVariable(&t.Spec.Containers[i], keys)
		}
	}
	annotations := map[string]string{}
	maps.Copy(annotations, t.Annotations)
	return &blueprint{job: job.Name, perIndex: s.spec.PerIndex(), keys: keys, pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       job.Namespace,
			Labels:          s.labels(),
			Annotations:     annotations,
			Finalizers:      t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{s.config.Controller.Reference(job)},
		},
		Spec: t.Spec,
	}}
}

// labels returns the labels of the template, with those that the API server adds to the
// template of a Job without a selector.
func (s *state) labels() map[string]string {
	all := map[string]string{}
	if s.Job.Spec.Selector == nil {
		maps.Copy(all, s.config.Controller.Keys.Labels(s.Job))
	}
	maps.Copy(all, s.Job.Spec.Template.Labels)
	return all
}

// creation returns the Creation of the pod of an index. With a backoff limit per index, the
// annotations of the pod carry the failures of the index so far, that of the replaced pod included.
func (b *blueprint) creation(index int32, replaces *census.Record) Creation {
	c := Creation{Index: index, from: b}
	if replaces != nil {
		c.Replaces = replaces.Pod
		counts := replaces.Counts.Next(!replaces.Ignored())
		c.Failures, c.Ignored = counts.Failures, counts.Ignored
	}
	return c
}

// Pod returns the complete object to create, with a generateName. Each call returns a
// new object, which the caller may change.
//
// It cuts a long name of an Indexed Job itself, so that the API server does not cut off the
// index. A pod without an index is named after the Job alone if the API server would reject
// its name with a dash.
func (c Creation) Pod() *corev1.Pod {
	b := c.from
	if b == nil {
		return nil
	}
	pod := b.pod.DeepCopy()
	if c.Index == tracking.NoIndex {
		pod.GenerateName = b.job + "-"
		if len(apivalidation.NameIsDNSSubdomain(pod.GenerateName, true)) > 0 {
			pod.GenerateName = b.job
		}
		return pod
	}
	text := strconv.Itoa(int(c.Index))
	suffix := "-" + text + "-"
	pod.GenerateName = b.job[:min(len(b.job), longestPrefix-len(suffix))] + suffix
	pod.Annotations[b.keys.Index] = text
	pod.Labels[b.keys.Index] = text
	pod.Spec.Hostname = b.job + "-" + text
	if b.perIndex {
		maps.Copy(pod.Annotations, classify.Counts{Failures: c.Failures, Ignored: c.Ignored}.Annotations(b.keys))
	}
	return pod
}

func addIndexVariable(out *corev1.Container, keys *tracking.Keys) {
	if slices.ContainsFunc(out.Env, func(v corev1.EnvVar) bool { return v.Name == keys.IndexVariable }) {
		return
	}
	out.Env = append(slices.Clip(out.Env), corev1.EnvVar{
		Name: keys.IndexVariable,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.labels['" + keys.Index + "']",
		}},
	})
}
