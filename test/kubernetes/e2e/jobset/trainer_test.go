package jobset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflow/trainer/v2/pkg/runtime/framework/plugins/jobset/constants"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/stories/script"
)

const (
	pausedTraining, resumeTraining = "suspend: true", "suspend: false"

	manifests = "manifests/base/runtimes/"
)

// trainings lists the cases of Kubeflow Trainer, in the order of the results.
var trainings = slices.Concat([]testCase{
	published("torch", manifests+"torch_distributed.yaml", "", node),
	published("deepspeed", manifests+"deepspeed_distributed.yaml",
		`trainer: {numNodes: 2, command: [mpirun, sleep, "10"]}`, node, launcher),
	published("jax", manifests+"jax_distributed.yaml", "", node),
	published("xgboost", manifests+"xgboost_distributed.yaml", "", node),
	published("flux", "examples/flux/flux-runtime.yaml",
		`trainer: {numNodes: 2, image: "ubuntu:22.04", command: [flux, getattr, rank]}`, node),
	{"runtimePatches: a time that users give is kept, others are set", e2e, func(s *stage) {
		s.run(framework("torch"), "runtimePatches: ["+
			patchNode("manager: example.com/one, time: "+longAgo, "nodeSelector: {zone: a}")+", "+
			patchNode("manager: example.com/two", "tolerations: [{key: example.com/gpu, operator: Exists}]")+"]")
		s.wantPatched(true, false)
		s.endNode(kubelet.Succeed(), trainCompleted)
	}},
	{"runtimePatches: an update sets the time of changed patches", e2e, func(s *stage) {
		s.run(framework("torch"), pausedTraining+", runtimePatches: ["+
			patchNode("manager: example.com/unchanged, time: "+longAgo, "nodeSelector: {zone: a}")+", "+
			patchNode("manager: example.com/changed, time: "+longAgo, "nodeSelector: {disk: b}")+"]")
		s.wantPatched(true, true)
		s.untilPaused()
		s.retrain(resumeTraining + ", runtimePatches: [" +
			patchNode("manager: example.com/unchanged", "nodeSelector: {zone: a}") + ", " +
			patchNode("manager: example.com/changed", "nodeSelector: {disk: c}") + ", " +
			"{manager: example.com/new}, {manager: example.com/newWithTime, time: " + longAgo + "}]")
		s.wantPatched(true, false, false, true)
		s.endNode(kubelet.Succeed(), trainCompleted)
		if selector := s.jobs[node].Spec.Template.Spec.NodeSelector; selector["zone"] != "a" || selector["disk"] != "c" {
			s.t.Errorf("the Job has the node selector %v", selector)
		}
	}},
	{"activeDeadlineSeconds since the TrainJob was resumed", e2e, func(s *stage) {
		s.run(framework("torch"), pausedTraining+", activeDeadlineSeconds: 3600")
		s.untilPaused()
		s.retrain(resumeTraining)
		s.untilTrained(trainResumed)
		s.untilReady(1, node)
		// An hour passes.
		_, err := s.trainJobs.Patch(s.t.Context(), setName, types.MergePatchType, fmt.Appendf(nil, `{"status":{"conditions":[
			{"type":"Suspended","status":"False","reason":"Resumed","message":"","lastTransitionTime":%s}]}}`, longAgo),
			metav1.PatchOptions{}, "status")
		s.must(err)
		s.untilTrained(trainLate)
		s.until("no JobSet", func() bool { return s.set == nil })
		s.deletedRunning = true
	}},
	snapshots(runtimeKind), snapshots(clusterRuntimeKind),
	{"initializers, then the nodes", integration, func(s *stage) {
		dataset, model, train := trains(datasetStep, datasetStep, datasetStep), trains(modelStep, modelStep, modelStep), trains("node", "node", trainStep)
		for _, r := range []*jobset.ReplicatedJob{&dataset, &model} {
			pod := &r.Template.Spec.Template.Spec
			pod.Volumes = []corev1.Volume{{Name: constants.VolumeNameInitializer}}
			pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: constants.VolumeNameInitializer, MountPath: "/workspace"}}
		}
		after(datasetStep, jobset.DependencyComplete)(&model)
		after(modelStep, jobset.DependencyComplete)(&train)
		s.run(runtimeOf("", dataset, model, train), "trainer: {numNodes: 3}, "+
			"initializer: {dataset: {storageUri: "+storage+"}, model: {storageUri: "+storage+"}}")
		for _, job := range []string{datasetJob, modelJob} {
			s.untilReady(1, job)
			want := corev1.EnvVar{Name: constants.InitializerEnvStorageUri, Value: storage}
			if env := s.jobs[job].Spec.Template.Spec.Containers[0].Env; !slices.Contains(env, want) {
				s.t.Errorf("%s has the environment %v, want %v in it", job, env, want)
			}
			s.become(kubelet.Succeed(), job)
		}
		s.endNode(kubelet.Succeed(), trainCompleted)
	}},
	{"suspended, resumed, suspended, resumed; completes", integration, func(s *stage) {
		s.run(framework("torch"), pausedTraining)
		s.untilPaused()
		for range 2 {
			s.retrain(resumeTraining)
			s.untilTrained(trainResumed)
			s.untilReady(1, node)
			s.pauseTraining()
		}
		s.retrain(resumeTraining)
		s.endNode(kubelet.Succeed(), trainCompleted)
	}},
	{"OpenMPI completes with its launcher", integration, func(s *stage) { s.endLauncher(kubelet.Succeed(), trainCompleted) }},
	{"OpenMPI fails with its launcher", integration, func(s *stage) { s.endLauncher(kubelet.Fail(1), trainFails) }},
}, frameworks("torch", "jax", "xgboost", "flux"))

