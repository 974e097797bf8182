package queue_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/examples/queue"
	"github.com/jobfate/jobfate/jobtest/effort"
)

func example(name string, parallelism, completions int32) *batchv1.Job {
	suspended, policy := true, batchv1.Failed
	job := &batchv1.Job{}
	job.Name = name
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.Suspend = &parallelism, &completions, &suspended
	job.Spec.PodReplacementPolicy = &policy
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "image"}},
	}
	return job
}

// queuedJob is a Job and its controller, in a separate cluster.
type queuedJob struct {
	*cluster.Cluster
	caller *cluster.Caller
	cache  *cluster.Cache
}

// pool holds the Jobs that share a quota, in the order of admission.
type pool []queuedJob

func (r *pool) add(job *batchv1.Job) error {
	c, err := cluster.New(job, time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		return err
	}
	*r = append(*r, queuedJob{c, cluster.NewCaller(), c.NewCache(true)})
	return nil
}

// sync runs each controller once, and then starts the pods.
func (r pool) sync() {
	for _, c := range r {
		c.Run(c.caller, c.cache)
		for _, pod := range c.Pods() {
			c.Start(pod.UID)
		}
	}
}

func (r pool) jobs() (jobs []*batchv1.Job) {
	for _, c := range r {
		jobs = append(jobs, c.Job())
	}
	return jobs
}

// admit resumes the Jobs that the queue admits, and returns their names.
func (r pool) admit(quota int32) (names []string) {
	for _, job := range queue.Admit(quota, r.jobs()) {
		names = append(names, job.Name)
		r.suspend(job.Name, false)
	}
	return names
}

func (r pool) suspend(name string, suspend bool) {
	for _, c := range r {
		if c.Job().Name == name {
			if err := c.EditJob(func(s *batchv1.JobSpec) { s.Suspend = &suspend }); err != nil {
				panic(err)
			}
		}
	}
}

// pods returns the pods that use the quota: those that have not ended.
func (r pool) pods() (n int) {
	for _, c := range r {
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
func ExampleAdmit() {
	var r pool
	for _, name := range []string{"low", "high"} {
		if err := r.add(example(name, 3, 3)); err != nil {
			fmt.Println(err)
			return
		}
	}
	r.sync()
	fmt.Println("admitted:", r.admit(4))
	r.sync()
	low := r[0]
	fmt.Println("low holds", queue.Holds(low.Job()), "- admitted:", r.admit(4))

	r.suspend("low", true)
	r[0], r[1] = r[1], r[0] // high comes first now
	r.sync()
	fmt.Println("low is suspended, active", low.Job().Status.Active, "and holds", queue.Holds(low.Job()), "- admitted:", r.admit(4))

	for _, pod := range low.Pods() {
		low.End(pod.UID, 137)
	}
	r.sync()
	fmt.Println("low holds", queue.Holds(low.Job()), "- admitted:", r.admit(4))
	// Output:
	// admitted: [low]
	// low holds 3 - admitted: []
	// low is suspended, active 0 and holds 3 - admitted: []
	// low holds 0 - admitted: [high]
}

var schedules = effort.Flag("schedules", "number of random schedules", 10, 50)

// TestQuotaIsKept suspends Jobs at random, and ends pods slowly. The quota is never exceeded,
// and all Jobs end.
func TestQuotaIsKept(t *testing.T) {
	const quota = 7
	for seed := range uint64(schedules()) {
		dice := rand.New(rand.NewPCG(seed, 0))
		var r pool
		for i := range 4 {
			if err := r.add(example(fmt.Sprint("job-", i), 1+dice.Int32N(5), 1+dice.Int32N(8))); err != nil {
				t.Fatal(err)
			}
		}
		most := 0
		for step := range 600 {
			for _, c := range r {
				job := c.Job()
				if step < 100 && dice.IntN(10) == 0 && job.Status.CompletionTime == nil {
					r.suspend(job.Name, true)
				}
				for _, pod := range c.Pods() {
					if dice.IntN(4) == 0 {
						c.End(pod.UID, 0)
					}
				}
				c.Now = c.Now.Add(time.Second)
			}
			r.sync()
			r.admit(quota)
			most = max(most, r.pods())
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
}

func TestHolds(t *testing.T) {
	two, five := int32(2), int32(5)
	running := func(how func(*batchv1.Job)) *batchv1.Job {
		job := example("job", 4, 10)
		*job.Spec.Suspend = false
		how(job)
		return job
	}
	for _, test := range []struct {
		name string
		job  *batchv1.Job
		want int64
	}{
		{"resumed, no pods yet", running(func(*batchv1.Job) {}), 4},
		{"fewer to do than parallelism", running(func(j *batchv1.Job) { j.Status.Succeeded = 8 }), 2},
		{"a work queue", running(func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Parallelism = nil, nil }), 1},
		{"a work queue that needs no further pod", running(func(j *batchv1.Job) {
			j.Spec.Completions, j.Spec.Parallelism = nil, &five
			j.Status.Active, j.Status.Succeeded = 3, 2
		}), 3},
		{"an index that has failed", running(func(j *batchv1.Job) {
			mode, none, failed := batchv1.IndexedCompletion, int32(0), "3-8"
			j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = &mode, &none
			j.Status.Active, j.Status.CompletedIndexes, j.Status.FailedIndexes = 2, "0,1", &failed
		}), 2},
		{"terminating pods delay their replacements", running(func(j *batchv1.Job) { j.Status.Active, j.Status.Terminating = 2, &two }), 4},
		{"terminating pods are replaced at once", running(func(j *batchv1.Job) {
			j.Spec.PodReplacementPolicy = nil
			j.Status.Active, j.Status.Terminating = 4, &two
		}), 6},
		{"suspended, but the controller has not observed it", running(func(j *batchv1.Job) { *j.Spec.Suspend = true }), 4},
		{"decided", running(func(j *batchv1.Job) {
			j.Status.Terminating = &two
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
		}), 2},
	} {
		if got := queue.Holds(test.job); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
