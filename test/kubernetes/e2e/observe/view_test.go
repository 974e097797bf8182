package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/jobfate/jobfate/test/stories/script"
)

// failing is a test that a view may fail.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// fails returns the message of a failing test.
func fails(t *testing.T, test func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	func() {
		defer func() { recover() }()
		test(f)
	}()
	if f.said == "" {
		t.Error("the view does not fail the test")
	}
	return f.said
}

func newJob(active, failed int32) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"},
		Status: batchv1.JobStatus{Active: active, Failed: failed}}
}

func watched(t *testing.T, jobs ...*batchv1.Job) (*script.World, *Feed) {
	w, v := Watch(t.Context(), t, fake.NewClientset(), "ns", "job")
	for _, job := range jobs {
		v.add(job, false)
	}
	return w, v
}

// A past state can still be awaited, and the next wait continues from it.
func TestNoStateIsMissed(t *testing.T) {
	w, _ := watched(t, newJob(0, 0), newJob(0, 1), newJob(0, 2), newJob(0, 3))
	for want, state := range []string{"", "failed=1", "failed=2", "failed=3"} {
		if got := w.Until(state).Job.Status.Failed; int(got) != want {
			t.Errorf("got %d failures, want %d", got, want)
		}
	}
}

func TestChangesComeFromTheServer(t *testing.T) {
	client := fake.NewClientset(newJob(0, 0))
	w, _ := Watch(t.Context(), t, client, "ns", "job")
	w.Until("")
	if _, err := client.BatchV1().Jobs("ns").UpdateStatus(t.Context(), newJob(0, 1), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Until("failed=1")
	if err := client.BatchV1().Jobs("ns").Delete(t.Context(), "job", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.When("the Job is gone", func(s script.State) bool { return s.Job == nil })
}

func TestTimeoutPrintsTheChanges(t *testing.T) {
	w, v := watched(t, newJob(0, 0), newJob(0, 1))
	v.Patience = 50 * time.Millisecond
	said := fails(t, func(t testing.TB) { w.T = t; w.Until("failed=7") })
	for _, want := range []string{"failed=7 and nothing else", "job: failed=1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the story must contain %q:\n%s", want, said)
		}
	}
}

// A count that decreases only for a moment is detected.
func TestInvariantsHoldInEveryState(t *testing.T) {
	w, _ := watched(t, newJob(0, 2), newJob(0, 1), newJob(0, 3))
	most := int32(0)
	w.Always("never decreases", func(s script.State) bool {
		most = max(most, s.Job.Status.Failed)
		return s.Job.Status.Failed == most
	})
	said := fails(t, func(t testing.TB) { w.T = t; w.Until("failed=3") })
	if !strings.Contains(said, "never decreases") || !strings.Contains(said, "job: failed=1") {
		t.Errorf("the wrong invariant, or story: %s", said)
	}
}

// A status with an active pod matches only when the pod exists.
func TestUntilChecksThePods(t *testing.T) {
	job := newJob(1, 0)
	w, v := watched(t, job)
	v.Patience = 50 * time.Millisecond
	fails(t, func(t testing.TB) { w.T = t; w.Until("active=1") })
	w.T = t
	v.add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}}}, false)
	w.Until("active=1")
}

func TestAgree(t *testing.T) {
	first, a := watched(t, newJob(0, 1), newJob(0, 2))
	second, b := watched(t, newJob(0, 2))
	difference := func() string {
		if a, b := first.State().Job, second.State().Job; a != nil && b != nil && a.Status.Failed == b.Status.Failed {
			return ""
		}
		return "the counts differ"
	}
	Agree(t, a, b, difference)

	a.add(newJob(0, 3), false)
	a.Patience = 50 * time.Millisecond
	if said := fails(t, func(t testing.TB) { Agree(t, a, b, difference) }); !strings.Contains(said, "the counts differ") {
		t.Errorf("the message does not contain the difference: %s", said)
	}
}
