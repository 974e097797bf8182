package memory

import "reflect"

// Sealed is the memory of a Machine as everybody may see it. Only packages of this project can open it.
type Sealed struct{ memory *Memory }

// Seal returns the sealed memory.
func Seal(m *Memory) Sealed { return Sealed{m} }

// Open returns the memory, for test kits.
func Open(s Sealed) *Memory { return s.memory }

// Clone returns an independent copy.
func (s Sealed) Clone() Sealed {
	return Sealed{new(s.memory.Clone())}
}

// Equal reports whether two Machines would go on in the same way.
func (s Sealed) Equal(o Sealed) bool { return reflect.DeepEqual(s.memory, o.memory) }

// String lists the writes that wait to be observed.
func (s Sealed) String() string { return s.memory.String() }
