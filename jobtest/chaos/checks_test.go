package chaos

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
)

var manual = effort.Flag("manual", "number of random schedules with a selector of the user", 30, 100)

// TestManualSelector runs Jobs that select their pods by a label of the user, which is the
// only label of the pods.
func TestManualSelector(t *testing.T) {
	r := firstOf(manual(), func(seed uint64) Config {
		job := Job(seed)
		job.Spec.ManualSelector = new(true)
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		if seed%2 == 1 {
			job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}}
		}
		job.Spec.Template.Labels = map[string]string{"a": "b"}
		return Config{Seed: seed, Job: job, Mode: Liveness, Retries: 100}
	})
	if r.Violation != nil {
		t.Fatal(r.Story)
	}
}

var (
	large = effort.Flag("large", "number of large Jobs", 1, 10)
	pods  = effort.Flag("largePods", "number of pods of a large Job", 40, 120)
)

// TestLargeJobs checks that the limits for rounds and steps are high enough for large Jobs.
func TestLargeJobs(t *testing.T) {
	job := func(completions, parallelism int32) *batchv1.Job {
		job := Job(1)
		job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Completions: &completions, Parallelism: &parallelism, BackoffLimit: new(int32(math.MaxInt32))}
		return job
	}
	for seed := range uint64(large()) {
		r := Run(Config{Seed: seed, Job: job(int32(pods()), 1), Mode: Liveness, Without: []string{"parallelism changed"}, Retries: -1})
		if r.Violation != nil {
			t.Errorf("seed %d: %v", seed, r.Violation)
		}
	}
}

// TestRejections sends a status that the API server rejects, and then the same or another
// status one or two syncs later.
func TestRejections(t *testing.T) {
	for name, c := range map[string]struct {
		asked []int32 // for each sync, the counter in a rejected status; 0 sends nothing
		want  bool
	}{
		"the same in the next sync":     {[]int32{-1, -1}, true},
		"another status":                {[]int32{-1, -2}, false},
		"the same after a sync between": {[]int32{-1, 0, -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(Config{Job: Job(1)}.orDefault(), driver.Plan{})
			r.begin()
			r.faultless = true
			r.c.Watch = nil
			for _, n := range c.asked {
				l := r.leaders[0]
				l.controller = writing(n)
				l.cache.ShowAll()
				r.sync(l)
			}
			if got := r.broken != nil && r.broken.Property == "L4"; got != c.want {
				t.Errorf("broken is %v, want L4: %v", r.broken, c.want)
			}
		})
	}
}

// writing writes a status with this number of failed pods; nothing if it is 0.
func writing(failed int32) syncing {
	return func(client *cluster.Client) (time.Duration, error) {
		if failed == 0 {
			return 0, nil
		}
		job := client.Job.DeepCopy()
		job.Status.Failed = failed
		_, err := client.UpdateStatus(job)
		return 0, err
	}
}

// TestNegativeSteps runs an invalid Job for no steps.
func TestNegativeSteps(t *testing.T) {
	job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(-1))}}
	if v := Run(Config{Job: job, Steps: -5}).Violation; v == nil || v.Property != "Job" {
		t.Errorf("the violation is %v, want that the Job is invalid", v)
	}
}

var bare = effort.Flag("bare", "number of random schedules with each kind of bare pods", 25, 100)

// TestBarePods checks that pods without labels or containers cause no panic.
func TestBarePods(t *testing.T) {
	for name, strip := range map[string]func(*corev1.Pod){
		"no labels":     func(p *corev1.Pod) { p.Labels = nil },
		"no containers": func(p *corev1.Pod) { p.Spec.Containers = nil },
		"nothing":       func(p *corev1.Pod) { *p = corev1.Pod{} },
	} {
		t.Run(name, func(t *testing.T) {
			controller := bugs.Asking(func(q *cluster.Request) {
				if q.Verb == cluster.Create {
					q.Pod = q.Pod.DeepCopy()
					strip(q.Pod)
				}
			})
			for seed := range uint64(bare()) {
				r := Run(Config{Seed: seed, Controller: controller, Mode: Liveness, Retries: -1})
				if r.Syncs == 0 {
					t.Errorf("seed %d: the controller never synced", seed)
				}
			}
		})
	}
}
