package decide

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// View is a validated input with all defaults applied.
type View struct {
	// Input is without the pods and without what the caller remembers of another Job.
	// Backoff is complete, as far as the pods show it.
	Input
	// BackoffInDoubt says that the caller's record may lack failures.
	BackoffInDoubt bool
	Config         *Config
	Spec           Spec
	Status         Status
	Census         *census.Census
	Totals         Totals
}

// Keys returns the names of the finalizer, labels and annotations on the Job's pods.
func (v *View) Keys() tracking.Keys { return v.Spec.Keys }

// Spec is the spec of the Job, with the defaults that the API server would have set.
type Spec struct {
	// Classifier holds what decides how a pod is classified. Its Completions are those of
	// an Indexed Job.
	tracking.Classifier
	Parallelism      int32
	Completions      *int32
	Suspended        bool
	MaxFailedIndexes *int32
	SuccessPolicy    lifecycle.SuccessPolicy
}

// Status holds the parts of the status that can be damaged. Damaged parts are read as far
// as possible.
type Status struct {
	Completed, Failed indexText
	// Notes say what was damaged in the status, and in what the caller remembers.
	Notes []Note
}

// Totals are the counts of the status and the uncounted pods together.
type Totals struct {
	// Succeeded is the number of succeeded pods or, in an Indexed Job, of completed
	// indexes.
	Succeeded int32
	Failed    int32
	// Results are set for an Indexed Job only.
	Results census.IndexResults
}

// Note describes a defect in the input that the decision works around.
type Note struct{ Code, Text string }

// The codes of notes.
const (
	NoteStatusRepaired = "StatusRepaired"
	NoteMemoryDropped  = "MemoryDropped"
)

func (v *View) note(code, text string) { v.Status.Notes = append(v.Status.Notes, Note{code, text}) }

// ClaimPatch returns the strategic merge patch that adopts, releases or frees a pod.
func (v *View) ClaimPatch(claim *census.Record) []byte {
	names := v.Keys()
	switch claim.Relation {
	case tracking.Adoptable:
		return names.AdoptPatch(claim.Pod, v.Config.Controller.Reference(v.Job))
	case tracking.Releasable:
		return names.ReleasePatch(claim.Pod, v.Job.UID)
	}
	// The patch applies only to the pod as it was read: meanwhile another Job may have
	// adopted it, and may be about to count it.
	return names.StripPatchAt(claim.Pod)
}

func readSpec(job *batchv1.Job, of tracking.Classifier) Spec {
	spec := &job.Spec
	s := Spec{
		Classifier:       of,
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
	s.SuccessPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, s.Classifier.Completions)
	return s
}

// readStatus reads the indexes of the status.
func (t *Tally) readStatus(v *View) {
	if v.Spec.Uncounted.Damaged {
		v.note(NoteStatusRepaired, "status.uncountedTerminatedPods contained a duplicate or empty UID")
	}
	if !v.Spec.Indexed {
		return
	}
	read := func(path, text string, known *indexTexts) indexText {
		k := known.parse(text, *v.Spec.Completions)
		if k.damage != nil {
			v.note(NoteStatusRepaired, fmt.Sprintf("%s: at offset %d: %s", path, k.damage.Offset, k.damage.Reason))
		}
		return k
	}
	status := &v.Job.Status
	v.Status.Completed = read("status.completedIndexes", status.CompletedIndexes, &t.completed)
	if v.Spec.PerIndex() && status.FailedIndexes != nil {
		v.Status.Failed = read("status.failedIndexes", *status.FailedIndexes, &t.failed)
		if v.Status.Failed.set.IntersectionLen(v.Status.Completed.set) > 0 {
			v.note(NoteStatusRepaired, "status.failedIndexes contained completed indexes")
		}
	}
}

// readBackoff reads the backoff record of the caller. It drops that of another Job, and completes
// one that does not name the Job.
func (v *View) readBackoff() {
	if job := v.Backoff.Job; job != "" && job != v.Job.UID {
		v.note(NoteMemoryDropped, "the backoff record belongs to an earlier Job of this name")
	}
	v.BackoffInDoubt = v.Backoff.Job != v.Job.UID
	v.Backoff = v.Backoff.For(v.Job.UID)
	if v.BackoffInDoubt {
		v.Backoff = v.rebuilt()
	}
}

func (v *View) totals() Totals {
	c := v.Census
	t := Totals{Failed: c.FailedTotal(v.Job.Status.Failed)}
	if !v.Spec.Indexed {
		t.Succeeded = c.SucceededTotal(v.Job.Status.Succeeded)
		return t
	}
	t.Results = c.IndexResults(v.Status.Completed.set, v.Status.Failed.set)
	t.Succeeded = int32(t.Results.Completed.Len())
	return t
}

// rebuilt computes the backoff record from the counted pods that still exist. It returns
// the remembered record if that one has a later failure, or the same last failure and a
// higher count.
func (v *View) rebuilt() backoff.Record {
	remembered, record := v.Backoff, v.Census.Rebuilt(v.Backoff.Job)
	if at := remembered.LastFailure; record.LastFailure.Before(at) ||
		record.LastFailure.Equal(at) && record.Failures < remembered.Failures {
		return remembered
	}
	return record
}
