package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

var failure = []testCase{
	{"no failure policy; running Jobs are deleted", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(1), worker(1))
		s.untilCondition(anyFailed)
		s.untilOnly(worker(1))
		s.failedWith(batchv1.JobReasonBackoffLimitExceeded, worker(1))
	}},
	{"FailJobSet, any reason", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), leader)
		s.untilCondition(byRule)
		s.untilOnly(leader)
		s.failedWith(batchv1.JobReasonPodFailurePolicy, leader)
		s.wantRestarts(0, 0)
	}},
	{"FailJobSet for another reason: restart", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(rule(jobset.FailJobSet, batchv1.JobReasonBackoffLimitExceeded))))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), leader)
		s.untilRestarted(1, 1, everyone...)
	}},
	{"RestartJobSet for the reason, FailJobSet for any other", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(
			rule(jobset.RestartJobSet, batchv1.JobReasonPodFailurePolicy), rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), worker(0))
		s.untilRestarted(1, 1, everyone...)
		s.become(kubelet.Fail(1), worker(0))
		s.untilCondition(byRule)
		s.untilOnly(worker(0))
		s.failedWith(batchv1.JobReasonBackoffLimitExceeded, worker(0))
	}},
	{"FailJobSet for the reason in another replicated Job: restart", integration, func(s *stage) {
		s.create(leaderAndWorkers(restartsOnce(rule(jobset.FailJobSet, batchv1.JobReasonBackoffLimitExceeded, "leader"))))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(1), worker(2))
		s.untilRestarted(1, 1, everyone...)
	}},
}

var messages = []testCase{
	{"FailJobSet for another message: restart", integration, onMessage("", "rule at index 1$", false)},
	{"FailJobSet for the reason and another message: restart", integration,
		onMessage(batchv1.JobReasonPodFailurePolicy, "rule at index 1$", false)},
	{"FailJobSet for the reason and the message", integration, onMessage(batchv1.JobReasonPodFailurePolicy,
		"^Container main for pod .* failed with exit code 42 matching FailJob rule at index 0$", true)},
	{"FailJobSet for the reason and a part of the message", integration,
		onMessage(batchv1.JobReasonPodFailurePolicy, "exit code 42", true)},
}

// onMessage is a case in which a rule fails the JobSet for a reason and a pattern of the message of the failed Job: the
// leader fails, and the JobSet fails, or is restarted.
func onMessage(reason, pattern string, fails bool) func(*stage) {
	return func(s *stage) {
		failJobSet := rule(jobset.FailJobSet, reason)
		failJobSet.OnJobFailureMessagePatterns = []string{pattern}
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(failJobSet)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), leader)
		if !fails {
			s.untilRestarted(1, 1, everyone...)
			return
		}
		s.untilCondition(byRule)
		s.wantRestarts(0, 0)
	}
}

