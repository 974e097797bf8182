package vectors

import (
	"errors"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// IndexText is the input of readIndexes, parseIndexes and checkIndexes.
type IndexText struct {
	Text string `json:"text"`
	// Completions is the spec.completions of the Job; parseIndexes ignores it.
	Completions int32 `json:"completions,omitempty"`
}

// ReadText is the result of functions that read indexes.
type ReadText struct {
	Indexes string `json:"indexes"`
	// Wrong is the first invalid part of the text; absent if the text is valid.
	Wrong *WrongText `json:"wrong,omitempty"`
}

// WrongText says where a text is wrong, and why.
type WrongText struct {
	Fragment string `json:"fragment"`
	Offset   int    `json:"offset"`
	Reason   string `json:"reason"`
}

func readText(set indexset.Set, err error) ReadText {
	out := ReadText{Indexes: set.String()}
	if wrong := (*indexset.SyntaxError)(nil); errors.As(err, &wrong) {
		out.Wrong = &WrongText{wrong.Fragment, wrong.Offset, wrong.Reason}
	}
	return out
}

func readIndexes(in IndexText) ReadText {
	set, damage := indexset.ParseDamaged(in.Text, in.Completions)
	if damage == nil {
		return readText(set, nil)
	}
	return readText(set, damage)
}

func parseIndexes(in IndexText) ReadText { return readText(indexset.Parse(in.Text)) }

func checkIndexes(in IndexText) ReadText {
	return readText(indexset.ParseOrdered(in.Text, in.Completions))
}

// TwoSets is the input of sets: texts as parseIndexes reads them, and a number.
type TwoSets struct {
	A string `json:"a"`
	B string `json:"b"`
	N int32  `json:"n"`
}

// Sets is the result of sets.
type Sets struct {
	Union        string `json:"union"`
	Intersection string `json:"intersection"`
	Common       int    `json:"common"`     // the number of indexes in both
	Difference   string `json:"difference"` // a without b
	Equal        bool   `json:"equal"`
	// The following fields are about a and n.
	Contains   bool    `json:"contains"`
	Below      string  `json:"below"`             // the indexes of a below n
	Complement string  `json:"complement"`        // the indexes below n that are not in a
	Missing    []int32 `json:"missing,omitempty"` // the first of these, at most ten
	Len        int     `json:"len"`
	Min        *int32  `json:"min,omitempty"`
	Max        *int32  `json:"max,omitempty"`
	First      []int32 `json:"first,omitempty"` // the first indexes of a, at most ten
	// Rebuilt is the union of a and b, built from their intervals in reverse order.
	Rebuilt string `json:"rebuilt"`
}

const firstFew = 10

func sets(in TwoSets) Sets {
	a, _ := indexset.Parse(in.A)
	b, _ := indexset.Parse(in.B)
	out := Sets{
		Union: a.Union(b).String(), Intersection: a.Intersection(b).String(), Common: a.IntersectionLen(b),
		Difference: a.Difference(b).String(), Equal: a.Equal(b),
		Contains: a.Contains(in.N), Below: a.Clip(in.N).String(), Complement: a.Complement(in.N).String(), Len: a.Len(),
	}
	for i := range a.Complement(in.N).All() {
		if out.Missing = append(out.Missing, i); len(out.Missing) == firstFew {
			break
		}
	}
	for i := range a.All() {
		if out.First = append(out.First, i); len(out.First) == firstFew {
			break
		}
	}
	if least, ok := a.Min(); ok {
		greatest, _ := a.Max()
		out.Min, out.Max = &least, &greatest
	}
	var rebuilt indexset.Builder
	intervals := slices.AppendSeq(slices.Collect(a.Intervals()), b.Intervals())
	for _, iv := range slices.Backward(intervals) {
		rebuilt.AddRange(iv.First, iv.Last)
	}
	out.Rebuilt = rebuilt.Set().String()
	return out
}
