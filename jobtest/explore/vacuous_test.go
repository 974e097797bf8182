package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
)

// The search finds known bugs. Otherwise a search without a violation would prove nothing.
func TestNotVacuous(t *testing.T) {
	for _, test := range []struct {
		name, want string
		config     func() config
	}{
		{"the caller forgets what it has written", "S6", func() config {
			c := two(indexed)
			c.Bug = forgetful
			return c
		}},
		{"after a restart the caches claim to be complete (k#105200)", "S1 S6", func() config {
			c := two(indexed)
			c.Faults, c.Kinds, c.Bug = 1, []faultKind{killBefore, killAfter}, misled
			return c
		}},
		{"the same, and a Job ends while an unobserved pod is running", "S6 S19", func() config {
			c := two(deadline)
			c.Faults, c.Kinds, c.AnyTime, c.Bug = 1, []faultKind{killAfter}, true, misled
			return c
		}},
		{"a creation without an answer is treated as rejected", "S6", func() config {
			c := two(indexed)
			c.Faults, c.Kinds = 1, []faultKind{lose}
			c.Bug = confident
			return c
		}},
		{"of two leaders, one takes every status for its own", "S1", func() config {
			c := jobOf(1, indexed)
			c.Pods, c.Faults, c.Kinds = 2, 2, []faultKind{otherLeader}
			c.Bug = trusting
			return c
		}},
		{"finalizers are removed before the status is stored", "S2", func() config {
			return inHaste(two())
		}},
		{"no requeue when the Job waits only for a time (k#110239)", "L5", func() config {
			return amended(two(), func(_ decide.Snapshot, d *decide.Decision) { d.Requeue = 0 })
		}},
		{"the memory of failures is lost in each sync (k#114391)", "S12", func() config {
			return amended(two(), func(_ decide.Snapshot, d *decide.Decision) { d.Backoff.Failures = 0 })
		}},
		{"finalizers are never removed (k#108645)", "L1", func() config {
			return amended(two(scale(1)), keepsFinalizers)
		}},
		{"a pod that fails the Job is counted before the verdict is stored", "S18", func() config {
			c := amended(two(withPolicy(failJob)), bugs.ForgetVerdict)
			c.Codes = []int32{0, 42}
			return c
		}},
		{"the pods of a Job that ends are deleted before the verdict is stored", "S22", func() config {
			c := two(withPolicy(failJob))
			c.Codes, c.New = []int32{0, 42}, func() *cluster.Caller {
				caller := jobtest.NewCaller()
				inside.DeleteFirst(caller.Machine)
				return caller
			}
			return c
		}},
		{"the status counts only the pods of a stale cache", "S21", func() config {
			return deciding(two(), bugs.ForgetUnobserved)
		}},
		{"a suspended Job reports its deleted pods as active", "S21", func() config {
			c := deciding(two(), func(in decide.Snapshot, o decide.Option, _ inside.Usual) (decide.Decision, error) {
				in.InFlight.Pods = slices.DeleteFunc(slices.Clone(in.InFlight.Pods), func(p decide.PodInFlight) bool { return p.Deleted })
				return decide.Job(in, o)
			})
			c.Edits = []func(*batchv1.JobSpec){suspend(true)}
			return c
		}},
		{"status of 0 active while pods are created (k#139428)", "S10", func() config {
			return amended(two(), func(_ decide.Snapshot, d *decide.Decision) {
				if d.Status != nil {
					st := d.Status.DeepCopy()
					st.Active, st.Ready = 0, new(int32(1))
					d.Status = st
				}
			})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := run(test.config())
			must(t, err)
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
	for _, test := range []struct {
		name, want string
		config     func() config
	}{
		{"nothing", "", func() config { return two() }},
		{"no bug, all orders", "", func() config {
			c := two()
			c.AllOrders = true
			return c
		}},
		{"finalizers are never removed", "L1", func() config { return amended(two(), keepsFinalizers) }},
		{"finalizers are removed before the status is stored", "S2", func() config { return inHaste(two()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := test.config()
			c.Limit = 20
			r, err := run(c)
			must(t, err)
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

func inHaste(c config) config {
	c.Bug = hasty
	return c
}

// forgetful forgets its writes in flight before each sync.
func forgetful(c *cluster.Caller, client *cluster.Client) (time.Duration, error) {
	bugs.ForgetInFlight(c.Machine)
	return c.Sync(client)
}

// trusting takes the pods of every view for as new as its Job. So a status of another process
// needs no newer pods.
func trusting(c *cluster.Caller, client *cluster.Client) (time.Duration, error) {
	seen := *client
	if seen.Job != nil && seen.PodsVersion == versionLater {
		seen.PodsVersion = seen.Job.ResourceVersion
	}
	return c.Sync(&seen)
}

// misled has caches that report versions that they have not reached.
func misled(c *cluster.Caller, client *cluster.Client) (time.Duration, error) {
	seen := *client
	seen.JobsVersion, seen.PodsVersion = versionAll, versionAll
	return c.Sync(&seen)
}

// confident treats a request without an answer as rejected.
func confident(c *cluster.Caller, client *cluster.Client) (time.Duration, error) {
	seen := *client
	seen.Send = func(q *cluster.Request) (cluster.Answer, error) {
		a, err := client.Send(q)
		if q.Verb == cluster.Create && apierrors.IsInternalError(err) {
			err = apierrors.NewForbidden(corev1.Resource("pods"), q.Name, err)
		}
		return a, err
	}
	return c.Sync(&seen)
}

// hasty removes finalizers before it does anything else.
func hasty(c *cluster.Caller, client *cluster.Client) (time.Duration, error) {
	if err := bugs.StripFirst(client); err != nil {
		return 0, err
	}
	return c.Sync(client)
}
