package validation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// anyJob draws a Job without defaults.
func anyJob(t *rapid.T) *batchv1.Job {
	job := &batchv1.Job{}
	job.Name = drawn(t, "name", "", "job", "a.b", "B_d", strings.Repeat("a", 64))
	job.UID = drawn(t, "uid", types.UID(""), "uid")
	job.ResourceVersion = drawn(t, "version", "", "1")
	job.Spec = anySpec(t)
	job.Status = anyStatus(t)
	return job
}

func drawn[T any](t *rapid.T, name string, values ...T) T {
	return values[rapid.IntRange(0, len(values)-1).Draw(t, name)]
}

// maybe draws a pointer to one of the values, or nil.
func maybe[T any](t *rapid.T, name string, values ...T) *T {
	if rapid.Bool().Draw(t, "no "+name) {
		return nil
	}
	return new(drawn(t, name, values...))
}

func count(t *rapid.T, name string) *int32 {
	return maybe[int32](t, name, -1, 0, 1, 5, 10_001, 100_001, 1<<31-1)
}

func anyList(t *rapid.T, name string) string {
	random := rapid.StringOfN(rapid.SampledFrom([]rune("0123459,-+x")), 0, 9, -1).Draw(t, name+" text")
	return drawn(t, name, "", "0", "1-3", "2,1", "1-2-3", "4,x,0", random, random)
}

func anySpec(t *rapid.T) batchv1.JobSpec {
	spec := batchv1.JobSpec{
		Parallelism: count(t, "parallelism"), Completions: count(t, "completions"),
		BackoffLimit: count(t, "backoffLimit"), BackoffLimitPerIndex: count(t, "per index"), MaxFailedIndexes: count(t, "maxFailed"),
		TTLSecondsAfterFinished: count(t, "ttl"), ActiveDeadlineSeconds: maybe[int64](t, "deadline", -1, 1),
		CompletionMode: maybe(t, "mode", batchv1.IndexedCompletion, batchv1.IndexedCompletion, "Other"),
		Suspend:        maybe(t, "suspend", true, false), ManualSelector: maybe(t, "manual", true, false),
		ManagedBy:            maybe(t, "managedBy", "", "x", "a.b/c"),
		PodReplacementPolicy: maybe[batchv1.PodReplacementPolicy](t, "replacement", "", "Failed", "TerminatingOrFailed", "Other"),
	}
	if rapid.Bool().Draw(t, "equal") {
		spec.MaxFailedIndexes = spec.Completions
	}
	spec.Selector = maybe(t, "selector", metav1.LabelSelector{}, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{}}})
	spec.Template.Labels = drawn(t, "labels", nil, map[string]string{}, map[string]string{"job-name": "x"})
	spec.Template.Spec.RestartPolicy = drawn(t, "restart", corev1.RestartPolicy(""), "Never", "OnFailure", "Other")
	spec.Template.Spec.Affinity = maybe(t, "affinity", corev1.Affinity{}, corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}, corev1.Affinity{PodAffinity: &corev1.PodAffinity{}})
	spec.Template.Spec.Containers = drawn(t, "containers", nil, []corev1.Container{{}}, []corev1.Container{{Name: "a"}, {Name: "b"}})
	for range rapid.IntRange(0, 2).Draw(t, "failure rules") {
		if spec.PodFailurePolicy == nil {
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		}
		spec.PodFailurePolicy.Rules = append(spec.PodFailurePolicy.Rules, batchv1.PodFailurePolicyRule{
			Action:          drawn[batchv1.PodFailurePolicyAction](t, "action", "", "FailIndex", "Count", "Other"),
			OnExitCodes:     maybe(t, "codes", batchv1.PodFailurePolicyOnExitCodesRequirement{}, *onExitCodes("In", 0, 0)),
			OnPodConditions: drawn(t, "patterns", nil, []batchv1.PodFailurePolicyOnPodConditionsPattern{{}}),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "success rules") {
		if spec.SuccessPolicy == nil {
			spec.SuccessPolicy = &batchv1.SuccessPolicy{}
		}
		spec.SuccessPolicy.Rules = append(spec.SuccessPolicy.Rules, batchv1.SuccessPolicyRule{
			SucceededIndexes: maybe(t, "indexes", anyList(t, "succeeded list")), SucceededCount: count(t, "succeededCount"),
		})
	}
	return spec
}

func anyStatus(t *rapid.T) batchv1.JobStatus {
	status := batchv1.JobStatus{
		Active: drawn[int32](t, "active", 0, 1, -1), Succeeded: drawn[int32](t, "succeeded", 0, 1, -1), Failed: drawn[int32](t, "failed", 0, 1, -1),
		Ready: count(t, "ready"), Terminating: count(t, "terminating"),
		CompletedIndexes: anyList(t, "completed list"), FailedIndexes: maybe(t, "failedIndexes", anyList(t, "failed list")),
		StartTime: drawn(t, "start", nil, at(0), at(5), &metav1.Time{}), CompletionTime: drawn(t, "end", nil, at(0.5), at(3), &metav1.Time{}),
	}
	for _, kind := range []batchv1.JobConditionType{complete, failed, target, criteria, suspendedCond} {
		if s := drawn[corev1.ConditionStatus](t, string(kind), "", "", "True", "False"); s != "" {
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: s})
		}
	}
	if rapid.Bool().Draw(t, "uncounted") {
		uids := func(name string) []types.UID { return drawn(t, name, nil, []types.UID{"a"}, []types.UID{"a", "", "a"}) }
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids("uids succeeded"), Failed: uids("uids failed")}
	}
	return status
}

