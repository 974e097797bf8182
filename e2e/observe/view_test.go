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

func view(t *testing.T, jobs ...*batchv1.Job) *View {
	v := Watch(t.Context(), fake.NewClientset(), "ns", "job")
	for _, job := range jobs {
		v.feed.add(job, false)
	}
	return v
}

// A past state can still be awaited, and the next wait continues from it.
func TestNoStateIsMissed(t *testing.T) {
	v := view(t, newJob(0, 0), newJob(0, 1), newJob(0, 2), newJob(0, 3))
	for want, state := range []string{"", "failed=1", "failed=2", "failed=3"} {
		if got := v.Until(t, state).Job.Status.Failed; int(got) != want {
			t.Errorf("got %d failures, want %d", got, want)
		}
	}
}

func TestChangesComeFromTheServer(t *testing.T) {
	client := fake.NewClientset(newJob(0, 0))
	v := Watch(t.Context(), client, "ns", "job")
	v.Until(t, "")
	if _, err := client.BatchV1().Jobs("ns").UpdateStatus(t.Context(), newJob(0, 1), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	v.Until(t, "failed=1")
	if err := client.BatchV1().Jobs("ns").Delete(t.Context(), "job", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	v.When(t, "the Job is gone", func(s State) bool { return s.Job == nil })
}

func TestTimeoutPrintsTheChanges(t *testing.T) {
	v := view(t, newJob(0, 0), newJob(0, 1))
	v.Patience(50 * time.Millisecond)
	said := fails(t, func(t testing.TB) { v.Until(t, "failed=7") })
	for _, want := range []string{"failed=7 and nothing else", "job: failed=1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the story must contain %q:\n%s", want, said)
		}
	}
}

// A count that decreases only for a moment is detected.
func TestInvariantsHoldInEveryState(t *testing.T) {
	v := view(t, newJob(0, 2), newJob(0, 1), newJob(0, 3))
	v.Basics()
	said := fails(t, func(t testing.TB) { v.Until(t, "failed=3") })
	if !strings.Contains(said, "never decreases") {
		t.Errorf("the wrong invariant: %s", said)
	}
}

// A status with an active pod matches only when the pod exists.
func TestWantChecksThePods(t *testing.T) {
	job := newJob(1, 0)
	s := State{Job: job, All: map[string]*corev1.Pod{}}
	if s.is("active=1") {
		t.Error("a status without its pod matches")
	}
	s.All["pod"] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}}}
	if !s.is("active=1") {
		t.Error("a status with its pod does not match")
	}
}

func TestAgree(t *testing.T) {
	difference := func(a, b State) string {
		if a.Job != nil && b.Job != nil && a.Job.Status.Failed == b.Job.Status.Failed {
			return ""
		}
		return "the counts differ"
	}
	Agree(t, view(t, newJob(0, 1), newJob(0, 2)), view(t, newJob(0, 2)), difference)

	a, b := view(t, newJob(0, 1)), view(t, newJob(0, 2))
	a.Patience(50 * time.Millisecond)
	if said := fails(t, func(t testing.TB) { Agree(t, a, b, difference) }); !strings.Contains(said, "the counts differ") {
		t.Errorf("the message does not contain the difference: %s", said)
	}
}
