package explore

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/tracking"
)

// unaware reports whether the controller acts on a stale spec, or does not know that the
// Job is being deleted.
func (l *lives) unaware(n uint32) bool {
	s := &l.states[n]
	return !l.sameSpec(s.job, s.seenJob) || s.at != 0 && !l.sameSpec(s.job, l.positions[s.at].input.job)
}

// observesGone reports whether the spec was edited and the controller still observes the
// finalizer of a pod that is gone. If the completions were lower when the finalizer was
// removed, the status lacks the end of the pod, and the controller counts it now.
func (l *lives) observesGone(n uint32) bool {
	s := &l.states[n]
	if s.edits == 0 {
		return false
	}
	for i, p := range s.pods {
		observed := []uint16{p.seen}
		if s.at != 0 {
			observed = append(observed, l.positions[s.at].input.pods[i])
		}
		if p.stored == 0 && slices.ContainsFunc(observed, func(n uint16) bool { return n != 0 && len(l.pods.values[n].Finalizers) > 0 }) {
			return true
		}
	}
	return false
}

// suspended reports whether the Job is suspended. The demand covers a controller that does not
// know of it yet, also if it knows of the suspension before.
func (l *lives) suspended(n uint32) bool { return *l.jobs.values[l.states[n].job].Spec.Suspend }

// onlySuspends reports whether all edits suspend or resume the Job.
func (l *lives) onlySuspends() bool {
	first := l.jobs.values[l.states[0].job].Spec
	return !slices.ContainsFunc(l.Edits, func(edit func(*batchv1.JobSpec)) bool {
		spec := *first.DeepCopy()
		edit(&spec)
		spec.Suspend = first.Suspend
		return !equality.Semantic.DeepEqual(spec, first)
	})
}

// waitsForDeletions reports whether the Job replaces only pods that are gone.
func (l *lives) waitsForDeletions() bool {
	policy := l.jobs.values[l.states[0].job].Spec.PodReplacementPolicy
	return policy != nil && *policy == batchv1.Failed
}

// demandInput is the input of DemandOf in a state.
type demandInput struct {
	job  uint16
	pods [maxPods]uint16
}

func (l *lives) inputOf(n uint32) demandInput {
	v := demandInput{job: l.states[n].job}
	for i, p := range l.states[n].pods {
		if p.stored != 0 && metav1.IsControlledBy(l.pods.values[p.stored], l.jobs.values[v.job]) {
			v.pods[i] = p.stored
		}
	}
	slices.Sort(v.pods[:])
	return v
}

// key returns the input as text that is the same in other searches.
func (l *lives) key(v demandInput) string {
	var b strings.Builder
	b.WriteString(encoded(l.jobs.values[v.job]))
	var pods []string
	for _, p := range v.pods {
		if p != 0 {
			pods = append(pods, encoded(l.pods.values[p]))
		}
	}
	slices.Sort(pods)
	return b.String() + strings.Join(pods, "")
}

// demandCase is an input with the result of DemandOf for it, and the actual bounds of the
// lives from its states.
type demandCase struct {
	state         uint32
	demand, rough decide.Demand
	lives         decide.Demand
}

// demandCases returns the demand and the actual bounds for each input. AtOnce.Most covers a
// controller that has not observed that its Job is resumed.
func (l *lives) demandCases() map[demandInput]*demandCase {
	all := map[demandInput]*demandCase{}
	resumes := l.onlySuspends() && l.waitsForDeletions()
	for n := range l.states {
		unaware := l.states[n].job != 0 && l.unaware(uint32(n)) && !l.suspended(uint32(n))
		if l.states[n].job == 0 || unaware && !resumes || l.observesGone(uint32(n)) {
			continue
		}
		got, v := l.lifeOf(n), l.inputOf(uint32(n))
		if unaware {
			got = decide.Demand{
				AtOnce:  decide.Range{Least: endless, Most: got.AtOnce.Most},
				InTotal: decide.Range{Least: endless},
			}
		}
		if at := all[v]; at != nil {
			at.lives = widest(at.lives, got)
			continue
		}
		job := l.jobs.values[v.job]
		all[v] = &demandCase{uint32(n), decide.DemandWithPods(job, l.podsOf(uint32(n)), tracking.Keys{}), decide.DemandOf(job), got}
	}
	return all
}

