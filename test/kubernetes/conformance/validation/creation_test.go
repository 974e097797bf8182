package validation_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/validation"
)

var creations = flag.Int("creations", 100_000, "the number of Jobs that TestCreation compares")

// TestCreation compares the answers to the creation of Jobs whose lengths and numbers are around the
// limits of the API server: whether a Job is accepted, and otherwise all errors, with their messages and
// in their order. It prints how often a Job was at each limit.
//
// All pod specs are valid, because package validation does not check them. Only the restart policy may
// be invalid: both a rule of Jobs and one of pods read it, and the error of the latter is left out.
func TestCreation(t *testing.T) {
	fixture.Checks(t, *creations)
	count := map[string]int{}
	tallies := make([]tally, len(limits))
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawCreation(t)
		verdict := compareCreation(t, drawn.job)
		count[verdict]++
		if drawn.limit >= 0 {
			tallies[drawn.limit].note(limits[drawn.limit], drawn.n, verdict)
		}
	})
	fmt.Printf("creations compared: %d (%d accepted, %d rejected, %d let the API server panic)\n",
		count[accepted]+count[rejected]+count[panics], count[accepted], count[rejected], count[panics])
	for i, l := range limits {
		tallies[i].report(t, l)
	}
}

// creation is a new Job. If it would be valid but for one limit, limit is the index of that limit and n
// the length or number; otherwise limit is negative.
type creation struct {
	job      *batchv1.Job
	limit, n int
}

func drawCreation(t *rapid.T) creation {
	plain := rapid.IntRange(0, 2).Draw(t, "plain") > 0
	g := &gen{T: t} // breaks no field
	made := creation{limit: -1}
	if plain {
		made.job = g.plain()
	} else {
		g = newGen(t, fields)
		made.job = g.job()
		if g.chance(4, "generate a name") {
			made.job.Name = ""
			made.job.GenerateName = choose(g, "name", []string{"gen-", "a", "a."},
				"", "-", ".", "a.-", "Bad_", "a/-", "a"+strings.Repeat("ü", 40))
		}
	}
	made.job.UID = "" // the API server sets it
	near := rapid.SampledFrom([]int{1, 1, 1, 2, 0}).Draw(t, "limits")
	for range near {
		i := rapid.IntRange(0, len(limits)-1).Draw(t, "limit")
		if limits[i].large() && !g.chance(8, "large") {
			continue
		}
		n := limits[i].around(g)
		limits[i].put(g, made.job, n)
		if plain && near == 1 {
			made.limit, made.n = i, n
		}
	}
	return made
}

// plain draws a valid Job that is not Indexed.
func (g *gen) plain() *batchv1.Job {
	j := &batchv1.Job{}
	j.Name, j.Namespace = "job", "ns"
	j.Labels = choose(g, "labels", labelSets())
	j.Annotations = choose(g, "annotations", []map[string]string{nil, {"k": "v"}})
	g.template(&j.Spec.Template)
	return j
}

const rejected = "rejected"

// compareCreation compares the answers to a creation, and returns that of the API server.
func compareCreation(t rapid.TB, j *batchv1.Job) (verdict string) {
	t.Helper()
	before := j.DeepCopy()
	stored, want, err := realCreation(j)
	ours := onTheWire(j)
	ours.UID = stored.UID
	prepared := validation.Prepared(ours)
	got := answer(validation.Create(prepared, asReleased()))
	unchanged(t, "compareCreation", before, j)
	if err != nil {
		wantKnownPanic(t, j, err)
		if len(got) == 0 {
			t.Fatalf("the API server panics, and jobfate accepts %s", readable(j))
		}
		return panics
	}
	suffix := ""
	if j.Name == "" && j.GenerateName != "" {
		head := len(stored.Name) - len("xxxxx")
		suffix = stored.Name[head:]
		if prepared.Name != stored.Name[:head]+"xxxxx" {
			t.Fatalf("the API server generates the name %q, jobfate %q, of %s", stored.Name, prepared.Name, readable(j))
		}
	}
	w, g := compared(t, want, suffix), compared(t, got, suffix)
	if !slices.Equal(w, g) || (len(want) == 0) != (len(got) == 0) {
		t.Fatalf("Create (-API server +jobfate):\n%s\nof %s", cmp.Diff(w, g), readable(j))
	}
	if len(want) == 0 {
		return accepted
	}
	return rejected
}

