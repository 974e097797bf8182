package census

import (
	"cmp"
	"encoding/binary"

	"github.com/jobfate/jobfate/internal/classify"
)

// Record is the classification of one pod, with its place in the orders of a census. It
// takes 32 bytes.
type Record struct {
	classify.PodRecord
	// start holds the first eight bytes of the UID. Sorting 10^5 pods would take several
	// times as long if it had to follow two pointers to a UID in each comparison.
	start uint64
}

func newRecord(r classify.PodRecord) Record {
	var start [8]byte
	copy(start[:], r.Pod.UID)
	return Record{r, binary.BigEndian.Uint64(start[:])}
}

// replaceable reports whether a new pod may continue the failure counts of this one.
func (r *Record) replaceable() bool { return r.Failed && r.Tracked && r.Valid }

// compare is the order of a Job's pods in every decision: by index, then by UID.
func (r *Record) compare(o *Record) int {
	if r.Index != o.Index {
		return cmp.Compare(r.Index, o.Index)
	}
	return byUID(r, o)
}

// byUID compares UIDs.
func byUID(r, o *Record) int {
	if r.start != o.start {
		return cmp.Compare(r.start, o.start)
	}
	return cmp.Compare(r.Pod.UID, o.Pod.UID)
}

// compareFailures orders failed pods by index, and those of an index as PodRecord does.
func (r *Record) compareFailures(o *Record) int {
	if r.Index != o.Index {
		return cmp.Compare(r.Index, o.Index)
	}
	return r.CompareFailures(&o.PodRecord)
}