// check compares the demand in every state with the lives from there. Replaced says that
// pods may be replaced before they are gone, which AtOnce does not include.
func (l *lives) check(t *testing.T, replaced bool) map[demandInput]*demandCase {
	t.Helper()
	faults, all := 0, l.demandCases()
	suspends, waits := l.onlySuspends(), l.waitsForDeletions()
	for _, at := range all {
		// The status may lack pods from before an edit.
		edited := l.states[at.state].edits > 0 && !(suspends && l.suspended(at.state))
		for _, b := range []struct {
			what  string
			holds bool
		}{
			{"AtOnce.Least", at.demand.AtOnce.Least <= at.lives.AtOnce.Least},
			{"AtOnce.Most", replaced || at.demand.AtOnce.Most >= at.lives.AtOnce.Most},
			{"InTotal.Least", at.demand.InTotal.Least <= at.lives.InTotal.Least},
			{"InTotal.Most", at.demand.InTotal.Most >= at.lives.InTotal.Most},
			{"AtOnce.Most by the status", replaced || edited && !(suspends && waits) || at.rough.AtOnce.Most >= at.lives.AtOnce.Most},
			{"InTotal.Most by the status", edited || at.rough.InTotal.Most >= at.lives.InTotal.Most},
		} {
			if !b.holds {
				if faults++; faults < 4 {
					t.Errorf("%s does not hold: the demand is %+v, by the status %+v, but the bounds of the lives are %+v\n%s",
						b.what, at.demand, at.rough, at.lives, strings.Join(l.objects(&l.states[at.state]), "\n"))
				}
			}
		}
	}
	if faults > 3 {
		t.Errorf("and %d more", faults-3)
	}
	return all
}

// widest returns bounds that include both.
func widest(a, b decide.Demand) decide.Demand {
	a.AtOnce = decide.Range{Least: min(a.AtOnce.Least, b.AtOnce.Least), Most: max(a.AtOnce.Most, b.AtOnce.Most)}
	a.InTotal = decide.Range{Least: min(a.InTotal.Least, b.InTotal.Least), Most: max(a.InTotal.Most, b.InTotal.Most)}
	a.Unbounded = a.Unbounded || b.Unbounded
	return a
}

// demanding are kinds of Jobs whose searches are complete, so that some life must attain
// each bound. Each has the number of completions to search with.
var demanding = []demandingKind{
	{2, plain("no retry", retries(0))},
	{2, plain("one at a time", parallelism(1))},
	{2, plain("no retry, only failed replaced", retries(0), onlyFailed)},
	{2, plain("work queue, no retry", retries(0), workQueue)},
	{1, plain("work queue, one at a time", workQueue)},
	{1, mixed("FailJob", rule(failJob))},
	{2, mixed("FailJob, one at a time, no retry", rule(failJob), parallelism(1), retries(0))},
	{2, plain("indexed, no retry", indexed, retries(0))},
	{2, plain("indexed, one at a time", indexed, parallelism(1))},
	{2, plain("indexed, success policy, no retry", indexed, retries(0), withSuccess)},
	{2, plain("indexed, one success, no retry", indexed, retries(0), oneSuccess)},
	{2, plain("indexed, one success, one at a time", indexed, parallelism(1), oneSuccess)},
	{2, plain("per index, no retry", perIndex, retriesPerIndex(0))},
	{2, plain("per index, no retry, retries of the Job", perIndex, retriesPerIndex(0), retries(0))},
	{2, plain("per index, one at a time", perIndex, parallelism(1))},
	{2, plain("per index, one at a time, no index may fail", perIndex, parallelism(1), maxFailed(0))},
	{2, plain("per index, no retry, one index may fail", perIndex, retriesPerIndex(0), maxFailed(1))},
	{2, plain("per index, no retry, success policy", perIndex, retriesPerIndex(0), withSuccess)},
	{2, plain("per index, no retry, one success, no index may fail", perIndex, retriesPerIndex(0), oneSuccess, maxFailed(0))},
	{2, mixed("per index, FailIndex, one at a time, no index may fail", perIndex, retriesPerIndex(1), rule(failIndex), parallelism(1), maxFailed(0))},
	{2, edited("parallelism down", []func(*batchv1.JobSpec){parallelism(1)}, retries(0))},
}

// withManyStates are further such kinds, whose searches take longer.
var withManyStates = []demandingKind{
	{1, plain("two retries", retries(2))},
	{1, plain("per index, two retries", perIndex, retriesPerIndex(2))},
	{1, mixed("per index, FailIndex", perIndex, rule(failIndex))},
	{1, edited("suspended and resumed", []func(*batchv1.JobSpec){suspend(true), suspend(false)})},
	{1, edited("started suspended", []func(*batchv1.JobSpec){suspend(false)}, indexed, suspend(true))},
	{1, edited("parallelism zero", []func(*batchv1.JobSpec){parallelism(0)}, workQueue)},
}

