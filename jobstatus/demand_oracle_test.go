package jobstatus_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/fuzztest"
	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// model is a simple model of a Job: one pod is created or ends at a time, in any order, until
// the Job ends. The oracle explores all its states.
type model struct {
	spec  batchv1.JobSpec
	known map[string]jobstatus.Demand
}

// state is a state of the model. The index -1 means no index.
type state struct {
	running   []int32 // the indexes of the pods that run
	succeeded int32
	failed    int32
	tries     [4]int32 // failures of each index
	done      [4]bool
	lost      [4]bool
	waiting   [4]bool // the last pod of the index has failed and is not replaced
}

func (g *model) indexed() bool { return g.spec.CompletionMode != nil }

func (g *model) set(of [4]bool) (s indexset.Set) {
	for i := range of {
		if of[i] {
			s = s.Union(indexset.Of(int32(i)))
		}
	}
	return s
}

// decided reports whether the end of the Job is decided.
func (g *model) decided(p *state) bool {
	done, lost := g.set(p.done), g.set(p.lost)
	switch {
	case p.failed > *g.spec.BackoffLimit:
		return true
	case g.spec.Completions == nil:
		return p.succeeded > 0
	case !g.indexed():
		return p.succeeded >= *g.spec.Completions
	case g.spec.MaxFailedIndexes != nil && lost.Len() > int(*g.spec.MaxFailedIndexes):
		return true
	case lifecycle.NewSuccessPolicy(g.spec.SuccessPolicy, *g.spec.Completions).Match(done) >= 0:
		return true
	}
	return done.Len()+lost.Len() == int(*g.spec.Completions)
}

// moves yields the possible next states. created says that a pod is created. There are none
// once the end of the Job is decided.
func (g *model) moves(p state, yield func(next state, created bool)) {
	if g.decided(&p) {
		return
	}
	for at, index := range p.running {
		left := p
		left.running = slices.Delete(slices.Clone(p.running), at, at+1)
		good, bad := left, left
		good.succeeded++
		bad.failed++
		if index >= 0 {
			good.done[index] = true
			bad.tries[index]++
			if limit := g.spec.BackoffLimitPerIndex; limit != nil {
				bad.lost[index] = bad.tries[index] > *limit
				bad.waiting[index] = !bad.lost[index]
			}
		}
		yield(good, false)
		yield(bad, false)
	}
	want := *g.spec.Parallelism
	if g.spec.Completions != nil {
		want = min(want, *g.spec.Completions-p.succeeded)
	}
	if len(p.running) >= int(want) {
		return
	}
	if !g.indexed() {
		p.running = append(slices.Clone(p.running), -1)
		yield(p, true)
		return
	}
	for index := range *g.spec.Completions {
		if !p.done[index] && !p.lost[index] && !slices.Contains(p.running, index) {
			next := p
			next.running = append(slices.Clone(p.running), index)
			slices.Sort(next.running)
			next.waiting[index] = false
			yield(next, true)
		}
	}
}

// demand returns the demand in a state.
func (g *model) demand(p state) jobstatus.Demand {
	key := fmt.Sprint(p)
	if d, ok := g.known[key]; ok {
		return d
	}
	now := int64(len(p.running))
	d := jobstatus.Demand{
		AtOnce:  jobstatus.Range{Least: math.MaxInt64, Most: now},
		InTotal: jobstatus.Range{Least: math.MaxInt64, Most: now},
	}
	g.moves(p, func(next state, created bool) {
		later := g.demand(next)
		ended := int64(1)
		if created {
			ended = 0
		}
		d.AtOnce.Least = min(d.AtOnce.Least, max(now, later.AtOnce.Least))
		d.AtOnce.Most = max(d.AtOnce.Most, later.AtOnce.Most)
		d.InTotal.Least = min(d.InTotal.Least, later.InTotal.Least+ended)
		d.InTotal.Most = max(d.InTotal.Most, later.InTotal.Most+ended)
	})
	if d.InTotal.Least == math.MaxInt64 {
		d.AtOnce.Least, d.InTotal.Least = now, now
	}
	g.known[key] = d
	return d
}