var restarts = []testCase{
	{"one failure, one restart, then all succeed", integration, func(s *stage) {
		s.create(leaderAndWorkers(restartsOnce()))
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), leader) // it is restarted too
		s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Ready: 3, Active: 3})
		s.become(kubelet.Fail(1), worker(0))
		s.untilRestarted(1, 1, everyone...)
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
	}},
	{"more failures than restarts", integration, func(s *stage) {
		s.create(leaderAndWorkers(restartsOnce()))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(1), leader)
		s.untilRestarted(1, 1, everyone...)
		s.become(kubelet.Fail(1), worker(0))
		s.untilCondition(tooMany)
		s.untilOnly(worker(0))
		s.wantRestarts(1, 1)
	}},
	{"restarts that do not count", integration, func(s *stage) {
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(
			rule(jobset.RestartJobSetAndIgnoreMaxRestarts, batchv1.JobReasonPodFailurePolicy), rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		for n := int32(1); n <= 3; n++ {
			s.become(kubelet.Fail(policyExit), leader)
			s.untilRestarted(n, 0, everyone...)
		}
	}},
	{"condition RestartingJobSet", integration, func(s *stage) {
		restart := rule(jobset.RestartJobSet, batchv1.JobReasonPodFailurePolicy)
		restart.Name = "Rule1"
		s.create(leaderAndWorkers(podFailurePolicy, restartsOnce(restart)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(policyExit), worker(0))
		s.untilCondition("RestartingJobSet=True/FailurePolicy_Rule1")
		s.untilReady(2, everyone...)
		s.untilCondition("RestartingJobSet=False/JobsReady")
	}},
	{"Recreate: Jobs are recreated while one is still being deleted", integration, func(s *stage) {
		s.create(leaderAndWorkers(recreates(jobset.Recreate)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Run().NeverDying(), worker(2))
		s.become(kubelet.Fail(1), worker(0))
		s.untilRestarted(1, 1, leader, worker(0), worker(1))
		s.wantStuck(worker(2))
		s.become(kubelet.Run(), worker(2))
		s.untilRestarted(1, 1, everyone...)
	}},
	{"BlockingRecreate: Jobs are recreated when all are deleted", integration, func(s *stage) {
		s.create(leaderAndWorkers(recreates(jobset.BlockingRecreate)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Run().NeverDying(), worker(2))
		s.become(kubelet.Fail(1), worker(0))
		s.untilOnly(worker(2))
		s.wantStuck(worker(2))
		for _, job := range everyone {
			if len(s.created[job]) != 1 {
				s.t.Errorf("%s was created %d times before all were deleted", job, len(s.created[job]))
			}
		}
		s.become(kubelet.Run(), worker(2))
		s.untilRestarted(1, 1, everyone...)
	}},
}

var indexes = []testCase{
	{"FailJobSet for FailedIndexes in the replicated Job", integration, func(s *stage) {
		s.create(leaderAndWorkers(perIndex(), restartsOnce(rule(jobset.FailJobSet, batchv1.JobReasonFailedIndexes, "worker"))))
		s.untilReady(1, everyone...)
		pods := s.podsOf(worker(0))
		s.becomes(kubelet.Fail(1), pods[0])
		s.becomes(kubelet.Succeed(), pods[1])
		s.untilCondition(byRule)
		s.untilOnly(worker(0))
		s.failedWith(batchv1.JobReasonFailedIndexes, worker(0))
		s.wantRestarts(0, 0)
	}},
	{"MaxFailedIndexesExceeded: FailJobSet before RestartJobSet", integration, func(s *stage) {
		s.create(leaderAndWorkers(perIndex(0), restartsOnce(
			rule(jobset.FailJobSet, batchv1.JobReasonMaxFailedIndexesExceeded, "leader"),
			rule(jobset.RestartJobSet, batchv1.JobReasonMaxFailedIndexesExceeded, "leader"))))
		s.untilReady(1, everyone...)
		s.becomes(kubelet.Fail(1), s.podsOf(leader)[1])
		s.untilCondition(byRule)
		s.untilOnly(leader)
		s.failedWith(batchv1.JobReasonMaxFailedIndexesExceeded, leader)
		s.wantRestarts(0, 0)
	}},
	{"MaxFailedIndexesExceeded: RestartJobSet before FailJobSet", integration, func(s *stage) {
		s.create(leaderAndWorkers(perIndex(0), restartsOnce(
			rule(jobset.RestartJobSet, batchv1.JobReasonMaxFailedIndexesExceeded, "leader"),
			rule(jobset.FailJobSet, batchv1.JobReasonMaxFailedIndexesExceeded, "leader"))))
		s.untilReady(1, everyone...)
		s.becomes(kubelet.Fail(1), s.podsOf(leader)[1])
		s.untilRestarted(1, 1, everyone...)
	}},
	{"MaxFailedIndexesExceeded: restarts that do not count, then FailJobSet", integration, func(s *stage) {
		s.create(leaderAndWorkers(perIndex(0), restartsOnce(
			rule(jobset.RestartJobSetAndIgnoreMaxRestarts, batchv1.JobReasonMaxFailedIndexesExceeded, "leader"),
			rule(jobset.FailJobSet, ""))))
		s.untilReady(1, everyone...)
		for n := int32(1); n <= 3; n++ {
			s.becomes(kubelet.Fail(1), s.podsOf(leader)[0])
			s.untilRestarted(n, 0, everyone...)
		}
		s.becomes(kubelet.Fail(1), s.podsOf(worker(1))[0])
		s.untilCondition(byRule)
		s.untilOnly(worker(1))
		s.wantRestarts(3, 0)
	}},
}
