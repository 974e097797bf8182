package jobset

import (
	"fmt"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

var dependencies = []testCase{
	{"workers start when the leader is ready", integration, func(s *stage) {
		s.create(set(replicated("leader", 1, pending), replicated("worker", 3, after("leader", jobset.DependencyReady))))
		s.untilCounted(counted{Name: "leader", Active: 1}, counted{Name: "worker"})
		s.wantOnly(leader)
		s.become(kubelet.Run(), leader)
		s.untilReady(1, everyone...)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
	}},
	{"a chain: one waits for the end of the first, one for the start of the second", integration, func(s *stage) {
		s.create(set(
			replicated("a", 1),
			replicated("b", 1, pending, after("a", jobset.DependencyComplete)),
			replicated("c", 3, after("b", jobset.DependencyReady))))
		s.untilReady(1, "set-a-0")
		s.untilCounted(counted{Name: "a", Ready: 1, Active: 1}, counted{Name: "b"}, counted{Name: "c"})
		s.wantOnly("set-a-0")
		s.become(kubelet.Succeed(), "set-a-0")
		s.untilCounted(counted{Name: "a", Succeeded: 1}, counted{Name: "b", Active: 1}, counted{Name: "c"})
		s.wantOnly("set-a-0", "set-b-0")
		s.become(kubelet.Run(), "set-b-0")
		s.untilCounted(counted{Name: "a", Succeeded: 1}, counted{Name: "b", Ready: 1, Active: 1}, counted{Name: "c", Ready: 3, Active: 3})
		s.become(kubelet.Succeed(), "set-b-0", "set-c-0", "set-c-1", "set-c-2")
		s.untilCondition(completed)
		s.untilCounted(counted{Name: "a", Succeeded: 1}, counted{Name: "b", Succeeded: 1}, counted{Name: "c", Succeeded: 3})
	}},
	{"workers wait for the end of two others", integration, func(s *stage) {
		s.create(set(replicated("a", 1), replicated("b", 1),
			replicated("worker", 3, dependsOn("a", jobset.DependencyComplete, "b", jobset.DependencyComplete))))
		s.untilReady(1, "set-a-0", "set-b-0")
		s.become(kubelet.Succeed(), "set-a-0")
		s.untilCounted(counted{Name: "a", Succeeded: 1}, counted{Name: "b", Ready: 1, Active: 1}, counted{Name: "worker"})
		s.wantOnly("set-a-0", "set-b-0")
		s.become(kubelet.Succeed(), "set-b-0")
		s.untilReady(1, workers...)
		s.become(kubelet.Succeed(), workers...)
		s.untilCondition(completed)
	}},
	{"workers wait for the start of one and the end of another", integration, func(s *stage) {
		s.create(set(replicated("a", 1, pending), replicated("b", 1),
			replicated("worker", 3, dependsOn("a", jobset.DependencyReady, "b", jobset.DependencyComplete))))
		s.become(kubelet.Succeed(), "set-b-0")
		s.untilCounted(counted{Name: "a", Active: 1}, counted{Name: "b", Succeeded: 1}, counted{Name: "worker"})
		s.wantOnly("set-a-0", "set-b-0")
		s.become(kubelet.Run(), "set-a-0")
		s.untilReady(1, workers...)
		s.become(kubelet.Succeed(), append([]string{"set-a-0"}, workers...)...)
		s.untilCondition(completed)
	}},
	{"created suspended, resumed; workers start when the leader is ready", integration, func(s *stage) {
		s.create(withSpec(set(replicated("leader", 1, pending), replicated("worker", 3, after("leader", jobset.DependencyReady))), suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker"})
		s.resume()
		s.untilCounted(counted{Name: "leader", Active: 1}, counted{Name: "worker"})
		s.wantOnly(leader)
		s.become(kubelet.Run(), leader)
		s.untilReady(1, everyone...)
		s.untilCounted(counted{Name: "leader", Ready: 1, Active: 1}, counted{Name: "worker", Ready: 3, Active: 3})
	}},
	{"the trainer starts when the initializer has completed", e2e, func(s *stage) {
		s.create(set(replicated("initializer", 1), replicated("trainer-node", 1, after("initializer", jobset.DependencyComplete))))
		s.untilReady(1, "set-initializer-0")
		s.untilCounted(counted{Name: "initializer", Ready: 1, Active: 1}, counted{Name: "trainer-node"})
		s.wantOnly("set-initializer-0")
		s.become(kubelet.Succeed(), "set-initializer-0")
		s.untilReady(1, "set-trainer-node-0")
		s.become(kubelet.Succeed(), "set-trainer-node-0")
		s.untilCondition(completed)
	}},
	{"five trainers start when the launcher is ready", e2e, func(s *stage) {
		s.create(set(replicated("launcher", 1, pending), replicated("trainer-node", 5, after("launcher", jobset.DependencyReady))))
		s.untilCounted(counted{Name: "launcher", Active: 1}, counted{Name: "trainer-node"})
		s.wantOnly("set-launcher-0")
		s.become(kubelet.Run(), "set-launcher-0")
		var trainers []string
		for n := range 5 {
			trainers = append(trainers, fmt.Sprintf("set-trainer-node-%d", n))
		}
		s.untilReady(1, trainers...)
		s.become(kubelet.Succeed(), append(trainers, "set-launcher-0")...)
		s.untilCondition(completed)
	}},
}

// dependsOn makes a replicated Job wait for two others.
func dependsOn(a string, is jobset.DependsOnStatus, b string, are jobset.DependsOnStatus) func(*jobset.ReplicatedJob) {
	return func(r *jobset.ReplicatedJob) {
		r.DependsOn = []jobset.DependsOn{{Name: a, Status: is}, {Name: b, Status: are}}
	}
}

// wantOnly checks that only the given Jobs were ever created, each of them once.
func (s *stage) wantOnly(jobs ...string) {
	s.t.Helper()
	if len(s.created) != len(jobs) {
		s.t.Errorf("want only the Jobs %v; history:\n%s", jobs, s.Story())
	}
	for _, job := range jobs {
		if len(s.created[job]) != 1 {
			s.t.Errorf("%s was created %d times, want once; history:\n%s", job, len(s.created[job]), s.Story())
		}
	}
}
