package machine

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
)

// writes are the writes of a decision after its claims, and their results.
type writes struct {
	concluded map[types.UID]bool // the pods that need no deletion after the patch before it
	creations []creation         // the creations that have not been sent
	batchSize int                // the number of creations in the next batch
	done      decide.Done
	version   string      // the last known version of the object that holds the status
	removed   []types.UID // the pods whose finalizer was removed after the status write
	settled   decide.Settled
}

// newWrites returns the writes of an outcome. version is the version of the object that holds
// the status.
func newWrites(outcome *decide.Outcome, version string) writes {
	work := &outcome.Plan.Work
	w := writes{version: version, batchSize: 1}
	for i := range work.Create {
		w.creations = append(w.creations, creation{Creation: &work.Create[i]})
	}
	return w
}

// creation is a pod to create. collisions is how often its name was already in use.
type creation struct {
	*decide.Creation
	collisions int
}

// mostCollisions is how often a creation is retried with another name.
const mostCollisions = 3
