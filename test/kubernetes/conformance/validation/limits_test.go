package validation_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// limit is a limit of the API server on a length or a number in a Job. A valid Job in which put has
// set the length or number to n is accepted if n is at most the limit, and rejected otherwise.
type limit struct {
	name string
	most int
	put  func(g *gen, j *batchv1.Job, n int)
}

// The limits on the parts of keys, names and paths.
const (
	labelLength  = 63  // of the value or the key of a label without its prefix
	domainLength = 253 // of a name that may contain dots, and of the prefix of a key
)

// large reports whether a Job near the limit is so large that it is drawn rarely.
func (l limit) large() bool { return l.name == annotationsSize || l.name == listLength }

const (
	annotationsSize = "size of the annotations"
	listLength      = "length of succeededIndexes"
)

// around draws a length or number near the limit, or far above it.
func (l limit) around(g *gen) int {
	far := 4*l.most + 1
	if l.large() {
		far = l.most + 1000
	}
	switch rapid.IntRange(0, 4).Draw(g.T, "where") {
	case 0:
		return l.most - 1
	case 1:
		return l.most
	case 2:
		return l.most + 1
	case 3:
		return rapid.IntRange(l.most/2, l.most).Draw(g.T, "below")
	default:
		return rapid.IntRange(l.most+1, far).Draw(g.T, "above")
	}
}

// limits lists the limits that package validation checks.
var limits = func() []limit {
	all := append(nameLimits(), append(countLimits(), indexLimits()...)...)
	keyed := func(name string, put func(g *gen, j *batchv1.Job, key string)) {
		all = append(all,
			limit{name, labelLength, func(g *gen, j *batchv1.Job, n int) { put(g, j, g.text(n)) }},
			limit{name + ", with a prefix", labelLength, func(g *gen, j *batchv1.Job, n int) {
				put(g, j, "a.b/"+g.text(n))
			}},
			limit{name + ", the prefix", domainLength, func(g *gen, j *batchv1.Job, n int) {
				put(g, j, g.domain(n)+"/x")
			}})
	}
	keyed("key of a label", func(_ *gen, j *batchv1.Job, key string) { j.Labels = map[string]string{key: "x"} })
	keyed("key of an annotation", func(_ *gen, j *batchv1.Job, key string) {
		j.Annotations = map[string]string{key: "x"}
	})
	keyed("key of a template label", func(_ *gen, j *batchv1.Job, key string) {
		j.Spec.Template.Labels = map[string]string{key: "x"}
	})
	keyed("key of a matched label", func(_ *gen, j *batchv1.Job, key string) {
		manual(j, map[string]string{key: "x"})
	})
	keyed("key of a match expression", func(g *gen, j *batchv1.Job, key string) { exclude(g, j, key, "x") })
	keyed("type of a pod condition", func(_ *gen, j *batchv1.Job, key string) {
		onConditions(j, []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.PodConditionType(key)}})
	})
	return all
}()

