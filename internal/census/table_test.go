package census

import "testing"

// An index keeps its value when the last one of another page goes.
func TestPages(t *testing.T) {
	var p pages[int32]
	for index := int32(1); index < 1<<12; index *= 2 {
		p.set(index, 1)
	}
	for index := int32(1); index < 1<<12; index *= 2 {
		p.set(index, 0)
		for other := int32(1); other < 1<<12; other *= 2 {
			if got := p.at(other) == 1; got != (other > index) {
				t.Fatalf("after the removal of index %d: is index %d there? %t", index, other, got)
			}
		}
	}
	if p.len() != 0 {
		t.Errorf("%d pages are kept, want none", p.len())
	}
}
