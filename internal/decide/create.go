package decide

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
)

// longestPrefix is the length to which the API server cuts generateName before it appends
// five random characters.
const longestPrefix = 63 - 5

// Creation is a pod to create.
type Creation struct {
	// Index is the completion index, or keys.NoIndex.
	Index int32
	// Replaces is the failed pod whose failure counts the new pod takes over; nil
	// when there is none.
	Replaces *corev1.Pod

	counts keys.Counts // the failures of the index so far
	from   *blueprint
}

// blueprint is what the new pods of a Job have in common. It shares no memory with the
// Job, so pods can be made from it at any later time.
type blueprint struct {
	job      string // its name
	indexed  bool
	perIndex bool
	keys     keys.Keys
	pod      corev1.Pod
}

// blueprint copies the template, and adds the finalizer, the owner reference and the
// index variable.
func (v *View) blueprint() *blueprint {
	job, names := v.Job, v.Keys()
	t := job.Spec.Template.DeepCopy()
	if !slices.Contains(t.Finalizers, names.Finalizer) {
		t.Finalizers = append(t.Finalizers, names.Finalizer)
	}
	if job.Spec.Selector == nil {
		t.Labels = v.withGeneratedLabels(t.Labels)
	}
	if v.Spec.Indexed {
		for i := range t.Spec.InitContainers {
			addIndexVariable(&t.Spec.InitContainers[i], names)
		}
		for i := range t.Spec.Containers {
			addIndexVariable(&t.Spec.Containers[i], names)
		}
	}
	return &blueprint{job: job.Name, indexed: v.Spec.Indexed, perIndex: v.Spec.PerIndex, keys: names, pod: corev1.Pod{
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

// creation returns the Creation of the pod of an index. With a backoff limit per index, the
// pod takes over the failure counts of the pod that it replaces, and its annotations carry
// the failures of the index so far.
func (b *blueprint) creation(index int32, replaces *census.Record) Creation {
	c := Creation{Index: index, from: b}
	if replaces != nil {
		c.Replaces = replaces.Pod
		c.counts = replaces.Counts.Next(!replaces.Ignored)
	}
	return c
}

// Pod returns the complete object to create, with a generateName.
func (c Creation) Pod() (made *corev1.Pod) {
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
	pod.Annotations[b.keys.Index] = text
	pod.Labels[b.keys.Index] = text
	pod.Spec.Hostname = b.job + "-" + text
	if b.perIndex {
		b.keys.PutCounts(pod.Annotations, c.counts)
	}
	return pod
}

func notNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// withGeneratedLabels adds the labels that the API server adds to the template of a Job
// without a selector. The names of Kubernetes are added without their prefix too.
func (v *View) withGeneratedLabels(labels map[string]string) map[string]string {
	uid, name := string(v.Job.UID), v.Job.Name
	own, names := v.Config.Controller.Keys, v.Keys()
	all := map[string]string{names.ControllerUID: uid, names.JobName: name}
	if own.ControllerUID == "" {
		all[keys.LegacyControllerUID] = uid
	}
	if own.JobName == "" {
		all[keys.LegacyJobName] = name
	}
	maps.Copy(all, labels)
	return all
}

func addIndexVariable(out *corev1.Container, names keys.Keys) {
	for i := range out.Env {
		if out.Env[i].Name == names.IndexVariable {
			return
		}
	}
	out.Env = append(slices.Clip(out.Env), corev1.EnvVar{
		Name: names.IndexVariable,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.labels['" + names.Index + "']",
		}},
	})
}

// namePrefix returns the Job's name and a dash, or the name alone if the API server would
// reject the name with the dash.
func namePrefix(job string) string {
	prefix := job + "-"
	if len(apivalidation.NameIsDNSSubdomain(prefix, true)) > 0 {
		return job
	}
	return prefix
}

// indexedNamePrefix returns the Job's name, a dash, the index and a dash. It cuts a long
// name itself, so that the API server does not cut off the index.
func indexedNamePrefix(job, index string) string {
	suffix := "-" + index + "-"
	if keep := longestPrefix - len(suffix); len(job) > keep {
		job = job[:keep]
	}
	return job + suffix
}
