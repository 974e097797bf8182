package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// livenessLies has a controller for each clause of L1 to L5 that violates just that, without faults. With the reference
// caller, the same lives violate nothing. That too many pods stay is in knownBugs: it takes an edit of the spec.
var livenessLies = []struct {
	property, says string
	spec           func(*batchv1.JobSpec)
	controller     func() cluster.Controller
}{
	{"L1", "still sends requests", nil, alwaysWriting},
	{"L1", "but sends one in the next", nil, everyThird},
	{"L1", "the status says", nil, bugs.Looking(bugs.Changed(func(_ *batchv1.Job, p *corev1.Pod) { p.Status.Conditions = nil }))},
	{"L1", "its status does not say so", nil, indifferent},
	{"L2", "the Job has not ended", nil, bugs.Amended(func(_ decide.Snapshot, d *decide.Decision) { d.Strip = nil })},
	{"L3", "keeps its finalizer", nil, leaving},
	{"L4", "is sent again unchanged", nil, bugs.With(bugs.Caller{Before: deletingAnother})},
	{"L5", "has set no requeue", func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(5)) },
		waiting(func(time.Duration) time.Duration { return 0 })},
	{"L5", "has set a requeue for", func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(5)) },
		waiting(func(d time.Duration) time.Duration { return 2 * d })},
	{"L5", "already sends requests", nil, waiting(func(d time.Duration) time.Duration { return 2 * d })},
}

// everyThird is a caller that patches a pod in every third sync.
func everyThird() cluster.Controller {
	syncs := 0
	return bugs.With(bugs.Caller{Before: func(_ *bugs.Caller, client *cluster.Client) {
		if syncs++; syncs%3 == 0 && len(client.Pods) > 0 {
			_, _ = client.PatchPod(client.Pods[0], []byte(`{"metadata":{"uid":"`+string(client.Pods[0].UID)+`"}}`))
		}
	}})()
}

// indifferent is a caller that stops when all pods have succeeded, and stores no verdict.
func indifferent() cluster.Controller {
	caller := bugs.Rewriting(func(st map[string]any) { st["conditions"], st["completionTime"] = nil, nil })()
	return syncing(func(client *cluster.Client) (time.Duration, error) {
		if client.Job != nil && client.Job.Status.Succeeded == *client.Job.Spec.Completions {
			return 0, nil
		}
		return caller.Sync(client)
	})
}

// deletingAnother deletes a pod under a wrong UID.
func deletingAnother(_ *bugs.Caller, client *cluster.Client) {
	if len(client.Pods) > 0 {
		_ = client.DeletePod(client.Pods[0], metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})
	}
}

func TestLies(t *testing.T) {
	life := func(seed uint64, spec func(*batchv1.JobSpec), controller func() cluster.Controller) *referee.Violation {
		job := Job(seed)
		job.Spec = batchv1.JobSpec{Template: job.Spec.Template, Completions: new(int32(2)), Parallelism: new(int32(2))}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		if spec != nil {
			spec(&job.Spec)
		}
		return Run(Config{Seed: seed, Job: job, Controller: controller, Steps: -1, Mode: Liveness, Retries: -1}).Violation
	}
	for _, c := range livenessLies {
		t.Run(c.property+", "+c.says, func(t *testing.T) {
			var said []string
			for seed := range uint64(30) {
				if v := life(seed, c.spec, nil); v != nil {
					t.Errorf("the reference caller: %v", v)
				}
				v := life(seed, c.spec, c.controller)
				if v != nil && v.Property == c.property && strings.Contains(v.Text, c.says) {
					return
				}
				said = append(said, fmt.Sprint(v))
			}
			t.Errorf("no life violates it: %q", said)
		})
	}
}

// leaving is a caller that adds the finalizer to a pod again when the Job has ended.
func leaving() cluster.Controller {
	caller := jobtest.NewCaller()
	return syncing(func(client *cluster.Client) (time.Duration, error) {
		if client.Job == nil || !referee.Ended(client.Job) {
			return caller.Sync(client)
		}
		for _, pod := range client.Pods {
			if !(tracking.Keys{}).HasFinalizer(pod) && pod.DeletionTimestamp == nil {
				_, err := client.PatchPod(pod, []byte(`{"metadata":{"uid":"`+string(pod.UID)+`","finalizers":["`+batchv1.JobTrackingFinalizer+`"]}}`))
				return 0, err
			}
		}
		return 0, nil
	})
}
