package memory

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/podtest"
)

// full returns a Memory with every field set.
func full() Memory {
	return Memory{
		Job: "job", Gone: "gone", Backoff: backoff.Record{Job: "job", Failures: 1}, Sure: true, ReadFirst: true,
		LastStatus: time.Unix(9, 0), Key: types.NamespacedName{Namespace: "ns", Name: "train"}, Known: "7", Shown: "6",
		Counted: Counted{Succeeded: 1, Failed: 2}, Created: []Created{{UID: "a"}}, Deleted: map[types.UID]Deleted{"b": {Version: "1"}},
		Stripped: map[types.UID]Stripped{"c": {Version: "1"}}, Lost: []string{"x"}, JobsFloor: "3", PodsFloor: "4",
	}
}

// Another Job inherits only what is about the caches and the name.
func TestForget(t *testing.T) {
	m := full()
	for i := range reflect.ValueOf(m).NumField() {
		if reflect.ValueOf(m).Field(i).IsZero() {
			t.Fatalf("the test does not set %s", reflect.TypeOf(m).Field(i).Name)
		}
	}
	m.Forget("next")
	want := Memory{Job: "next", Gone: "gone", Key: types.NamespacedName{Namespace: "ns", Name: "train"}, JobsFloor: "3", PodsFloor: "4"}
	podtest.Same(t, "the memory", m, want)
}

// Each write that a cache may not show is something to wait for.
func TestIdle(t *testing.T) {
	for name, test := range map[string]struct {
		memory Memory
		want   bool
		says   string
	}{
		"nothing":             {Memory{Job: "job", Known: "7", Shown: "7", Sure: true}, true, "nothing pending"},
		"an older Job":        {Memory{Known: "7", Shown: "6"}, false, "version 7 of the Job"},
		"a newer Job":         {Memory{Known: "7", Shown: "8"}, true, "nothing pending"},
		"a status":            {Memory{ReadFirst: true}, false, "a status write without an answer"},
		"a creation":          {Memory{Created: make([]Created, 1)}, false, "1 creations"},
		"a deletion":          {Memory{Deleted: map[types.UID]Deleted{"a": {Version: ""}}}, false, "1 deletions"},
		"a removed finalizer": {Memory{Stripped: map[types.UID]Stripped{"a": {}}}, false, "1 removed finalizers"},
		"a lost creation":     {Memory{Lost: []string{""}}, false, "1 creations without an answer"},
		"all": {Memory{Known: "8", Shown: "7", ReadFirst: true, Created: make([]Created, 1), Lost: make([]string, 1),
			Deleted: map[types.UID]Deleted{"a": {}, "b": {}}, Stripped: map[types.UID]Stripped{"a": {}}}, false,
			"waiting to observe version 8 of the Job, a status write without an answer, 1 creations, 2 deletions, " +
				"1 removed finalizers, 1 creations without an answer"},
		"two creations": {Memory{Created: make([]Created, 1), Lost: []string{""}}, false, "1 creations without an answer"},
	} {
		if got := test.memory.Idle(); got != test.want || !strings.HasSuffix(test.memory.String(), test.says) {
			t.Errorf("%s: Idle = %t, %s; want %t and %q", name, got, test.memory.String(), test.want, test.says)
		}
	}
}

// No change of one of two copies is in the other.
func TestClone_sharesNothingThatChanges(t *testing.T) {
	changes := map[string]func(*Memory){
		"a creation":           func(m *Memory) { m.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "new"}}, time.Time{}) },
		"another creation":     func(m *Memory) { m.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "other"}}, time.Time{}) },
		"a forgotten creation": func(m *Memory) { m.ForgetCreation("a") },
		"a deletion":           func(m *Memory) { m.Delete("new", Deleted{Version: "1"}) },
		"a removed finalizer":  func(m *Memory) { m.Strip("new", "1", nil) },
		"a lost creation":      func(m *Memory) { m.Lose("new") },
		"another one":          func(m *Memory) { m.Lose("other") },
		"a found creation":     func(m *Memory) { m.Found("x") },
		"an observation":       func(m *Memory) { m.Observe(func(types.UID) *corev1.Pod { return nil }, "99") },
		"an early observation": func(m *Memory) {
			m.Observe(func(types.UID) *corev1.Pod { return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}} }, "6")
		},
	}
	of := func() Memory {
		m := full()
		m.Created = append(make([]Created, 0, 9), Created{UID: "a", Version: "7"}, Created{UID: "d", Version: "8"})
		m.Lost = append(make([]string, 0, 9), "x", "y")
		return m
	}
	for name, change := range changes {
		for other, second := range changes {
			original, want := of(), of()
			clone := original.Clone()
			change(&clone)
			podtest.Same(t, name+" of the clone: the original", original, want)
			second(&original)
			wanted := of()
			change(&wanted)
			podtest.Same(t, other+" of the original: the clone after "+name, clone, wanted)
		}
	}
}

// Only the creation with the name is found.
func TestFound(t *testing.T) {
	for name, want := range map[string][]string{"a": {"b", "c", "b"}, "b": {"a", "c", "b"}, "c": {"a", "b", "b"}, "d": {"a", "b", "c", "b"}} {
		m := Memory{Lost: []string{"a", "b", "c", "b"}}
		m.Found(name)
		podtest.Same(t, name+": lost", m.Lost, want)
	}
}

