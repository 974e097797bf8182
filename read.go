package jobfate

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// view is a snapshot that has been checked, with every default read.
type view struct {
	config
	job      *batchv1.Job
	now      time.Time
	inFlight InFlight
	memory   backoff.Record // as the caller remembers it
	inDoubt  bool
	last     time.Time
	owner    tracking.Owner

	parallelism       int32
	completions       *int32
	one               int32 // what completions points to, when nothing says how many
	indexed           bool
	suspended         bool
	perIndex          bool
	replaceFailedOnly bool
	limit             backoff.Limit
	maxFailedIndexes  *int32
	policy            *failurepolicy.Policy
	successPolicy     *jobstatus.SuccessPolicy
	uncounted         tracking.Uncounted
	completedIndexes  indexset.Set
	completedIntact   bool // as the status writes them
	failedIndexes     indexset.Set
	failedIntact      bool
	notes             []Note

	census *tracking.Census
	claims []Claim
	// foreign are the pods of other owners in the snapshot.
	foreign int
}

// read checks a snapshot and reads it.
func read(s Snapshot, opts []Option) (*view, error) {
	v := &view{job: s.Job, now: s.Now, last: s.LastStatus}
	if s.Job == nil {
		return nil, &InputError{field.ErrorList{field.Required(field.NewPath("job"), "there is nothing to decide on")}}
	}
	v.configure(opts)
	if !v.controller.Manages(s.Job) {
		return nil, fmt.Errorf("spec.managedBy: %w: %s", ErrNotManaged, managerOf(s.Job))
	}
	errs := v.checkCaller()
	errs = append(errs, checkIdentity(s.Job)...)
	errs = append(errs, checkSpec(&s.Job.Spec)...)
	errs = append(errs, v.readOwner()...)
	if jobstatus.Finished(s.Job) == nil {
		errs = append(errs, checkStatus(&s.Job.Status)...)
	}
	if len(errs) > 0 {
		return nil, &InputError{append(errs, checkPods(s.Pods)...)}
	}
	v.readSpec(&s.Job.Spec)
	v.readPolicies(&s.Job.Spec)
	v.readStatus(&s.Job.Status)
	v.readMemory(s)
	// What is wrong with the pods shows while they are read. To look for it first
	// would be another pass over them, which was a quarter of the time at 10^5 pods.
	if !v.readPods(s.Pods) {
		return nil, &InputError{checkPods(s.Pods)}
	}
	if s.BackoffInDoubt {
		v.inDoubt, v.memory = true, v.rebuilt()
	}
	return v, nil
}

func managerOf(job *batchv1.Job) string {
	if job.Spec.ManagedBy == nil {
		return batchv1.JobControllerName
	}
	return *job.Spec.ManagedBy
}

// readSpec reads the spec, with the defaults that the API server would have set.
func (v *view) readSpec(spec *batchv1.JobSpec) {
	v.completions = spec.Completions
	v.parallelism = 1
	switch {
	case spec.Parallelism != nil:
		v.parallelism = *spec.Parallelism
	case spec.Completions == nil:
		v.one = 1
		v.completions = &v.one
	}
	v.indexed = isIndexed(spec)
	v.suspended = spec.Suspend != nil && *spec.Suspend
	v.limit = backoff.LimitOf(spec)
	if v.noPerIndex {
		v.limit = v.limit.WithoutPerIndex()
	}
	v.perIndex = v.indexed && v.limit.Target == backoff.TargetIndex
	v.maxFailedIndexes = spec.MaxFailedIndexes
}