const (
	longAgo = `"2026-01-01T00:00:00Z"`
	storage = "hf://example/data"
)

// published is the case of a ClusterTrainingRuntime that Trainer publishes. Its outcome is that of the last Job.
func published(name, file, spec string, jobs ...string) testCase {
	return testCase{name + "-distributed of the manifests completes", e2e, func(s *stage) {
		s.run(s.manifest(file), spec)
		s.untilReady(1, jobs...)
		last := jobs[len(jobs)-1]
		s.become(kubelet.Succeed(), last)
		s.untilTrained(trainCompleted)
		s.untilSucceeded(last)
	}}
}

// frameworks lists the cases of frameworks without a launcher.
func frameworks(names ...string) (cases []testCase) {
	for _, name := range names {
		cases = append(cases, testCase{name + " on 4 nodes completes", integration, func(s *stage) {
			s.run(framework(name), "trainer: {numNodes: 4, command: [train]}")
			s.endNode(kubelet.Succeed(), trainCompleted)
			if n := *s.jobs[node].Spec.Completions; n != 4 {
				s.t.Errorf("the Job has %d completions, want 4", n)
			}
			s.untilSucceeded(node)
		}}, testCase{"a node of " + name + " fails", integration, func(s *stage) {
			s.run(framework(name), "trainer: {numNodes: 2, command: [train]}")
			s.untilReady(1, node)
			s.becomes(kubelet.Fail(1), s.podsOf(node)[1])
			s.untilTrained(trainFails)
		}})
	}
	return cases
}

// snapshots is the case of a runtime that changes while a TrainJob is suspended.
func snapshots(kind string) testCase {
	return testCase{"a resumed TrainJob keeps the " + kind + " of its creation", e2e, func(s *stage) {
		r := framework("torch")
		if r.Kind = kind; kind == clusterRuntimeKind {
			r.Name += "-" + s.namespace
		}
		s.run(r, "")
		s.untilReady(1, node)
		s.pauseTraining()
		_, err := s.runtimes(r).Patch(s.t.Context(), r.Name, types.JSONPatchType, []byte(`[{"op": "replace", "value": "newer",
			"path": "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0/image"}]`), metav1.PatchOptions{})
		s.must(err)
		s.retrain(resumeTraining)
		s.endNode(kubelet.Succeed(), trainCompleted)
		if image := s.jobs[node].Spec.Template.Spec.Containers[0].Image; image != "image" {
			s.t.Errorf("the Job has the image %s", image)
		}
		maps := api.Client.CoreV1().ConfigMaps(s.namespace)
		_, err = maps.Get(s.t.Context(), snapshot, metav1.GetOptions{})
		s.must(err)
		s.must(s.trainJobs.Delete(s.t.Context(), setName, metav1.DeleteOptions{}))
		s.must(server.Await(s.t.Context(), func(ctx context.Context) error {
			if _, err := maps.Get(ctx, snapshot, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the snapshot exists: %w", err)
			}
			return nil
		}, trainManager.Process))
		s.untilOnly()
	}}
}

// endNode ends the pods of the node, and waits until the TrainJob has a condition.
func (s *stage) endNode(life kubelet.Life, want string) {
	s.t.Helper()
	s.untilReady(1, node)
	s.become(life, node)
	s.untilTrained(want)
}

// pauseTraining suspends the TrainJob.
func (s *stage) pauseTraining() {
	s.t.Helper()
	s.retrain(pausedTraining)
	s.untilPaused()
}

// untilPaused waits until the TrainJob and its Job are suspended, without pods.
func (s *stage) untilPaused() {
	s.t.Helper()
	s.untilTrained(trainPaused)
	s.until("the Job is suspended", func() bool {
		return s.jobs[node] != nil && len(s.podsOf(node)) == 0 && slices.Contains(script.Conditions(s.jobs[node]), "Suspended/JobSuspended")
	})
}

// endLauncher runs a TrainJob of OpenMPI, and ends its launcher.
func (s *stage) endLauncher(life kubelet.Life, want string) {
	s.t.Helper()
	s.run(mpi(), "")
	s.untilReady(1, launcher, node)
	s.become(life, launcher)
	s.untilTrained(want)
	s.untilOnly(launcher)
}

// untilSucceeded waits until the status of the TrainJob counts a Job as succeeded.
func (s *stage) untilSucceeded(job string) {
	s.t.Helper()
	name := strings.TrimSuffix(strings.TrimPrefix(job, setName+"-"), "-0")
	s.until("the TrainJob counts "+name, func() bool {
		return slices.ContainsFunc(s.train.Status.JobsStatus, func(c counted) bool { return c.Name == name && c.Succeeded == 1 })
	})
}

// wantPatched waits for runtimePatches, which have the time that users gave them or a newer one.
func (s *stage) wantPatched(given ...bool) {
	s.t.Helper()
	s.until(fmt.Sprintf("runtimePatches with given times %v", given), func() bool {
		var got []bool
		for _, patch := range s.train.Spec.RuntimePatches {
			got = append(got, patch.Time.Format(`"`+time.RFC3339+`"`) == longAgo)
		}
		return slices.Equal(got, given)
	})
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