type demandingKind struct {
	n int32
	kindOfJob
}

func retriesPerIndex(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(n) }
}

func oneSuccess(s *batchv1.JobSpec) {
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
}

// rule sets a pod failure policy with one rule, for exit code 42.
func rule(action batchv1.PodFailurePolicyAction) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		withPolicy(action)(s)
		s.PodFailurePolicy.Rules = s.PodFailurePolicy.Rules[1:]
	}
}

// mixed is a kind of Job whose containers may also exit with 1 and with 42.
func mixed(name string, changes ...func(*batchv1.JobSpec)) kindOfJob {
	return jobKind(name, exits(0, 1, 42), changes...)
}

var (
	attained = effort.Flag("attained", "the largest number of completions of the Jobs whose bounds must be attained", 1, 2)
	many     = effort.Flag("many", "1 to search the kinds of Jobs with many states too", 0, 1)
	longer   = effort.Flag("longer", "the number of states in which TestDemand_unbounded searches for longer lives", 3_000, 20_000)
)

func TestDemand_attained(t *testing.T) {
	kinds := demanding
	if many() > 0 {
		kinds = slices.Concat(demanding, withManyStates)
	}
	for _, k := range kinds {
		if int(k.n) > attained() {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			type known struct {
				demand, lives decide.Demand
				text          string
			}
			cases := map[string]*known{}
			// The later searches cover lives in which the API server rejects pods. They
			// need not be complete.
			for first, how := range []func(*config){
				func(c *config) { c.AllOrders, c.Limit = true, 0 },
				func(c *config) {
					c.Faults, c.Kinds = 1, []faultKind{refuse}
					c.AllOrders = c.Job.Spec.BackoffLimitPerIndex != nil && *c.Job.Spec.Parallelism > 1
				},
				func(c *config) { c.Pods--; c.AllOrders = true },
				func(c *config) { c.Pods, c.AllOrders = 1, true },
			} {
				c := k.make(k.n)
				c.Pods, c.Limit = int(k.n)+1, 50_000
				how(&c)
				if c.Job.Spec.BackoffLimitPerIndex != nil && c.Pods <= int(k.n) {
					continue // a failed pod is kept until it is replaced
				}
				l, complete := searchLives(t, c)
				if first == 0 && !complete {
					t.Errorf("the search is not complete")
				}
				for v, at := range l.check(t, false) {
					key := l.key(v)
					if a := cases[key]; a != nil {
						a.lives = widest(a.lives, at.lives)
					} else if first == 0 && l.jobs.values[v.job].Generation == 1 {
						cases[key] = &known{at.demand, at.lives, strings.Join(l.objects(&l.states[at.state]), "\n")}
					}
				}
				t.Logf("%d states, %d cases", len(l.states), len(cases))
			}
			missed := 0
			for _, a := range cases {
				if a.demand != a.lives {
					if missed++; missed < 4 {
						t.Errorf("the demand is %+v, but the bounds of the lives are %+v\n%s", a.demand, a.lives, a.text)
					}
				}
			}
			if missed > 0 || len(cases) == 0 {
				t.Errorf("%d of %d cases", missed, len(cases))
			}
		})
	}
}

// demandScopes lists the faults that keep the bounds. They exclude faults that make a
// controller create a pod twice: a restart, or a lost answer to a creation.
var demandScopes = []struct {
	name  string
	kinds []faultKind
}{
	{"no fault", nil},
	{"refused", []faultKind{refuse}},
	{"pods", []faultKind{deletePod, force, disrupt, loseNode}},
}

// TestDemand_holds checks the demand in every state against all lives from there.
func TestDemand_holds(t *testing.T) {
	for _, scope := range demandScopes {
		for _, k := range kindsOfJob {
			t.Run(scope.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				c := k.make(2)
				c.Pods, c.Limit = 3, unit()*25
				if c.Kinds = scope.kinds; c.Kinds != nil {
					c.Faults = 1
				}
				l, complete := searchLives(t, c)
				replaced := c.Job.Spec.PodReplacementPolicy == nil && c.Job.Spec.PodFailurePolicy == nil
				cases := l.check(t, scope.name == "pods" && replaced)
				t.Logf("%d states, %d cases, complete: %v", len(l.states), len(cases), complete)
			})
		}
	}
}

