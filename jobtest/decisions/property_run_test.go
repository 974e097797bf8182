package decisions

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/tracking"
)

// builtin holds the keys of the built-in Job controller.
var builtin tracking.Keys

// run is a decision on a random snapshot, carried out with some failed writes.
type run struct {
	s       decide.Snapshot
	opts    []decide.Option
	d       decide.Decision // after the revision for failed writes
	done    decide.Undone
	gone    []*corev1.Pod
	settled decide.Settled
}

// after returns the status of the Job after the run.
func (r run) after() *batchv1.JobStatus {
	switch {
	case r.settled.Status != nil:
		return r.settled.Status
	case r.d.Status != nil:
		return r.d.Status
	}
	return &r.s.Job.Status
}

// drawRun draws a snapshot, makes a decision, lets some writes fail and settles the status.
func drawRun(t *rapid.T, snapshots *rapid.Generator[decide.Snapshot]) run {
	r := run{s: snapshots.Draw(t, "snapshot")}
	if rapid.Bool().Draw(t, "small caps") {
		r.opts = append(r.opts, decide.MaxUncounted(rapid.IntRange(1, 3).Draw(t, "uncounted cap")), decide.MaxChanges(rapid.IntRange(1, 3).Draw(t, "changes cap")))
	}
	if rapid.Bool().Draw(t, "fill slots") {
		r.opts = append(r.opts, decide.FillFreeSlots())
	}
	d := podtest.Must(decide.Job(r.s, r.opts...))
	if len(d.Create) > 0 && rapid.Bool().Draw(t, "creations fail") {
		r.done.Creations = rapid.IntRange(0, len(d.Create)).Draw(t, "not created")
	}
	for _, del := range d.Delete {
		if rapid.IntRange(0, 3).Draw(t, "deletion fails") == 0 {
			r.done.Deletions = append(r.done.Deletions, del.Pod.UID)
		}
	}
	r.d = d.Revise(r.done)
	for _, pod := range r.d.Strip {
		if rapid.IntRange(0, 3).Draw(t, "removal fails") > 0 {
			r.gone = append(r.gone, pod)
		}
	}
	r.settled = decidetest.Settle(r.d, r.gone...)
	return r
}

var snapshotsOf = map[string]*rapid.Generator[decide.Snapshot]{
	"usual": decidetest.Inputs(jobtest.Usual()), "wild": decidetest.Inputs(jobtest.Wild()), "lived": lived(false),
	"lived, read live": lived(true),
}

// lived generates inputs of a Machine during the life of a Job: with caches that lag or, if it reads live, without
// writes in flight.
func lived(live bool) *rapid.Generator[decide.Snapshot] {
	return rapid.Custom(func(t *rapid.T) (seen decide.Snapshot) {
		caller := jobtest.NewCaller()
		inside.Decide(caller.Machine, func(in decide.Snapshot, o decide.Option, _ inside.Usual) (decide.Decision, error) {
			if seen = in; live {
				seen.InFlight = decide.InFlight{}
			}
			return decide.Job(in, o)
		})
		jobtest.Lead(t, reader{caller, live})
		return seen
	})
}

// reader is a caller whose caches may have no versions. Then it reads live.
type reader struct {
	*cluster.Caller
	live bool
}

func (r reader) Sync(client *cluster.Client) (time.Duration, error) {
	if r.live {
		client.JobsVersion, client.PodsVersion, client.Barrier = "", "", ""
	}
	return r.Caller.Sync(client)
}

// everything is a decision with its results and explanation.
type everything struct {
	Decision, Settled, Explanation string
	Requeue                        time.Duration
}

func decideAll(t *rapid.T, s decide.Snapshot, opts ...decide.Option) everything {
	d := podtest.Must(decide.Job(s, opts...))
	settled := decidetest.Settle(d, d.Strip...)
	return everything{
		Decision:    decidetest.ToJSON([]any{d.Claim, d.Delete, d.Create, d.Status, d.Strip, d.Backoff, d.Events, d.Metrics}),
		Settled:     decidetest.ToJSON(settled),
		Explanation: strings.Join(decidetest.Explanation(d), "\n"),
		Requeue:     d.Requeue,
	}
}