// statusUpdateHolds checks the properties of StatusUpdate for any two Jobs.
func statusUpdateHolds(t rapid.TB, job, old *batchv1.Job) {
	wasJob, wasOld := job.DeepCopy(), old.DeepCopy()
	update := StatusUpdate(job, old)

	// With the old spec, each error of the update comes from the status by itself or from a
	// rule about the change.
	judged := job.DeepCopy()
	judged.Spec = old.Spec
	alone := said(Status(judged))
	steps := said(stepErrors(job, old))
	for _, line := range said(update) {
		if !strings.HasPrefix(line, "metadata.") && !slices.Contains(alone, line) && !slices.Contains(steps, line) {
			t.Errorf("StatusUpdate says %q, which neither Status nor a rule about the change says", line)
		}
	}
	// If Status accepts a status, only rules about the change can reject the update.
	if len(alone) == 0 {
		if got := len(withoutMetadata(update)); got > len(steps) {
			t.Errorf("Status accepts, and StatusUpdate says %q", said(update))
		}
	}
	Same(t, "the new Job", job, wasJob)
	Same(t, "the old Job", old, wasOld)
}

// stepErrors runs the rules about a change, conditions or not.
func stepErrors(job, old *batchv1.Job) field.ErrorList {
	c := &change{now: viewOf(&job.Status, &old.Spec), was: viewOf(&old.Status, &old.Spec)}
	var errs field.ErrorList
	for _, rule := range statusRules {
		if rule.step != nil {
			errs = append(errs, rule.step(c)...)
		}
	}
	return errs
}

func withoutMetadata(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool { return strings.HasPrefix(err.Field, "metadata.") })
}

func TestStatusUpdateHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { statusUpdateHolds(t, anyJob(t), anyJob(t)) })
}

// anythingGoes: "No input makes a function of this package panic." "Functions never change their
// arguments."
func anythingGoes(t rapid.TB, job, old *batchv1.Job) {
	t.Helper()
	wasJob, wasOld := job.DeepCopy(), old.DeepCopy()
	Create(job)
	Create(Prepared(job))
	Update(job, old)
	Status(job)
	Warnings(job)
	Advice(job)
	IndexesSize(&job.Spec)
	Same(t, "the new Job", job, wasJob)
	Same(t, "the old Job", old, wasOld)
	// What may be created may be stored again.
	if stored := job.DeepCopy(); len(Create(stored)) == 0 {
		stored.ResourceVersion = "1"
		if errs := Update(stored, stored); len(errs) > 0 {
			t.Errorf("Create accepts the Job, and Update without a change says %q", said(errs))
		}
	}
	// A second call changes nothing.
	once := Defaulted(job)
	Same(t, "Defaulted twice", Defaulted(once), once)
	once = WithGeneratedSelector(once)
	Same(t, "WithGeneratedSelector twice", WithGeneratedSelector(once), once)
}

func TestAnythingGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { anythingGoes(t, anyJob(t), anyJob(t)) })
}

func TestNilAndZeroJobs(t *testing.T) {
	var none *batchv1.Job
	zero := &batchv1.Job{}
	for name, pair := range map[string][2]field.ErrorList{
		"Create":       {Create(none), Create(zero)},
		"Update":       {Update(none, none), Update(zero, zero)},
		"StatusUpdate": {StatusUpdate(none, none), StatusUpdate(zero, zero)},
		"Status":       {Status(none), Status(zero)},
	} {
		Same(t, name+" of nil", said(pair[0]), said(pair[1]))
		if name != "Status" && len(pair[1]) == 0 {
			t.Errorf("%s accepts the zero Job", name)
		}
	}
	if Defaulted(none) != nil || WithGeneratedSelector(none) != nil || Prepared(none) != nil {
		t.Error("a nil Job became a Job")
	}
	if diff := cmp.Diff(Warnings(zero), Warnings(none)) + cmp.Diff(Advice(zero), Advice(none)); diff != "" {
		t.Errorf("warnings about nil (-zero +nil):\n%s", diff)
	}
	Same(t, "IndexesSize(nil)", IndexesSize(nil), Size{})
}

// For ordered lists the overlap is the lowest index in both. The test finds it by checking
// every index.
func TestOverlapIsTheLeastIndexInBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b [20]bool
		draw := func(in *[20]bool) string {
			var set indexset.Builder
			for i := range in {
				if in[i] = rapid.Bool().Draw(t, "in"); in[i] {
					set.Add(int32(i))
				}
			}
			return set.Set().String()
		}
		x, y := draw(&a), draw(&b)
		want, wantFound := int32(0), false
		for i := len(a) - 1; i >= 0; i-- {
			if a[i] && b[i] {
				want, wantFound = int32(i), true
			}
		}
		if got, found := overlap(x, y, 20); got != want || found != wantFound {
			t.Errorf("overlap(%q, %q) = %d, %v, want %d, %v", x, y, got, found, want, wantFound)
		}
	})
}