// An Indexed Job is scaled down, and its controller removes the finalizer of an ended pod
// beyond the completions. Then the Job is scaled up. The controller observes that while its
// cache still shows the finalizer. It counts the index, which gets no further pod.
func TestDemand_scaledDownAndUp(t *testing.T) {
	kinds := []struct {
		code int32 // the exit code of all pods
		kindOfJob
	}{
		{0, plain("indexed", indexed)},
		{42, plain("per index, one index may fail", perIndex, rule(failIndex), maxFailed(1))},
	}
	for _, k := range kinds[:1+many()] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := k.make(2)
			c.Edits = []func(*batchv1.JobSpec){scale(1), scale(2)}
			c.Codes, c.Pods = []int32{k.code}, 2
			l, complete := searchLives(t, c)
			if cases := l.check(t, false); !complete || len(cases) == 0 {
				t.Errorf("%d states, %d cases, complete: %v", len(l.states), len(cases), complete)
			}
		})
	}
}

// TestDemand_unbounded compares Jobs with an Ignore rule with the same Jobs without it.
// With the rule, some life has more pods than the demand without the rule allows.
func TestDemand_unbounded(t *testing.T) {
	for _, k := range []kindOfJob{
		mixed("regular", rule(ignore)), mixed("work queue", rule(ignore), workQueue), mixed("per index", perIndex, rule(ignore)),
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := k.make(1)
			c.Pods, c.Limit = 2, longer()
			l, _ := searchLives(t, c)
			l.check(t, false)
			job := l.jobs.values[l.states[0].job].DeepCopy()
			demand := decide.DemandOf(job)
			job.Spec.PodFailurePolicy = nil
			bounded := decide.DemandOf(job)
			if got := l.lifeOf(0).InTotal.Most; !demand.Unbounded || bounded.Unbounded || got <= bounded.InTotal.Most {
				t.Errorf("a life has %d pods; the demand is %+v, and without the rule %+v", got, demand, bounded)
			}
		})
	}
}

// TestDemand_suspended resumes and suspends a Job again and again, whether its controller has observed
// the edit before or not.
func TestDemand_suspended(t *testing.T) {
	on, off := suspend(true), suspend(false)
	again := []func(*batchv1.JobSpec){off, on, off, on}
	kinds := []demandingKind{
		{1, edited("started suspended", again, suspend(true), retries(0), onlyFailed)},
		{1, edited("started", again[1:], retries(0), onlyFailed)},
		{1, edited("started, replaced at once", again[1:], retries(0))},
		{2, edited("two pods", again[:2], suspend(true), retries(0), onlyFailed)},
		{1, edited("refused", again[:2], suspend(true), retries(0), onlyFailed)},
		{1, edited("retry", again[:2], suspend(true), retries(1), onlyFailed)},
		{1, edited("replaced at once", again, suspend(true), retries(0))},
		{1, edited("work queue", again, suspend(true), retries(0), onlyFailed, workQueue)},
		{1, edited("per index", again, suspend(true), onlyFailed, perIndex, retriesPerIndex(0))},
	}
	for _, k := range kinds[:3+many()*(len(kinds)-3)] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := k.make(k.n)
			c.Pods = int(k.n) + 1
			if k.name == "refused" {
				c.Faults, c.Kinds = 1, []faultKind{refuse}
			}
			l, complete := searchLives(t, c)
			cases, observed := l.check(t, false), l.checkSuspensions(t)
			if !complete || len(cases) == 0 || observed == 0 {
				t.Errorf("%d states, %d cases, %d observed, complete: %v", len(l.states), len(cases), observed, complete)
			}
			t.Logf("%d states", len(l.states))
		})
	}
}

// checkSuspensions checks what is known to a queue that sees some of the versions of the Job, in all
// states. It returns how often a suspension is known to be observed.
func (l *lives) checkSuspensions(t *testing.T) (observed int) {
	t.Helper()
	type knowledge struct {
		state uint32
		jobstatus.Suspension
	}
	next, faults := l.steps(), 0
	seen, queue := map[knowledge]bool{}, []knowledge{{}}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		job := l.jobs.values[l.states[at.state].job]
		if job == nil || seen[at] {
			continue
		}
		seen[at] = true
		shown := at.After(job)
		for _, to := range next.of(at.state) {
			queue = append(queue, knowledge{to, at.Suspension}, knowledge{to, shown})
		}
		if !shown.Observed() {
			continue
		}
		observed++
		if most := l.lifeOf(int(at.state)).AtOnce.Most; l.mostAfter[at.state] > 0 || most > decide.DemandOf(job).AtOnce.Least {
			if faults++; faults < 4 {
				t.Errorf("the suspension is said to be observed, but there are up to %d pods\n%s",
					most, strings.Join(l.objects(&l.states[at.state]), "\n"))
			}
		}
	}
	return observed
}
