package machine

import (
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/tracking"
)

// claims says which claims a sync has yet to send. A sync sends them once, even if it
// decides again afterwards.
type claims uint8

const (
	claimsDue       claims = iota
	adoptionsBarred        // the Job is gone or being deleted, and must not adopt
	claimsSent
)

// askBeforeAdoption reads the Job live before the first adoption: a Job that is gone or
// being deleted must not adopt pods (kubernetes#42639).
func (s *sync) askBeforeAdoption() []exchange {
	adopts := func(c decide.Claim) bool { return c.Relation == tracking.Adoptable }
	if s.claims != claimsDue || s.live || !slices.ContainsFunc(s.result.Outcome.Claims, adopts) {
		return nil
	}
	return []exchange{{Request: Request{Verb: GetJob, Name: s.Key.Name, UID: s.Job}}}
}

func (s *sync) handleBeforeAdoption(batch []exchange) step {
	x := &batch[0]
	live := x.jobObject()
	switch fate := x.fate(); {
	case fate != done && fate != missing:
		return s.adoptNone(fmt.Errorf("reading the Job: %w", x.failure()))
	case live == nil || live.UID != s.Job:
		return s.adoptNone(s.jobGone())
	}
	s.Known = newest(s.Known, live.ResourceVersion)
	switch {
	case live.DeletionTimestamp != nil:
		return s.adoptNone(s.jobGone())
	case live.ResourceVersion != s.view.Job.ResourceVersion && s.view.StatusVersion == "":
		s.view.Job, s.live = live, true // the Job has changed: decide again
		return listPods
	}
	return claimPods
}

// jobGone returns the conflict that ends a sync whose Job is gone or being deleted.
func (s *sync) jobGone() error {
	return apierrors.NewConflict(batchv1.Resource("jobs"), s.Key.Name, errors.New("the Job is gone or being deleted, and must not adopt pods"))
}

// adoptNone skips all adoptions. The sync ends with the error after the other claims.
func (s *sync) adoptNone(err error) step {
	s.fail(err)
	s.claims = adoptionsBarred
	return claimPods
}

// askClaims adopts, releases and frees pods. The decision assumes that all claims succeed.
func (s *sync) askClaims() (batch []exchange) {
	if s.claims == claimsSent {
		return nil
	}
	barred := s.claims == adoptionsBarred
	for _, claim := range s.result.Outcome.Claims {
		if barred && claim.Relation == tracking.Adoptable {
			continue
		}
		x := patchOf(claim.Pod)
		x.Patch, x.strips = s.result.Outcome.View.ClaimPatch(claim), claim.Relation != tracking.Adoptable
		batch = append(batch, x)
	}
	if barred && len(batch) == 0 {
		s.end(nil)
	}
	return batch
}

// handleClaims decides again without the pods to adopt that turned out to be gone. They
// were not adopted and must not be counted.
func (s *sync) handleClaims(batch []exchange) step {
	s.claims = claimsSent
	var missed []types.UID
	var stripped []Stripped
	for i := range batch {
		x := &batch[i]
		switch fate := x.fate(); {
		case fate == done && x.strips:
			stripped = append(stripped, strippedBy(x))
		case fate == done:
			s.adopted(x)
		case fate == missing && !x.strips:
			missed = append(missed, x.UID)
		case fate == missing:
		default:
			s.fail(fmt.Errorf("claiming pod %s: %w", x.Name, x.failure()))
		}
	}
	s.strip(stripped)
	switch {
	case s.result.Err != nil:
		return s.end(nil)
	case len(missed) > 0:
		for _, uid := range missed {
			s.tally.Hide(uid)
		}
		s.view.Pods = without(s.view.Pods, func(pod *corev1.Pod) bool { return slices.Contains(missed, pod.UID) })
		return decideNow
	}
	return stripFirst
}
