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

// adopts reports whether a claim adopts its pod.
func adopts(c decide.Claim) bool { return c.Relation == tracking.Adoptable }

// askBeforeAdoption reads the Job live before the first adoption: a Job that is gone or
// being deleted must not adopt pods (kubernetes#42639).
func (s *sync) askBeforeAdoption() []exchange {
	if s.live || !slices.ContainsFunc(s.claims, adopts) {
		return nil
	}
	return readOf(s.Key.Name, s.Job)
}

func (s *sync) handleBeforeAdoption(batch []exchange) step {
	live, err := batch[0].job()
	switch {
	case err != nil:
		return s.adoptNone(err)
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
	if s.claims = without(s.claims, adopts); len(s.claims) == 0 {
		return s.end(nil)
	}
	return claimPods
}

// askClaims adopts, releases and frees pods. The decision assumes that all claims succeed.
func (s *sync) askClaims() (batch []exchange) {
	for _, claim := range s.claims {
		x := patchOf(claim.Pod)
		x.Patch, x.strips = s.result.Outcome.View.ClaimPatch(claim), !adopts(claim)
		batch = append(batch, x)
	}
	return batch
}

// handleClaims decides again without the pods to adopt that turned out to be gone. They
// were not adopted and must not be counted.
func (s *sync) handleClaims(batch []exchange) step {
	s.claims, s.claimed = nil, true
	var missed []types.UID
	for i := range batch {
		x := &batch[i]
		switch fate := x.fate(); {
		case fate == missing && !x.strips:
			missed = append(missed, x.UID)
		case fate != done && fate != missing:
			s.fail(fmt.Errorf("claiming pod %s: %w", x.Name, x.err))
		}
	}
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
