package functions

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/vectors"
)

var aboutPods = []subject{{
	name: "orphan", oracle: "handleSingleOrphanPod",
	draw: func(d draw) any {
		job, p := d.job(false), &corev1.Pod{}
		own(job, p, 0)
		job.Spec = batchv1.JobSpec{Selector: job.Spec.Selector}
		p.Namespace = "ns"
		return d.orphan(p, job)
	},
	kubernetes: asks(func(in vectors.Orphan, out *vectors.Frees) { out.Frees = real.StripsOrphan(in.Pod, in.Job) }),
}, {
	name: "route", aimed: changesOfPods(),
}, {
	name: "podIndex", oracle: "getCompletionIndex", aimed: indexMarks(),
	kubernetes: asks(func(in vectors.Marks, out *vectors.Index) {
		out.Index = nil
		if index := real.CompletionIndex(in.Annotations); index >= 0 {
			out.Index = new(int32(min(index, math.MaxInt32)))
		}
	}),
}, {
	name: "checkKeys", aimed: ownKeys(),
}}

// indexMarks returns completion indexes in annotations and labels.
func indexMarks() (all []any) {
	const key = batchv1.JobCompletionIndexAnnotation
	all = append(all, vectors.Marks{}, vectors.Marks{Labels: map[string]string{key: "0"}}, vectors.Marks{Labels: map[string]string{key: "x"}})
	for _, text := range numerals {
		annotated := map[string]string{key: text}
		all = append(all, vectors.Marks{Annotations: annotated}, vectors.Marks{Annotations: annotated, Labels: annotated},
			vectors.Marks{Annotations: annotated, Labels: map[string]string{key: "7"}}, vectors.Marks{Annotations: annotated, Labels: map[string]string{"other": "7"}})
	}
	return all
}

// ownKeys returns names that are valid, and names that are almost valid.
func ownKeys() (all []any) {
	const a, b = "example.com/a", "example.com/b"
	for _, k := range []vectors.OwnKeys{
		{}, {Finalizer: a}, {Finalizer: "a"}, {Finalizer: "a b/c"}, {Index: a}, {Index: "a"}, {Index: "-"}, {IndexVariable: "INDEX"}, {IndexVariable: "1"}, {IndexVariable: "="},
		{FailureCount: a}, {FailureCount: "/"}, {IgnoredFailureCount: a}, {IgnoredFailureCount: "a/b/c"}, {ControllerUID: a}, {ControllerUID: "é"}, {JobName: a}, {JobName: "-a"},
		{FailureCount: a, IgnoredFailureCount: a}, {Index: a, FailureCount: a}, {Index: a, IgnoredFailureCount: a}, {Index: a, ControllerUID: a}, {Index: a, JobName: a},
		{ControllerUID: a, JobName: a}, {FailureCount: a, JobName: a}, {Finalizer: a, Index: a}, {Index: "controller-uid"}, {Index: "job-name"},
		{ControllerUID: "job-name"}, {JobName: "controller-uid"}, {ControllerUID: "controller-uid"}, {JobName: "job-name"},
		{ControllerUID: "job-name", JobName: b}, {ControllerUID: a, JobName: "controller-uid"}, {FailureCount: "controller-uid"},
		{FailureCount: batchv1.JobCompletionIndexAnnotation}, {IgnoredFailureCount: batchv1.JobIndexFailureCountAnnotation}, {JobName: batchv1.ControllerUidLabel},
		{Finalizer: a, Index: b, IndexVariable: "I", FailureCount: "example.com/c", IgnoredFailureCount: "example.com/d", ControllerUID: "example.com/e", JobName: "example.com/f"},
	} {
		all = append(all, k)
	}
	return all
}

// changesOfPods returns changes between all kinds of pods that may concern a Job.
func changesOfPods() (all []any) {
	job := func(name string, labels map[string]string) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		if labels != nil {
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		return j
	}
	elsewhere := job("elsewhere", map[string]string{"x": "1"})
	elsewhere.Namespace = "other"
	invalid := job("invalid", map[string]string{"/": "/"})
	jobs := []*batchv1.Job{job("x", map[string]string{"x": "1"}), job("y", map[string]string{"y": "1"}), elsewhere, job("none", nil), invalid}
	pods := []*corev1.Pod{nil}
	for _, finalizers := range [][]string{nil, {batchv1.JobTrackingFinalizer}} {
		for _, labels := range []map[string]string{{"x": "1"}, {"x": "1", "y": "1"}, {"z": "1"}} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "pod", Labels: labels, Finalizers: finalizers}}
			pods = append(pods, pod)
		}
		for _, owner := range []metav1.OwnerReference{
			*metav1.NewControllerRef(jobs[0], batchv1.SchemeGroupVersion.WithKind("Job")),
			*metav1.NewControllerRef(job("gone", nil), batchv1.SchemeGroupVersion.WithKind("Job")),
			*metav1.NewControllerRef(jobs[1], corev1.SchemeGroupVersion.WithKind("ReplicationController")),
		} {
			pod := pods[len(pods)-1].DeepCopy()
			pod.OwnerReferences = []metav1.OwnerReference{owner}
			pods = append(pods, pod)
		}
	}
	for _, before := range pods {
		for _, after := range pods {
			all = append(all, vectors.Change{Before: before, After: after, Jobs: jobs})
		}
	}
	return all
}
