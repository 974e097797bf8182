// Package kinds runs controllers of kinds of one's own: examples/jobgroup and examples/suite as processes with the
// permissions of their manifests, with both user stories of KEP-4443 and kills, and the code of docs/adopting.md.
package kinds

import (
	"context"
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
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
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
	*world.Stage
	controller *server.Controller
	status     status // after the changes that are processed
}

// newStage returns a stage whose pods follow the script, with options for the controller of groups.
func newStage(t *testing.T, script kubelet.Script, o server.Options) *stage {
	t.Helper()
	s := &stage{}
	s.Stage = world.NewStage(t.Context(), t, api, "group", groups, script, s.changed)
	o.Name, o.Args = "jobgroup-"+s.Namespace, append(o.Args, "--namespace="+s.Namespace)
	s.controller = world.Run(t, api.JobGroups, o)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the controller:\n%s", s.controller.Log("", 20))
		}
	})
	return s
}

func (s *stage) changed(object *unstructured.Unstructured) string {
	var read struct {
		Status status `json:"status"`
	}
	s.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read))
	s.status = read.Status
	return fmt.Sprintf("group: %+v", s.status)
}

// untilPhase waits for a phase of the group.
func (s *stage) untilPhase(phase string, restarts int) {
	s.T.Helper()
	s.Until(fmt.Sprintf("the group is %s after %d restarts", phase, restarts),
		func() bool { return s.status.Phase == phase && s.status.Restarts == restarts })
}

// outcome returns the outcome of a Job, or "gone" if it does not exist.
func (s *stage) outcome(job string) string {
	if s.Jobs[job] == nil {
		return "gone"
	}
	o := jobstatus.OutcomeOf(s.Jobs[job])
	return strings.TrimSuffix(string(o.Phase)+"/"+o.Reason, "/")
}

// create creates a group from a sample of examples/jobgroup.
func (s *stage) create(name string, change ...func(spec map[string]any)) {
	s.T.Helper()
	_, err := s.Objects.Create(s.T.Context(), sample(s.T, name, change...), metav1.CreateOptions{})
	s.Must(err)
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
	s.T.Helper()
	pods, err := api.Client.CoreV1().Pods(s.Namespace).List(s.T.Context(), metav1.ListOptions{})
	s.Must(err)
	for _, pod := range pods.Items {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) && pod.Status.Phase != corev1.PodRunning {
			s.T.Errorf("pod %s of Job %s still has its finalizer", pod.Name, pod.Labels[batchv1.JobNameLabel])
		}
	}
}

var (
	api  *server.Server
	must = world.Must
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 0, func(ctx context.Context, s *server.Server) error {
		_, err := s.Apply(ctx, "", "../../examples/jobgroup/deploy/crd.yaml") // stages watch groups
		return err
	}))
}

// read reads a sample of an example.
func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(Must(os.ReadFile("../../../../examples/"+file)), &object.Object))
	return object
}
