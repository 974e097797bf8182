package memory

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Resource versions are numbers of any size. Any other version counts as older unless both
// are equal.
func TestOlder(t *testing.T) {
	for _, test := range []struct {
		version, than string
		want          bool
	}{
		{"1", "2", true}, {"2", "1", false}, {"2", "2", false}, {"9", "10", true}, {"10", "9", false},
		{"", "1", true}, {"1", "", false}, {"", "", false}, {"a", "b", true}, {"b", "a", true}, {"a", "a", false}, {"1", "a", true},
		{"99999999999999999999998", "99999999999999999999999", true},
	} {
		if got := Older(test.version, test.than); got != test.want {
			t.Errorf("Older(%q, %q) = %t, want %t", test.version, test.than, got, test.want)
		}
	}
}

// A clone does not change with the original, nor the original with the clone.
func TestMemory_clone(t *testing.T) {
	m := Memory{Created: make([]Created, 1, 10)}
	m.Created[0].UID = "a"
	first := m.Clone()
	m.Created = append(m.Created, Created{UID: "b"})
	second := first.Clone()
	second.Created = append(second.Created, Created{UID: "c"})
	if m.Created[1].UID != "b" || second.Created[1].UID != "c" || len(first.Created) != 1 {
		t.Errorf("the copies share memory: %v, %v, %v", m.Created, second.Created, first.Created)
	}
	second.Created = Without(second.Created, func(c Created) bool { return c.UID == "a" })
	if first.Created[0].UID != "a" || len(second.Created) != 1 {
		t.Errorf("the copies share memory: %v, %v", first.Created, second.Created)
	}
}

// The creation of a pod that was deleted or freed since was observed, even if a view is older.
func TestObserve_creationOfAPodThatWasDeletedOrFreed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: "10"}}
	for name, write := range map[string]func(*Memory){
		"deleted": func(m *Memory) { m.Delete("a", "10") },
		"freed":   func(m *Memory) { m.Strip("a", "10", pod) },
	} {
		var m Memory
		m.Create(pod, time.Time{})
		write(&m)
		none := func(types.UID) *corev1.Pod { return nil }
		if p := m.Observe(none, "9"); len(p.Created) > 0 {
			t.Errorf("%s: %d creations are not observed, want none", name, len(p.Created))
		}
	}
}
