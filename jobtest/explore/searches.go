package explore

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// kindOfJob is a kind of Job to search, with a configuration for each size.
type kindOfJob struct {
	name string
	make func(n int32) config
}

// jobOf returns a configuration for a Job with n completions, parallelism n and a backoff
// limit of 1, after a change.
func jobOf(n int32, change func(*batchv1.JobSpec)) config {
	job := &batchv1.Job{}
	s := &job.Spec
	s.Completions, s.Parallelism, s.BackoffLimit = new(n), new(n), new(int32(1))
	s.Template.Spec = podtest.MinimalPodSpec()
	change(s)
	return config{Job: job, Codes: []int32{0, 1}}
}

func indexed(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) }

func perIndex(s *batchv1.JobSpec) {
	indexed(s)
	s.BackoffLimit, s.BackoffLimitPerIndex = nil, new(int32(1))
}

func onlyFailed(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) }

// withPolicy ignores disruptions, and applies an action to exit code 42.
func withPolicy(action batchv1.PodFailurePolicyAction) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			podtest.OnDisruption(ignore), podtest.OnExit(action, 42)}}
	}
}

func withSuccess(s *batchv1.JobSpec) {
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0")}}}
}

func all(changes ...func(*batchv1.JobSpec)) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

// jobKind is a kind of Job whose spec and configuration differ from those of jobOf.
func jobKind(name string, set func(*config), changes ...func(*batchv1.JobSpec)) kindOfJob {
	return kindOfJob{name, func(n int32) config {
		c := jobOf(n, all(changes...))
		set(&c)
		return c
	}}
}

// plain is a kind of Job that differs only in its spec.
func plain(name string, changes ...func(*batchv1.JobSpec)) kindOfJob {
	return jobKind(name, func(*config) {}, changes...)
}

// exits sets the exit codes of the containers.
func exits(codes ...int32) func(*config) { return func(c *config) { c.Codes = codes } }

// coded is a kind of Job whose containers exit with 0 or 42.
func coded(name string, changes ...func(*batchv1.JobSpec)) kindOfJob {
	return jobKind(name, exits(0, 42), changes...)
}

func edited(name string, edits []func(*batchv1.JobSpec), changes ...func(*batchv1.JobSpec)) kindOfJob {
	return jobKind(name, func(c *config) { c.Edits = edits }, changes...)
}

func suspend(is bool) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.Suspend = new(is) }
}

func parallelism(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.Parallelism = new(n) }
}

func retries(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.BackoffLimit = new(n) }
}

func maxFailed(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.MaxFailedIndexes = new(n) }
}

func workQueue(s *batchv1.JobSpec) { s.Completions = nil }

func deadline(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(100)) }

func scale(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = new(n), new(n) }
}

const (
	failJob   = batchv1.PodFailurePolicyActionFailJob
	failIndex = batchv1.PodFailurePolicyActionFailIndex
	count     = batchv1.PodFailurePolicyActionCount
	ignore    = batchv1.PodFailurePolicyActionIgnore
)

