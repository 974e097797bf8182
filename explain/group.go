package explain

import (
	"cmp"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// groupOrder is the order of groups: what needs attention most comes first.
var groupOrder = []Code{IndexFailed, IndexStuck, IndexBackingOff, IndexTerminating, IndexRemoving,
	IndexCreating, IndexActive, IndexPending, IndexStopped}

// Groups returns, for an Indexed Job, what holds for the indexes that are not
// completed, with those that are alike in one group: Text is without what is peculiar to
// each, and Until is the earliest of theirs. Failed indexes come first, then
// those that are stuck; groups with the same code are in the order of their first
// index. However many indexes a Job has, its groups are few.
func (e Explanation) Groups() []IndexReason {
	type group struct {
		Reason
		indexes indexset.Builder
	}
	type key struct {
		code Code
		text string
	}
	o := e.about
	if o.Outcome == nil || !o.View.Spec.Indexed {
		return nil
	}
	var order []key
	groups := map[key]*group{}
	for _, r := range e.indexReasons() {
		k := key{r.Code, cmp.Or(r.alike, r.Text)}
		g := groups[k]
		if g == nil {
			g = &group{Reason: Reason{Code: k.code, Text: k.text, Until: r.Until}}
			groups[k], order = g, append(order, k)
		}
		if r.Until.Before(g.Until) {
			g.Until = r.Until
		}
		g.indexes.AddRange(r.first, r.last)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Compare(slices.Index(groupOrder, a.code), slices.Index(groupOrder, b.code))
	})
	out := make([]IndexReason, len(order))
	for i, k := range order {
		g := groups[k]
		if !g.Until.IsZero() {
			g.Text += ", the first until " + o.clock(g.Until)
		}
		out[i] = IndexReason{Indexes: g.indexes.Set(), Reason: g.Reason}
	}
	return out
}
