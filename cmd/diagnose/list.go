package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/explain"
)

// Entry is what a cause means, and what to do. Several entries have the code of a cause that several things show.
type Entry struct {
	Code      explain.Code
	Attention Attention
	// Means is one sentence. Advice has names as JOB and POD in place of those of a Job; empty if there is nothing
	// to do.
	Means, Advice string
}

// List returns the causes in the order of their rank.
func List() (all []Entry) {
	advice := strings.NewReplacer("RECREATE", recreateAdvice, "RERUN", rerunAdvice,
		"MEMORY", "the memory limit of container CONTAINER", "HOW", "Do what Failed says of such a pod.",
		"UNCORDON", uncordonAdvice, "REQUESTS", "requests", "ENDING", "Then comes what ends containers of its name.")
	for i := range causes {
		r := &causes[i]
		all = append(all, Entry{r.code, r.attention, r.means, advice.Replace(r.advice)})
	}
	return all
}

// each gives rows what they have in common, unless they have something else.
func each(common row, rows ...[]row) []row {
	all := slices.Concat(rows...)
	for i := range all {
		r := &all[i]
		r.code, r.cannot = cmp.Or(r.code, common.code), cmp.Or(r.cannot, common.cannot)
		r.attention, r.group = cmp.Or(r.attention, common.attention), cmp.Or(r.group, common.group)
	}
	return all
}

// The groups of rows.
const (
	_ = iota
	groupEnd
	groupSuspended
	groupCreation
	groupRunning
)