func nameLimits() []limit {
	return []limit{
		{"name", labelLength, func(g *gen, j *batchv1.Job, n int) { j.Name = g.domain(n) }},
		{"name without generated labels", domainLength, func(g *gen, j *batchv1.Job, n int) {
			j.Name = g.domain(n)
			manual(j, map[string]string{"app": "x"})
		}},
		{"generateName", domainLength, func(g *gen, j *batchv1.Job, n int) {
			j.Name, j.GenerateName = "", g.domain(n)
		}},
		{"host name", labelLength, func(g *gen, j *batchv1.Job, n int) { j.Name = g.dashes(n - g.suffix(j)) }},
		{"generated host name", labelLength, func(g *gen, j *batchv1.Job, n int) {
			// The length does not grow beyond that of a prefix of 58.
			j.Name, j.GenerateName = "", g.dashes(n-g.suffix(j)-len("xxxxx"))
		}},
		{"namespace", labelLength, func(g *gen, j *batchv1.Job, n int) { j.Namespace = g.dashes(n) }},
		{"value of a label", labelLength, func(g *gen, j *batchv1.Job, n int) {
			j.Labels = map[string]string{"app": g.text(n)}
		}},
		{"value of a template label", labelLength, func(g *gen, j *batchv1.Job, n int) {
			j.Spec.Template.Labels = map[string]string{"app": g.text(n)}
		}},
		{"value of a matched label", labelLength, func(g *gen, j *batchv1.Job, n int) {
			manual(j, map[string]string{"app": g.text(n)})
		}},
		{"value of a match expression", labelLength, func(g *gen, j *batchv1.Job, n int) {
			exclude(g, j, "app", g.text(n))
		}},
		{annotationsSize, 256 * 1024, func(g *gen, j *batchv1.Job, n int) {
			first := rapid.IntRange(0, 100).Draw(g.T, "first annotation")
			j.Annotations = map[string]string{"a": strings.Repeat("x", first), "b": strings.Repeat("y", n-first-2)}
		}},
		{"finalizer", labelLength, func(g *gen, j *batchv1.Job, n int) {
			j.Finalizers = []string{"a.b/" + g.text(n)}
		}},
		{"finalizer, the prefix", domainLength, func(g *gen, j *batchv1.Job, n int) {
			j.Finalizers = []string{"orphan", g.domain(n) + "/x"}
		}},
		{"managedBy", labelLength, func(g *gen, j *batchv1.Job, n int) {
			j.Spec.ManagedBy = new("a.b/" + g.dashes(n-len("a.b/")))
		}},
		{"managedBy, the domain", labelLength, func(g *gen, j *batchv1.Job, n int) {
			j.Spec.ManagedBy = new(g.domain(n-len("/x")) + "/x")
		}},
	}
}

// countLimits are limits on the numbers of elements.
func countLimits() []limit {
	return []limit{
		{"rules of a failure policy", 20, func(_ *gen, j *batchv1.Job, n int) {
			failurePolicy(j, slices.Repeat([]batchv1.PodFailurePolicyRule{onCodes(1)}, n)...)
		}},
		{"exit codes", 255, func(_ *gen, j *batchv1.Job, n int) {
			codes := make([]int32, n)
			for i := range codes {
				codes[i] = int32(i + 1)
			}
			failurePolicy(j, onCodes(codes...))
		}},
		{"pod conditions", 20, func(_ *gen, j *batchv1.Job, n int) {
			onConditions(j, slices.Repeat([]batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget"}}, n))
		}},
		{"rules of a success policy", 20, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, 5, slices.Repeat([]batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}, n)...)
		}},
		{listLength, 64 * 1024, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, math.MaxInt32, batchv1.SuccessPolicyRule{SucceededIndexes: new(indexList(n))})
		}},
	}
}

// indexLimits are limits on numbers in the spec.
func indexLimits() []limit {
	all := []limit{
		{"parallelism of an Indexed Job", 100_000, func(_ *gen, j *batchv1.Job, n int) {
			indexed(j, 5)
			j.Spec.Parallelism = new(int32(n))
		}},
		{"maxFailedIndexes and completions", 7, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 7, new(int32(n)))
		}},
		{"maxFailedIndexes", 100_000, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 100_000, new(int32(n)))
		}},
		{"completions without maxFailedIndexes", 100_000, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, int32(n), nil)
		}},
		{"parallelism with many completions", 10_000, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 100_001, new(int32(3)))
			j.Spec.Parallelism = new(int32(n))
		}},
		{"maxFailedIndexes with many completions", 10_000, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 100_001, new(int32(n)))
		}},
		{"succeededCount and completions", 7, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, 7, batchv1.SuccessPolicyRule{SucceededCount: new(int32(n))})
		}},
		{"succeededCount and succeededIndexes", 3, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, 7, batchv1.SuccessPolicyRule{SucceededIndexes: new("1-2,5"), SucceededCount: new(int32(n))})
		}},
		{"last of succeededIndexes", 6, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, 7, batchv1.SuccessPolicyRule{SucceededIndexes: new(strconv.Itoa(n))})
		}},
	}
	// These must not be negative, so n is how far they are below zero.
	for _, count := range []struct {
		name string
		put  func(s *batchv1.JobSpec, value int32)
	}{
		{"parallelism", func(s *batchv1.JobSpec, value int32) { s.Parallelism = &value }},
		{"completions", func(s *batchv1.JobSpec, value int32) { s.Completions = &value }},
		{"backoffLimit", func(s *batchv1.JobSpec, value int32) { s.BackoffLimit = &value }},
		{"ttl", func(s *batchv1.JobSpec, value int32) { s.TTLSecondsAfterFinished = &value }},
		{"activeDeadlineSeconds", func(s *batchv1.JobSpec, value int32) { s.ActiveDeadlineSeconds = new(int64(value)) }},
	} {
		all = append(all, limit{"negative " + count.name, 0, func(_ *gen, j *batchv1.Job, n int) {
			count.put(&j.Spec, int32(-n))
		}})
	}
	return append(all,
		limit{"negative backoffLimitPerIndex", 0, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 5, nil)
			j.Spec.BackoffLimitPerIndex = new(int32(-n))
		}},
		limit{"negative maxFailedIndexes", 0, func(_ *gen, j *batchv1.Job, n int) {
			perIndex(j, 5, new(int32(-n)))
		}},
		limit{"negative succeededCount", 0, func(_ *gen, j *batchv1.Job, n int) {
			successPolicy(j, 5, batchv1.SuccessPolicyRule{SucceededCount: new(int32(-n))})
		}})
}

