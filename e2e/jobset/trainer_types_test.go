package jobset

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"
)

var (
	trainJobResource       = trainer.GroupVersion.WithResource("trainjobs")
	runtimeResource        = trainer.GroupVersion.WithResource("trainingruntimes")
	clusterRuntimeResource = trainer.GroupVersion.WithResource("clustertrainingruntimes")
)

// Labels, names and conditions that Trainer uses.
const (
	ancestor                   = "trainer.kubeflow.org/trainjob-ancestor-step"
	trainStep                  = "trainer"
	datasetStep, modelStep     = "dataset-initializer", "model-initializer"
	node, launcher             = "set-node-0", "set-launcher-0"
	datasetJob, modelJob       = "set-dataset-initializer-0", "set-model-initializer-0"
	trainCompleted, trainFails = "Complete=True/AllJobsCompleted", "Failed=True/FailedJobs"
	trainPaused, trainResumed  = "Suspended=True/Suspended", "Suspended=False/Resumed"
)

// trains returns a replicated Job of a runtime, with one named container.
func trains(name, container, step string) jobset.ReplicatedJob {
	r := replicated(name, 1)
	if step != "" {
		r.Template.Labels = map[string]string{ancestor: step}
	}
	r.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: container, Image: "image"}}
	return r
}

// plainRuntime returns a runtime without a framework.
func plainRuntime(jobs ...jobset.ReplicatedJob) *trainer.TrainingRuntime {
	r := &trainer.TrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "runtime"}}
	r.APIVersion, r.Kind = trainer.GroupVersion.String(), trainer.TrainingRuntimeKind
	r.Spec.Template.Spec.ReplicatedJobs = jobs
	return r
}

// torch returns a runtime of PyTorch on a number of nodes.
func torch(nodes int32) *trainer.TrainingRuntime {
	r := plainRuntime(trains("node", "node", trainStep))
	r.Spec.MLPolicy = &trainer.MLPolicy{NumNodes: &nodes}
	r.Spec.MLPolicy.Torch = &trainer.TorchMLPolicySource{NumProcPerNode: new(intstr.FromString("auto"))}
	return r
}

// mpi returns a runtime of OpenMPI on a number of nodes. Its outcome is that of the launcher.
func mpi(nodes int32) *trainer.TrainingRuntime {
	r := plainRuntime(trains("launcher", "node", trainStep), trains("node", "node", ""))
	r.Spec.Template.Spec.SuccessPolicy = &jobset.SuccessPolicy{Operator: jobset.OperatorAll, TargetReplicatedJobs: []string{"launcher"}}
	r.Spec.MLPolicy = &trainer.MLPolicy{NumNodes: &nodes}
	r.Spec.MLPolicy.MPI = &trainer.MPIMLPolicySource{NumProcPerNode: new(int32(1)), MPIImplementation: new(trainer.MPIImplementationOpenMPI),
		SSHAuthMountPath: new("/root/.ssh"), RunLauncherAsNode: new(false)}
	return r
}

// trainJob returns a TrainJob that uses a runtime of its namespace.
func trainJob(changes ...func(*trainer.TrainJobSpec)) *trainer.TrainJob {
	job := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: setName}}
	job.APIVersion, job.Kind = trainer.GroupVersion.String(), trainer.TrainJobKind
	job.Spec.RuntimeRef = trainer.RuntimeRef{Name: "runtime", APIGroup: new(trainer.GroupVersion.Group), Kind: new(trainer.TrainingRuntimeKind)}
	for _, change := range changes {
		change(&job.Spec)
	}
	return job
}

// run creates a runtime, and a TrainJob that uses it. The controller of this side runs the Jobs.
func (s *stage) run(r *trainer.TrainingRuntime, job *trainer.TrainJob) {
	s.t.Helper()
	s.manage(&r.Spec)
	_, err := s.client().Resource(runtimeResource).Namespace(s.namespace).Create(s.t.Context(), untyped(r), metav1.CreateOptions{})
	s.must(err)
	s.submit(job)
}

// runOf creates a ClusterTrainingRuntime from Trainer's manifests under a unique name, and a
// TrainJob that uses it.
func (s *stage) runOf(manifest string) {
	s.t.Helper()
	source, err := sourceOf(s.t.Context(), "github.com/kubeflow/trainer/v2")
	s.must(err)
	text, err := os.ReadFile(filepath.Join(source, "manifests", "base", "runtimes", manifest))
	s.must(err)
	r := &trainer.ClusterTrainingRuntime{}
	s.must(yaml.Unmarshal(text, r))
	r.Name += "-" + s.namespace
	s.manage(&r.Spec)
	_, err = s.client().Resource(clusterRuntimeResource).Create(s.t.Context(), untyped(r), metav1.CreateOptions{})
	s.must(err)
	job := trainJob()
	job.Spec.RuntimeRef.Name, job.Spec.RuntimeRef.Kind = r.Name, new(trainer.ClusterTrainingRuntimeKind)
	s.submit(job)
}

func (s *stage) manage(spec *trainer.TrainingRuntimeSpec) {
	for i := range spec.Template.Spec.ReplicatedJobs {
		spec.Template.Spec.ReplicatedJobs[i].Template.Spec.ManagedBy = s.side.managedBy
	}
}

func (s *stage) submit(job *trainer.TrainJob) {
	s.t.Helper()
	// Trainer's webhook looks up the runtime in a cache, which may lag.
	patient := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Steps: 16, Cap: time.Minute}
	s.must(retry.OnError(patient, apierrors.IsForbidden, func() error {
		_, err := s.trainJobs.Create(s.t.Context(), untyped(job), metav1.CreateOptions{})
		return err
	}))
	s.until("the JobSet exists", func() bool { return s.set != nil })
}

// retrain changes the TrainJob, as a user does.
func (s *stage) retrain(change func(*trainer.TrainJobSpec)) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := s.trainJobs.Get(s.t.Context(), setName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		job := &trainer.TrainJob{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
			return err
		}
		change(&job.Spec)
		_, err = s.trainJobs.Update(s.t.Context(), untyped(job), metav1.UpdateOptions{})
		return err
	}))
}

// untilTrained waits until the TrainJob has a condition, written as Type=Status/Reason.
func (s *stage) untilTrained(want string) {
	s.t.Helper()
	s.until("TrainJob "+want, func() bool {
		if s.train == nil {
			return false
		}
		for _, c := range s.train.Status.Conditions {
			if fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason) == want {
				return true
			}
		}
		return false
	})
}

func (s *stage) client() dynamic.Interface {
	s.t.Helper()
	client, err := dynamicClient(api)
	s.must(err)
	return client
}

// untyped converts an object for the dynamic client.
func untyped(o any) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // every object here can be written as JSON
	}
	return &unstructured.Unstructured{Object: object}
}
