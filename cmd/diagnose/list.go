package diagnose

import (
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
		"MEMORY", "the memory limit of container CONTAINER", "HOW", "Do what Failed says of such a pod.")
	for i := range causes {
		r := &causes[i]
		all = append(all, Entry{r.code, r.attention, r.means, advice.Replace(r.advice)})
	}
	return all
}

// ofPods gives the rows of a cause its code and its text, and marks them as Stuck.
func ofPods(code explain.Code, cannot string, rows []row) []row {
	for i := range rows {
		rows[i].code, rows[i].cannot, rows[i].attention = code, cannot, AttentionStuck
	}
	return rows
}

// refusals marks the rows of rejected pods as Stuck, and puts them into one group.
func refusals(rows []row) []row {
	for i := range rows {
		rows[i].attention, rows[i].group = AttentionStuck, groupCreation
	}
	return rows
}

// The groups of rows.
const (
	_ = iota
	groupEnd
	groupSuspended
	groupCreation
	groupRunning
)
