package inflight_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/inflight"
)

var noon = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func jobAt(version string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job", ResourceVersion: version}}
}

func pod(uid types.UID, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Finalizers: []string{batchv1.JobTrackingFinalizer}}}
	if change != nil {
		change(pod)
	}
	return pod
}

func deleted(p *corev1.Pod)  { p.DeletionTimestamp = &metav1.Time{Time: noon} }
func stripped(p *corev1.Pod) { p.Finalizers = nil }

// Each write is forgotten when its effect shows, or when what shows is certain.
func TestMemory_forgetsWhatIsSeen(t *testing.T) {
	certain := func(types.UID) bool { return true }
	for _, test := range []struct {
		name    string
		write   func(*inflight.Memory)
		pods    []*corev1.Pod
		certain func(types.UID) bool
		want    jobfate.InFlight
	}{
		{"created, not seen", func(m *inflight.Memory) { m.Create("a") }, nil, nil, jobfate.InFlight{Creations: 1}},
		{"created, seen", func(m *inflight.Memory) { m.Create("a") }, []*corev1.Pod{pod("a", nil)}, nil, jobfate.InFlight{}},
		{"created, gone before it was seen", func(m *inflight.Memory) { m.Create("a") }, nil, certain, jobfate.InFlight{}},
		{"deleted, not seen", func(m *inflight.Memory) { m.Delete("a") }, []*corev1.Pod{pod("a", nil)}, nil, jobfate.InFlight{Deletions: 1}},
		{"deleted, it ends", func(m *inflight.Memory) { m.Delete("a") }, []*corev1.Pod{pod("a", deleted)}, nil, jobfate.InFlight{}},
		{"deleted, gone", func(m *inflight.Memory) { m.Delete("a") }, nil, nil, jobfate.InFlight{}},
		{"stripped, not seen", func(m *inflight.Memory) { m.Strip("a") }, []*corev1.Pod{pod("a", nil)}, nil, jobfate.InFlight{Stripped: []types.UID{"a"}}},
		{"stripped, seen", func(m *inflight.Memory) { m.Strip("a") }, []*corev1.Pod{pod("a", stripped)}, nil, jobfate.InFlight{}},
		{"stripped, gone", func(m *inflight.Memory) { m.Strip("a") }, []*corev1.Pod{nil}, nil, jobfate.InFlight{}},
		{"stripped, and put back by somebody", func(m *inflight.Memory) { m.Strip("a") }, []*corev1.Pod{pod("a", nil)}, certain, jobfate.InFlight{}},
		{"each pod once, in order", func(m *inflight.Memory) { m.Strip("b"); m.Strip("a"); m.Strip("b") },
			[]*corev1.Pod{pod("a", nil), pod("b", nil)}, nil, jobfate.InFlight{Stripped: []types.UID{"a", "b"}}},
	} {
		m := inflight.Memory{Job: "job"}
		test.write(&m)
		if !m.InFlight() {
			t.Errorf("%s: nothing is in flight", test.name)
		}
		test.want.Job = "job"
		got := m.Snapshot(inflight.View{Job: jobAt("1"), Pods: test.pods, Now: noon, Certain: test.certain}).InFlight
		if len(got.Stripped) == 0 {
			got.Stripped = nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if m.InFlight() != (got.Creations+got.Deletions+len(got.Stripped) > 0) {
			t.Errorf("%s: in flight: %v, after %+v", test.name, m.InFlight(), got)
		}
	}
}

// A status is in flight until the Job shows its version or a later one.
func TestMemory_status(t *testing.T) {
	for _, test := range []struct {
		stored, shown string
		inFlight      bool
	}{
		{"9", "8", true}, {"9", "9", false}, {"9", "10", false}, {"10", "9", true},
		{"99999999999999999999", "100000000000000000000", false}, // more than 64 bits
		// What is no number has no order: only the same is the one that was stored.
		{"b", "a", true}, {"a", "b", true}, {"b", "b", false}, {"9", "", true}, {"7", "a", true}, {"a", "7", true}, {"a", "77", true}, {"7-", "8-", true},
	} {
		var m inflight.Memory
		m.Snapshot(inflight.View{Job: jobAt("1"), Now: noon})
		m.Store(jobAt(test.stored), noon)
		s := m.Snapshot(inflight.View{Job: jobAt(test.shown), Now: noon})
		if s.InFlight.Status != test.inFlight || !s.LastStatus.Equal(noon) {
			t.Errorf("stored %q, shown %q: in flight %v, stored at %s", test.stored, test.shown, s.InFlight.Status, s.LastStatus)
		}
	}
}

// The record is in doubt until a status is stored, and after one without an answer.
func TestMemory_doubt(t *testing.T) {
	var m inflight.Memory
	look := func(job *batchv1.Job) jobfate.Snapshot { return m.Snapshot(inflight.View{Job: job, Now: noon}) }
	if s := look(jobAt("1")); !s.BackoffInDoubt {
		t.Error("a caller that has just started has no doubt")
	}
	m.Store(jobAt("2"), noon)
	m.Backoff = backoff.Record{Job: "job", Failures: 3, LastFailure: noon}
	if s := look(jobAt("2")); s.BackoffInDoubt || s.Backoff.Failures != 3 {
		t.Errorf("after a status: in doubt %v, %+v", s.BackoffInDoubt, s.Backoff)
	}
	m.Doubt()
	if s := look(jobAt("2")); !s.BackoffInDoubt || s.Backoff.Failures != 3 {
		t.Errorf("after a lost answer: in doubt %v, %+v", s.BackoffInDoubt, s.Backoff)
	}
}

// A Job of the same name made again inherits nothing; nor does one that was gone.
func TestMemory_anotherJob(t *testing.T) {
	full := inflight.Memory{Job: "job", Backoff: backoff.Record{Job: "job", Failures: 1}, Sure: true, Stored: "7",
		LastStatus: noon, Created: []types.UID{"a"}, Deleted: []types.UID{"b"}, Stripped: []types.UID{"c"}}
	again := jobAt("8")
	again.UID = "again"
	for want, job := range map[types.UID]*batchv1.Job{"again": again, "": nil} {
		m := full
		m.Snapshot(inflight.View{Job: job, Now: noon})
		if diff := cmp.Diff(inflight.Memory{Job: want}, m); diff != "" {
			t.Errorf("what is remembered for %q (-want +got):\n%s", want, diff)
		}
	}
}

// Nothing that happens to a Memory changes its copies, nor the snapshots it made.
func TestMemory_isAValue(t *testing.T) {
	m := inflight.Memory{Job: "job"}
	pods := []*corev1.Pod{pod("b", nil), pod("c", nil)}
	m.Strip("b")
	m.Strip("c")
	copied := m
	s := m.Snapshot(inflight.View{Job: jobAt("1"), Pods: pods, Now: noon})
	m.Strip("a")
	m.Snapshot(inflight.View{Job: jobAt("1"), Now: noon})
	for what, list := range map[string][]types.UID{"the copy": copied.Stripped, "the snapshot": s.InFlight.Stripped} {
		if !slices.Equal(list, []types.UID{"b", "c"}) {
			t.Errorf("%s has %v, want b and c", what, list)
		}
	}
}
