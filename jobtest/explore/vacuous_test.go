package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
)

// The search finds known bugs. Otherwise a search without a violation would prove nothing.
func TestNotVacuous(t *testing.T) {
	anyTime := faulty(two(deadline), 1, killAfter)
	anyTime.AnyTime = true
	leaders := faulty(jobOf(1, indexed), 2, otherLeader)
	leaders.Pods = 2
	failing := two(withPolicy(failJob))
	failing.Codes = []int32{0, 42}
	suspended := two()
	suspended.Edits = []func(*batchv1.JobSpec){suspend(true)}
	for _, test := range []struct {
		name, want string
		config     config
	}{
		{"the caller forgets what it has written", "S6", planted(two(indexed), bugs.Caller{Before: bugs.ForgetInFlight})},
		{"after a restart the caches claim to be complete (k#105200)", "S1 S6", planted(faulty(two(indexed), 1, killBefore, killAfter), misled)},
		{"the same, and a Job ends while an unobserved pod is running", "S6 S19", planted(anyTime, misled)},
		{"a creation without an answer is treated as rejected", "S6", planted(faulty(two(indexed), 1, lose), bugs.Caller{Answer: bugs.Rejected})},
		{"of two leaders, one takes every status for its own", "S1", planted(leaders, trusting)},
		{"finalizers are removed before the status is stored", "S2", planted(two(), hasty)},
		{"no requeue when the Job waits only for a time (k#110239)", "L5",
			amended(two(), func(_ decide.Snapshot, d *decide.Decision) { d.Requeue = 0 })},
		{"the memory of failures is lost in each sync (k#114391)", "S12",
			amended(two(), func(_ decide.Snapshot, d *decide.Decision) { d.Backoff.Failures = 0 })},
		{"finalizers are never removed (k#108645)", "L1", amended(two(scale(1)), keepsFinalizers)},
		{"a pod that fails the Job is counted before the verdict is stored", "S18", amended(failing, bugs.ForgetVerdict)},
		{"the pods of a Job that ends are deleted before the verdict is stored", "S22", deciding(failing, inside.DeletingFirst)},
		{"the status counts only the pods of a stale cache", "S21", deciding(two(), bugs.ForgetUnobserved)},
		{"a suspended Job reports its deleted pods as active", "S21",
			deciding(suspended, func(in decide.Snapshot, o decide.Option, _ inside.Usual) (decide.Decision, error) {
				in.InFlight.Pods = slices.DeleteFunc(slices.Clone(in.InFlight.Pods), func(p decide.PodInFlight) bool { return p.Deleted })
				return decide.Job(in, o)
			})},
		{"status of 0 active while pods are created (k#139428)", "S10", amended(two(), func(_ decide.Snapshot, d *decide.Decision) {
			if d.Status != nil {
				st := d.Status.DeepCopy()
				st.Active, st.Ready = 0, new(int32(1))
				d.Status = st
			}
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := Must(run(test.config))
			if r.Found == nil {
				t.Fatalf("no violation in %d states", r.States)
			}
			if !slices.Contains(strings.Fields(test.want+" S11"), r.Found.Violation.Property) {
				t.Errorf("found %v\nwant %s", r.Found, test.want)
			}
			t.Logf("%d states\n%v", r.States, r.Found)
		})
	}
}

// A search that ends early finds violations beyond its last states on paths without faults.
func TestFaultless(t *testing.T) {
	allOrders := two()
	allOrders.AllOrders = true
	for _, test := range []struct {
		name, want string
		config     config
	}{
		{"nothing", "", two()},
		{"no bug, all orders", "", allOrders},
		{"finalizers are never removed", "L1", amended(two(), keepsFinalizers)},
		{"finalizers are removed before the status is stored", "S2", planted(two(), hasty)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := test.config
			c.Limit = 20
			r := Must(run(c))
			if r.Complete || r.Faultless == 0 {
				t.Errorf("%d states, complete: %t, %d on paths without faults; want a search that ends early", r.States, r.Complete, r.Faultless)
			}
			if test.want == "" {
				if r.Found != nil || r.Ends == 0 {
					t.Errorf("at rest in %d states, found %v", r.Ends, r.Found)
				}
				return
			}
			if r.Found == nil || r.Found.Violation.Property != test.want {
				t.Fatalf("found %v, want %s", r.Found, test.want)
			}
			t.Log(r.Found)
		})
	}
}

// two is a Job with two completions.
func two(changes ...func(*batchv1.JobSpec)) config {
	c := jobOf(2, all(changes...))
	c.Pods, c.Limit = 3, 500_000
	return c
}

// faulty allows a number of faults of some kinds.
func faulty(c config, n int, kinds ...faultKind) config {
	c.Faults, c.Kinds = n, kinds
	return c
}

func amended(c config, amend func(decide.Snapshot, *decide.Decision)) config {
	return deciding(c, inside.Amended(amend))
}

// deciding lets the caller decide with a function.
func deciding(c config, how inside.Decider) config {
	c.New = func() *cluster.Caller {
		caller := jobtest.NewCaller()
		inside.Decide(caller.Machine, how)
		return caller
	}
	return c
}

func keepsFinalizers(_ decide.Snapshot, d *decide.Decision) { d.Strip = nil }

// planted makes the callers of a search have a bug.
func planted(c config, bug bugs.Caller) config {
	c.Bug = func(caller *cluster.Caller, client *cluster.Client) (time.Duration, error) {
		next := bug
		next.Caller = caller
		return next.Sync(client)
	}
	return c
}

var (
	misled = bugs.Caller{View: bugs.Newer}
	hasty  = bugs.Caller{Before: bugs.StripFirst}
	// trusting takes the pods of every view for as new as its Job. So a status of another process
	// needs no newer pods.
	trusting = bugs.Caller{View: func(v *cluster.View) {
		if v.Job != nil && v.PodsVersion == versionLater {
			v.PodsVersion = v.Job.ResourceVersion
		}
	}}
)
