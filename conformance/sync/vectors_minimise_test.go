package sync

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jobfate/jobfate/internal/vectors"
)

// minimise takes away from a case whatever it does not need to keep what it is for, the
// largest parts first, and returns what is left of its text.
func minimise(c *vectors.Case, keeps func(*vectors.Case) bool) map[string]any {
	m := &minimiser{tree: treeOf(c), keeps: keeps, best: text(c)}
	for m.taken = true; m.taken; {
		m.taken = false
		m.shrink(m.tree["snapshot"].(map[string]any))
		for _, part := range []string{"faults", "options"} {
			if o, ok := m.tree[part].(map[string]any); ok && !m.without(m.tree, part) {
				m.shrink(o)
			}
		}
	}
	return m.tree
}

// essential are fields without which a case would be hard to read, or be about something
// else. Wherever they stand, they stay.
var essential = []string{"name", "namespace", "uid", "selector", "labels"}

// minimiser has the text of a case, which it changes, and how it reads at its smallest.
type minimiser struct {
	tree  map[string]any
	keeps func(*vectors.Case) bool
	best  string
	taken bool // anything in this round
}

// shrink tries to take away each part of an object, and then parts of those that stay.
func (m *minimiser) shrink(o map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(essential, key) || m.without(o, key) {
			continue
		}
		switch v := o[key].(type) {
		case map[string]any:
			m.shrink(v)
		case []any:
			m.shorten(o, key, v)
		}
	}
}

// shorten tries to take away each element of a list, from the end.
func (m *minimiser) shorten(o map[string]any, key string, list []any) {
	for i := len(list) - 1; i >= 0; i-- {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		if o[key] = rest; m.still() {
			list = rest
			continue
		}
		o[key] = list
		if element, ok := list[i].(map[string]any); ok {
			m.shrink(element)
		}
	}
}

// without takes a key away, if the case can do without.
func (m *minimiser) without(o map[string]any, key string) bool {
	value := o[key]
	delete(o, key)
	if m.still() {
		return true
	}
	o[key] = value
	return false
}

// still reports whether the text reads as before, or as a smaller case that will do.
func (m *minimiser) still() bool {
	c := caseOfTree(m.tree)
	if c == nil {
		return false
	}
	now := text(c)
	if now == m.best {
		return true
	}
	if !m.keeps(c) {
		return false
	}
	m.best, m.taken = now, true
	return true
}

// treeOf returns a value as generic JSON.
func treeOf(v any) map[string]any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was made here
	}
	var tree map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if err := numbers.Decode(&tree); err != nil {
		panic(err)
	}
	return tree
}

// caseOfTree reads a case; nil if it is none.
func caseOfTree(tree map[string]any) *vectors.Case {
	c := new(vectors.Case)
	if json.Unmarshal([]byte(text(tree)), c) != nil || c.Snapshot.Job == nil || c.Snapshot.Now.IsZero() {
		return nil
	}
	if slices.Contains(c.Snapshot.Pods, nil) {
		return nil
	}
	return c
}
