package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/examples/loop"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

// onCluster runs the loop on the simulated cluster.
type onCluster struct {
	machine *machine.Machine
	opts    []decide.Option
	updates bool // statuses are stored with updates instead of patches
}

func newOnCluster(updates bool, opts ...decide.Option) *onCluster {
	return &onCluster{machine.New(opts...), opts, updates}
}

func (o *onCluster) Sync(c *cluster.Client) (time.Duration, error) {
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	api := client{c, giveUp, o.updates}
	var jobs []*batchv1.Job
	if c.Job != nil {
		jobs = append(jobs, c.Job)
	}
	if err := loop.Free(ctx, api, c.Pods, jobs, o.opts...); err != nil {
		return 0, err
	}
	return loop.Sync(ctx, api, o.machine, machine.View{
		Now: c.Now, Job: c.Job, Pods: c.Pods, JobsVersion: c.JobsVersion, PodsVersion: c.PodsVersion, Barrier: c.Barrier,
	})
}

// client is the client of the simulated cluster, which can abandon a sync.
type client struct {
	*cluster.Client
	giveUp  func()
	updates bool
}

func (c client) Send(_ context.Context, r machine.Request) (object runtime.Object, err error) {
	if c.updates && r.Verb == machine.PatchStatus {
		object, err = c.update(r)
	} else {
		object, err = c.Do(r)
	}
	if errors.Is(err, cluster.ErrGivenUp) {
		c.giveUp()
	}
	return object, err
}

// update stores the status as a controller does whose objects have it elsewhere.
func (c client) update(r machine.Request) (runtime.Object, error) {
	job := &batchv1.Job{Status: *r.Status}
	job.Namespace, job.Name, job.ResourceVersion = r.Namespace, r.Name, r.ResourceVersion
	job, err := c.UpdateStatus(job)
	if job == nil {
		return nil, err
	}
	return job, err
}

// The second pod of a Job with two completions fails. The loop is killed at two of every three
// writes. Then a new loop without memory takes over.
func ExampleSync() {
	job := PlainJob("train")
	job.Spec.Completions, job.Spec.Parallelism = new(int32(2)), new(int32(2))
	c := Must(cluster.New(job, Noon()))
	writes, killed := 0, 0
	c.Intercept = func(r *cluster.Request) (fault cluster.Fault) {
		if !r.Writes() {
			return fault
		}
		switch writes++; writes % 3 {
		case 1: // before the write takes effect
			fault.Killed = true
		case 2: // after it
			fault.Killed, fault.Lost = true, true
		}
		return fault
	}
	controller, cache := newOnCluster(false), c.NewCache(true)
	for c.Job().Status.CompletionTime == nil {
		out := c.Run(controller, cache)
		if out.Killed {
			controller = newOnCluster(false)
			killed++
			continue
		}
		for i, pod := range c.Pods() {
			code := int32(0)
			if i == 1 {
				code = 1
			}
			c.End(pod.UID, code)
		}
		c.Now = c.Now.Add(max(out.After, time.Second))
	}
	st := c.Job().Status
	fmt.Println(killed, "times killed,", len(c.Pods()), "pods")
	fmt.Println("succeeded", st.Succeeded, "failed", st.Failed)
	// Output:
	// 14 times killed, 3 pods
	// succeeded 2 failed 1
}

var schedules = effort.Flag("schedules", "number of random schedules", 200, 1000)

// TestLoopUnderFire runs the loop while requests fail, answers are lost, caches lag, users
// interfere and the loop is killed. A referee checks every write. In every second run the faults
// then stop, and the Job must end.
//
// A custom resource, which the simulated cluster stores as a Job, has pods with an owner of that kind,
// and its status is stored with an update.
func TestLoopUnderFire(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Suite"}
	keys := tracking.Keys{Finalizer: "example.com/counted"}
	for name, tc := range map[string]struct {
		rules   referee.Rules
		opts    []decide.Option
		updates bool
	}{
		"a Job": {},
		"a custom resource": {referee.Rules{Owner: kind.GroupKind(), Keys: keys},
			[]decide.Option{decide.OwnerKind(kind), decide.Keys(keys)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(schedules()) {
				report := chaos.Run(chaos.Config{Seed: seed, Mode: chaos.Mode(seed % 2), Rules: tc.rules,
					Controller: func() cluster.Controller { return newOnCluster(tc.updates, tc.opts...) }})
				if report.Violation != nil {
					t.Fatal(report.Story)
				}
			}
		})
	}
}
