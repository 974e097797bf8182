package census

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/classify"
)

// Account computes the next step of counting.
func (c *Census) Account(in classify.AccountInputs) classify.Account {
	candidates := c.list(countable)
	if in.All() {
		candidates = c.list(tracked)
	}
	inOrder := func(yield func(*classify.PodRecord) bool) {
		for r := range candidates.all() {
			if !yield(&r.PodRecord) {
				return
			}
		}
	}
	return c.classifier.Account(in, inOrder, candidates.len(), c.isGone)
}

// isGone reports whether the pod with a UID no longer exists, or has lost its finalizer.
func (c *Census) isGone(uid types.UID) bool {
	r := c.records.get(uid)
	return r == nil || !r.Tracked
}
