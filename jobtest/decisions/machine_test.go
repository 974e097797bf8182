package decisions

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/machine"
)

// fresh returns a view whose caches are up to date.
func fresh(job *batchv1.Job, pods ...*corev1.Pod) machine.View {
	return machine.View{Job: job, Pods: pods, Now: job.CreationTimestamp.Time, JobsVersion: "1", PodsVersion: "1", Barrier: "1"}
}

// Pods of a finished Job without an owner, or that the Job does not select, lose their
// finalizer. They are neither adopted nor released.
func TestMachine_freesAfterTheEnd(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1\nparallelism: 1")
	orphan, odd := decidetest.PodIn(job, 1, corev1.PodFailed), decidetest.PodIn(job, 2, corev1.PodRunning)
	orphan.OwnerReferences = nil
	odd.Labels = map[string]string{"other": "label"}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	want, got := map[string]string{}, map[string]string{}
	for _, pod := range []*corev1.Pod{orphan, odd} {
		want[pod.Name] = fmt.Sprintf(`patch pod {"metadata":{"uid":%q,"resourceVersion":"1","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`, pod.UID)
	}
	m := machine.New()
	NoError(t, m.Begin(fresh(job, odd, orphan)))
	m.Run(func(r machine.Request) (runtime.Object, error) {
		got[r.Name] += fmt.Sprintf("%s %s", r.Verb, r.Patch)
		return nil, nil
	})
	Same(t, "the requests", got, want)
}

// Begin names the field of a Job that a Machine cannot work with. A Job without a resource version
// is one only if the caches have versions: the Machine would wait forever to observe its first
// status write.
func TestMachine_beginNamesTheField(t *testing.T) {
	version := []string{"metadata.resourceVersion"}
	for name, test := range map[string]struct {
		change func(*machine.View)
		want   []string // the field; none for no error
	}{
		"no version of the Job":                    {func(v *machine.View) { v.Job.ResourceVersion = "" }, version},
		"no barrier either":                        {func(v *machine.View) { v.Job.ResourceVersion, v.Barrier = "", "" }, version},
		"a version of the status":                  {func(v *machine.View) { v.Job.ResourceVersion, v.StatusVersion = "", "7" }, nil},
		"no versions of the caches: it reads live": {func(v *machine.View) { v.Job.ResourceVersion, v.JobsVersion, v.PodsVersion = "", "", "" }, nil},
	} {
		v := fresh(decidetest.SpecJob(t, "completions: 1").DeepCopy())
		test.change(&v)
		err := machine.New().Begin(v)
		if !slices.Equal(fieldsOf(err), test.want) || (err != nil) != (test.want != nil) {
			t.Errorf("%s: got %v, want an error about %q", name, err, test.want)
		}
	}
	view := fresh(decidetest.SpecJob(t, "completions: 1").DeepCopy())
	view.Job.ResourceVersion, view.Job.Spec.ManagedBy = "", new("example.com/other")
	if err := machine.New().Begin(view); !errors.Is(err, decide.ErrNotManaged) {
		t.Errorf("a Job of another controller: got %v, want %v", err, decide.ErrNotManaged)
	}
}
