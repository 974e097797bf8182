package jobfate

import (
	"strings"
	"testing"

	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// Each relation has the patch that this table names, so a new relation fails this test until it has
// one. No other value changes a pod.
func TestClaimPatch_everyRelation(t *testing.T) {
	const strip = `"$deleteFromPrimitiveList/finalizers"`
	want := map[tracking.Relation][]string{
		tracking.Foreign: nil, tracking.Owned: nil, // never claimed
		tracking.Adoptable:  {`"controller":true`, `"finalizers"`, `"resourceVersion":"7"`},
		tracking.Releasable: {`"$patch":"delete"`, strip},
		tracking.Orphaned:   {strip, `"resourceVersion":"7"`},
	}
	job := train(1)
	s := &sync{Machine: newMachine(), Memory: &memory.Memory{Job: job.UID}, config: configure(nil), view: fresh(job)}
	pod := podOf(job, "a", "7")
	r := tracking.Relation(0)
	for ; !strings.HasPrefix(r.String(), "Relation("); r++ {
		parts, known := want[r]
		Same(t, r.String()+" is in the table", known, true)
		patch := string(s.claimPatch(Claim{pod, r}))
		for _, part := range parts {
			Same(t, r.String()+": "+patch+" has "+part, strings.Contains(patch, part), true)
		}
		Same(t, r.String()+" has a patch", patch != "", len(parts) > 0)
	}
	Same(t, "relations", int(r), len(want))
	Same(t, "the patch of an unknown relation", string(s.claimPatch(Claim{pod, 77})), "")
}
