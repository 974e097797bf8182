package memory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/podtest"
)

// Resource versions are numbers of any size. Any other version counts as older unless both
// are equal.
func TestOlder(t *testing.T) {
	for _, test := range []struct {
		version, than string
		want          bool
	}{
		{"1", "2", true}, {"2", "1", false}, {"2", "2", false}, {"9", "10", true}, {"10", "9", false},
		{"", "1", true}, {"1", "", false}, {"", "", false}, {"a", "b", true}, {"b", "a", true}, {"a", "a", false}, {"1", "a", true}, {"aa", "1", true},
		{"99999999999999999999998", "99999999999999999999999", true},
	} {
		podtest.Same(t, fmt.Sprintf("Older(%q, %q)", test.version, test.than), Older(test.version, test.than), test.want)
	}
}

// What is not known can be forgotten, and an answer may have only the metadata.
func TestMemory_unknown(t *testing.T) {
	var m Memory
	m.Lose("job-a")
	m.Found("job-b")
	m.Create(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a"}}, time.Time{})
	m.ForgetCreation("b")
	if len(m.Lost) != 1 || len(m.Created) != 1 || m.Created[0].Stopped {
		t.Errorf("got %+v, want what was lost and created", m)
	}
}

// A status of another process has other counters, or other UIDs in its lists. Nil and empty lists are the same. The last
// status of another Job does not count, not even if it has the same counts.
func TestIsForeign(t *testing.T) {
	lists, a, b, none := podtest.Lists, []types.UID{"a"}, []types.UID{"b"}, []types.UID{}
	own := batchv1.JobStatus{Succeeded: 1, Failed: 2, UncountedTerminatedPods: lists(a, b)}
	for name, test := range map[string]struct {
		own, shown batchv1.JobStatus
		want       bool
	}{
		"the same":           {own, *own.DeepCopy(), false},
		"another success":    {own, batchv1.JobStatus{Succeeded: 1, Failed: 2, UncountedTerminatedPods: lists(b, b)}, true},
		"another failure":    {own, batchv1.JobStatus{Succeeded: 1, Failed: 2, UncountedTerminatedPods: lists(a, a)}, true},
		"the lists swapped":  {own, batchv1.JobStatus{Succeeded: 1, Failed: 2, UncountedTerminatedPods: lists(b, a)}, true},
		"more successes":     {own, batchv1.JobStatus{Succeeded: 2, Failed: 2, UncountedTerminatedPods: lists(a, b)}, true},
		"more failures":      {own, batchv1.JobStatus{Succeeded: 1, Failed: 3, UncountedTerminatedPods: lists(a, b)}, true},
		"counters swapped":   {own, batchv1.JobStatus{Succeeded: 2, Failed: 1, UncountedTerminatedPods: lists(a, b)}, true},
		"no lists":           {own, batchv1.JobStatus{Succeeded: 1, Failed: 2}, true},
		"empty lists":        {batchv1.JobStatus{}, batchv1.JobStatus{UncountedTerminatedPods: lists(none, nil)}, false},
		"lists for none":     {batchv1.JobStatus{}, batchv1.JobStatus{UncountedTerminatedPods: lists(nil, a)}, true},
		"an uncounted field": {own, batchv1.JobStatus{Succeeded: 1, Failed: 2, Active: 5, UncountedTerminatedPods: lists(a, b)}, false},
	} {
		m := Memory{Job: "job", Known: "5", Counted: CountedBy(&test.own)}
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job"}, Status: test.shown}
		for version, want := range map[string]bool{"5": test.want, "6": test.want, "4": false} { // a stale Job is no sign
			podtest.Same(t, fmt.Sprintf("%s, version %s: IsForeign", name, version), m.IsForeign(job, version), want)
		}
	}
	m := Memory{Job: "another", Known: "5", Counted: CountedBy(&own)}
	podtest.Same(t, "the same, of another Job: IsForeign", m.IsForeign(&batchv1.Job{Status: own}, "5"), true)
}

// The creation of a pod that was deleted or freed since was observed, even if a view is older.
func TestObserve_creationOfAPodThatWasDeletedOrFreed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: "10"}}
	for name, write := range map[string]func(*Memory){
		"deleted": func(m *Memory) { m.Delete("a", Deleted{Version: "10"}) },
		"freed":   func(m *Memory) { m.Strip("a", "10", pod) },
	} {
		var m Memory
		m.Create(pod, time.Time{})
		write(&m)
		none := func(types.UID) *corev1.Pod { return nil }
		podtest.Same(t, name+": creations that are not observed", len(m.Observe(none, "9").Created), 0)
	}
}

