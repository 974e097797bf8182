package main

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var errNoPod = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "pod")

// "a creation is in flight until the pod is seen or its absence is certain; a
// deletion until the pod is gone or has a deletion timestamp; a removed finalizer
// until the pod is gone or shows no finalizer" (jobfate's documentation).
func TestForgetSeen(t *testing.T) {
	job := newJob()
	for name, tc := range map[string]struct {
		write  write
		pod    *corev1.Pod // what the cache shows
		create bool
		delete bool
		strip  bool
	}{
		"a pod that is not to be seen":      {write{uid: "pod-uid"}, nil, true, false, false},
		"a pod as it was":                   {write{uid: "pod-uid", version: "7"}, newPod(job, "pod", "6"), false, true, true},
		"a pod being deleted":               {write{uid: "pod-uid", version: "7"}, newPod(job, "pod", "6", deleting), false, false, true},
		"a pod without its finalizer":       {write{uid: "pod-uid", version: "7"}, newPod(job, "pod", "7", stripped), false, true, false},
		"a pod that got the finalizer back": {write{uid: "pod-uid", version: "7"}, newPod(job, "pod", "8"), false, true, false},
		"a pod that went with it":           {write{uid: "pod-uid"}, newPod(job, "pod", "8", deleting), false, false, true},
		"another pod of the name":           {write{uid: "earlier"}, newPod(job, "pod", "8"), true, false, false},
		"a pod of which no UID is known":    {write{version: "7"}, newPod(job, "pod", "8"), false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.write.pod = "pod"
			m := memory{created: []write{tc.write}, deleted: []write{tc.write}, stripped: []write{tc.write}}
			m.forgetSeen(job, func(name string) *corev1.Pod {
				if name != "pod" {
					t.Errorf("looked for %q, want pod", name)
				}
				return tc.pod
			})
			got := [3]bool{len(m.created) > 0, len(m.deleted) > 0, len(m.stripped) > 0}
			if want := [3]bool{tc.create, tc.delete, tc.strip}; got != want {
				t.Errorf("in flight (creation, deletion, finalizer): got %v, want %v", got, want)
			}
		})
	}
}

// The server answers to the patch that lets a pod go with the resource version that
// the pod had before. The cache may show the pod with its finalizer in that version,
// or a later one.
func TestRememberStripped(t *testing.T) {
	job := newJob()
	pod := newPod(job, "pod", "7")
	noGrace := func(pod *corev1.Pod) { pod.DeletionGracePeriodSeconds = new(int64) }
	grace := func(pod *corev1.Pod) { pod.DeletionGracePeriodSeconds = new(int64(30)) }
	kept := func(pod *corev1.Pod) { pod.Finalizers = []string{"example.com/keep"} }
	for name, tc := range map[string]struct {
		left *corev1.Pod
		want string
	}{
		"a pod that stays":                 {newPod(job, "pod", "8", stripped), "8"},
		"one that has time left to end":    {newPod(job, "pod", "8", stripped, deleting, grace), "8"},
		"one that has another finalizer":   {newPod(job, "pod", "8", kept, deleting, noGrace), "8"},
		"one that was gone already":        {nil, ""},
		"one that went with its finalizer": {newPod(job, "pod", "7", stripped, deleting, noGrace), ""},
		"one that went, and had no grace":  {newPod(job, "pod", "7", stripped, deleting), ""},
	} {
		var m memory
		m.rememberStripped(pod, tc.left)
		if got := m.stripped[0].version; got != tc.want {
			t.Errorf("%s: got version %q, want %q", name, got, tc.want)
		}
	}
}

// "a stored status until the Job shows its resource version"
func TestForgetSeenStatus(t *testing.T) {
	for stored, want := range map[string]string{"": "", "9": "", "10": "", "11": "11"} {
		m := memory{stored: stored}
		m.forgetSeen(newJob(), nil)
		if m.stored != want {
			t.Errorf("the Job shows version 10, %q was stored: got %q left, want %q", stored, m.stored, want)
		}
		if got := m.inFlight().Status; got != (want != "") {
			t.Errorf("%q was stored: a status in flight: got %t", stored, got)
		}
	}
}

func TestAskForMissed(t *testing.T) {
	for name, tc := range map[string]struct {
		write write
		pod   *corev1.Pod
		err   error
		left  int
		asked bool
		next  time.Duration
	}{
		"not yet":                  {write: write{ask: noon.Add(3 * time.Second)}, left: 1, next: 3 * time.Second},
		"never created":            {write: write{ask: noon}, err: errNoPod, asked: true},
		"created after all":        {write: write{ask: noon}, pod: newPod(newJob(), "pod", "5"), left: 1, asked: true, next: miss},
		"gone, and the name taken": {write: write{ask: noon, uid: "earlier"}, pod: newPod(newJob(), "pod", "5"), asked: true},
		"no answer":                {write: write{ask: noon}, err: errors.New("cut off"), left: 1, asked: true, next: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			tc.write.pod = "pod"
			m := memory{created: []write{tc.write}}
			asked := false
			err := m.askForMissed(noon, func(string) (*corev1.Pod, error) { asked = true; return tc.pod, tc.err })
			if failed := tc.err != nil && !apierrors.IsNotFound(tc.err); (err != nil) != failed {
				t.Errorf("error: got %v", err)
			}
			if asked != tc.asked {
				t.Errorf("asked the server: got %t, want %t", asked, tc.asked)
			}
			if len(m.created) != tc.left || m.nextAsk(noon) != tc.next {
				t.Errorf("got %d left, next in %v, want %d, %v", len(m.created), m.nextAsk(noon), tc.left, tc.next)
			}
		})
	}
}

// Nothing of an earlier Job of the same name is remembered (k#131917).
func TestMemoryIsOfAUID(t *testing.T) {
	memories := memories{all: map[types.NamespacedName]*memory{}}
	job := newJob()
	first := memories.of(job)
	if memories.of(job) != first {
		t.Error("the same Job has another memory at its second turn")
	}
	again := job.DeepCopy()
	again.UID = "another"
	if memories.of(again) == first {
		t.Error("a Job made again has the memory of the earlier one")
	}
	memories.forget(nameOf(job))
	if len(memories.all) != 0 {
		t.Errorf("%d memories are left, want none", len(memories.all))
	}
}

func TestOlder(t *testing.T) {
	for _, tc := range []struct {
		version, than string
		want          bool
	}{
		{"9", "10", true}, {"10", "10", false}, {"11", "10", false}, {"9", "", false}, {"", "9", true},
		{"odd", "9", true}, {"odd", "odd", false},
	} {
		if got := older(tc.version, tc.than); got != tc.want {
			t.Errorf("older(%q, %q) = %t, want %t", tc.version, tc.than, got, tc.want)
		}
	}
}

func TestLeast(t *testing.T) {
	for _, tc := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := least(tc[0], tc[1]); got != tc[2] {
			t.Errorf("least(%v, %v) = %v, want %v", tc[0], tc[1], got, tc[2])
		}
	}
}
