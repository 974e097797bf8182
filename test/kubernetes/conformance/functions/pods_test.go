package functions

import (
	"fmt"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/machine/route"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

// jobfate and the Job controller read the same completion index, up to the largest one of an API object.
func TestIndexOf(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		mark := d.number(pick(d, d.Int64N(20), math.MaxInt32-1+d.Int64N(4), d.Int64()))
		switch d.IntN(6) {
		case 0:
			mark = pick(d, "", "x", " 1", "1.0", "1e3", "0x1", "1_0", "9223372036854775808")
		case 1:
			mark = "-" + mark
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: mark}}}
		want := min(real.CompletionIndex(p.Annotations), math.MaxInt32)
		if got := builtin.IndexOf(p); int(got) != want {
			t.Errorf("%q: jobfate %d, Kubernetes %d", mark, got, want)
		}
		reached(fmt.Sprintf("an index: %t", want >= 0))
	})
}

// orphan draws a pod that may be an orphan, and a Job that may control or select it.
func (d draw) orphan() (p *corev1.Pod, job *batchv1.Job) {
	labels := map[string]string{batchv1.ControllerUidLabel: "uid"}
	job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid"}}
	job.Spec.Selector, job.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	p = d.pod("pod")
	p.UID, p.Labels, p.Finalizers = "uid-pod", labels, []string{batchv1.JobTrackingFinalizer}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	switch d.IntN(8) {
	case 0:
		p.OwnerReferences = nil
	case 1:
		p.OwnerReferences[0].Kind = "ReplicaSet"
	case 2:
		p.OwnerReferences[0].APIVersion = pick(d, "batch/v2", "example.com/v1")
	case 3:
		p.OwnerReferences[0].Controller = nil
	case 4:
		p.OwnerReferences[0].UID = "other"
	}
	if d.percent(15) {
		p.Finalizers = pick(d, nil, []string{"example.com/other"})
	}
	if d.percent(25) {
		job.Spec.ManagedBy = new(pick(d, batchv1.JobControllerName, "example.com/other"))
	}
	for range d.IntN(3) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type:   pick(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget),
			Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
		})
	}
	return p, job
}

// jobfate and the Job controller remove the finalizer from the same orphans.
func TestOrphans(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		p, job := d.orphan()
		if d.percent(25) {
			job = nil // it is gone
		}
		got, want := tracking.Controller{}.Frees(p, job), real.StripsOrphan(p, job)
		if got != want {
			t.Errorf("jobfate %t, Kubernetes %t\npod %s\njob %s", got, want, text(p), text(job))
		}
		reached(fmt.Sprintf("freed: %t, Job: %t", want, job != nil))
	})
}

// A pod whose Job the controller does not manage, or that only such a Job selects, is freed as in Kubernetes.
func TestOrphansIn_besideAnotherController(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		p, job := d.orphan()
		job.Spec.ManagedBy = new("example.com/other")
		got, want := len(route.OrphansIn([]*corev1.Pod{p}, []*batchv1.Job{job})) > 0, real.StripsOrphan(p, job)
		if got != want {
			t.Errorf("jobfate %t, Kubernetes %t\npod %s\njob %s", got, want, text(p), text(job))
		}
		reached(fmt.Sprintf("freed: %t, controller: %t", want, metav1.GetControllerOf(p) != nil))
	})
}
