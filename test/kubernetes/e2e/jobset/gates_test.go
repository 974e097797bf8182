package jobset

import (
	"fmt"
	"math"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// gated lists the cases of JobSet's alpha gates RestartJob, ElasticJobSet and InPlaceRestart.
var gated = []testCase{
	{"RestartJob: only the failed Job is restarted", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(
			rule(jobset.RestartJob, batchv1.JobReasonPodFailurePolicy), rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), worker(1))
		s.untilJobRestarts([]int32{0, 1, 0}, []int32{0, 1, 0})
		s.untilReady(2, worker(1))
		s.untilReady(1, leader, worker(0), worker(2))
		s.wantRestarts(0, 0)
	}},
	{"RestartJobAndIgnoreMaxRestarts: only the failed Job is restarted, again and again", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(
			rule(jobset.RestartJobAndIgnoreMaxRestarts, batchv1.JobReasonPodFailurePolicy), rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		for n := int32(1); n <= 3; n++ {
			s.become(kubelet.Fail(policyExit), worker(1))
			s.untilJobRestarts([]int32{0, n, 0}, nil)
			s.untilReady(int(n)+1, worker(1))
		}
		s.untilReady(1, leader, worker(0), worker(2))
		s.wantRestarts(0, 0)
	}},
	{"running Jobs are scaled", integration, func(s *stage) {
		s.create(set(replicated("worker", 1, pods(2))))
		s.untilReady(1, worker(0))
		for _, n := range []int32{4, 3} {
			s.update(func(js *jobset.JobSet) { pods(n)(&js.Spec.ReplicatedJobs[0]) })
			s.until(fmt.Sprintf("%d pods", n), func() bool { return *s.jobs[worker(0)].Spec.Completions == n })
			s.untilReady(1, worker(0))
		}
		s.becomes(kubelet.Succeed(), s.stateOf(worker(0)).Active()...)
		s.untilCondition(completed)
	}},
	// JobSet has no test of it on an API server. The case plays JobSet's agent, which reports the attempt of its pod.
	{"InPlaceRestart: a failed pod is replaced, the other restarts in place", own, func(s *stage) {
		s.create(withSpec(set(replicated("worker", 1, pods(2), func(r *jobset.ReplicatedJob) {
			r.Template.Spec.BackoffLimit, r.Template.Spec.PodReplacementPolicy = new(int32(math.MaxInt32)), new(batchv1.Failed)
		})), recreates(jobset.InPlaceRestart)))
		s.untilReady(1, worker(0))
		s.attempt(0, s.podsOf(worker(0))...)
		s.until("attempt 0", func() bool { return reflect.DeepEqual(s.set.Status.CurrentInPlaceRestartAttempt, new(int32(0))) })
		first := s.podsOf(worker(0))
		s.becomes(kubelet.Fail(1), first[0])
		s.until("one failure", func() bool { return s.jobs[worker(0)].Status.Failed == 1 })
		s.untilReady(1, worker(0))
		for _, pod := range s.stateOf(worker(0)).Active() {
			if pod.Name != first[1].Name {
				s.attempt(1, pod)
			}
		}
		s.until("the others must reach attempt 1", func() bool { return reflect.DeepEqual(s.set.Status.PreviousInPlaceRestartAttempt, new(int32(0))) })
		s.attempt(1, first[1])
		s.until("attempt 1", func() bool { return reflect.DeepEqual(s.set.Status.CurrentInPlaceRestartAttempt, new(int32(1))) })
		s.becomes(kubelet.Succeed(), s.stateOf(worker(0)).Active()...)
		s.untilCondition(completed)
		s.wantRestarts(0, 0)
	}},
}

// pods sets the completions and the parallelism of each Job.
func pods(n int32) func(*jobset.ReplicatedJob) {
	return func(r *jobset.ReplicatedJob) {
		r.Template.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		r.Template.Spec.Completions, r.Template.Spec.Parallelism = &n, &n
	}
}

// attempt annotates pods with the number of their restart in place, as JobSet's agent does.
func (s *stage) attempt(n int32, pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, jobset.InPlaceRestartAttemptKey, n)
		_, err := api.Client.CoreV1().Pods(s.namespace).Patch(s.t.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		s.must(err)
	}
}

// untilJobRestarts waits until the workers were restarted so often, and so often that it counts towards
// the maximum.
func (s *stage) untilJobRestarts(restarts, counting []int32) {
	s.t.Helper()
	s.until(fmt.Sprintf("the workers restarted %v times, %v count", restarts, counting), func() bool {
		for _, r := range s.set.Status.ReplicatedJobsStatus {
			if r.Name == "worker" {
				return reflect.DeepEqual(r.JobRestarts, restarts) && reflect.DeepEqual(r.JobRestartsCountTowardsMax, counting)
			}
		}
		return false
	})
}