// The functions below change a Job so that a limit applies.

func manual(j *batchv1.Job, labels map[string]string) {
	j.Spec.ManualSelector, j.Spec.Template.Labels = new(true), labels
	j.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
}

// exclude adds an expression to the selector that matches the generated labels.
func exclude(g *gen, j *batchv1.Job, key, value string) {
	expression := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn}
	expression.Values = []string{"y", value}
	if key != "app" && g.chance(2, "no values") {
		expression.Operator, expression.Values = metav1.LabelSelectorOpDoesNotExist, nil
	}
	j.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}
}

func indexed(j *batchv1.Job, completions int32) {
	j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), &completions
}

func perIndex(j *batchv1.Job, completions int32, maxFailed *int32) {
	indexed(j, completions)
	j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = new(int32(1)), maxFailed
}

func successPolicy(j *batchv1.Job, completions int32, rules ...batchv1.SuccessPolicyRule) {
	indexed(j, completions)
	j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules}
}

func failurePolicy(j *batchv1.Job, rules ...batchv1.PodFailurePolicyRule) {
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
	j.Spec.PodReplacementPolicy = nil
}

func onCodes(values ...int32) batchv1.PodFailurePolicyRule {
	codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn}
	codes.Values = values
	return batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: codes}
}

func onConditions(j *batchv1.Job, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) {
	rule := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: patterns}
	failurePolicy(j, rule)
}

// suffix makes the Job Indexed, and returns the length of the suffix of its last host name.
func (g *gen) suffix(j *batchv1.Job) int {
	indexed(j, rapid.SampledFrom([]int32{1, 2, 10, 11, 100, 101, 100_000, math.MaxInt32}).Draw(g.T, "completions"))
	return len("-") + len(strconv.Itoa(int(*j.Spec.Completions-1)))
}

// dashes returns a valid DNS label, apart from its length, which is at least 1.
func (g *gen) dashes(n int) string { return g.word(n, "a0-") }

// domain returns a valid DNS name, apart from its length.
func (g *gen) domain(n int) string { return g.word(n, "a0-.") }

// text returns a valid value of a label, apart from its length.
func (g *gen) text(n int) string { return g.word(n, "aA0-._") }

// word returns a text of n letters, at least one, that may have another character in the middle. It
// is often where the API server cuts generateName.
func (g *gen) word(n int, characters string) string {
	text := []byte(strings.Repeat("a", max(n, 1)))
	if len(text) > 2 {
		at := rapid.IntRange(1, len(text)-2).Draw(g.T, "special place")
		if len(text) > 60 && g.chance(3, "at the cut") {
			at = rapid.IntRange(55, 58).Draw(g.T, "place at the cut")
		}
		text[at] = characters[rapid.IntRange(0, len(characters)-1).Draw(g.T, "special")]
	}
	return string(text)
}