// realCreation does what the API server does with a request to create a Job, up to the storage. It
// returns the Job to store, and why it is rejected.
func realCreation(j *batchv1.Job) (stored *batch.Job, reasons []metav1.StatusCause, err error) {
	stored = apiserver.Internal(realDefault(j))
	rest.FillObjectMetaSystemFields(stored)
	if stored.Name == "" && stored.GenerateName != "" {
		stored.Name = job.Strategy.GenerateName(stored.GenerateName)
	}
	_, err = tolerant(func() field.ErrorList {
		reasons = causes(rest.BeforeCreate(job.Strategy, requestFor(j.Namespace), stored))
		return nil
	})
	return stored, reasons, err
}

// answer returns the errors in the answer of an API server that rejects a Job because of them.
func answer(errs field.ErrorList) []metav1.StatusCause {
	return causes(apierrors.NewInvalid(batch.Kind("Job"), "", errs))
}

// causes returns the errors in the answer of an API server.
func causes(err error) []metav1.StatusCause {
	if err == nil {
		return nil
	}
	status := &apierrors.StatusError{}
	if !errors.As(err, &status) || status.ErrStatus.Details == nil {
		panic(fmt.Sprintf("the answer has no causes: %v", err))
	}
	return status.ErrStatus.Details.Causes
}

// compared returns the errors that are compared. Those with the same field may have any order. The
// random suffix of a name is replaced.
func compared(t rapid.TB, reasons []metav1.StatusCause, suffix string) []line {
	var errs field.ErrorList
	for _, c := range reasons {
		if suffix != "" {
			c.Message = strings.ReplaceAll(c.Message, suffix, "xxxxx")
		}
		if c.Field == "spec.successPolicy" {
			// The API server shows its internal type.
			c.Message = c.Message[strings.LastIndex(c.Message, ": ")+1:]
		}
		err := &field.Error{Type: field.ErrorType(c.Type), Field: c.Field, Detail: c.Message}
		if !apiserver.RuleOfJob(err) && c.Field != "spec.template.spec.restartPolicy" {
			t.Fatalf("the generators draw an invalid pod spec: %v", err)
		}
		errs = append(errs, err)
	}
	return lines(errs)
}

func readable(j *batchv1.Job) string {
	text, err := json.Marshal(j)
	if err != nil {
		return err.Error()
	}
	return string(text[:min(len(text), 4000)])
}

// tally counts the verdicts on Jobs that are valid but for one limit.
type tally struct{ below, at, next, above, wrong int }

func (c *tally) note(l limit, n int, verdict string) {
	switch {
	case n < l.most:
		c.below++
	case n == l.most:
		c.at++
	case n == l.most+1:
		c.next++
	default:
		c.above++
	}
	if (n <= l.most) != (verdict == accepted) {
		c.wrong++
	}
}

// report prints the counts. It fails if no Job was at the limit or just above it, unless there were few
// Jobs, or if the API server has another limit.
func (c *tally) report(t *testing.T, l limit) {
	fmt.Printf("%6d %6d %6d %6d  %s: %d\n", c.below, c.at, c.next, c.above, l.name, l.most)
	if c.wrong > 0 {
		t.Errorf("%s: the limit of the API server is not %d: %d Jobs", l.name, l.most, c.wrong)
	}
	if *creations >= 10_000 && (c.at == 0 || c.next == 0) {
		t.Errorf("%s: %d Jobs at the limit of %d, %d just above; want some of both", l.name, c.at, l.most, c.next)
	}
}
