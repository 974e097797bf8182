package explore

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/internal/bugs"
)

// The search finds known bugs. Otherwise a search without a violation would prove nothing.
func TestNotVacuous(t *testing.T) {
	for _, test := range []struct {
		name, want string
		config     func() Config
	}{
		{"the caller forgets what it has written", "S6", func() Config {
			c := two(indexed)
			c.New = changing(forgetful)
			return c
		}},
		{"after a restart the caches claim to be complete (k#105200)", "S1 S6", func() Config {
			c := two(indexed)
			c.Faults, c.Kinds, c.FalseVersions = 1, []Kind{KillBefore, KillAfter}, true
			return c
		}},
		{"the same, and a Job ends while an unobserved pod is running", "S6 S19", func() Config {
			c := two(deadline)
			c.Faults, c.Kinds, c.AnyTime, c.FalseVersions = 1, []Kind{KillAfter}, true, true
			return c
		}},
		{"a creation without an answer is treated as rejected", "S6", func() Config {
			c := two(indexed)
			c.Faults, c.Kinds = 1, []Kind{Lose}
			c.New = changing(confident)
			return c
		}},
		{"of two leaders, one takes every status for its own", "S1", func() Config {
			c := jobOf(1, indexed)
			c.Pods, c.Faults, c.Kinds = 2, 2, []Kind{OtherLeader}
			c.New = changing(trusting)
			return c
		}},
		{"finalizers are removed before the status is stored", "S2", func() Config {
			return inHaste(two())
		}},
		{"no requeue when the Job waits only for a time (k#110239)", "L5", func() Config {
			return amended(two(), func(_ jobfate.Snapshot, d *jobfate.Decision) { d.Requeue = 0 })
		}},
		{"the memory of failures is lost in each sync (k#114391)", "S12", func() Config {
			return amended(two(), func(_ jobfate.Snapshot, d *jobfate.Decision) { d.Backoff.Failures = 0 })
		}},
		{"finalizers are never removed (k#108645)", "L1", func() Config {
			return amended(two(scale(1)), keepsFinalizers)
		}},
		{"a pod that fails the Job is counted before the verdict is stored", "S18", func() Config {
			c := amended(two(withPolicy(failJob)), bugs.ForgetVerdict)
			c.Codes = []int32{0, 42}
			return c
		}},
		{"the pods of a Job that ends are deleted before the verdict is stored", "S22", func() Config {
			c := two(withPolicy(failJob))
			c.Codes, c.New = []int32{0, 42}, func() Searchable {
				caller := jobtest.NewCaller()
				inside.DeleteFirst(caller.Machine)
				return FromCaller(caller)
			}
			return c
		}},
		{"the status counts only the pods of a stale cache", "S21", func() Config {
			return deciding(two(), bugs.ForgetUnobserved)
		}},
		{"a suspended Job reports its deleted pods as active", "S21", func() Config {
			c := deciding(two(), func(in jobfate.Snapshot, o jobfate.Option, _ inside.Usual) (jobfate.Decision, error) {
				in.InFlight.Pods = slices.DeleteFunc(slices.Clone(in.InFlight.Pods), func(p jobfate.PodInFlight) bool { return p.Deleted })
				return jobfate.Decide(in, o)
			})
			c.Edits = []func(*batchv1.JobSpec){suspend(true)}
			return c
		}},
		{"status of 0 active while pods are created (k#139428)", "S10", func() Config {
			c := amended(two(), func(_ jobfate.Snapshot, d *jobfate.Decision) {
				if d.Status != nil {
					st := d.Status.DeepCopy()
					st.Active, st.Ready = 0, new(int32(1))
					d.Status = st
				}
			})
			c.Runs = true
			return c
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := Search(test.config())
			must(t, err)
			if r.Found == nil {
				t.Fatalf("no violation in %d states", r.States)
			}
			if !slices.Contains(strings.Fields(test.want+" S11"), r.Found.Violation.Property) {
				t.Errorf("found %v\nwant %s", r.Found, test.want)
			}
			t.Logf("%d states\n%v", r.States, r.Found)
			again, err := Replay(test.config(), r.Found.Moves)
			if r.Found.Violation.Property == "L1" {
				return // no move on the path to a dead end is a violation
			}
			if err != nil || again == nil || again.String() != r.Found.String() {
				t.Errorf("the replay returns\n%v (%v), want\n%v", again, err, r.Found)
			}
		})
	}
}

// A search that ends early finds violations beyond its last states on paths without faults.
func TestFaultless(t *testing.T) {
	for _, test := range []struct {
		name, want string
		config     func() Config
	}{
		{"nothing", "", func() Config { return two() }},
		{"no bug, all orders", "", func() Config {
			c := two()
			c.AllOrders = true
			return c
		}},
		{"finalizers are never removed", "L1", func() Config { return amended(two(), keepsFinalizers) }},
		{"finalizers are removed before the status is stored", "S2", func() Config { return inHaste(two()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := test.config()
			c.Limit = 20
			r, err := Search(c)
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
			if again, err := Replay(test.config(), r.Found.Moves); err != nil || test.want != "L1" && (again == nil || again.String() != r.Found.String()) {
				t.Errorf("the replay returns\n%v (%v), want\n%v", again, err, r.Found)
			}
		})
	}
}

// two is a Job with two completions.
func two(changes ...func(*batchv1.JobSpec)) Config {
	c := jobOf(2, all(changes...))
	c.Pods, c.Limit = 3, 500_000
	return c
}

func amended(c Config, amend func(jobfate.Snapshot, *jobfate.Decision)) Config {
	return deciding(c, inside.Amended(amend))
}

// deciding lets the caller decide with a function.
func deciding(c Config, how inside.Decider) Config {
	c.New = func() Searchable {
		caller := jobtest.NewCaller()
		inside.Decide(caller.Machine, how)
		return FromCaller(caller)
	}
	return c
}

func keepsFinalizers(_ jobfate.Snapshot, d *jobfate.Decision) { d.Strip = nil }

func inHaste(c Config) Config {
	c.New = changing(hasty)
	return c
}

// forgetful forgets its writes in flight before each sync.
func forgetful(c Searchable, client *cluster.Client) (time.Duration, error) {
	bugs.ForgetInFlight(c.(caller).Machine)
	return c.Sync(client)
}

// trusting takes the pods of every view for as new as its Job. So a status of another process
// needs no newer pods.
func trusting(c Searchable, client *cluster.Client) (time.Duration, error) {
	seen := *client
	if seen.Job != nil && seen.PodsVersion == versionLater {
		seen.PodsVersion = seen.Job.ResourceVersion
	}
	return c.Sync(&seen)
}

// confident treats a request without an answer as rejected.
func confident(c Searchable, client *cluster.Client) (time.Duration, error) {
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
func hasty(c Searchable, client *cluster.Client) (time.Duration, error) {
	if err := bugs.StripFirst(client); err != nil {
		return 0, err
	}
	return c.Sync(client)
}
