package explain

import (
	"cmp"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// groupOrder is the order of groups. Groups that need attention come first.
var groupOrder = []Code{IndexFailed, IndexStuck, IndexBackingOff, IndexTerminating, IndexRemoving,
	IndexCreating, IndexActive, IndexPending, IndexStopped}

// Groups returns, for an Indexed Job, the states of the indexes that are not completed,
// with one entry for all indexes in the same state. Text has no details of single indexes,
// and Until is the earliest of the group. Failed indexes come first, then stuck ones.
// Groups with the same code are in the order of their first index. The number of groups is
// small, whatever the number of indexes.
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
		k := key{r.Code, cmp.Or(r.groupText, r.Text)}
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
