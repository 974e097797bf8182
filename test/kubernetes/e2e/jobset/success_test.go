package jobset

import (
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

var success = []testCase{
	{"Jobs run and are counted as ready", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
		s.wantRunning()
	}},
	{"all Jobs succeed", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
		s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Succeeded: 3})
	}},
	{"all Jobs but one succeed", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), leader, worker(0), worker(2))
		s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Ready: 1, Active: 1, Succeeded: 2})
		s.wantRunning()
	}},
	{"success policy All, no targets", integration, leaderFirst()},
	{"success policy All, one target", integration, func(s *stage) {
		s.create(leaderAndWorkers(succeedsWith(jobset.OperatorAll, "worker")))
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), worker(0))
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 2, Active: 2, Succeeded: 1})
		s.wantRunning()
		s.become(kubelet.Succeed(), worker(1), worker(2))
		s.untilCondition(completed)
		s.untilOnly(workers...)
	}},
	{"success policy All, a Job that is no target succeeds", integration, leaderFirst("worker")},
	{"success policy Any, one target", integration, func(s *stage) {
		s.create(leaderAndWorkers(succeedsWith(jobset.OperatorAny, "worker")))
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), worker(1))
		s.untilCondition(completed)
		s.untilOnly(worker(1))
	}},
	{"success policy Any, no targets; running Jobs are deleted", integration, func(s *stage) {
		s.create(leaderAndWorkers(succeedsWith(jobset.OperatorAny)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), leader)
		s.untilCondition(completed)
		s.untilOnly(leader)
	}},
}

// leaderFirst is a case in which all Jobs that the policy names must succeed. The leader does, and then the workers.
func leaderFirst(targets ...string) func(*stage) {
	return func(s *stage) {
		s.create(leaderAndWorkers(succeedsWith(jobset.OperatorAll, targets...)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), leader)
		s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Ready: 3, Active: 3})
		s.wantRunning()
		s.become(kubelet.Succeed(), workers...)
		s.untilCondition(completed)
	}
}
