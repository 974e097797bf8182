package sync

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/jobfate/jobfate/conformance/shrink"
	"github.com/jobfate/jobfate/vectors"
)

// minimise removes the parts that a case does not need for its goals, and returns the rest as generic
// JSON.
func minimise(c *vectors.Case, keeps func(*vectors.Case) bool) map[string]any {
	tree := treeOf(c)
	var now *vectors.Case
	s := &shrink.Shrinker{
		Read: func() (string, bool) {
			now = caseOfTree(tree)
			return text(now), now != nil
		},
		Keeps:     func() bool { return keeps(now) },
		Essential: []string{"name", "namespace", "uid", "selector", "labels"},
	}
	s.Until(func() {
		s.Object(tree["snapshot"].(map[string]any))
		for _, part := range []string{"faults", "options"} {
			if o, ok := tree[part].(map[string]any); ok && !s.Without(tree, part) {
				s.Object(o)
			}
		}
	})
	return tree
}

// treeOf returns a value as generic JSON.
func treeOf(v any) map[string]any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the value was built here
	}
	var tree map[string]any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if err := numbers.Decode(&tree); err != nil {
		panic(err)
	}
	return tree
}

// caseOfTree decodes a case, or returns nil if it is invalid.
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
