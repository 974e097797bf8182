package decide

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// state is a validated snapshot with all defaults applied, and what its pods add up to.
type state struct {
	Snapshot // without the pods
	config   *config
	spec     jobSpec
	stored   storedStatus
	census   *census.Census
	// known is the backoff record of the snapshot, or what the pods show if it may lack failures.
	known backoff.Record
	// succeeded and failed are the counters of the status plus the pods that are not recorded yet.
	// succeeded is the number of completed indexes in an Indexed Job.
	succeeded, failed int32
}

// storedStatus is what the status of a Job says, read as far as possible.
type storedStatus struct {
	completed, failed *indexText // nil without indexes
	repairs           []string   // what was damaged
}

// newState returns the state of a Job, given its spec, its status and its pods.
func newState(in Snapshot, c *config, spec jobSpec, stored storedStatus, pods *census.Census) *state {
	pods.SetStripped(in.InFlight.Stripped)
	status := &in.Job.Status
	succeeded := pods.SucceededTotal(status.Succeeded)
	if spec.Indexed {
		results := pods.IndexResults(stored.completed.indexes(), stored.failed.indexes())
		succeeded = int32(results.Completed.Len())
	}
	in.Pods = nil
	return &state{Snapshot: in, config: c, spec: spec, stored: stored, census: pods,
		known: knownBackoff(&in, pods), succeeded: succeeded, failed: pods.FailedTotal(status.Failed)}
}

// jobSpec is the spec of the Job, with the defaults that the API server would have set.
type jobSpec struct {
	// Classifier is that of the census. Its Completions are those of an Indexed Job.
	*classify.Classifier
	Parallelism   int32
	Completions   *int32
	Suspended     bool
	SuccessPolicy lifecycle.SuccessPolicy
}

// claims returns the pods to adopt, to release and to free.
func (s *state) claims() (claims []Claim) {
	for _, r := range s.census.Claims() {
		claims = append(claims, Claim{r.Pod, claimActions[r.Relation]})
	}
	return claims
}

var claimActions = map[classify.Relation]string{
	classify.Adoptable: ClaimAdopt, classify.Releasable: ClaimRelease, classify.Orphaned: ClaimFree,
}

// readSpec returns the spec.
func readSpec(job *batchv1.Job, of *classify.Classifier) jobSpec {
	spec := &job.Spec
	s := jobSpec{
		Classifier:  of,
		Parallelism: valueOf(spec.Parallelism, 1),
		Completions: spec.Completions,
		Suspended:   valueOf(spec.Suspend, false),
	}
	if spec.Parallelism == nil && spec.Completions == nil {
		s.Completions = new(int32(1))
	}
	// without indexes it has no rules
	s.SuccessPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, of.Completions)
	return s
}

// readStatus reads the indexes of a status.
func (t *Pods) readStatus(status *batchv1.JobStatus, of *classify.Classifier) (stored storedStatus) {
	if of.Uncounted.Damaged {
		stored.repaired("status.uncountedTerminatedPods contained a duplicate or empty UID")
	}
	if !of.Indexed {
		return stored
	}
	read := func(path, text string, known *indexTexts) *indexText {
		k := known.parse(text, of.Completions)
		if k != nil && k.damage != nil {
			stored.repaired(fmt.Sprintf("%s: at offset %d: %s", path, k.damage.Offset, k.damage.Reason))
		}
		return k
	}
	stored.completed = read("status.completedIndexes", status.CompletedIndexes, &t.completed)
	if of.PerIndex() && status.FailedIndexes != nil {
		stored.failed = read("status.failedIndexes", *status.FailedIndexes, &t.failed)
		if t.overlap(stored.completed, stored.failed) {
			stored.repaired("status.failedIndexes contained completed indexes")
		}
	}
	return stored
}

// repaired notes what was damaged in the status.
func (s *storedStatus) repaired(text string) { s.repairs = append(s.repairs, text) }

// inDoubt reports whether the backoff record of the snapshot may lack failures.
func (s *Snapshot) inDoubt() bool { return s.Backoff.Job != s.Job.UID }

// recordDropped reports whether the backoff record of the snapshot belongs to another Job.
func (s *Snapshot) recordDropped() bool { return s.Backoff.Job != "" && s.inDoubt() }

// knownBackoff returns the backoff record of a snapshot if it is complete. Otherwise it returns what
// the counted pods show that still exist, unless the record has a later failure, or the same last
// failure and a higher count.
func knownBackoff(in *Snapshot, pods *census.Census) backoff.Record {
	remembered := in.Backoff.For(in.Job.UID)
	if !in.inDoubt() {
		return remembered
	}
	shown := pods.Rebuilt(in.Job.UID)
	if at := remembered.LastFailure; shown.LastFailure.Before(at) ||
		shown.LastFailure.Equal(at) && shown.Failures < remembered.Failures {
		return remembered
	}
	return shown
}

// valueOf returns what a pointer points to, or the other value for nil.
func valueOf[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
