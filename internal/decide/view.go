package decide

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/internal/owner"
)

// View is a validated input with all defaults applied.
type View struct {
	// Input is without the pods and without what the caller remembers of another Job. In
	// doubt, Backoff is the record that rebuild returns.
	Input
	Config *Config
	Spec   Spec
	Status Status
	Census *census.Census
	Totals Totals
}

// Keys returns the names of the finalizer, labels and annotations on the Job's pods.
func (v *View) Keys() keys.Keys { return keys.Keys(v.Config.Controller.Keys).WithDefaults() }

// Spec is the spec of the Job, with the defaults that the API server would have set.
type Spec struct {
	Parallelism       int32
	Completions       *int32
	Indexed           bool
	Suspended         bool
	PerIndex          bool
	ReplaceFailedOnly bool
	CountRestarts     bool // the restart policy is OnFailure
	Limit             backoff.Limit
	MaxFailedIndexes  *int32
	Policy            *failurepolicy.Policy
	SuccessPolicy     *lifecycle.SuccessPolicy
}

// Status holds the parts of the status that can be damaged. Damaged parts are read as far
// as possible.
type Status struct {
	Uncounted census.Uncounted
	Completed indexes
	Failed    indexes
	// Notes say what was damaged in the status, and in what the caller remembers.
	Notes []Note
}

// indexes is a list of indexes in the status. Intact says that the text is the canonical
// text of the set.
type indexes struct {
	Set    indexset.Set
	Intact bool
}

// ClaimPatch returns the strategic merge patch that adopts, releases or frees a pod.
func (v *View) ClaimPatch(claim *census.Record) []byte {
	names := v.Keys()
	switch claim.Relation {
	case owner.Adoptable:
		return names.AdoptPatch(claim.Pod, v.Config.Controller.Reference(v.Job))
	case owner.Releasable:
		return names.ReleasePatch(claim.Pod, v.Job.UID)
	}
	// The patch applies only to the pod as it was read: meanwhile another Job may have
	// adopted it, and may be about to count it.
	return names.StripPatchAt(claim.Pod)
}

// Note describes a defect in the input that the decision works around.
type Note struct{ Code, Text string }

// The codes of notes.
const (
	NoteStatusRepaired = "StatusRepaired"
	NoteMemoryDropped  = "MemoryDropped"
)

func readSpec(spec *batchv1.JobSpec, c *Config) Spec {
	s := Spec{
		Parallelism:      1,
		Completions:      spec.Completions,
		Indexed:          lifecycle.IsIndexed(spec),
		Suspended:        spec.Suspend != nil && *spec.Suspend,
		CountRestarts:    spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Limit:            backoff.LimitOf(spec),
		MaxFailedIndexes: spec.MaxFailedIndexes,
	}
	switch {
	case spec.Parallelism != nil:
		s.Parallelism = *spec.Parallelism
	case spec.Completions == nil:
		one := int32(1)
		s.Completions = &one
	}
	if c.WithoutPerIndex {
		s.Limit = backoff.Limit{Target: backoff.TargetJob, PerJob: s.Limit.PerJob} // KEP-3850, Downgrade and Rollback
	}
	s.PerIndex = s.Indexed && s.Limit.Target == backoff.TargetIndex
	s.Policy = readPolicy(spec, c)
	// KEP-3939: with a pod failure policy only failed pods are replaced, since rules
	// are matched against terminated pods only.
	failed := spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy == batchv1.Failed
	s.ReplaceFailedOnly = s.Policy != nil || failed && !c.WithoutReplacement
	if s.Indexed {
		s.SuccessPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, *s.Completions)
	}
	return s
}

// indexes returns the number of indexes of an Indexed Job, and 0 for others.
func (s *Spec) indexes() int32 {
	if !s.Indexed {
		return 0
	}
	return *s.Completions
}

func (t *Tally) readStatus(job *batchv1.Job, spec *Spec) (s Status) {
	repaired := func(text string) { s.Notes = append(s.Notes, Note{NoteStatusRepaired, text}) }
	s.Uncounted = census.ReadUncounted(job.Status.UncountedTerminatedPods)
	if s.Uncounted.Damaged {
		repaired("status.uncountedTerminatedPods contained a duplicate or empty UID")
	}
	if !spec.Indexed {
		return s
	}
	read := func(path, text string, known *indexTexts) indexes {
		set, damage := known.parse(text, *spec.Completions)
		if damage != nil {
			repaired(fmt.Sprintf("%s: at offset %d: %s", path, damage.Offset, damage.Reason))
		}
		return indexes{set, damage == nil}
	}
	s.Completed = read("status.completedIndexes", job.Status.CompletedIndexes, &t.completed)
	if spec.PerIndex && job.Status.FailedIndexes != nil {
		s.Failed = read("status.failedIndexes", *job.Status.FailedIndexes, &t.failed)
		if s.Failed.Set.IntersectionLen(s.Completed.Set) > 0 {
			repaired("status.failedIndexes contained completed indexes")
		}
	}
	return s
}

// forgetOthers clears what the caller remembers of another Job.
func (in *Input) forgetOthers() (notes []Note) {
	if in.InFlight.Job != "" && in.InFlight.Job != in.Job.UID {
		in.InFlight = InFlight{}
		notes = append(notes, Note{NoteMemoryDropped, "the writes in flight belong to an earlier Job of this name"})
	}
	if in.Backoff.Job != "" && in.Backoff.Job != in.Job.UID {
		notes = append(notes, Note{NoteMemoryDropped, "the backoff record belongs to an earlier Job of this name"})
	}
	in.Backoff = in.Backoff.For(in.Job.UID)
	return notes
}
