package queue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/examples/queue"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
)

func example(name string, parallelism, completions int32) *batchv1.Job {
	job := PlainJob(name)
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.Suspend = &parallelism, &completions, new(true)
	job.Spec.PodReplacementPolicy = new(batchv1.Failed)
	return job
}

// queuedJob is a Job and its controller, in a separate cluster.
type queuedJob struct {
	*cluster.Cluster
	caller *cluster.Caller
	cache  *cluster.Cache
}

// pool holds the Jobs that share a quota, in the order of admission.
type pool struct {
	queue.Queue
	all []queuedJob
}

func (r *pool) add(job *batchv1.Job) {
	c := Must(cluster.New(job, Noon()))
	r.all = append(r.all, queuedJob{c, cluster.NewCaller(), c.NewCache(false)})
}

// sync runs each controller once, and then starts the pods. The caches of some lag.
func (r *pool) sync(lag func() bool) {
	for _, c := range r.all {
		if lag() {
			c.cache.ShowJob() // the next version
		} else {
			c.cache.ShowAll()
		}
		c.Run(c.caller, c.cache)
		for _, pod := range c.Pods() {
			c.Start(pod.UID)
		}
	}
}

func never() bool { return false }

func (r *pool) jobs() []*batchv1.Job { return Each(r.all, queuedJob.Job) }

// admit resumes the Jobs that the queue admits, and returns their names.
func (r *pool) admit(quota int32) (names []string) { return r.admitOf(quota, r.jobs()) }

func (r *pool) admitOf(quota int32, jobs []*batchv1.Job) (names []string) {
	for _, job := range r.Admit(quota, jobs) {
		names = append(names, job.Name)
		r.suspend(job.Name, false)
	}
	return names
}

func (r *pool) suspend(name string, suspend bool) {
	for _, c := range r.all {
		if c.Job().Name == name {
			if err := c.EditJob(func(s *batchv1.JobSpec) { s.Suspend = &suspend }); err != nil {
				panic(err)
			}
		}
	}
}

// forgetSuspension removes the condition Suspended of a Job, which its controller then sets again.
func (r *pool) forgetSuspension(name string) {
	for _, c := range r.all {
		if c.Job().Name == name {
			status := c.Job().Status.DeepCopy()
			status.Conditions = slices.DeleteFunc(status.Conditions,
				func(o batchv1.JobCondition) bool { return o.Type == batchv1.JobSuspended })
			c.SetStatus(*status)
		}
	}
}

// pods returns the pods that use the quota: those that have not ended.
func (r *pool) pods() (n int) {
	for _, c := range r.all {
		for _, pod := range c.Pods() {
			if !cluster.HasEnded(pod) {
				n++
			}
		}
	}
	return n
}

// Two Jobs of three pods share a quota of four. The first is suspended in favour of the second,
// which waits until the pods of the first are gone.
func ExampleQueue_Admit() {
	var r pool
	for _, name := range []string{"low", "high"} {
		r.add(example(name, 3, 3))
	}
	low := r.all[0]
	r.sync(never)
	fmt.Println("admitted:", r.admit(4), "- may be preempted:", r.MayPreempt(low.Job()))
	r.sync(never)
	fmt.Println("low holds", r.Holds(low.Job()), "- admitted:", r.admit(4), "- may be preempted:", r.MayPreempt(low.Job()))

	r.suspend("low", true)
	r.all[0], r.all[1] = r.all[1], r.all[0] // high comes first now
	r.sync(never)
	fmt.Println("low is suspended, active", low.Job().Status.Active, "and holds", r.Holds(low.Job()), "- admitted:", r.admit(4))

	for _, pod := range low.Pods() {
		low.End(pod.UID, 137)
	}
	r.sync(never)
	fmt.Println("low holds", r.Holds(low.Job()), "- admitted:", r.admit(4))
	// Output:
	// admitted: [low] - may be preempted: false
	// low holds 3 - admitted: [] - may be preempted: true
	// low is suspended, active 0 and holds 3 - admitted: []
	// low holds 0 - admitted: [high]
}

