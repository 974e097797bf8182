package jobset

import (
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/e2e/kubelet"
)

var success = []scene{
	{"all Jobs succeed", func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
		s.untilCounted(jobset.ReplicatedJobStatus{Name: "leader", Succeeded: 1}, jobset.ReplicatedJobStatus{Name: "worker", Succeeded: 3})
	}},
}
