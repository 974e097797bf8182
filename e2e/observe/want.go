package observe

import (
	"slices"
	"strconv"
	"strings"
)

// Want is the state of a Job that a test waits for. A field that is not set must be zero in the
// status. The number of active pods must also equal Active.
type Want struct {
	Active, Ready, Terminating int32
	Succeeded, Failed          int32
	// Completed and FailedIndexes have the format of the status: "0,2-4".
	Completed, FailedIndexes string
	// Conditions lists the true conditions, as "Type/Reason", in any order.
	Conditions []string
}

// Met reports whether a state matches.
func (w Want) Met(s State) bool {
	if s.Job == nil {
		return false
	}
	got := s.Job.Status
	conditions, want := Conditions(s.Job), slices.Sorted(slices.Values(w.Conditions))
	slices.Sort(conditions)
	return got.Active == w.Active && value(got.Ready) == w.Ready && value(got.Terminating) == w.Terminating &&
		got.Succeeded == w.Succeeded && got.Failed == w.Failed &&
		got.CompletedIndexes == w.Completed && value(got.FailedIndexes) == w.FailedIndexes &&
		slices.Equal(conditions, want) && len(s.Active()) == int(w.Active)
}

func (w Want) String() string {
	var parts []string
	number := func(name string, n int32) {
		if n != 0 {
			parts = append(parts, name+" "+strconv.Itoa(int(n)))
		}
	}
	number("active", w.Active)
	number("ready", w.Ready)
	number("terminating", w.Terminating)
	number("succeeded", w.Succeeded)
	number("failed", w.Failed)
	if w.Completed != "" {
		parts = append(parts, "completed "+w.Completed)
	}
	if w.FailedIndexes != "" {
		parts = append(parts, "failed indexes "+w.FailedIndexes)
	}
	return strings.Join(append(parts, w.Conditions...), ", ") + " and nothing else"
}
