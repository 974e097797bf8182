package chaos

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/effort"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/bugs"
	"github.com/jobfate/jobfate/jobtest/internal/shrink"
)

// TestCrashesOfLivesWithoutEnd leads Jobs by controllers under which they come to
// no end, whether one is killed or not: that all lives stall alike is no excuse.
func TestCrashesOfLivesWithoutEnd(t *testing.T) {
	for name, c := range map[string]struct {
		controller func() cluster.Controller
		want       string
	}{
		"no requeue":           {waiting(func(time.Duration) time.Duration { return 0 }), "L2"},
		"no finalizer goes":    {amended(func(_ decide.Input, d *bugs.Draft) { d.Strip = nil }), "L2"},
		"always suspended":     {spec(func(s *batchv1.JobSpec) { s.Suspend = ptr(true) }), "L2"},
		"finalizers come back": {func() cluster.Controller { return &leaving{*cluster.NewCaller()} }, "L3"},
	} {
		t.Run(name, func(t *testing.T) {
			found := map[string]int{}
			for seed := range uint64(40) {
				if v := Crashes(Config{Seed: seed, Controller: c.controller}, 0).Violation; v != nil {
					found[v.Property]++
				}
			}
			if found[c.want] < 5 {
				t.Errorf("40 lives break %v, want %s five times at least", found, c.want)
			}
		})
	}
}

// leaving puts the finalizer back on a pod when the Job has ended.
type leaving struct{ cluster.Caller }

// Sync implements cluster.Controller.
func (l *leaving) Sync(client *cluster.Client) (time.Duration, error) {
	if client.Job == nil || !ended(client.Job) {
		return l.Caller.Sync(client)
	}
	for _, pod := range client.Pods {
		if !hasFinalizer(pod) && pod.DeletionTimestamp == nil {
			_, err := client.PatchPod(pod, []byte(`{"metadata":{"uid":"`+string(pod.UID)+`","finalizers":["`+batchv1.JobTrackingFinalizer+`"]}}`))
			return 0, err
		}
	}
	return 0, nil
}

// TestCrashesOfJobsAtRest leads a Job that is not meant to run: it need not end.
func TestCrashesOfJobsAtRest(t *testing.T) {
	job := Job(1)
	job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Completions: ptr[int32](2), Parallelism: new(int32)}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if r := Crashes(Config{Seed: 1, Job: job}, 0); r.Violation != nil {
		t.Errorf("a parallelism of 0 breaks %v", r.Violation)
	}
}

// TestManualSelector leads Jobs that select their pods by a label of their own:
// the pods have no other.
func TestManualSelector(t *testing.T) {
	for seed := range uint64(100) {
		job := Job(seed)
		job.Spec.ManualSelector = ptr(true)
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		if seed%2 == 1 {
			job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}}
		}
		job.Spec.Template.Labels = map[string]string{"a": "b"}
		if r := Run(Config{Seed: seed, Job: job, Mode: Liveness, Retries: 100}); r.Violation != nil {
			t.Fatal(r.Story)
		}
	}
}

var (
	large = effort.Flag("large", "number of large Jobs", 1, 10)
	pods  = effort.Flag("largePods", "number of pods of a large Job", 60, 120)
)

// TestLargeJobs leads Jobs that take longer than small ones, and that is all.
func TestLargeJobs(t *testing.T) {
	job := func(completions, parallelism int32) *batchv1.Job {
		job := Job(1)
		job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Completions: &completions, Parallelism: &parallelism, BackoffLimit: ptr[int32](math.MaxInt32)}
		return job
	}
	t.Run("one after another", func(t *testing.T) {
		for seed := range uint64(large()) {
			r := Run(Config{Seed: seed, Job: job(int32(pods()), 1), Mode: Liveness, Without: []string{"parallelism changed"}, Retries: -1})
			if r.Violation != nil {
				t.Errorf("seed %d: %v", seed, r.Violation)
			}
		}
	})
	t.Run("a life", func(t *testing.T) {
		l := newLife(Config{Seed: 1, Job: job(3*int32(pods()), 1)}.orDefault(), nil)
		if l.lead(); l.broken != nil {
			t.Error(l.broken)
		}
	})
}

// TestRefusals sends what the API server refuses, and then the same or something
// else, a look later or two.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		asked []int32 // by each look: the counter in a status that is refused; 0 asks for nothing
		want  bool
	}{
		"the same at the next look":     {[]int32{-1, -1}, true},
		"another status":                {[]int32{-1, -2}, false},
		"the same after a look between": {[]int32{-1, 0, -1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(Config{Job: Job(1)}.orDefault(), shrink.Plan{})
			r.begin()
			r.calm = true
			r.c.Watch = nil
			for _, n := range c.asked {
				l := r.leaders[0]
				l.controller = refusable(n)
				l.cache.ShowAll()
				r.sync(l)
			}
			if got := r.broken != nil && r.broken.Property == "L4"; got != c.want {
				t.Errorf("broken is %v, want L4: %v", r.broken, c.want)
			}
		})
	}
}

// refusable asks for a status in which as many pods have failed.
type refusable int32

// Sync implements cluster.Controller.
func (n refusable) Sync(client *cluster.Client) (time.Duration, error) {
	if n == 0 {
		return 0, nil
	}
	job := client.Job.DeepCopy()
	job.Status.Failed = int32(n)
	_, err := client.UpdateStatus(job)
	return 0, err
}

// TestNegativeSteps runs a Job that the API server refuses for no step.
func TestNegativeSteps(t *testing.T) {
	job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: ptr[int32](-1)}}
	if v := Run(Config{Job: job, Steps: -5}).Violation; v == nil || v.Property != "Job" {
		t.Errorf("the violation is %v, want that the Job is not valid", v)
	}
}

// TestBarePods runs controllers whose pods lack what all pods have: nothing panics.
func TestBarePods(t *testing.T) {
	for name, strip := range map[string]func(*corev1.Pod){
		"no labels":     func(p *corev1.Pod) { p.Labels = nil },
		"no containers": func(p *corev1.Pod) { p.Spec.Containers = nil },
		"nothing":       func(p *corev1.Pod) { *p = corev1.Pod{} },
	} {
		t.Run(name, func(t *testing.T) {
			controller := asking(func(q *cluster.Request) bool {
				if q.Verb == cluster.Create {
					q.Pod = q.Pod.DeepCopy()
					strip(q.Pod)
				}
				return true
			})
			for seed := range uint64(100) {
				r := Run(Config{Seed: seed, Controller: controller, Mode: Liveness, Retries: -1})
				if r.Syncs == 0 {
					t.Errorf("seed %d: the controller never looked", seed)
				}
			}
		})
	}
}