// readPolicies reads the policies of the Job, and the pod failure policy that the
// caller gives instead.
func (v *view) readPolicies(spec *batchv1.JobSpec) {
	var off []failurepolicy.Option
	if v.noPerIndex {
		off = append(off, failurepolicy.WithoutFailIndex())
	}
	rules := v.failureSpec
	if rules == nil {
		rules = failurepolicy.FromAPI(spec.PodFailurePolicy, v.ruleNames...)
	}
	v.policy = failurepolicy.Compile(rules, off...)
	// KEP-3939: with a pod failure policy only failed pods are replaced, since
	// a rule can be matched only against a pod that has come to its end.
	replacement := spec.PodReplacementPolicy
	v.replaceFailedOnly = v.policy != nil || !v.noReplace && replacement != nil && *replacement == batchv1.Failed
	if v.indexed {
		v.successPolicy = jobstatus.NewSuccessPolicy(spec.SuccessPolicy, *v.completions)
	}
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// readStatus reads the parts of the status that can be damaged.
func (v *view) readStatus(status *batchv1.JobStatus) {
	v.uncounted = tracking.ReadUncounted(status.UncountedTerminatedPods)
	if v.uncounted.Damaged {
		v.note(NoteStatusRepaired, "status.uncountedTerminatedPods named a pod twice or not at all")
	}
	if !v.indexed {
		return
	}
	v.completedIndexes, v.completedIntact = v.readIndexes("status.completedIndexes", status.CompletedIndexes)
	if v.perIndex && status.FailedIndexes != nil {
		v.failedIndexes, v.failedIntact = v.readIndexes("status.failedIndexes", *status.FailedIndexes)
		if v.failedIndexes.Overlaps(v.completedIndexes) {
			v.note(NoteStatusRepaired, "status.failedIndexes held completed indexes")
		}
	}
}

// readIndexes reads an interval list. Intact says that it is what a controller
// writes for the set.
func (v *view) readIndexes(path, text string) (set indexset.Set, intact bool) {
	set, damage := indexset.ParseDamaged(text, *v.completions)
	if !damage.OK() {
		v.note(NoteStatusRepaired, path+": "+damage.String())
	}
	return set, damage.OK()
}

// readMemory takes what the caller remembers, unless it is of another Job.
func (v *view) readMemory(s Snapshot) {
	if s.InFlight.Job == "" || s.InFlight.Job == s.Job.UID {
		v.inFlight = s.InFlight
	} else {
		v.note(NoteMemoryDropped, "what is in flight belongs to an earlier Job of this name")
	}
	v.memory = s.Backoff.For(s.Job.UID)
	if s.Backoff.Job != "" && s.Backoff.Job != s.Job.UID {
		v.note(NoteMemoryDropped, "the backoff record belongs to an earlier Job of this name")
	}
}

func (v *view) note(code NoteCode, text string) {
	v.notes = append(v.notes, Note{Code: code, Text: text})
}

// checkCaller checks what comes from the caller alone. The API server would refuse
// every status with a time that is zero.
func (v *view) checkCaller() (errs field.ErrorList) {
	if v.noKind {
		errs = append(errs, field.Required(field.NewPath("OwnerKind").Child("kind"), "objects from typed clients do not say their kind"))
	}
	if v.now.IsZero() {
		errs = append(errs, field.Required(field.NewPath("now"), "the time goes into the status"))
	}
	return errs
}

func checkIdentity(job *batchv1.Job) (errs field.ErrorList) {
	if job.Name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "pods are named after the Job"))
	}
	if job.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), "pods are recognised by the UID of their Job"))
	}
	return errs
}

func checkSpec(spec *batchv1.JobSpec) (errs field.ErrorList) {
	for _, f := range [...]struct {
		name  string
		value *int32
	}{
		{"parallelism", spec.Parallelism},
		{"completions", spec.Completions},
		{"backoffLimit", spec.BackoffLimit},
		{"backoffLimitPerIndex", spec.BackoffLimitPerIndex},
		{"maxFailedIndexes", spec.MaxFailedIndexes},
	} {
		if f.value != nil && *f.value < 0 {
			errs = append(errs, negative(field.NewPath("spec", f.name), *f.value))
		}
	}
	if s := spec.ActiveDeadlineSeconds; s != nil && *s < 0 {
		errs = append(errs, negative(field.NewPath("spec", "activeDeadlineSeconds"), *s))
	}
	if mode := spec.CompletionMode; mode != nil && *mode != batchv1.IndexedCompletion && *mode != batchv1.NonIndexedCompletion {
		errs = append(errs, field.NotSupported(field.NewPath("spec", "completionMode"), string(*mode),
			[]string{string(batchv1.IndexedCompletion), string(batchv1.NonIndexedCompletion)}))
	}
	if isIndexed(spec) && spec.Completions == nil && spec.Parallelism != nil {
		errs = append(errs, field.Required(field.NewPath("spec", "completions"), "when completion mode is Indexed"))
	}
	return errs
}

// readOwner reads whose pods are the Job's, and sees to it that the Job selects
// the pods that it creates. If it did not, each would be released and another
// created, without end.
func (v *view) readOwner() field.ErrorList {
	owner, err := tracking.OwnerOf(v.job)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), field.OmitValueType{}, errors.Unwrap(err).Error())}
	}
	if !owner.Selects(v.job.Spec.Template.Labels) {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), field.OmitValueType{},
			"the selector does not match them")}
	}
	v.owner = owner
	return nil
}

func checkStatus(status *batchv1.JobStatus) (errs field.ErrorList) {
	for _, f := range [...]struct {
		name  string
		value *int32
	}{
		{"active", &status.Active},
		{"succeeded", &status.Succeeded},
		{"failed", &status.Failed},
		{"ready", status.Ready},
		{"terminating", status.Terminating},
	} {
		if f.value != nil && *f.value < 0 {
			errs = append(errs, negative(field.NewPath("status", f.name), *f.value))
		}
	}
	met, target := batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget
	if jobstatus.True(status.Conditions, met) != nil && jobstatus.True(status.Conditions, target) != nil {
		errs = append(errs, field.Invalid(field.NewPath("status", "conditions"), field.OmitValueType{},
			fmt.Sprintf("%s and %s are both True; the API server lets neither be taken back", met, target)))
	}
	return errs
}

func negative[T int32 | int64](path *field.Path, value T) *field.Error {
	return field.Invalid(path, value, "must be greater than or equal to 0")
}
