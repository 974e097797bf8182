// Package validation_test compares package validation with the API server's validation, on the same
// Jobs.
package validation_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

func TestDefaulted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := newGen(t, fields).job()
		before := drawn.DeepCopy()
		want, got := realDefault(drawn), apiserver.Decoded(defaulting.Job(drawn))
		want.Spec.Template.Spec = got.Spec.Template.Spec // the pod's own defaults
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("Defaulted (-API server +jobfate):\n%s", cmp.Diff(want, got))
		}
		unchanged(t, "Defaulted", before, drawn)
	})
}

func TestPrepared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGen(t, fields)
		drawn := g.job()
		drawn.Status = g.status(&drawn.Spec)
		before := drawn.DeepCopy()
		want, got := apiserver.External(realPrepare(drawn)), apiserver.Decoded(defaulting.Prepared(drawn))
		want.Spec.Template.Spec = corev1.PodSpec{}
		got.Spec.Template.Spec = corev1.PodSpec{}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("Prepared (-API server +jobfate):\n%s", cmp.Diff(want, got))
		}
		unchanged(t, "Prepared", before, drawn)
	})
}

func TestCreateNotPrepared(t *testing.T) {
	seen := reach{}
	rapid.Check(t, func(t *rapid.T) {
		drawn := newGen(t, fields).job()
		got := validation.Create(drawn, asReleased())
		want, err := realCreate(internal(drawn))
		if err != nil {
			seen[panics]++
			return
		}
		seen.note(want)
		compare(t, "Create", got, want)
	})
	seen.demand(t, slices.Concat(specMessages, generatedMessages, missingMessages))
}

func TestUpdate(t *testing.T) {
	seen := reach{}
	rapid.Check(t, func(t *rapid.T) {
		g := newGen(t, fields)
		old := g.job()
		if !g.chance(8, "old not prepared") {
			old = defaulting.Prepared(old)
		}
		old.ResourceVersion = "1"
		old.Status = g.status(&old.Spec)
		if !g.chance(3, "may run") {
			old.Status.Active, old.Spec.Suspend = 0, new(true)
			old.Status.StartTime = rapid.SampledFrom(times()).Draw(t, "last start")
		}
		changed := old.DeepCopy()
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			g.changeSpec(changed)
		}
		changed.Status = g.status(&old.Spec) // does not matter here

		was, now := old.DeepCopy(), changed.DeepCopy()
		got := validation.Update(apiserver.Decoded(changed), apiserver.Decoded(old), asReleased())
		unchanged(t, "Update", was, old)
		unchanged(t, "Update", now, changed)
		reasons, err := realUpdate(changed, old)
		if err != nil {
			seen[panics]++
			return
		}
		want := errorsOf(reasons)
		seen.note(job.Strategy.ValidateUpdate(ctx, internal(changed), internal(old)))
		if len(lines(want)) == 0 && !equality.Semantic.DeepEqual(changed.Spec.Template, old.Spec.Template) {
			seen[templateMoved]++
		}
		if len(lines(want)) == 0 && metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector) {
			seen[selectorKept]++
		}
		compare(t, "Update", errorsOf(answer(got)), want)
	})
	generated := slices.Concat(generatedMessages, missingMessages)
	if kubernetes.Minor() <= 36 {
		seen.demand(t, slices.Concat(updateMessages, generated))
		return
	}
	seen.demand(t, updateMessages)
	for _, message := range generated {
		if n := seen.count(message); n > 0 {
			t.Errorf("%d updates are rejected with: %s", n, message)
		}
	}
}

func TestStatusUpdate(t *testing.T) {
	seen := reach{}
	rapid.Check(t, func(t *rapid.T) {
		changed, old := statusChange(t)
		was, now := old.DeepCopy(), changed.DeepCopy()
		got := validation.StatusUpdate(changed, old, asReleased())
		unchanged(t, "StatusUpdate", was, old)
		unchanged(t, "StatusUpdate", now, changed)
		want := podtest.Must(realStatusUpdate(changed, old))
		seen.note(want)
		got = errorsOf(answer(got))
		compare(t, "StatusUpdate", got, errorsOf(realStatusRequest(changed, old)))
	})
	seen.demand(t, append(statusMessages, stepMessages...))
}

func TestStatus(t *testing.T) {
	seen := reach{}
	rapid.Check(t, func(t *rapid.T) {
		drawn, _ := statusChange(t)
		want := realStatus(drawn)
		seen.note(want)
		compare(t, "Status", validation.Status(drawn), want)
	})
	seen.demand(t, statusMessages)
}

// statusChange draws a Job and a status update of it. In half of the cases the new status differs from
// the old one in a few fields only.
func statusChange(t *rapid.T) (changed, old *batchv1.Job) {
	g := newGen(t, fields)
	old = defaulting.Prepared(g.job())
	old.ResourceVersion = "1"
	old.Status = newGen(t, statusFields).status(&old.Spec)
	changed = old.DeepCopy()
	changed.Status = newGen(t, statusFields).status(&old.Spec)
	if g.chance(2, "small change") {
		small := *old.Status.DeepCopy()
		for range rapid.IntRange(0, 3).Draw(t, "fields to change") {
			n := rapid.IntRange(0, reflect.TypeFor[batchv1.JobStatus]().NumField()-1).Draw(t, "field")
			reflect.ValueOf(&small).Elem().Field(n).Set(reflect.ValueOf(changed.Status).Field(n))
		}
		changed.Status = small
	}
	if g.chance(10, "another spec") {
		newGen(t, fields).spec(&changed.Spec) // the API server ignores it
	}
	return changed, old
}

func TestWarnings(t *testing.T) {
	var named, many, none int
	rapid.Check(t, func(t *rapid.T) {
		drawn := newGen(t, fields).job()
		if rapid.Bool().Draw(t, "bare pod") {
			drawn.Spec.Template.Spec.Containers = nil
		}
		want := job.Strategy.WarningsOnCreate(ctx, internal(drawn))
		got := validation.Warnings(drawn)
		for _, w := range got {
			if w[0] == 'm' {
				named++
			} else {
				many++
			}
		}
		if len(got) == 0 {
			none++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Warnings (-API server +jobfate):\n%s", diff)
		}
	})
	if named == 0 || many == 0 || none == 0 {
		t.Errorf("got %d warnings about names, %d about many indexes, %d Jobs without any; want some of each", named, many, none)
	}
}
