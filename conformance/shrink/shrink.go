// Package shrink makes JSON objects smaller, for cases that say no more than they must.
package shrink

import (
	"maps"
	"slices"
)

// A Shrinker takes away from an object whatever it does not need, the largest parts first.
type Shrinker struct {
	// Read returns how the object reads, if it still can be read.
	Read func() (text string, ok bool)
	// Keeps reports whether the object is still what it is for.
	Keeps func() bool
	// Essential are keys without which an object would be hard to read, or be about
	// something else. Wherever they stand, they stay.
	Essential []string

	best  string // how it reads at its smallest
	taken bool
}

// Until calls a function, which shrinks parts of the object, until nothing is left to take
// away.
func (s *Shrinker) Until(parts func()) {
	s.best, _ = s.Read()
	for s.taken = true; s.taken; {
		s.taken = false
		parts()
	}
}

// Object tries to take away each part of an object, and then parts of those that stay.
func (s *Shrinker) Object(o map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(s.Essential, key) || s.Without(o, key) {
			continue
		}
		switch v := o[key].(type) {
		case map[string]any:
			s.Object(v)
		case []any:
			s.list(o, key, v)
		}
	}
}

// list tries to take away each element of a list, from the end.
func (s *Shrinker) list(o map[string]any, key string, list []any) {
	for i := len(list) - 1; i >= 0; i-- {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		if o[key] = rest; s.still() {
			list = rest
			continue
		}
		o[key] = list
		if element, ok := list[i].(map[string]any); ok {
			s.Object(element)
		}
	}
}

// Without takes a key away, if the object can do without.
func (s *Shrinker) Without(o map[string]any, key string) bool {
	value := o[key]
	delete(o, key)
	if s.still() {
		return true
	}
	o[key] = value
	return false
}

// still reports whether the object reads as before, or is a smaller one that will do.
func (s *Shrinker) still() bool {
	now, ok := s.Read()
	if !ok {
		return false
	}
	if now == s.best {
		return true
	}
	if !s.Keeps() {
		return false
	}
	s.best, s.taken = now, true
	return true
}
