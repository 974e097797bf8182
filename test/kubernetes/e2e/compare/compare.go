// Package compare lists the differences between the final states of two runs of the same Job: its
// status and its pods.
//
// It ignores differences that exist between any two runs:
//
//   - UIDs, resource versions, generations, names, namespaces and managed fields, which the
//     server assigns. The random parts of pod and namespace names in texts are replaced.
//   - Times: only whether a time is set is compared.
//   - The order of pods.
//   - The statuses of pods, except for phase, reason, exit codes and DisruptionTarget,
//     because the kubelet writes them.
//   - spec.managedBy, by which the two controllers are distinguished.
//
// Everything else must be equal, including labels, annotations, finalizers, owner
// references, the whole spec of each pod, and the order and messages of the conditions.
package compare

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/stories/script"
)

// moment replaces every time.
var moment = metav1.Unix(0, 0)

// final is the compared part of a run.
type final struct {
	Labels, Annotations map[string]string
	Finalizers          []string
	BeingDeleted        bool
	Status              batchv1.JobStatus
	Pods                []pod
}

// pod is the compared part of a pod.
type pod struct {
	Index       int
	Meta        metav1.ObjectMeta
	Spec        corev1.PodSpec
	Phase       corev1.PodPhase
	Reason      string
	Exits       map[string]int32
	Disruptions []corev1.PodCondition
}

// Ends returns the differences between the final states of two runs. It is empty if they are equal.
func Ends(a, b script.State) string {
	return gocmp.Diff(finalOf(a), finalOf(b))
}

// finalOf returns nil if the Job is gone. The pods are not compared then, because they may still be
// terminating.
func finalOf(s script.State) *final {
	if s.Job == nil {
		return nil
	}
	name := regexp.QuoteMeta(s.Job.Name)
	t := texts{s.Job.Namespace, regexp.MustCompile(`\b(` + name + `(?:-[0-9]+)?)-[a-z0-9]{5}\b`)}
	f := &final{
		Labels:       without(s.Job.Labels),
		Annotations:  s.Job.Annotations,
		Finalizers:   s.Job.Finalizers,
		BeingDeleted: s.Job.DeletionTimestamp != nil,
		Status:       statusOf(s.Job, t),
	}
	for _, p := range s.Pods() {
		f.Pods = append(f.Pods, podOf(p, t))
	}
	slices.SortStableFunc(f.Pods, func(a, b pod) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(podtest.ToJSON(a), podtest.ToJSON(b)))
	})
	return f
}

// texts replaces the random parts of texts: the namespace, and those of the names of all pods of a Job, including
// deleted ones. A name consists of the name of the Job, the index if there is one, and five letters or digits.
type texts struct {
	namespace string
	pods      *regexp.Regexp
}

func (t texts) plain(s string) string {
	return t.pods.ReplaceAllString(strings.ReplaceAll(s, t.namespace, "NAMESPACE"), "$1-XXXXX")
}

func statusOf(job *batchv1.Job, t texts) batchv1.JobStatus {
	status := *job.Status.DeepCopy()
	for _, t := range []**metav1.Time{&status.StartTime, &status.CompletionTime} {
		if *t != nil {
			*t = &moment
		}
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastProbeTime, c.LastTransitionTime = moment, moment
		c.Message = t.plain(c.Message)
	}
	if u := status.UncountedTerminatedPods; u != nil {
		for i := range u.Succeeded {
			u.Succeeded[i] = "POD-UID"
		}
		for i := range u.Failed {
			u.Failed[i] = "POD-UID"
		}
	}
	return status
}

func podOf(p *corev1.Pod, t texts) pod {
	c := pod{
		Index: script.Index(p), Spec: *p.Spec.DeepCopy(), Phase: p.Status.Phase, Reason: p.Status.Reason,
		Exits: map[string]int32{},
		Meta: metav1.ObjectMeta{
			GenerateName: p.GenerateName, Labels: without(p.Labels), Annotations: p.Annotations,
			Finalizers: p.Finalizers,
		},
	}
	if p.DeletionTimestamp != nil {
		c.Meta.DeletionTimestamp = &moment
	}
	for _, owner := range p.OwnerReferences {
		owner.UID = "JOB-UID"
		c.Meta.OwnerReferences = append(c.Meta.OwnerReferences, owner)
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Terminated != nil {
			c.Exits[s.Name] = s.State.Terminated.ExitCode
		}
	}
	for _, d := range p.Status.Conditions {
		if d.Type == corev1.DisruptionTarget {
			d.LastProbeTime, d.LastTransitionTime = moment, moment
			d.Message = t.plain(d.Message)
			c.Disruptions = append(c.Disruptions, d)
		}
	}
	return c
}

// without replaces the labels that hold the Job's UID, so that only their presence counts.
func without(labels map[string]string) map[string]string {
	labels = maps.Clone(labels)
	for _, key := range []string{batchv1.ControllerUidLabel, "controller-uid"} {
		if _, has := labels[key]; has {
			labels[key] = "JOB-UID"
		}
	}
	return labels
}