// job returns the Job and its pods in a state. Pods that have ended are counted and gone,
// except those that wait for their replacement.
func (g *model) job(p state) (*batchv1.Job, []*corev1.Pod) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid"}, Spec: g.spec}
	job.Status = batchv1.JobStatus{Active: int32(len(p.running)), Succeeded: p.succeeded, Failed: p.failed}
	if g.indexed() {
		job.Status.CompletedIndexes = g.set(p.done).String()
	}
	if g.spec.BackoffLimitPerIndex != nil {
		job.Status.FailedIndexes = new(g.set(p.lost).String())
	}
	var texts []string
	add := func(phase string, index, failures int32) {
		text := fmt.Sprint(phase, " failures=", failures)
		if index >= 0 {
			text += fmt.Sprint(" index=", index)
		}
		texts = append(texts, text)
	}
	for _, index := range p.running {
		failures := int32(0)
		if index >= 0 {
			failures = p.tries[index]
		}
		add("Running", index, failures)
	}
	for index, waits := range p.waiting {
		if waits {
			add("Failed", int32(index), p.tries[index]-1)
			job.Status.Failed--
		}
	}
	return job, demandPods(job, texts...)
}

func drawModel(t *rapid.T) *model {
	draw := func(least, most int32, label string) int32 { return rapid.Int32Range(least, most).Draw(t, label) }
	g := &model{known: map[string]jobstatus.Demand{}}
	g.spec.Parallelism, g.spec.BackoffLimit = new(draw(0, 3, "parallelism")), new(draw(0, 2, "backoffLimit"))
	kind := rapid.SampledFrom([]string{"work queue", "regular", "indexed", "per index"}).Draw(t, "kind")
	if kind == "work queue" {
		return g
	}
	completions := draw(0, 3, "completions")
	g.spec.Completions = &completions
	if kind == "regular" {
		return g
	}
	g.spec.CompletionMode = new(batchv1.IndexedCompletion)
	if kind == "per index" {
		g.spec.BackoffLimitPerIndex = new(draw(0, 1, "backoffLimitPerIndex"))
		if rapid.Bool().Draw(t, "limited") {
			g.spec.BackoffLimit = new(int32(100))
		}
		if rapid.Bool().Draw(t, "maxFailedIndexes") {
			g.spec.MaxFailedIndexes = new(draw(0, 2, "maxFailedIndexes"))
		}
	}
	for range draw(0, 2, "rules") {
		rule := batchv1.SuccessPolicyRule{}
		if rapid.Bool().Draw(t, "indexes") {
			_, named := drawIndexes(t, "succeededIndexes")
			rule.SucceededIndexes = new(named.Union(indexset.Of(0)).String())
		}
		if rule.SucceededIndexes == nil || rapid.Bool().Draw(t, "count") {
			rule.SucceededCount = new(draw(1, 3, "succeededCount"))
		}
		if g.spec.SuccessPolicy == nil {
			g.spec.SuccessPolicy = &batchv1.SuccessPolicy{}
		}
		g.spec.SuccessPolicy.Rules = append(g.spec.SuccessPolicy.Rules, rule)
	}
	return g
}

// demandIsThatOfTheModel compares the demand with that of the model in a random state: "The bounds
// hold however the pods end and whatever the API server rejects, and each bound can be reached."
func demandIsThatOfTheModel(t *rapid.T) {
	g := drawModel(t)
	var p state
	for range rapid.IntRange(0, 8).Draw(t, "moves") {
		var all []state
		g.moves(p, func(next state, _ bool) { all = append(all, next) })
		if len(all) == 0 {
			break
		}
		p = all[rapid.IntRange(0, len(all)-1).Draw(t, "move")]
	}
	job, pods := g.job(p)
	want, got := g.demand(p), byPods(job, pods)
	// A failed pod that waits for its replacement is not counted. A controller that
	// creates pods may not have observed it, which the model does not consider.
	waits := slices.Contains(p.waiting[:], true)
	if !waits || !g.decided(&p) {
		exact := want
		if g.spec.SuccessPolicy != nil { // only the lower bounds are exact
			exact.AtOnce.Most, exact.InTotal.Most = got.AtOnce.Most, got.InTotal.Most
		}
		Same(t, "demand", got, exact)
	}
	holds(t, got, want)
	byStatus := jobstatus.DemandOf(job)
	if waits { // the status counts the failed pod as running
		byStatus.AtOnce.Least, byStatus.InTotal.Least = 0, 0
	}
	holds(t, byStatus, want)
}

func TestDemandOf_oracle(t *testing.T) { rapid.Check(t, demandIsThatOfTheModel) }

func FuzzDemandOf_oracle(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(demandIsThatOfTheModel)))
}

func holds(t *rapid.T, got, want jobstatus.Demand) {
	t.Helper()
	if got.AtOnce.Least > want.AtOnce.Least || got.AtOnce.Most < want.AtOnce.Most ||
		got.InTotal.Least > want.InTotal.Least || got.InTotal.Most < want.InTotal.Most {
		t.Errorf("got %+v, the model has %+v", got, want)
	}
}