var kindsOfJob = []kindOfJob{
	plain("regular"),
	plain("regular, only failed replaced", onlyFailed),
	plain("work queue", workQueue),
	plain("one at a time", parallelism(1)),
	plain("no retry", retries(0)),
	coded("regular, FailJob", withPolicy(failJob)),
	coded("regular, Ignore", withPolicy(ignore)),
	plain("indexed", indexed),
	plain("indexed, only failed replaced", indexed, onlyFailed),
	plain("indexed, one at a time", indexed, parallelism(1)),
	coded("indexed, FailJob", indexed, withPolicy(failJob)),
	coded("indexed, Count, only failed replaced", indexed, onlyFailed, withPolicy(count)),
	plain("indexed, success policy", indexed, withSuccess),
	coded("indexed, success policy, FailJob", indexed, withSuccess, withPolicy(failJob)),
	plain("per index", perIndex),
	plain("per index, only failed replaced", perIndex, onlyFailed),
	plain("per index, one at a time", perIndex, parallelism(1)),
	coded("per index, FailIndex", perIndex, withPolicy(failIndex)),
	coded("per index, Ignore", perIndex, withPolicy(ignore)),
	plain("per index, maxFailedIndexes", perIndex, maxFailed(0)),
	plain("per index, success policy", perIndex, withSuccess),
	coded("per index, success policy, FailIndex, only failed replaced",
		perIndex, onlyFailed, withSuccess, withPolicy(failIndex)),
	plain("deadline", indexed, deadline),
	edited("suspended and resumed", []func(*batchv1.JobSpec){suspend(true), suspend(false)}),
	edited("per index, suspended and resumed",
		[]func(*batchv1.JobSpec){suspend(true), suspend(false)}, perIndex),
	edited("started suspended",
		[]func(*batchv1.JobSpec){suspend(false), suspend(true), suspend(false)}, indexed, suspend(true)),
	edited("parallelism down and up", []func(*batchv1.JobSpec){parallelism(0), parallelism(1)}),
	edited("indexed, scaled down and up", []func(*batchv1.JobSpec){scale(1), scale(2)}, indexed),
	{"per index, scaled up", func(n int32) config {
		// There must be more places than indexes, because the failed pod of each index is
		// kept until it is replaced.
		c := jobOf(max(1, n-1), perIndex)
		c.Edits = []func(*batchv1.JobSpec){scale(n)}
		return c
	}},
	jobKind("free slots filled", func(c *config) {
		c.New = func() *cluster.Caller { return jobtest.NewCaller(decide.FillFreeSlots()) }
	}, perIndex, parallelism(1)),
	jobKind("short delays", func(c *config) {
		p := backoff.Policy{Base: 10 * time.Second, Cap: 20 * time.Second}
		c.New = func() *cluster.Caller { return jobtest.NewCaller(decide.Backoff(p)) }
		c.Rules = referee.Rules{Backoff: p}
		c.Ticks, c.Old, c.AnyTime = []time.Duration{7 * time.Second}, 21*time.Second, true
	}, perIndex),
}

// scope sets the size of the Jobs, the number of faults, and the limit of a search.
type scope struct {
	name              string
	completions, pods int32
	faults            int
	kinds             []faultKind
	times             int
}

var scopes = []scope{
	{"no fault", 2, 3, 0, nil, 115},
	{"one fault, small", 1, 2, 1, oneLeader, 170},
	{"two leaders", 1, 2, 2, []faultKind{otherLeader}, 17}, // the second one starts, and the first one continues
	{"killed", 2, 3, 1, []faultKind{killBefore, killAfter}, 4},
	{"one fault", 2, 3, 1, oneLeader, 4},
	{"two faults, small", 1, 2, 2, oneLeader, 4},
	{"larger", 3, 5, 0, nil, 25},
	{"one fault, larger", 3, 4, 1, oneLeader, 4},
	{"two faults", 2, 3, 2, oneLeader, 4},
}

// oneLeader lists the faults with one leader at a time.
var oneLeader = []faultKind{killBefore, killAfter, refuse, lose, giveUp, giveUpAfter, deletePod, force, disrupt,
	loseNode, orphan, strip, deleteJob, deleteJobForeground, deleteJobOrphan}

// A NamedSearch is a kind of Job in a scope: a number of pods and faults.
type NamedSearch struct {
	Name string
	// Size is how large the search is, compared with the others.
	Size   int
	config config
}

// Run searches until it has visited a number of states, or all. It calls observe, if that is not nil, for every move
// to another state, with the events that happen in it, until it returns false, but not on the paths from the last
// states of a search that ends early. It returns an error if it visits no state in which the Job has come to rest.
func (s NamedSearch) Run(limit int, observe func(Observed) (more bool)) (Result, error) {
	s.config.Limit, s.config.Observe = limit, observe
	r, err := run(s.config)
	if err == nil && r.Found == nil && r.Ends == 0 {
		err = errors.New("the Job comes to rest in no state")
	}
	return r, err
}

// Searches returns the searches that the tests of this package make: each kind of Job in each scope.
func Searches() (all []NamedSearch) {
	for _, s := range scopes {
		known := map[string]bool{} // Jobs: with one completion, some kinds are equal
		for _, k := range kindsOfJob {
			c, size := k.make(s.completions), s.times
			switch job := encoded(c.Job) + fmt.Sprint(c.Codes); {
			case len(c.Edits) > 0:
				size = max(1, size/2) // the search is never complete, and its states are the most expensive
			case c.New != nil:
			case known[job]:
				continue
			default:
				known[job] = true
			}
			c.Pods, c.Faults, c.Kinds = int(s.pods), s.faults, s.kinds
			all = append(all, NamedSearch{s.name + "/" + k.name, size, c})
		}
	}
	return all
}
