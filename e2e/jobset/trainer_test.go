package jobset

import (
	"context"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

func pausedTraining(spec *trainer.TrainJobSpec) { spec.Suspend = new(true) }
func resumeTraining(spec *trainer.TrainJobSpec) { spec.Suspend = new(false) }

func nodes(n int32) func(*trainer.TrainJobSpec) {
	return func(spec *trainer.TrainJobSpec) { spec.Trainer = &trainer.Trainer{NumNodes: &n} }
}

// trainings are the cases of Kubeflow Trainer, in the order of the results.
var trainings = []testCase{
	{"torch-distributed of the manifests completes", e2e, func(s *stage) {
		s.runOf("torch_distributed.yaml")
		s.untilReady(1, node)
		s.become(kubelet.Succeed(), node)
		s.untilTrained(trainCompleted)
	}},
	{"mpi-distributed of the manifests completes", e2e, func(s *stage) {
		s.runOf("mpi_distributed.yaml")
		s.untilReady(1, launcher)
		s.become(kubelet.Succeed(), launcher)
		s.untilTrained(trainCompleted)
	}},
	{"initializers, then the nodes", integration, func(s *stage) {
		model, train := trains(modelStep, modelStep, modelStep), trains("node", "node", trainStep)
		after(datasetStep, jobset.DependencyComplete)(&model)
		after(modelStep, jobset.DependencyComplete)(&train)
		s.run(plainRuntime(trains(datasetStep, datasetStep, datasetStep), model, train), trainJob(nodes(3)))
		for _, job := range []string{datasetJob, modelJob} {
			s.untilReady(1, job)
			s.become(kubelet.Succeed(), job)
		}
		s.untilReady(1, node)
		s.become(kubelet.Succeed(), node)
		s.untilTrained(trainCompleted)
	}},
	{"torch on 4 nodes completes", integration, func(s *stage) {
		s.run(torch(2), trainJob(nodes(4)))
		s.untilReady(1, node)
		if n := *s.jobs[node].Spec.Completions; n != 4 {
			s.t.Errorf("the Job has %d completions, want 4", n)
		}
		s.become(kubelet.Succeed(), node)
		s.untilTrained(trainCompleted)
	}},
	{"a node of torch fails", integration, func(s *stage) {
		s.run(torch(2), trainJob())
		s.untilReady(1, node)
		s.kubelet.Become(kubelet.Fail(1), s.podsOf(node)[1])
		s.untilTrained(trainFails)
	}},
	{"suspended, resumed, suspended, resumed; completes", integration, func(s *stage) {
		s.run(torch(2), trainJob(pausedTraining))
		s.untilTrained(trainPaused)
		for range 2 {
			s.retrain(resumeTraining)
			s.untilTrained(trainResumed)
			s.untilReady(1, node)
			s.retrain(pausedTraining)
			s.untilTrained(trainPaused)
			s.until("no pods", func() bool { return s.jobs[node] != nil && len(s.podsOf(node)) == 0 })
		}
		s.retrain(resumeTraining)
		s.untilReady(1, node)
		s.become(kubelet.Succeed(), node)
		s.untilTrained(trainCompleted)
	}},
	{"podSpecOverrides", integration, func(s *stage) {
		s.run(torch(1), trainJob(func(spec *trainer.TrainJobSpec) {
			spec.PodSpecOverrides = []trainer.PodSpecOverride{{
				TargetJobs:  []trainer.PodSpecOverrideTargetJob{{Name: "node"}},
				Tolerations: []corev1.Toleration{{Key: "example.com/gpu", Operator: corev1.TolerationOpExists}},
			}}
		}))
		s.untilReady(1, node)
		if t := s.jobs[node].Spec.Template.Spec.Tolerations; len(t) != 1 || t[0].Key != "example.com/gpu" {
			s.t.Errorf("the Job has the tolerations %v", t)
		}
		s.become(kubelet.Succeed(), node)
		s.untilTrained(trainCompleted)
	}},
	{"OpenMPI completes with its launcher", integration, func(s *stage) {
		s.run(mpi(2), trainJob())
		s.untilReady(1, launcher, node)
		s.become(kubelet.Succeed(), launcher)
		s.untilTrained(trainCompleted)
		s.untilOnly(launcher)
	}},
	{"OpenMPI fails with its launcher", integration, func(s *stage) {
		s.run(mpi(2), trainJob())
		s.untilReady(1, launcher, node)
		s.become(kubelet.Fail(1), launcher)
		s.untilTrained(trainFails)
		s.untilOnly(launcher)
	}},
}

// A TrainJob of Trainer creates a JobSet. Either controller runs the Jobs of the JobSet.
func TestTrainer(t *testing.T) {
	var err error
	// The manager runs until the API server stops.
	if trainManager, err = startTrainer(context.WithoutCancel(t.Context()), api); err != nil {
		t.Fatal(err)
	}
	play(t, "Trainer", trainings)
}
