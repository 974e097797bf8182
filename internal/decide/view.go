package decide

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// View is an input that has been checked, with every default read.
type View struct {
	Config   Config
	Job      *batchv1.Job
	Now      time.Time
	InFlight InFlight
	// Backoff is the record as the caller remembers it or, in doubt, as the pods
	// tell it.
	Backoff    backoff.Record
	InDoubt    bool
	LastStatus time.Time
	Spec       Spec
	Status     Status
	Census     *census.Census
	// Claims are in the order of the pods' UIDs.
	Claims []Claim
	// Foreign is the number of pods of other owners.
	Foreign int
	Totals  Totals
	Notes   []Note
}

// Keys are the names of what the controller puts on pods.
func (v *View) Keys() keys.Keys { return keys.Keys(v.Config.Controller.Keys).WithDefaults() }

// Spec is the spec of the Job, with the defaults that the API server would have set.
type Spec struct {
	Parallelism       int32
	Completions       *int32
	Indexed           bool
	Suspended         bool
	PerIndex          bool
	ReplaceFailedOnly bool
	CountRestarts     bool // with the restart policy OnFailure
	Limit             backoff.Limit
	MaxFailedIndexes  *int32
	Policy            *failurepolicy.Policy
	SuccessPolicy     *lifecycle.SuccessPolicy
}

// Status is what of the status can be damaged, as well as it can be read.
type Status struct {
	Uncounted census.Uncounted
	Completed indexes
	Failed    indexes
}

// indexes are an interval list of the status. Intact says that the text is what a
// controller writes for the set.
type indexes struct {
	Set    indexset.Set
	Intact bool
}

// Claim is a pod to adopt, to release or to free of its finalizer.
type Claim struct {
	Pod      *corev1.Pod
	Relation tracking.Relation
}

// ClaimPatch returns the strategic merge patch that adopts, releases or frees a pod.
func (v *View) ClaimPatch(c Claim) []byte {
	names := v.Keys()
	switch c.Relation {
	case tracking.Adoptable:
		return names.AdoptPatch(c.Pod, v.Config.Controller.Reference(v.Job))
	case tracking.Releasable:
		return names.ReleasePatch(c.Pod, v.Job.UID)
	}
	// Meanwhile another Job may have adopted it, and be about to count it.
	return names.StripPatchAt(c.Pod)
}

// Note is something in the input that was not as it should be.
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
		Indexed:          isIndexed(spec),
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
	// KEP-3939: with a pod failure policy only failed pods are replaced, since a rule
	// can be matched only against a pod that has come to its end.
	failed := spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy == batchv1.Failed
	s.ReplaceFailedOnly = s.Policy != nil || failed && !c.WithoutReplacement
	if s.Indexed {
		s.SuccessPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, *s.Completions)
	}
	return s
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// indexes is the number of indexes of an Indexed Job.
func (s *Spec) indexes() int32 {
	if !s.Indexed {
		return 0
	}
	return *s.Completions
}

func (t *Tally) readStatus(job *batchv1.Job, spec *Spec) (s Status, notes []Note) {
	repaired := func(text string) { notes = append(notes, Note{NoteStatusRepaired, text}) }
	s.Uncounted = census.ReadUncounted(job.Status.UncountedTerminatedPods)
	if s.Uncounted.Damaged {
		repaired("status.uncountedTerminatedPods contained a duplicate or empty UID")
	}
	if !spec.Indexed {
		return s, notes
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
	return s, notes
}

// readMemory takes what the caller remembers, unless it belongs to another Job.
func readMemory(in *Input) (inFlight InFlight, record backoff.Record, notes []Note) {
	if in.InFlight.Job == "" || in.InFlight.Job == in.Job.UID {
		inFlight = in.InFlight
	} else {
		notes = append(notes, Note{NoteMemoryDropped, "the writes in flight belong to an earlier Job of this name"})
	}
	if in.Backoff.Job != "" && in.Backoff.Job != in.Job.UID {
		notes = append(notes, Note{NoteMemoryDropped, "the backoff record belongs to an earlier Job of this name"})
	}
	return inFlight, in.Backoff.For(in.Job.UID), notes
}

func claims(found []census.Claim) (claims []Claim) {
	for _, c := range found {
		claims = append(claims, Claim{Pod: c.Pod, Relation: tracking.Relation(c.Relation.String())})
	}
	return claims
}
