package memory

import "testing"

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
