package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
)

// bare returns a Job as a user writes it.
func bare() *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "image"}},
	}
	return job
}

func create(t testing.TB, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	stored, errs := apiserver.Create(job)
	if len(errs) > 0 {
		t.Fatalf("refused: %v", errs)
	}
	return stored
}

func TestDefault(t *testing.T) {
	job := bare()
	got := apiserver.Default(job)
	if *got.Spec.BackoffLimit != 6 || *got.Spec.Parallelism != 1 || *got.Spec.PodReplacementPolicy != batchv1.TerminatingOrFailed {
		t.Errorf("got spec %+v, want the defaults", got.Spec)
	}
	if job.Spec.BackoffLimit != nil {
		t.Error("Default changes its argument")
	}
}

func TestCreate(t *testing.T) {
	job := bare()
	job.Status.Active = 3
	stored := create(t, job)
	if stored.Status.Active != 0 {
		t.Error("the creation stores the status that the client sent")
	}
	if got := stored.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; got != "uid" {
		t.Errorf("the selector names %q, want the UID", got)
	}

	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	if _, errs := apiserver.Create(job); len(errs) == 0 {
		t.Error("restartPolicy Always is accepted")
	}
}

func TestUpdate(t *testing.T) {
	old := create(t, bare())
	old.Status.Active = 1
	job := old.DeepCopy()
	job.Spec.Parallelism = new(int32(5))
	job.Status.Active = 2
	stored, errs := apiserver.Update(old, job)
	if len(errs) > 0 {
		t.Fatalf("a new parallelism is rejected: %v", errs)
	}
	if *stored.Spec.Parallelism != 5 || stored.Generation != old.Generation+1 || stored.Status.Active != 1 {
		t.Errorf("got parallelism %d, generation %d, active %d; want 5, %d, 1",
			*stored.Spec.Parallelism, stored.Generation, stored.Status.Active, old.Generation+1)
	}

	job.Spec.Completions = new(int32(5))
	if _, errs := apiserver.Update(old, job); !strings.Contains(fmt.Sprint(errs), "spec.completions") {
		t.Errorf("another number of completions: got errors %v", errs)
	}
}

func TestUpdateStatus(t *testing.T) {
	noon := time.Date(2024, 1, 1, 12, 0, 0, 987, time.FixedZone("elsewhere", 3600))
	old := create(t, bare())
	job := old.DeepCopy()
	job.Status = batchv1.JobStatus{
		StartTime:               &metav1.Time{Time: noon},
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{}},
	}
	job.Spec.Parallelism = new(int32(5))
	stored, errs := apiserver.UpdateStatus(old, job)
	if len(errs) > 0 {
		t.Fatalf("refused: %v", errs)
	}
	if *stored.Spec.Parallelism != 1 {
		t.Error("an update of the status changes the spec")
	}
	if !stored.Status.StartTime.Equal(&metav1.Time{Time: noon.Truncate(time.Second)}) {
		t.Errorf("got start %v, want %v without its fraction", stored.Status.StartTime, noon)
	}
	if stored.Status.UncountedTerminatedPods.Failed != nil {
		t.Error("an empty list survives JSON")
	}
	// The same moment in another representation is not a change.
	if errs := apiserver.AcceptStatus(job, stored); len(errs) > 0 {
		t.Errorf("the stored status is rejected: %v", errs)
	}
}

func TestAcceptStatus(t *testing.T) {
	tests := []struct {
		name   string
		change func(*batchv1.JobStatus)
		want   string
	}{
		{"nothing", func(*batchv1.JobStatus) {}, ""},
		{"more ready than active", func(s *batchv1.JobStatus) { s.Ready = new(int32(1)) }, "status.ready: Invalid value: 1: cannot set more ready pods than active"},
		{"a failed Job without FailureTarget", func(s *batchv1.JobStatus) {
			s.StartTime = &metav1.Time{Time: time.Unix(0, 0)}
			s.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}, "cannot set Failed=True condition without the FailureTarget=true condition"},
		{"a time that has no JSON", func(s *batchv1.JobStatus) {
			s.StartTime = &metav1.Time{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
		}, "Internal error"},
	}
	for _, tt := range tests {
		old := create(t, bare())
		job := old.DeepCopy()
		tt.change(&job.Status)
		errs := apiserver.AcceptStatus(old, job)
		if got := fmt.Sprint(errs.ToAggregate()); tt.want == "" && len(errs) > 0 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %q", tt.name, got, tt.want)
		}
	}
	bad := bare()
	bad.CreationTimestamp.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	internal := func(errs field.ErrorList) bool { return len(errs) == 1 && errs[0].Type == field.ErrorTypeInternal }
	if _, errs := apiserver.Create(bad); !internal(errs) {
		t.Errorf("Create of a Job that cannot be encoded as JSON: got %v, want an internal error", errs)
	}
	if _, errs := apiserver.Update(create(t, bare()), bad); !internal(errs) {
		t.Errorf("Update to a Job that cannot be encoded as JSON: got %v, want an internal error", errs)
	}
	if _, errs := apiserver.Update(bad, bare()); !internal(errs) {
		t.Errorf("Update of a Job that cannot be encoded as JSON: got %v, want an internal error", errs)
	}
}
