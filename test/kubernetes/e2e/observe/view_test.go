package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
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

// watched returns a world that observes some versions of a Job.
func watched(t testing.TB, statuses ...batchv1.JobStatus) (*script.World, *Feed) {
	w, feed := Watch(t.Context(), t, fake.NewClientset(), "ns", "job")
	feed.Patience = 50 * time.Millisecond
	for _, status := range statuses {
		feed.add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}, Status: status}, false)
	}
	return w, feed
}

// What a view finds fails the test.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		run  func(testing.TB)
		want string
	}{
		"an invariant that is violated for a moment": {func(t testing.TB) {
			w, _ := watched(t, batchv1.JobStatus{Failed: 2}, batchv1.JobStatus{Failed: 1}, batchv1.JobStatus{Failed: 3})
			most := int32(0)
			w.Always("never decreases", func(s script.State) bool {
				most = max(most, s.Job.Status.Failed)
				return s.Job.Status.Failed == most
			})
			w.Until("failed=3")
		}, "never decreases\nthe status is failed=1"},
		"a status with an active pod that does not exist": {func(t testing.TB) {
			w, _ := watched(t, batchv1.JobStatus{Active: 1})
			w.Until("active=1")
		}, "active=1 and nothing else\nthe status is active=1 and 0 active pods"},
		"a difference that remains": {func(t testing.TB) {
			_, a := watched(t)
			_, b := watched(t)
			Agree(t, a, b, func() string { return "the counts differ" })
		}, "the counts differ"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failing{TB: t}
			func() {
				defer func() { recover() }()
				test.run(f)
			}()
			if !strings.Contains(f.said, test.want) {
				t.Errorf("the test fails with %q, want %q", f.said, test.want)
			}
		})
	}
}
