package jobset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/stories/script"
)

// The changes of the pod templates of suspended JobSets.
const (
	addedKey, addedValue = "example.com/added", "value"
	gate                 = "example.com/gate"
)

var suspension = []testCase{
	{"created suspended", integration, func(s *stage) {
		s.create(leaderAndWorkers(suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
	}},
	{"suspended while its Jobs run", integration, func(s *stage) {
		s.create(leaderAndWorkers())
		s.untilReady(1, everyone...)
		s.update(func(js *jobset.JobSet) { suspended(&js.Spec) })
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
		s.wantRunning()
	}},
	{"resumed with other pod templates", integration, func(s *stage) {
		s.create(leaderAndWorkers(suspended))
		s.untilSuspended(counted{Name: "leader", Suspended: 1}, counted{Name: "worker", Suspended: 3})
		s.update(func(js *jobset.JobSet) {
			for i := range js.Spec.ReplicatedJobs {
				template := &js.Spec.ReplicatedJobs[i].Template.Spec.Template
				template.Labels = map[string]string{addedKey: addedValue}
				template.Annotations = map[string]string{addedKey: addedValue}
				template.Spec.NodeSelector = map[string]string{addedKey: addedValue}
				template.Spec.Tolerations = []corev1.Toleration{{Key: addedKey, Operator: corev1.TolerationOpExists}}
			}
		})
		s.resume()
		s.untilCondition(resumed)
		s.untilReady(1, everyone...)
		for _, job := range everyone {
			for _, pod := range s.podsOf(job) {
				if pod.Labels[addedKey] != addedValue || pod.Annotations[addedKey] != addedValue || pod.Spec.NodeSelector[addedKey] != addedValue || !tolerates(pod, addedKey) {
					s.t.Errorf("%s was not created from the changed template: %v, %v", pod.Name, pod.ObjectMeta, pod.Spec)
				}
			}
		}
		s.become(kubelet.Succeed(), everyone...)
		s.untilCondition(completed)
		s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Succeeded: 3})
	}},
	{"resumed for nodes that do not exist, suspended, resumed for others", e2e, func(s *stage) {
		s.create(withSpec(set(replicated("worker", 3)), suspended))
		s.untilSuspended(counted{Name: "worker", Suspended: 3})
		s.update(func(js *jobset.JobSet) {
			js.Spec.Suspend = new(false)
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: noSystem}
		})
		s.untilCounted(counted{Name: "worker", Active: 3})
		s.update(func(js *jobset.JobSet) {
			suspended(&js.Spec)
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector[corev1.LabelOSStable] = "linux"
		})
		s.untilSuspended(counted{Name: "worker", Suspended: 3})
		s.resume()
		s.untilReady(1, workers...)
		s.become(kubelet.Succeed(), workers...)
		s.untilCondition(completed)
	}},
	{"resumed with a scheduling gate", e2e, func(s *stage) {
		s.create(withSpec(set(replicated("worker", 3)), suspended))
		s.untilSuspended(counted{Name: "worker", Suspended: 3})
		s.update(func(js *jobset.JobSet) {
			js.Spec.Suspend = new(false)
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		})
		s.until("three pods with the gate", func() bool { return len(s.waiting()) == 3 })
		s.untilCounted(counted{Name: "worker", Active: 3})
		for _, pod := range s.waiting() {
			pod = pod.DeepCopy()
			pod.Spec.SchedulingGates = nil
			_, err := api.Client.CoreV1().Pods(s.namespace).Update(s.t.Context(), pod, metav1.UpdateOptions{})
			s.must(err)
		}
		s.untilReady(1, workers...)
		s.become(kubelet.Succeed(), workers...)
		s.untilCondition(completed)
	}},
}

// resume resumes the JobSet.
func (s *stage) resume() {
	s.t.Helper()
	s.update(func(js *jobset.JobSet) { js.Spec.Suspend = new(false) })
}

// untilSuspended waits until the JobSet is suspended with these counts, all Jobs have the condition
// Suspended, and no pod is left. JobSet reads only the spec.suspend of its Jobs, so it may count
// them as suspended earlier.
func (s *stage) untilSuspended(want ...counted) {
	s.t.Helper()
	s.untilCounted(want...)
	s.untilCondition(paused)
	s.until("all Jobs have the condition Suspended, and no pod is left", func() bool {
		for _, job := range s.jobs {
			if !slices.Contains(script.Conditions(job), "Suspended/JobSuspended") {
				return false
			}
		}
		return len(s.pods) == 0
	})
}

// waiting returns the pods that still have the gate.
func (s *stage) waiting() (pods []*corev1.Pod) {
	for _, pod := range s.pods {
		if len(pod.Spec.SchedulingGates) == 1 && pod.Spec.SchedulingGates[0].Name == gate && pod.Spec.NodeName == "" {
			pods = append(pods, pod)
		}
	}
	return pods
}

func tolerates(pod *corev1.Pod, key string) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == key })
}
