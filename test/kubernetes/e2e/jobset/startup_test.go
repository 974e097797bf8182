package jobset

import (
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// slowStart returns leaderAndWorkers with pods that stay pending until the case changes their
// script.
func slowStart(changes ...func(*jobset.JobSetSpec)) *jobset.JobSet {
	return withSpec(set(replicated("leader", 1, pending), replicated("worker", 3, pending)), changes...)
}

var startup = []testCase{
	{"startup policy InOrder: created suspended", integration, func(s *stage) {
		s.create(leaderAndWorkers(inOrder, suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
	}},
	{"startup policy AnyOrder: created suspended, resumed", integration, func(s *stage) {
		s.create(leaderAndWorkers(suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
		s.resume()
		s.untilReady(1, everyone...)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
	}},
	{"startup policy InOrder: created suspended, resumed", integration, func(s *stage) {
		s.create(slowStart(inOrder, suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
		s.resume()
		s.untilCounted(counted{Name: "leader", Active: 1}, counted{Name: "worker", Suspended: 3})
		s.untilCondition(starting)
		s.become(kubelet.Run(), leader)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Active: 3})
		s.become(kubelet.Run(), workers...)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
		s.untilCondition(started)
	}},
	{"startup policy InOrder: workers wait for the leader", integration, func(s *stage) {
		s.create(slowStart(inOrder))
		s.startInOrder(1)
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
	}},
	{"startup policy InOrder: workers wait for the leader again after a restart", integration, func(s *stage) {
		s.create(slowStart(inOrder, restartsOnce()))
		s.startInOrder(1)
		s.become(kubelet.Fail(1), worker(1))
		s.startInOrder(2)
		s.wantRestarts(1, 1)
	}},
}

// startInOrder lets the leader start, and then the workers. It checks that no worker is created
// before the leader is ready. Each Job has then been created the given number of times.
func (s *stage) startInOrder(times int) {
	s.t.Helper()
	made := func(job string) bool {
		return s.jobs[job] != nil && len(s.created[job]) == times && len(s.stateOf(job).Active()) == 1
	}
	s.until("the leader has a pod", func() bool { return made(leader) })
	s.untilCounted(counted{Name: "leader", Active: 1}, counted{Name: "worker"})
	s.untilCondition(starting)
	for _, job := range workers {
		if len(s.created[job]) == times {
			s.t.Errorf("%s was created before the leader was ready; history:\n%s", job, s.Story())
		}
	}
	s.become(kubelet.Run(), leader)
	s.until("the workers have pods", func() bool { return made(worker(0)) && made(worker(1)) && made(worker(2)) })
	s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Active: 3})
	s.untilCondition(starting)
	s.become(kubelet.Run(), workers...)
	s.untilReady(times, everyone...)
	s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
	s.untilCondition(started)
}
