// Package shrink makes JSON objects smaller, so that cases contain only what they need.
package shrink

import (
	"maps"
	"slices"
)

// A Shrinker removes the parts that an object does not need, the largest parts first.
type Shrinker struct {
	// Read returns the text of the object. ok is false if the object is not valid any more.
	Read func() (text string, ok bool)
	// Keeps reports whether the object still serves its purpose.
	Keeps func() bool
	// Essential are keys that are never removed. Without them an object would be hard to
	// read, or would be about something else.
	Essential []string

	best  string // the smallest text so far
	taken bool
}

// Until calls a function that shrinks parts of the object, until nothing more can be removed.
func (s *Shrinker) Until(parts func()) {
	s.best, _ = s.Read()
	for s.taken = true; s.taken; {
		s.taken = false
		parts()
	}
}

// Object tries to remove each part of an object, and then parts of the remaining ones.
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

// list tries to remove each element of a list, from the end.
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

// Without removes a key if the object does not need it.
func (s *Shrinker) Without(o map[string]any, key string) bool {
	value := o[key]
	delete(o, key)
	if s.still() {
		return true
	}
	o[key] = value
	return false
}

// still reports whether the text is unchanged, or the object is smaller and still serves its
// purpose.
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
