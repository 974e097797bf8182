package machine

import (
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
)

// decide makes the decision. It sends no request.
func (s *sync) decide() []*exchange {
	version := s.view.version()
	if s.IsForeign(s.view.Job, version) { // it may count failures that the record lacks
		s.Sure = false
		if s.pods == &s.cached { // a live read does not make the counts known
			s.Counted = memory.CountedBy(&s.view.Job.Status)
		}
	}
	s.behind = memory.Older(version, s.Known)
	if !s.behind {
		s.Known = version
	}
	d, err := s.decideOn()
	if err != nil {
		s.end(err)
		return nil
	}
	s.setDecision(d)
	if s.adopted == nil {
		s.claims = d.Claim
	}
	s.writes = writes{version: version, batchSize: 1}
	for i := range d.Create {
		s.writes.creations = append(s.writes.creations, creation{&d.Create[i], 0})
	}
	return nil
}

// decideOn returns the decision on the pods of the sync.
func (s *sync) decideOn() (decide.Decision, error) {
	if s.Decider != nil {
		return s.Decider(s.pods, s.snapshot(), s.options)
	}
	return s.pods.Decide(s.snapshot(), s.options)
}

// snapshot returns the snapshot to decide on, without the pods, which are in the tally.
func (s *sync) snapshot() decide.Snapshot {
	record := s.Backoff
	record.Job = s.Job
	if !s.Sure {
		record.Job = "" // it may lack failures
	}
	return decide.Snapshot{
		Job:        s.view.Job,
		Now:        s.view.Now,
		InFlight:   s.inFlight(),
		Backoff:    record,
		LastStatus: s.LastStatus,
	}
}

// inFlight returns the writes that the view does not show.
func (s *sync) inFlight() decide.InFlight {
	p := &s.pending
	f := decide.InFlight{Status: s.behind, Creations: len(p.Created), Deletions: len(p.Deleted) - p.ForEnd,
		Stripped: p.Stripped}
	for _, c := range p.Created {
		if !c.Stopped {
			f.Pods = append(f.Pods, decide.PodInFlight{UID: c.UID})
		}
	}
	for _, uid := range p.Deleted {
		f.Pods = append(f.Pods, decide.PodInFlight{UID: uid, Deleted: true})
	}
	return f
}

// setDecision sets the decision to carry out.
func (s *sync) setDecision(d decide.Decision) {
	s.result.Decision = d
	s.result.Requeue = d.Requeue
	if wait := s.pending.NextRead(s.view.Now); wait > 0 && (wait < d.Requeue || d.Requeue == 0) {
		s.result.Requeue = wait
	}
}

// adopts reports whether a claim adopts its pod.
func adopts(claim decide.Claim) bool { return claim.Action == decide.ClaimAdopt }

// askBeforeAdoption reads the Job live before the first adoption: a Job that is gone or
// being deleted must not adopt pods (kubernetes#42639).
func (s *sync) askBeforeAdoption() []*exchange {
	if s.pods != &s.cached || !slices.ContainsFunc(s.claims, adopts) {
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
		s.Known = memory.Newest(s.Known, live.ResourceVersion)
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
		s.claims = memory.Without(s.claims, adopts)
		if len(s.claims) == 0 {
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
		x.Patch, x.adopts = s.claimPatch(claim), adopts(claim)
		batch = append(batch, x)
	}
	return batch
}

// claimPatch returns the strategic merge patch that adopts, releases or frees a pod. Another action
// has none: the API server refuses the request, and the pod stays as it is.
func (s *sync) claimPatch(claim decide.Claim) []byte {
	switch claim.Action {
	case decide.ClaimAdopt:
		return s.keys().AdoptPatch(claim.Pod, s.options.Controller().Reference(s.view.Job))
	case decide.ClaimRelease:
		return s.keys().ReleasePatch(claim.Pod, s.Job)
	case decide.ClaimFree:
		// The patch applies only to the pod as it was read: meanwhile another Job may have
		// adopted it, and may be about to count it.
		return s.keys().StripPatchAt(claim.Pod)
	}
	return nil
}

// handleClaims decides again without the pods that could not be adopted because they are gone: they
// must not be counted.
func (s *sync) handleClaims(batch []*exchange) step {
	claims, missed := s.claims, map[types.UID]bool{}
	s.claims, s.adopted = nil, map[types.UID]string{}
	for i, x := range batch {
		pod := x.meta()
		switch {
		case claims[i].Action == decide.ClaimRelease && apierrors.IsInvalid(x.err):
			continue // as in Kubernetes: the pod was released already, or another one has its name now
		case x.effect() == missing:
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
		s.readLive(memory.Without(s.pods.List(), func(pod *corev1.Pod) bool { return missed[pod.UID] }))
		return decideNow
	}
	return storeVerdict
}
