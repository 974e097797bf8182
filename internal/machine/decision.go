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

// decide makes the decision. It needs no request.
func (s *sync) decide() []exchange {
	s.version = s.view.version()
	if s.pending.Status = older(s.version, s.Known); !s.pending.Status {
		s.Known = s.version
	}
	outcome, err := s.outcome()
	if err != nil {
		s.end(err)
		return nil
	}
	s.setOutcome(outcome)
	work := &outcome.Plan.Work
	s.deletions, s.creations, s.batchSize = nil, nil, 1
	for i := range work.Delete {
		s.deletions = append(s.deletions, deletion{Deletion: &work.Delete[i]})
	}
	for i := range work.Create {
		s.creations = append(s.creations, creation{Creation: &work.Create[i]})
	}
	return nil
}

// input returns the input of the decision, without the pods, which are in the tally.
func (s *sync) input() decide.Input {
	return decide.Input{
		Job:            s.view.Job,
		Now:            s.view.Now,
		InFlight:       s.pending.InFlight,
		Backoff:        s.Backoff,
		BackoffInDoubt: !s.Sure,
		LastStatus:     s.LastStatus,
	}
}

func (s *sync) outcome() (*decide.Outcome, error) {
	in := s.input()
	if s.Machine.Decide != nil || s.Check != nil {
		in.Pods = s.view.Pods
		if s.view.Fed {
			in.Pods = s.tally.Pods()
		}
	}
	if s.Machine.Decide != nil {
		return s.Machine.Decide(in, s.Config)
	}
	outcome, err := s.tally.Decide(in, &s.Config)
	if s.Check != nil {
		s.Check(in, s.Config, outcome, err)
	}
	return outcome, err
}

// setOutcome sets the outcome to carry out.
func (s *sync) setOutcome(outcome *decide.Outcome) {
	s.result.Outcome = outcome
	s.result.Requeue = least(outcome.Requeue, s.pending.nextRead(s.view.Now))
}

// askBeforeAdoption reads the Job live before the first adoption: a Job that is gone or
// being deleted must not adopt pods (kubernetes#42639).
func (s *sync) askBeforeAdoption() []exchange {
	adopts := func(c decide.Claim) bool { return c.Relation == tracking.Adoptable }
	if s.claimed || s.live || !slices.ContainsFunc(s.result.Outcome.Claims, adopts) {
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
	s.adoptsNone = true
	return claimPods
}

// askClaims adopts, releases and frees pods. The decision assumes that all claims succeed.
func (s *sync) askClaims() (batch []exchange) {
	if s.claimed {
		return nil
	}
	for _, claim := range s.result.Outcome.Claims {
		if s.adoptsNone && claim.Relation == tracking.Adoptable {
			continue
		}
		x := patchOf(claim.Pod)
		x.Patch, x.strips = s.result.Outcome.View.ClaimPatch(claim), claim.Relation != tracking.Adoptable
		batch = append(batch, x)
	}
	if s.adoptsNone && len(batch) == 0 {
		s.end(nil)
	}
	return batch
}

// handleClaims decides again without the pods to adopt that turned out to be gone. They
// were not adopted and must not be counted.
func (s *sync) handleClaims(batch []exchange) step {
	s.claimed = true
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