// indexList returns a list of indexes that is n bytes long; n is more than 5.
func indexList(n int) string {
	// Each entry below ends in a comma. Those of five digits have six bytes.
	list := strings.Builder{}
	list.WriteString([]string{"", "0,1000,", "0,", "10,", "100,", "1000,"}[(n+1)%6])
	for index := 10_000; list.Len() <= n; index += 2 {
		list.WriteString(strconv.Itoa(index) + ",")
	}
	return list.String()[:n]
}

var creations = flag.Int("creations", 100_000, "the number of Jobs that TestCreation compares")

// TestCreation compares the answers to the creation of Jobs whose lengths and numbers are around the
// limits of the API server: whether a Job is accepted, and otherwise all errors, with their messages and
// in their order. It prints how often a Job was at each limit, and just above it.
//
// All pod specs are valid, because package validation does not check them. Only the restart policy may
// be invalid: both a rule of Jobs and one of pods read it, and the error of the latter is left out.
func TestCreation(t *testing.T) {
	fixture.Checks(t, *creations)
	count, seen := map[string]int{}, map[place]int{}
	rapid.Check(t, func(t *rapid.T) {
		drawn, at := drawCreation(t)
		verdict := compareCreation(t, drawn)
		count[verdict]++
		if at.limit == nil {
			return
		}
		seen[at]++
		if (at.n <= at.limit.most) != (verdict == accepted) {
			t.Fatalf("%s %d, but the limit is not %d: the Job is %s", at.limit.name, at.n, at.limit.most, verdict)
		}
	})
	fmt.Printf("creations compared: %d (%d accepted, %d rejected, %d let the API server panic)\n",
		count[accepted]+count[rejected]+count[panics], count[accepted], count[rejected], count[panics])
	for i := range limits {
		l := &limits[i]
		at, above := seen[place{l, l.most}], seen[place{l, l.most + 1}]
		fmt.Printf("%6d %6d  %s: %d\n", at, above, l.name, l.most)
		if *creations >= 10_000 && (at == 0 || above == 0) {
			t.Errorf("%s: %d Jobs at the limit of %d, %d just above; want some of both", l.name, at, l.most, above)
		}
	}
}

// place is the length or number of a Job that would be valid but for one limit. For any other Job it is zero.
type place struct {
	limit *limit
	n     int
}

// drawCreation draws a new Job.
func drawCreation(t *rapid.T) (j *batchv1.Job, at place) {
	plain := rapid.IntRange(0, 2).Draw(t, "plain") > 0
	g := &gen{T: t} // breaks no field
	if plain {
		j = g.plain()
	} else {
		g = newGen(t, fields)
		j = g.job()
		if g.chance(4, "generate a name") {
			j.Name = ""
			j.GenerateName = choose(g, "name", []string{"gen-", "a", "a."},
				"", "-", ".", "a.-", "Bad_", "a/-", "a"+strings.Repeat("ü", 40))
		}
	}
	j.UID = "" // the API server sets it
	near := rapid.SampledFrom([]int{1, 1, 1, 2, 0}).Draw(t, "limits")
	for range near {
		l := &limits[rapid.IntRange(0, len(limits)-1).Draw(t, "limit")]
		if l.large() && !g.chance(8, "large") {
			continue
		}
		n := l.around(g)
		l.put(g, j, n)
		if plain && near == 1 {
			at = place{l, n}
		}
	}
	return j, at
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
	ours := apiserver.Decoded(j)
	ours.UID = stored.UID
	prepared := defaulting.Prepared(ours)
	got := answer(validation.Create(prepared, asReleased()))
	unchanged(t, "compareCreation", before, j)
	if err != nil {
		// After defaulting there is only one reason to panic: success-policy-panic in docs/divergences.md.
		if j.Spec.SuccessPolicy == nil || j.Spec.Completions != nil {
			t.Fatalf("%v: %s", err, readable(j))
		}
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
	reasons, err = tolerant(func() []metav1.StatusCause {
		return causes(rest.BeforeCreate(job.Strategy, requestFor(j.Namespace), stored))
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
	text := podtest.ToJSON(j)
	return text[:min(len(text), 4000)]
}
