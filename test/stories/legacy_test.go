package stories

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
)

// "Starting in 1.27, the job controller will ignore the annotation … and will
// start tracking every Job with finalizers." (KEP-2307 § Jobs with legacy
// tracking)
func TestLegacyAnnotationIsIgnored(t *testing.T) {
	decide := func(annotations map[string]string) string {
		job := specJob(t, "completions: 3\nparallelism: 2")
		job.Annotations = annotations
		finished, counted := podIn(job, 1, corev1.PodSucceeded), podIn(job, 2, corev1.PodFailed)
		counted.Finalizers = nil
		d := mustDecide(t, decide.Snapshot{Job: job, Pods: []*corev1.Pod{finished, counted}, Now: job.CreationTimestamp.Time})
		return toJSON([]any{d.Delete, d.Create, d.Status, d.Strip, d.Requeue})
	}
	want := decide(nil)
	for _, name := range []string{batchv1.JobTrackingFinalizer, "batch.kubernetes.io/job-completion"} {
		if diff := cmp.Diff(want, decide(map[string]string{name: ""})); diff != "" {
			t.Errorf("with the annotation %s:\n%s", name, diff)
		}
	}
}

// "This means that terminated pods without finalizers will be ignored and
// replacement pods might be created (with finalizers)." (KEP-2307 § Jobs with
// legacy tracking)
func TestLegacyPodsAreIgnored(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	legacy := podIn(job, 1, corev1.PodSucceeded)
	legacy.Finalizers = nil
	d := mustDecide(t, decide.Snapshot{Job: job, Pods: []*corev1.Pod{legacy}, Now: job.CreationTimestamp.Time})
	if d.Status.Succeeded != 0 || len(d.Strip) != 0 || len(d.Create) != 1 {
		t.Fatalf("succeeded %d, %d to strip, %d to create; want 0, 0, 1", d.Status.Succeeded, len(d.Strip), len(d.Create))
	}
	if got := d.Create[0].Pod().Finalizers; !cmp.Equal(got, []string{batchv1.JobTrackingFinalizer}) {
		t.Errorf("the replacement has the finalizers %v", got)
	}
}
