package jobset

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"
)

// Names, labels and conditions that Trainer uses.
const (
	trainJobKind, runtimeKind, clusterRuntimeKind = "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"

	ancestor                   = "trainer.kubeflow.org/trainjob-ancestor-step"
	trainStep                  = "trainer"
	datasetStep, modelStep     = "dataset-initializer", "model-initializer"
	node, launcher             = "set-node-0", "set-launcher-0"
	datasetJob, modelJob       = "set-dataset-initializer-0", "set-model-initializer-0"
	trainCompleted, trainFails = "Complete=True/AllJobsCompleted", "Failed=True/FailedJobs"
	trainPaused, trainResumed  = "Suspended=True/Suspended", "Suspended=False/Resumed"
	trainLate                  = "Failed=True/DeadlineExceeded"
	snapshot                   = "set-runtime-snapshot"
)

var (
	trainerVersion         = schema.GroupVersion{Group: "trainer.kubeflow.org", Version: "v1alpha1"}
	trainJobResource       = trainerVersion.WithResource("trainjobs")
	runtimeResource        = trainerVersion.WithResource("trainingruntimes")
	clusterRuntimeResource = trainerVersion.WithResource("clustertrainingruntimes")
)

// trainJob holds the fields of a TrainJob that the cases read. Trainer's own type does not compile with
// k8s.io/api 0.37.
type trainJob struct {
	Spec struct {
		RuntimePatches []struct {
			Time metav1.Time `json:"time"`
		} `json:"runtimePatches"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		JobsStatus []counted          `json:"jobsStatus"`
	} `json:"status"`
}

// trainingRuntime holds the fields of a TrainingRuntime or ClusterTrainingRuntime that the cases set.
type trainingRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		MLPolicy map[string]any `json:"mlPolicy,omitempty"`
		Template struct {
			Spec jobset.JobSetSpec `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// trains returns a replicated Job of a runtime, with one named container.
func trains(name, container, step string) jobset.ReplicatedJob {
	r := replicated(name, 1)
	if step != "" {
		r.Template.Labels = map[string]string{ancestor: step}
	}
	r.Template.Spec.Template.Spec.Containers = []corev1.Container{{Name: container, Image: "image"}}
	return r
}

// runtimeOf returns a runtime with a policy in YAML.
func runtimeOf(policy string, jobs ...jobset.ReplicatedJob) *trainingRuntime {
	r := &trainingRuntime{TypeMeta: metav1.TypeMeta{APIVersion: trainerVersion.String(), Kind: runtimeKind}}
	r.Name, r.Spec.MLPolicy, r.Spec.Template.Spec.ReplicatedJobs = "runtime", fields(policy), jobs
	return r
}

// framework returns a runtime of a framework without a launcher, on two nodes.
func framework(name string) *trainingRuntime {
	return runtimeOf("numNodes: 2, "+name+": {}", trains("node", "node", trainStep))
}

// mpi returns a runtime of OpenMPI on two nodes. Its outcome is that of the launcher.
func mpi() *trainingRuntime {
	r := runtimeOf("numNodes: 2, mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI, sshAuthMountPath: /root/.ssh, runLauncherAsNode: false}",
		trains("launcher", "node", trainStep), trains("node", "node", ""))
	r.Spec.Template.Spec.SuccessPolicy = &jobset.SuccessPolicy{Operator: jobset.OperatorAll, TargetReplicatedJobs: []string{"launcher"}}
	return r
}

// fields parses the fields of an object in YAML.
func fields(text string) (f map[string]any) {
	if err := yaml.Unmarshal([]byte("{"+text+"}"), &f); err != nil {
		panic(err) // the texts are constants
	}
	return f
}

// patchNode returns a runtimePatch of the pods of the node.
func patchNode(head, podSpec string) string {
	return "{" + head + ", trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, " +
		"template: {spec: {template: {spec: {" + podSpec + "}}}}}]}}}}"
}

// run creates a runtime whose Jobs the controller of this side runs, and a TrainJob of a spec in YAML.
func (s *stage) run(r *trainingRuntime, spec string) {
	s.t.Helper()
	for i := range r.Spec.Template.Spec.ReplicatedJobs {
		r.Spec.Template.Spec.ReplicatedJobs[i].Template.Spec.ManagedBy = s.side.managedBy
	}
	_, err := s.runtimes(r).Create(s.t.Context(), untyped(r), metav1.CreateOptions{})
	s.must(err)
	job := &unstructured.Unstructured{Object: fields(fmt.Sprintf("apiVersion: %s, kind: %s, metadata: {name: %s}, spec: {runtimeRef: {kind: %s, name: %s}, %s}",
		r.APIVersion, trainJobKind, setName, r.Kind, r.Name, spec))}
	// Trainer's webhook looks up the runtime in a cache, which may lag.
	patient := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Steps: 16, Cap: time.Minute}
	s.must(retry.OnError(patient, apierrors.IsForbidden, func() error {
		_, err := s.trainJobs.Create(s.t.Context(), job, metav1.CreateOptions{})
		return err
	}))
	s.until("the JobSet exists", func() bool { return s.set != nil })
}

// runtimes returns a client for runtimes of a kind.
func (s *stage) runtimes(r *trainingRuntime) dynamic.ResourceInterface {
	s.t.Helper()
	client := api.Dynamic()
	if r.Kind == clusterRuntimeKind {
		return client.Resource(clusterRuntimeResource)
	}
	return client.Resource(runtimeResource).Namespace(s.namespace)
}

// manifest reads a ClusterTrainingRuntime of Trainer, and gives it a unique name.
func (s *stage) manifest(file string) *trainingRuntime {
	s.t.Helper()
	source, err := sourceOf(s.t.Context(), "github.com/kubeflow/trainer/v2")
	s.must(err)
	text, err := os.ReadFile(filepath.Join(source, file))
	s.must(err)
	r := &trainingRuntime{}
	s.must(yaml.Unmarshal(text, r))
	r.Name += "-" + s.namespace
	return r
}

// retrain changes fields of the TrainJob's spec, as a user does.
func (s *stage) retrain(spec string) {
	s.t.Helper()
	patch, err := yaml.YAMLToJSON([]byte("{spec: {" + spec + "}}"))
	s.must(err)
	_, err = s.trainJobs.Patch(s.t.Context(), setName, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
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

// untyped converts an object for the dynamic client.
func untyped(o any) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // every object here can be written as JSON
	}
	return &unstructured.Unstructured{Object: object}
}
