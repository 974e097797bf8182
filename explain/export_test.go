package explain

import (
	"slices"
	"strings"
)

// Row is the fixed part of a row in the table of causes.
type Row struct {
	Code          Code
	Means, Advice string
}

// Rows returns the rows of the table of causes, in their order.
func Rows() (rows []Row) {
	for i := range causes {
		advice := strings.NewReplacer("RECREATE", recreateAdvice, "RERUN", rerunAdvice,
			"MEMORY", "the memory limit of container CONTAINER", "HOW", "Do what Failed says of such a pod.")
		rows = append(rows, Row{causes[i].code, causes[i].means, advice.Replace(causes[i].advice)})
	}
	return rows
}

// ChangedAttention is an attention that no row has.
const ChangedAttention = AttentionStuck + 1

// ChangeRow gives a row of the table another attention, until restore is called.
func ChangeRow(i int) (restore func()) {
	was := causes[i].attention
	causes[i].attention = ChangedAttention
	return func() { causes[i].attention = was }
}

// NewerFields is newerFields.
func NewerFields(spec any) []string { return newerFields(spec) }

// Known reports whether a field of a Job's spec is known.
func Known(field string) bool { return slices.Contains(known, field) }
