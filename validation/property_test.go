package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// anyJob draws a Job without defaults.
func anyJob(t *rapid.T) *batchv1.Job {
	job := DrawJob(t)
	job.Namespace, job.Name = "", OneOf(t, "name", "", "job", "a.b", "B_d", strings.Repeat("a", 64))
	job.UID, job.ResourceVersion = OneOf(t, "uid", types.UID(""), "uid"), OneOf(t, "version", "", "1")
	for _, at := range []**metav1.Time{&job.Status.StartTime, &job.Status.CompletionTime} {
		*at = OneOf(t, "zero time", *at, *at, *at, &metav1.Time{})
	}
	return job
}

// statusUpdateHolds checks the properties of StatusUpdate for any two Jobs.
func statusUpdateHolds(t rapid.TB, job, old *batchv1.Job) {
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

// anythingGoes: "No input makes a function of this package panic." "Functions never change their
// arguments."
func anythingGoes(t rapid.TB, job, old *batchv1.Job) {
	t.Helper()
	wasJob, wasOld := job.DeepCopy(), old.DeepCopy()
	Create(job)
	Create(defaulting.Prepared(job))
	Update(job, old)
	Status(job)
	statusUpdateHolds(t, job, old)
	Warnings(job)
	Advice(job)
	IndexesSize(&job.Spec)
	Same(t, "the new Job", job, wasJob)
	Same(t, "the old Job", old, wasOld)
	// What may be created may be stored again.
	if stored := job.DeepCopy(); len(Create(stored)) == 0 {
		stored.ResourceVersion = "1"
		Same(t, "Create accepts the Job, and Update without a change", said(Update(stored, stored)), nil)
	}
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
	if diff := cmp.Diff(Warnings(zero), Warnings(none)) + cmp.Diff(Advice(zero), Advice(none)); diff != "" {
		t.Errorf("warnings about nil (-zero +nil):\n%s", diff)
	}
	Same(t, "IndexesSize(nil)", IndexesSize(nil), Size{})
}

// For ordered lists the overlap is the lowest index in both. The test finds it by checking
// every index.
func TestOverlapIsTheLeastIndexInBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, x := DrawIndexes(t, "a")
		b, y := DrawIndexes(t, "b")
		want, wantFound := int32(0), false
		for i := 20; i >= 0; i-- {
			if a[i] && b[i] {
				want, wantFound = int32(i), true
			}
		}
		Same(t, fmt.Sprintf("overlap of %q and %q", x, y), Pair(overlap(x.String(), y.String(), 20)), Pair(want, wantFound))
	})
}