// What is not observed is listed by UID, each time.
func TestObserve_byUID(t *testing.T) {
	uids := []types.UID{"a", "b", "c", "d", "e", "f", "g", "h"}
	var m Memory
	for _, uid := range slices.Backward(uids) {
		m.Delete(uid, Deleted{Version: "10", ForEnd: uid < "d"})
		m.Strip(uid, "10", nil)
	}
	for range 2 {
		p := m.Observe(func(types.UID) *corev1.Pod { return &corev1.Pod{} }, "9")
		if !slices.Equal(p.Deleted, uids) || !slices.Equal(p.Stripped, uids) || p.ForEnd != 3 {
			t.Errorf("got %v (%d for the end) and %v, want %v (3) twice", p.Deleted, p.ForEnd, p.Stripped, uids)
		}
	}
}

// Both caches must show every write before the barrier, and what they have shown before.
func TestFresh(t *testing.T) {
	for _, test := range []struct {
		jobsFloor, podsFloor string
		caches               Caches
		want                 bool
	}{
		{"", "", Caches{"5", "5", "5"}, true},
		{"", "", Caches{"4", "5", "5"}, false},
		{"", "", Caches{"5", "4", "5"}, false},
		{"6", "", Caches{"5", "5", "5"}, false},
		{"", "6", Caches{"5", "5", "5"}, false},
		// the newer of the floor and the barrier counts
		{"4", "4", Caches{"4", "5", "5"}, false},
		{"4", "4", Caches{"5", "4", "5"}, false},
		{"6", "7", Caches{"6", "6", "5"}, false},
		{"7", "6", Caches{"6", "6", "5"}, false},
		{"6", "7", Caches{"6", "7", "5"}, true},
		// without a barrier, caches that were used before
		{"5", "5", Caches{"5", "5", ""}, true},
		{"", "5", Caches{"5", "5", ""}, false},
		{"5", "", Caches{"5", "5", ""}, false},
		{"5", "5", Caches{"", "5", ""}, false},
		{"5", "5", Caches{"5", "", ""}, false},
	} {
		m := Memory{JobsFloor: test.jobsFloor, PodsFloor: test.podsFloor}
		podtest.Same(t, fmt.Sprintf("floors %q and %q, %+v: Fresh", m.JobsFloor, m.PodsFloor, test.caches),
			m.Fresh(test.caches, &batchv1.Job{}, "5"), test.want)
	}
}

// A status of another process asks for pods as new as that status, and for no older ones than without it.
func TestFresh_ofAForeignStatus(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job"}, Status: batchv1.JobStatus{Failed: 1}}
	for _, test := range []struct {
		podsFloor, barrier, status, pods string
		want                             bool
	}{
		{"5", "5", "7", "6", false},
		{"5", "5", "7", "7", true},
		{"9", "5", "7", "8", false},
		{"9", "5", "7", "9", true},
		{"5", "9", "7", "8", false},
		{"5", "9", "7", "9", true},
	} {
		m := Memory{Job: "job", JobsFloor: "5", PodsFloor: test.podsFloor}
		podtest.Same(t, fmt.Sprintf("%+v: Fresh", test), m.Fresh(Caches{"20", test.pods, test.barrier}, job, test.status), test.want)
		m.Counted = CountedBy(&job.Status)
		want := !Older(test.pods, Newest(test.podsFloor, test.barrier))
		podtest.Same(t, fmt.Sprintf("%+v, our own: Fresh", test), m.Fresh(Caches{"20", test.pods, test.barrier}, job, test.status), want)
	}
}

// The creation that is read first was the first that was acknowledged, or last read.
func TestNextRead(t *testing.T) {
	now := time.Unix(100, 0)
	at := func(seconds ...time.Duration) (p Pending) {
		for _, s := range seconds {
			p.Created = append(p.Created, Created{At: now.Add(-s * time.Second)})
		}
		return p
	}
	for _, test := range []struct {
		pending Pending
		want    time.Duration
	}{
		{at(), 0}, {at(3), 7 * time.Second}, {at(3, 4, 2), 6 * time.Second}, {at(60), time.Second},
	} {
		podtest.Same(t, fmt.Sprintf("%v: NextRead", test.pending.Created), test.pending.NextRead(now), test.want)
	}
}
