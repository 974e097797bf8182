package chaos

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/referee"
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
	r := firstOf(large(), func(seed uint64) Config {
		job := Job(1)
		job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Completions: new(int32(pods())), Parallelism: new(int32(1)), BackoffLimit: new(int32(math.MaxInt32))}
		return Config{Seed: seed, Job: job, Mode: Liveness, Without: []string{"parallelism changed"}, Retries: 100}
	})
	if r.Violation != nil {
		t.Error(r.Story)
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
			r.Faultless = true
			r.c.Watch = nil
			for _, n := range c.asked {
				l := r.leaders[0]
				l.controller = writing(n)
				l.cache.ShowAll()
				r.sync(l)
			}
			if v := r.Violation(); (v != nil && v.Property == "L4") != c.want {
				t.Errorf("the violation is %v, want L4: %v", v, c.want)
			}
		})
	}
}

// writing writes a status with this number of failed pods; nothing if it is 0.
func writing(failed int32) bugs.Func {
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

var severalSchedules = effort.Flag("several", "number of random schedules with several controllers", 60, 1500)

// The reference caller violates no property with two Jobs in one cluster. Each Job is
// judged by its own ghost.
func TestSeveralJobs(t *testing.T) {
	r := firstOf(severalSchedules(), func(seed uint64) Config {
		jobs := Jobs(seed)
		return Config{Seed: seed, Mode: Mode(seed % 2), Job: jobs[0], Beside: jobs[1:]}
	})
	if r.Violation != nil {
		t.Fatal(r.Story)
	}
}

// With FailLostPods and SucceedOnExitZero a controller has the same properties, if each pod has the
// phase by which it is counted. Otherwise the referee finds violations, so there are such pods: deleted
// pods do not end before the faults stop.
func TestCountedPods(t *testing.T) {
	const after = 5 * time.Second
	first := func(rules referee.Rules, retries int, options ...decide.Option) Report {
		return firstOf(schedules(), func(seed uint64) Config {
			return Config{Seed: seed, Mode: Mode(seed % 2), Rules: rules, Retries: retries,
				Without:    []string{"deleted pod exits 0", "deleted pod exits 137", "deleted pod exits with its own code", "deleted pod fails"},
				Controller: func() cluster.Controller { return jobtest.NewCaller(options...) }}
		})
	}
	lost, zero := decide.FailLostPods(after), decide.SucceedOnExitZero()
	if r := first(referee.Rules{LostAfter: after, ExitZero: true}, 0, lost, zero); r.Violation != nil {
		t.Error(r.Story)
	}
	for name, option := range map[string]decide.Option{"FailLostPods": lost, "SucceedOnExitZero": zero} {
		if r := first(referee.Rules{}, -1, option); r.Violation == nil {
			t.Errorf("%s has no effect", name)
		}
	}
}