// A Job that was resumed is suspended again when its controller has created one of two pods, and has
// not written a status. It holds both until its controller has observed that.
func TestSuspendedBeforeItsStatus(t *testing.T) {
	var r pool
	for _, name := range []string{"a", "b"} {
		r.add(example(name, 2, 2))
	}
	r.sync(never)
	a, requests := r.all[0], 0
	if got := r.admit(2); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("admitted %v", got)
	}
	a.Intercept = func(*cluster.Request) (f cluster.Fault) {
		if requests++; requests > 1 {
			f.Err = cluster.ErrGivenUp
		}
		return f
	}
	a.cache.ShowAll()
	a.Run(a.caller, a.cache)
	a.Intercept = nil
	if a.Job().Status.Active != 0 || len(a.Pods()) != 1 || r.MayPreempt(a.Job()) {
		t.Fatalf("%d pods, active %d", len(a.Pods()), a.Job().Status.Active)
	}
	r.suspend("a", true)
	r.all[0], r.all[1] = r.all[1], r.all[0] // b comes first now
	if got, admitted := r.Holds(a.Job()), r.Admit(2, r.jobs()); got != 2 || slices.Contains(admitted, r.all[0].Job()) {
		t.Errorf("a holds %d, admitted %d Jobs", got, len(admitted))
	}
}

var schedules = effort.Flag("schedules", "number of random schedules", 10, 50)

// TestQuotaIsKept suspends Jobs at random, some only when they may be preempted and some at any time,
// also between two requests of a controller, of which some fail. The pods end slowly. The quota is
// never exceeded, and all Jobs end.
func TestQuotaIsKept(t *testing.T) {
	const quota = 5
	admitted, preempted := 0, 0
	for seed := range uint64(schedules()) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var r pool
		most, calm := 0, false
		// act does what the queue and its users do at one time.
		act := func() {
			for _, c := range r.all {
				job := c.Job()
				polite := job.Name == "job-2" || job.Name == "job-3" && seed%2 == 0
				if !calm && dice.IntN(6) == 0 && job.Status.CompletionTime == nil && (!polite || r.MayPreempt(job)) {
					r.suspend(job.Name, true)
					preempted++
				}
			}
			jobs := r.jobs()
			if !calm {
				dice.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
			}
			admitted += len(r.admitOf(quota, jobs))
		}
		for i := range 4 {
			job := example(fmt.Sprint("job-", i), 1+dice.Int32N(5), 4+dice.Int32N(12))
			if i == 3 { // pods are replaced before they are gone
				job.Spec.PodReplacementPolicy = nil
			}
			r.add(job)
			r.all[i].Watch = func(cluster.Step) { most = max(most, r.pods()) }
			r.all[i].Intercept = func(*cluster.Request) (f cluster.Fault) {
				switch {
				case calm:
				case dice.IntN(5) == 0:
					f.Err = errors.New("refused")
				case dice.IntN(3) == 0:
					act()
				}
				return f
			}
		}
		for step := range 600 {
			if calm = step >= 200; step == 200 {
				r.forgetSuspension("job-3")
				act()
			}
			for _, c := range r.all {
				for _, pod := range c.Pods() {
					if dice.IntN(4) == 0 {
						c.End(pod.UID, 0)
					}
				}
				c.Now = c.Now.Add(time.Second)
			}
			r.sync(func() bool { return !calm && dice.IntN(2) == 0 })
			act()
		}
		if most > quota || most == 0 {
			t.Errorf("seed %d: up to %d pods at a time, want 1 to %d", seed, most, quota)
		}
		for _, job := range r.jobs() {
			if job.Status.CompletionTime == nil {
				t.Errorf("seed %d: %s has not ended: %+v", seed, job.Name, job.Status)
			}
		}
	}
	t.Logf("%d admissions, %d suspensions", admitted, preempted)
}

// A Job that was suspended before the queue started, and may just have been resumed in between, holds its
// quota. To resume it costs nothing if its pods are replaced only when they are gone.
func TestAdmit_afterRestart(t *testing.T) {
	for _, test := range []struct {
		name       string
		generation int64
		active     int32
		policy     batchv1.PodReplacementPolicy
		holds      int64
		admitted   bool
	}{
		{"never resumed", 1, 0, batchv1.TerminatingOrFailed, 0, true},
		{"suspended once", 2, 0, batchv1.TerminatingOrFailed, 0, true},
		{"suspended once, and pods are not deleted yet", 2, 1, batchv1.TerminatingOrFailed, 1, false},
		{"may have been resumed", 3, 0, batchv1.TerminatingOrFailed, 2, false},
		{"may have been resumed, and replaces only pods that are gone", 3, 0, batchv1.Failed, 2, true},
	} {
		job := example("job", 2, 2)
		job.Generation, job.Spec.PodReplacementPolicy, job.Status.Active = test.generation, &test.policy, test.active
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
		var q queue.Queue
		if got := q.Admit(2, []*batchv1.Job{job}); len(got) > 0 != test.admitted || q.Holds(job) != test.holds {
			t.Errorf("%s: holds %d, admitted %d, want %d and %t", test.name, q.Holds(job), len(got), test.holds, test.admitted)
		}
	}
}
