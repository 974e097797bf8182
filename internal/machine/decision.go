package machine

import (
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/tracking"
)

// decide makes the decision. It needs no request.
func (s *sync) decide() []*exchange {
	version := s.view.version()
	if s.pending.Status = older(version, s.Known); !s.pending.Status {
		s.Known = version
	}
	how := s.Machine.Decide
	if how == nil {
		how = (*decide.Tally).Decide
	}
	outcome, err := how(s.tally, s.input(), s.config)
	if err != nil {
		s.end(err)
		return nil
	}
	s.setOutcome(outcome)
	if !s.claimed {
		s.claims = outcome.Claims
	}
	s.writes = writes{version: version, batchSize: 1}
	create := outcome.Plan.Work.Create
	for i := range create {
		s.writes.creations = append(s.writes.creations, creation{&create[i], 0})
	}
	return nil
}

// input returns the input of the decision, without the pods, which are in the tally.
func (s *sync) input() decide.Input {
	record := s.Backoff
	if record.Job = s.Job; !s.Sure {
		record.Job = "" // it may lack failures
	}
	return decide.Input{
		Job:        s.view.Job,
		Now:        s.view.Now,
		InFlight:   s.pending.InFlight,
		Backoff:    record,
		LastStatus: s.LastStatus,
	}
}

// setOutcome sets the outcome to carry out.
func (s *sync) setOutcome(outcome *decide.Outcome) {
	s.result.Outcome = outcome
	s.result.Requeue = decide.Soonest(outcome.Requeue, s.pending.nextRead(s.view.Now))
}

// adopts reports whether a claim adopts its pod.
func adopts(claim *census.Record) bool { return claim.Relation == tracking.Adoptable }

// askBeforeAdoption reads the Job live before the first adoption: a Job that is gone or
// being deleted must not adopt pods (kubernetes#42639).
func (s *sync) askBeforeAdoption() []*exchange {
	if s.tally != &s.cached || !slices.ContainsFunc(s.claims, adopts) {
		return nil // the Job was read live together with its pods
	}
	return readOf(s.Key.Name, s.Job)
}

// handleBeforeAdoption skips all adoptions if the Job must not adopt pods. The sync then ends
// with an error after the other claims.
func (s *sync) handleBeforeAdoption(batch []*exchange) step {
	live, err := batch[0].job()
	exists := live != nil && live.UID == s.Job
	switch {
	case exists:
		s.Known = newest(s.Known, live.ResourceVersion)
	case err == nil:
		s.Gone = s.Job
	}
	if err == nil && (!exists || live.DeletionTimestamp != nil) {
		err = apierrors.NewConflict(batchv1.Resource("jobs"), s.Key.Name,
			errors.New("the Job is gone or being deleted, and must not adopt pods"))
	}
	switch {
	case err != nil:
		s.fail(err)
		if s.claims = without(s.claims, adopts); len(s.claims) == 0 {
			return over
		}
	case live.ResourceVersion != s.view.Job.ResourceVersion && s.view.StatusVersion == "":
		s.view.Job = live // the Job has changed: decide again
		return listPods
	}
	return claimPods
}

// askClaims adopts, releases and frees pods. The decision assumes that all claims succeed.
func (s *sync) askClaims() (batch []*exchange) {
	for _, claim := range s.claims {
		x := about(claim.Pod, PatchPod)
		x.Patch, x.adopts = s.result.Outcome.View.ClaimPatch(claim), adopts(claim)
		batch = append(batch, x)
	}
	return batch
}

// handleClaims decides again without the pods to adopt that turned out to be gone. They
// were not adopted and must not be counted.
func (s *sync) handleClaims(batch []*exchange) step {
	s.claims, s.claimed, s.adopted = nil, true, map[types.UID]string{}
	missed := map[types.UID]bool{}
	for _, x := range batch {
		switch pod := x.meta(); {
		case !x.adopts:
		case x.fate() == missing:
			missed[x.UID] = true
		case pod != nil:
			s.adopted[x.UID] = pod.GetResourceVersion()
		}
		s.fail(x.failure("claiming pod " + x.Name))
	}
	switch {
	case s.result.Err != nil:
		return over
	case len(missed) > 0:
		s.decideOn(without(s.tally.Pods(), func(pod *corev1.Pod) bool { return missed[pod.UID] }))
		return decideNow
	}
	return stripFirst
}
