package sync

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/conformance/schema"
	"github.com/jobfate/jobfate/vectors"
)

// TestVectors checks every case of the folder vectors against the schema and against the real
// controller, except that cases in which a gate is off need a release with the gate, and those of a divergence a
// release with it. It also checks that each divergence has a case.
func TestVectors(t *testing.T) {
	var shown []string
	for line := range schema.Lines[vectors.Case](t, vectorsDir) {
		o := line.Case.Options
		if (gated || !o.WithoutPerIndex && !o.WithoutReplacement) && !slices.ContainsFunc(line.Case.Divergences, hasEnded) {
			reproduce(t, line.Case)
		}
		shown = append(shown, line.Case.Divergences...)
	}
	for _, name := range slices.Concat(divergences(), []string{"FillFreeSlots", "GranularReasons, RuleNames", "BackoffInDoubt", "Throttle"}) {
		if !slices.Contains(shown, name) && !slices.Contains(withoutCase, name) {
			t.Errorf("no case shows the divergence %s", name)
		}
	}
}

// TestDialogues checks every dialogue of the folder vectors against the schema. Kubernetes has no
// counterpart of a Machine.
func TestDialogues(t *testing.T) {
	for range schema.Lines[vectors.Dialogue](t, vectorsDir+"/dialogues") {
	}
}

// withoutCase lists the divergences without a case: those with a test of their own, and the one whose
// fault the format does not have.
var withoutCase = append(slices.Clone(apart), "terminating-namespace")

// reproduce checks that both sides have the outcomes of the case, and that the case has the features
// that it lists.
func reproduce(t *testing.T, c *vectors.Case) {
	t.Helper()
	again := *c
	if err := answer(&again); err != nil {
		t.Errorf("%s: %v", c.ID, err)
		return
	}
	again.Features = featuresOf(c)
	if diff := cmp.Diff(text(c), text(again)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.ID, diff)
	}
}
