// Package kinds runs controllers of kinds of one's own: examples/jobgroup and examples/suite as processes with the
// permissions of their manifests, with both user stories of KEP-4443 and kills, and the code of docs/adopting.md.
package kinds

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var groups = schema.GroupVersionResource{Group: "jobfate.dev", Version: "v1alpha1", Resource: "jobgroups"}

// status is the status of a group, as in examples/jobgroup.
type status struct {
	Phase     string      `json:"phase"`
	Restarts  int         `json:"restarts"`
	Message   string      `json:"message"`
	Succeeded string      `json:"succeeded"`
	Failures  group.State `json:"failures"`
}

// stage is a namespace with its own controller of groups.
type stage struct {
	t          *testing.T
	namespace  string
	controller *server.Controller
	client     dynamic.ResourceInterface
	kubelet    *kubelet.Kubelet

	*observe.Feed

	// The state after the changes that are processed.
	changes int
	status  status
	jobs    map[string]*batchv1.Job
	made    map[string][]types.UID // all Jobs that ever existed, by name
}

// newStage returns a stage whose pods follow the script.
func newStage(t *testing.T, script kubelet.Script) *stage {
	t.Helper()
	return newStageWith(t, script, server.Options{})
}

// newStageWith is newStage with options for the controller of groups.
func newStageWith(t *testing.T, script kubelet.Script, o server.Options) *stage {
	t.Helper()
	namespace, err := api.Namespace(t.Context(), "group")
	world.Must(t, err)
	o.Name, o.Args = "jobgroup-"+namespace, append(o.Args, "--namespace="+namespace)
	controller := world.Run(t, api.JobGroups, o)
	client := api.Dynamic()
	s := &stage{
		t: t, namespace: namespace, controller: controller,
		client:  client.Resource(groups).Namespace(namespace),
		kubelet: kubelet.Start(t.Context(), api.Client, namespace, script),
		jobs:    map[string]*batchv1.Job{},
		made:    map[string][]types.UID{},
	}
	groupFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	jobFactory := informers.NewSharedInformerFactoryWithOptions(api.Client, 0, informers.WithNamespace(namespace))
	s.Feed = observe.NewFeed(s.apply, groupFactory.ForResource(groups).Informer(), jobFactory.Batch().V1().Jobs().Informer())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the controller:\n%s", controller.Log("", 20))
		}
	})
	groupFactory.Start(t.Context().Done())
	jobFactory.Start(t.Context().Done())
	return s
}

// until processes changes until a function holds.
func (s *stage) until(what string, holds func() bool) {
	s.t.Helper()
	s.Until(s.t, what, holds)
}

func (s *stage) apply(object any, gone bool) string {
	s.changes++
	switch o := object.(type) {
	case *unstructured.Unstructured:
		var read struct {
			Status status `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &read); err != nil {
			s.t.Error(err)
		}
		s.status = read.Status
		return fmt.Sprintf("group: %+v", s.status)
	case *batchv1.Job:
		if gone {
			delete(s.jobs, o.Name)
			return fmt.Sprintf("job %s %s is gone", o.Name, o.UID)
		}
		s.jobs[o.Name] = o
		if made := s.made[o.Name]; !slices.Contains(made, o.UID) {
			s.made[o.Name] = append(made, o.UID)
		}
		return fmt.Sprintf("job %s %s: deleted %t, %s", o.Name, o.UID, o.DeletionTimestamp != nil, observe.Status(o))
	}
	return ""
}

// untilPhase waits for a phase of the group.
func (s *stage) untilPhase(phase string, restarts int) {
	s.t.Helper()
	s.until(fmt.Sprintf("the group is %s after %d restarts", phase, restarts),
		func() bool { return s.status.Phase == phase && s.status.Restarts == restarts })
}

// untilReady waits until a number of Jobs have one ready pod each.
func (s *stage) untilReady(n int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d Jobs have a ready pod", n), func() bool {
		ready := 0
		for _, job := range s.jobs {
			if job.DeletionTimestamp == nil && job.Status.Ready != nil && *job.Status.Ready == 1 {
				ready++
			}
		}
		return ready == n
	})
}

// end ends the pods of some Jobs.
func (s *stage) end(how kubelet.Life, jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		pods, err := api.Client.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		s.must(err)
		for i := range pods.Items {
			s.kubelet.Become(how, &pods.Items[i])
		}
	}
}

// outcome returns the outcome of a Job, or "gone" if it does not exist.
func (s *stage) outcome(job string) string {
	if s.jobs[job] == nil {
		return "gone"
	}
	o := jobstatus.OutcomeOf(s.jobs[job])
	return strings.TrimSuffix(string(o.Phase)+"/"+o.Reason, "/")
}

// create creates a group from a sample of examples/jobgroup.
func (s *stage) create(name string, change ...func(spec map[string]any)) {
	s.t.Helper()
	_, err := s.client.Create(s.t.Context(), sample(s.t, name, change...), metav1.CreateOptions{})
	s.must(err)
}

// sample reads a sample and changes its spec.
func sample(t *testing.T, name string, change ...func(spec map[string]any)) *unstructured.Unstructured {
	t.Helper()
	group := read(t, "jobgroup/deploy/samples/"+name+".yaml")
	for _, c := range change {
		c(group.Object["spec"].(map[string]any))
	}
	return group
}

// set sets a field of a spec. A number among the names is the index in a list.
func set(value any, path ...any) func(map[string]any) {
	return func(spec map[string]any) {
		var in any = spec
		for _, p := range path[:len(path)-1] {
			switch p := p.(type) {
			case string:
				in = in.(map[string]any)[p]
			case int:
				in = in.([]any)[p]
			}
		}
		in.(map[string]any)[path[len(path)-1].(string)] = value
	}
}

// noFinalizerLeft checks that no pod has a finalizer.
func (s *stage) noFinalizerLeft() {
	s.t.Helper()
	pods, err := api.Client.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, pod := range pods.Items {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) && pod.Status.Phase != corev1.PodRunning {
			s.t.Errorf("pod %s of Job %s still has its finalizer", pod.Name, pod.Labels[batchv1.JobNameLabel])
		}
	}
}

func (s *stage) must(err error) {
	s.t.Helper()
	world.Must(s.t, err)
}

var (
	api  *server.Server
	must = world.Must
)

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 0, nil)) }

// read reads a sample of an example.
func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("../../../../examples/" + file)
	must(t, err)
	object := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(text, &object.Object))
	return object
}
