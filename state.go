package jobfate

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// state is a validated snapshot with all defaults applied.
type state struct {
	// Snapshot lacks the pods, and a backoff record of another Job. Backoff is complete, as far as the pods show.
	Snapshot
	// inDoubt says that the caller's record may lack failures, dropped that it belongs to
	// another Job.
	inDoubt, dropped bool
	config           *config
	spec             jobSpec
	// storedCompleted and storedFailed hold the indexes in the status, read as far as possible; nil
	// without indexes. repairs lists what was damaged in the status.
	storedCompleted, storedFailed *indexText
	repairs                       []string
	census                        *census.Census
	// succeeded and failed are the counters of the status plus the pods that are not recorded yet.
	// succeeded is the number of completed indexes in an Indexed Job.
	succeeded, failed int32
	outcome           outcome // of the decision, before any revision
	// given is the backoff record of the caller, changes the number of changes of the census so far. A
	// decision for a Job at rest depends on these, besides the Job and the config.
	given   backoff.Record
	changes uint32
}

// keys returns the names of the finalizer, labels and annotations on the Job's pods.
func (s *state) keys() tracking.Keys { return s.spec.Keys() }

// jobSpec is the spec of the Job, with the defaults that the API server would have set.
type jobSpec struct {
	// Classifier is that of the census. Its Completions are those of an Indexed Job.
	*tracking.Classifier
	Parallelism      int32
	Completions      *int32
	Suspended        bool
	MaxFailedIndexes *int32
	SuccessPolicy    lifecycle.SuccessPolicy
}

// claims returns the pods to adopt, to release and to free.
func (s *state) claims() (claims []Claim) {
	for _, r := range s.census.Claims() {
		claims = append(claims, Claim{r.Pod, r.Relation})
	}
	return claims
}

// claimPatch returns the strategic merge patch that adopts, releases or frees a pod.
func (s *state) claimPatch(claim Claim) []byte {
	names := s.keys()
	switch claim.Relation {
	case tracking.Adoptable:
		return names.AdoptPatch(claim.Pod, s.config.Controller.Reference(s.Job))
	case tracking.Releasable:
		return names.ReleasePatch(claim.Pod, s.Job.UID)
	}
	// The patch applies only to the pod as it was read: meanwhile another Job may have
	// adopted it, and may be about to count it.
	return names.StripPatchAt(claim.Pod)
}

// readSpec returns the spec without the classifier.
func readSpec(job *batchv1.Job, of *tracking.Classifier) jobSpec {
	spec := &job.Spec
	s := jobSpec{
		Parallelism:      valueOf(spec.Parallelism, 1),
		Completions:      spec.Completions,
		Suspended:        valueOf(spec.Suspend, false),
		MaxFailedIndexes: spec.MaxFailedIndexes,
	}
	if spec.Parallelism == nil && spec.Completions == nil {
		one := int32(1)
		s.Completions = &one
	}
	// without indexes it has no rules
	s.SuccessPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, of.Completions)
	return s
}

// readStatus reads the indexes of the status.
func (t *tally) readStatus(s *state, of *tracking.Classifier) {
	if of.Uncounted.Damaged {
		s.repaired("status.uncountedTerminatedPods contained a duplicate or empty UID")
	}
	if !of.Indexed {
		return
	}
	read := func(path, text string, known *indexTexts) *indexText {
		k := known.parse(text, *s.spec.Completions)
		if k != nil && k.damage != nil {
			s.repaired(fmt.Sprintf("%s: at offset %d: %s", path, k.damage.Offset, k.damage.Reason))
		}
		return k
	}
	status := &s.Job.Status
	s.storedCompleted = read("status.completedIndexes", status.CompletedIndexes, &t.completed)
	if of.PerIndex() && status.FailedIndexes != nil {
		s.storedFailed = read("status.failedIndexes", *status.FailedIndexes, &t.failed)
		if s.storedFailed.indexes().IntersectionLen(s.storedCompleted.indexes()) > 0 {
			s.repaired("status.failedIndexes contained completed indexes")
		}
	}
}

// repaired notes what was damaged in the status.
func (s *state) repaired(text string) { s.repairs = append(s.repairs, text) }

// readBackoff reads the backoff record of the caller. It drops the record of another Job, and
// completes a record that names no Job.
func (s *state) readBackoff() {
	s.dropped = s.Backoff.Job != "" && s.Backoff.Job != s.Job.UID
	s.inDoubt, s.given = s.Backoff.Job != s.Job.UID, s.Backoff
	s.Backoff = s.Backoff.For(s.Job.UID)
	if s.inDoubt {
		s.Backoff = s.rebuilt()
	}
}

// total sets the totals.
func (s *state) total() {
	s.failed = s.census.FailedTotal(s.Job.Status.Failed)
	s.succeeded = s.census.SucceededTotal(s.Job.Status.Succeeded)
	if s.spec.Indexed {
		results := s.census.IndexResults(s.storedCompleted.indexes(), s.storedFailed.indexes())
		s.succeeded = int32(results.Completed.Len())
	}
}

// rebuilt computes the backoff record from the counted pods that still exist. It returns
// the remembered record if that one has a later failure, or the same last failure and a
// higher count.
func (s *state) rebuilt() backoff.Record {
	remembered, record := s.Backoff, s.census.Rebuilt(s.Backoff.Job)
	if at := remembered.LastFailure; record.LastFailure.Before(at) ||
		record.LastFailure.Equal(at) && record.Failures < remembered.Failures {
		return remembered
	}
	return record
}

// valueOf returns what a pointer points to, or the other value for nil.
func valueOf[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
