package proof

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/explore"
)

func ptr[T any](v T) *T { return &v }

func jobOf(n int32, change func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{}
	job.Name, job.Namespace = "job", "default"
	s := &job.Spec
	s.Parallelism, s.Completions, s.BackoffLimit = ptr(n), ptr(n), ptr[int32](1)
	s.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}
	change(s)
	return job
}

func TestSmall(t *testing.T) {
	m := load(t)
	p, err := m.compile()
	if err != nil {
		t.Fatal(err)
	}
	indexed := func(s *batchv1.JobSpec) { s.CompletionMode = ptr(batchv1.IndexedCompletion) }
	perIndex := func(s *batchv1.JobSpec) { indexed(s); s.BackoffLimit = nil; s.BackoffLimitPerIndex = ptr[int32](1) }
	policy := func(a batchv1.PodFailurePolicyAction) func(*batchv1.JobSpec) {
		return func(s *batchv1.JobSpec) {
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: a, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
			}}
		}
	}
	for name, change := range map[string]func(*batchv1.JobSpec){"plain": func(*batchv1.JobSpec) {}, "indexed": indexed, "perindex": perIndex,
		"failjob": policy("FailJob"), "ignore": policy("Ignore"), "onlyfailed": func(s *batchv1.JobSpec) { s.PodReplacementPolicy = ptr(batchv1.Failed) }, "deadline": func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr[int64](100) },
		"success": func(s *batchv1.JobSpec) {
			indexed(s)
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr("0")}}}
		}} {
		for mode := range 3 {
			f := NewFollower(p)
			s := &searched{Follower: f}
			c := explore.Config{Job: jobOf(2, change), Pods: 3, Codes: []int32{0, 1, 42}, Limit: 60000, Observe: s.observe}
			if mode == 1 {
				c.Faults, c.Kinds = 2, explore.Faults()
			}
			if mode == 2 {
				c.Job, c.Pods = jobOf(1, change), 2
				c.Faults, c.Kinds = 2, explore.Faults()
				if false {
					c.Faults, c.Kinds = 2, []explore.Kind{explore.OtherLeader}
				}
			}
			r, err := explore.Search(c)
			if err != nil || r.Found != nil {
				t.Fatal(err, r.Found)
			}
			t.Log(name, mode, r.States, r.Transitions, f.Counts, len(f.known), len(f.checked))
			if f.Refused != nil {
				t.Error(f.Refused)
			}
		}
	}
}

func TestSchedules(t *testing.T) {
	m := load(t)
	p, err := m.compile()
	if err != nil {
		t.Fatal(err)
	}
	var steps, checks int64
	for seed := range uint64(1500) {
		f := NewFollower(p)
		f.Versions = true
		var w *world
		n := 0
		r := chaos.Run(chaos.Config{Seed: seed, Retries: -1, Without: []string{"cache goes back in time"}, Observe: func(e *cluster.Event) {
			f.Steps++
			n++
			w = f.Follow(w, e)
		}})
		if r.Violation != nil {
			t.Fatal(r.Violation)
		}
		steps += f.Steps
		checks += f.Checks
		if f.Refused != nil {
			t.Errorf("seed %d: %v", seed, f.Refused)
		}
	}
	t.Log(steps, checks)
}