// A created pod has stopped once it has ended or is being deleted, as the answer or a view shows, and stays so when an
// older view shows it running again.
func TestCreated_stopped(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(9, 0))
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"pending":       {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}, false},
		"running":       {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, false},
		"failed":        {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, true},
		"succeeded":     {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, true},
		"being deleted": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}}, true},
	} {
		test.pod.UID, test.pod.ResourceVersion = "a", "10"
		var read, seen Memory
		read.Create(&test.pod, time.Time{})
		seen.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: "10"}}, time.Time{})
		for _, shown := range []*corev1.Pod{&test.pod, {}, nil} {
			p := seen.Observe(func(types.UID) *corev1.Pod { return shown }, "9")
			podtest.Same(t, fmt.Sprintf("%s: the creation is not observed in a view with %v", name, shown), len(p.Created) == 1, shown == nil)
		}
		podtest.Same(t, name+": stopped in the answer, in a view", podtest.Pair(read.Created[0].Stopped, seen.Created[0].Stopped),
			podtest.Pair(test.want, test.want))
	}
}

// The answer to a patch says at which version the pod has no finalizer, unless the patch may have deleted the pod, or the
// answer shows another pod.
func TestStrip_without(t *testing.T) {
	deleted, zero, ten := metav1.NewTime(time.Unix(9, 0)), int64(0), int64(10)
	for name, test := range map[string]struct {
		pod  *metav1.ObjectMeta
		want string
	}{
		"no answer":                 {nil, ""},
		"a pod":                     {&metav1.ObjectMeta{UID: "a"}, "12"},
		"another pod":               {&metav1.ObjectMeta{UID: "b"}, ""},
		"deleted":                   {&metav1.ObjectMeta{UID: "a", DeletionTimestamp: &deleted}, ""},
		"deleted, no grace":         {&metav1.ObjectMeta{UID: "a", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &zero}, ""},
		"deleted, within its grace": {&metav1.ObjectMeta{UID: "a", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &ten}, "12"},
		"deleted, held by others":   {&metav1.ObjectMeta{UID: "a", DeletionTimestamp: &deleted, Finalizers: []string{"x"}}, "12"},
	} {
		var m Memory
		if test.pod == nil {
			m.Strip("a", "11", nil)
		} else {
			test.pod.ResourceVersion = "12"
			m.Strip("a", "11", test.pod)
		}
		podtest.Same(t, name, m.Stripped["a"], (Stripped{Version: "11", Without: test.want}))
	}
}

// A write is pending until a view shows it, and forgotten once every later view will.
func TestObserve(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(9, 0))
	shows := func(version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	going := func(version string) *corev1.Pod {
		pod := shows(version)
		pod.DeletionTimestamp = &deleted
		return pod
	}
	for _, test := range []struct {
		name      string
		without   string // the version without the finalizer; "creation" and "deletion" for those
		pod       *corev1.Pod
		version   string
		pending   bool
		remembers bool
	}{
		{"created, not shown", "creation", nil, "9", true, true},
		{"created, shown by a cache that is not complete up to that version", "creation", shows("10"), "9", false, true},
		{"created, shown", "creation", shows("10"), "10", false, false},
		{"created, and deleted before it was ever shown", "creation", nil, "11", false, false},
		{"deleted, shown as before", "deletion", shows("10"), "10", true, true},
		{"deleted, shown with a later status", "deletion", shows("15"), "15", true, true},
		{"deleted, not shown by an older cache", "deletion", nil, "9", true, true},
		{"deleted, gone", "deletion", nil, "10", false, false},
		{"deleted, going in a cache that is not complete", "deletion", going("12"), "11", false, true},
		{"deleted, going", "deletion", going("12"), "12", false, false},
		{"freed, shown before", "12", shows("10"), "10", true, true},
		{"freed, shown without by a cache that is not complete", "12", shows("12"), "11", false, true},
		{"freed, shown without", "12", shows("12"), "12", false, false},
		{"freed, and put back", "12", shows("13"), "11", false, true},
		{"freed, gone from a cache that is not complete", "12", nil, "11", false, true},
		{"freed, gone", "12", nil, "12", false, false},
		{"gone with its finalizer, shown", "", shows("10"), "10", true, true},
		{"gone with its finalizer, gone from an older cache", "", nil, "9", false, true},
		{"gone with its finalizer, gone", "", nil, "10", false, false},
	} {
		m := Memory{Stripped: map[types.UID]Stripped{"a": {"10", test.without}}}
		switch test.without {
		case "creation":
			m = Memory{Created: []Created{{UID: "a", Version: "10"}}}
		case "deletion":
			m = Memory{Deleted: map[types.UID]Deleted{"a": {Version: "10"}}}
		}
		p := m.Observe(func(types.UID) *corev1.Pod { return test.pod }, test.version)
		if (len(p.Created)+len(p.Deleted)+len(p.Stripped) > 0) != test.pending || m.Idle() == test.remembers {
			t.Errorf("%s: pending %+v, remembered %+v", test.name, p, m)
		}
		if !test.remembers && (m.Deleted != nil || m.Stripped != nil) {
			t.Errorf("%s: the maps are %v and %v, want nil ones when they are empty", test.name, m.Deleted, m.Stripped)
		}
	}
}

// The list that Without is given stays as it is.
func TestWithout(t *testing.T) {
	list := []string{"a", "b", "c"}
	got := Without(list, func(s string) bool { return s == "a" })
	podtest.Same(t, "the list, and what it was", [][]string{got, list}, [][]string{{"b", "c"}, {"a", "b", "c"}})
}

// Of versions that cannot be compared, the second is taken for the newer.
func TestNewest(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"1", "2", "2"}, {"2", "1", "2"}, {"9", "10", "10"}, {"", "1", "1"}, {"1", "", "1"}, {"", "", ""}, {"a", "b", "b"}, {"b", "a", "a"},
		{"77", "a", "a"}, {"a", "77", "77"},
	} {
		podtest.Same(t, fmt.Sprintf("Newest(%q, %q)", test.a, test.b), Newest(test.a, test.b), test.want)
	}
}
