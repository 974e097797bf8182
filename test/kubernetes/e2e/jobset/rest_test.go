package jobset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// keeper is a finalizer that blocks the deletion of a JobSet.
const keeper = "example.com/keeper"

var rest = []testCase{
	{"every Job has the address of the coordinator", integration, func(s *stage) {
		s.create(leaderAndWorkers(func(spec *jobset.JobSetSpec) {
			spec.Coordinator = &jobset.Coordinator{ReplicatedJob: "worker"}
			spec.ReplicatedJobs[1].Template.Spec.Completions = new(int32(1)) // JobSet requires it
		}))
		s.untilReady(1, everyone...)
		address := worker(0) + "-0." + setName
		for _, job := range everyone {
			for _, m := range []metav1.Object{s.jobs[job], s.podsOf(job)[0]} {
				if m.GetLabels()[jobset.CoordinatorKey] != address || m.GetAnnotations()[jobset.CoordinatorKey] != address {
					s.t.Errorf("%s does not have the address %s: %v, %v", m.GetName(), address, m.GetLabels(), m.GetAnnotations())
				}
			}
		}
	}},
	{"a deleted Service is recreated", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.until("the Service exists", func() bool { return s.services[setName] != nil })
		first := s.services[setName].UID
		s.must(api.Client.CoreV1().Services(s.namespace).Delete(s.t.Context(), setName, metav1.DeleteOptions{}))
		s.until("a new Service exists", func() bool { return s.services[setName] != nil && s.services[setName].UID != first })
	}},
	{"a failed JobSet is deleted after its TTL", integration, func(s *stage) {
		s.create(leaderAndWorkers(livesOn(2)))
		s.untilReady(1, everyone...)
		s.become(kubelet.Fail(1), leader)
		s.untilCondition(anyFailed)
		s.untilGone()
	}},
	{"a completed JobSet is deleted after its TTL, once its finalizer is removed", e2e, func(s *stage) {
		js := leaderAndWorkers(livesOn(1))
		js.Finalizers = []string{keeper}
		s.create(js)
		s.untilReady(1, everyone...)
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
		s.until("the JobSet is being deleted", func() bool { return s.set.DeletionTimestamp != nil })
		s.update(func(js *jobset.JobSet) {
			js.Finalizers = slices.DeleteFunc(js.Finalizers, func(f string) bool { return f == keeper })
		})
		s.untilGone()
	}},
	{"deleted in the foreground", e2e, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.must(s.sets.Delete(s.t.Context(), setName, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		s.untilGone()
	}},
	{"the same JobSet applied again and again", e2e, func(s *stage) {
		js := untyped(s.managed(leaderAndWorkers()))
		unstructured.RemoveNestedField(js.Object, "status")
		unstructured.RemoveNestedField(js.Object, "metadata", "creationTimestamp")
		apply := func() int64 {
			applied, err := s.sets.Apply(s.t.Context(), setName, js, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
			s.must(err)
			return applied.GetGeneration()
		}
		first := apply()
		s.untilReady(1, everyone...)
		for range 2 {
			if again := apply(); again != first {
				s.t.Errorf("generation: got %d, want %d as before", again, first)
			}
		}
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
		if got := s.set.Generation; got != first {
			s.t.Errorf("generation at the end: got %d, want %d", got, first)
		}
	}},
}

func livesOn(seconds int32) func(*jobset.JobSetSpec) {
	return func(spec *jobset.JobSetSpec) { spec.TTLSecondsAfterFinished = &seconds }
}

// untilGone waits until the JobSet and all its objects are gone.
func (s *stage) untilGone() {
	s.t.Helper()
	s.until("the JobSet, its Jobs, their pods and the Service are gone", func() bool {
		return s.set == nil && len(s.jobs) == 0 && len(s.pods) == 0 && len(s.services) == 0
	})
}
