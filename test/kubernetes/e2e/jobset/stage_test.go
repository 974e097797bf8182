package jobset

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// side is one of the two controllers that run the child Jobs.
type side struct {
	name       string
	managedBy  *string // in the template of every Job; nil for the built-in controller
	controller *server.Controller
}

// stage is a namespace in which a case runs with one side. The stage processes one change at a
// time.
type stage struct {
	t         *testing.T
	side      side
	namespace string
	sets      dynamic.ResourceInterface
	trainJobs dynamic.ResourceInterface
	kubelet   *kubelet.Kubelet

	*observe.Feed

	// The state after the changes that are processed.
	set      *jobset.JobSet // nil before it is created and after it is gone
	train    *trainJob
	jobs     map[string]*batchv1.Job
	pods     map[string]*corev1.Pod
	services map[string]*corev1.Service
	created  map[string][]types.UID // all Jobs that ever existed, by name
	// The JobSet was deleted while its Jobs ran. JobSet may create Jobs again, and Trainer keep their counts,
	// until they observe the deletion.
	deletedRunning bool
	lives          []string // what became of pods, in words
}

// podScript is the script of all cases. A pod runs until the case ends it. A pod that fits no node
// stays pending.
func podScript(p kubelet.Pod) kubelet.Life {
	if p.Spec.NodeSelector[corev1.LabelOSStable] == noSystem {
		return kubelet.Wait()
	}
	return kubelet.Run()
}

// restartAttempt is the label of a Job with the number of the restart that created it.
const restartAttempt = "jobset.sigs.k8s.io/restart-attempt"

// noSystem is an operating system that no node has.
const noSystem = "none"

// newStage returns a stage for a test. The stage runs until the context is done.
func newStage(ctx context.Context, t *testing.T, by side) *stage {
	t.Helper()
	namespace, err := api.Namespace(ctx, by.name)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		t: t, side: by, namespace: namespace,
		kubelet: kubelet.Start(ctx, api.Client, namespace, podScript),
		jobs:    map[string]*batchv1.Job{}, pods: map[string]*corev1.Pod{}, services: map[string]*corev1.Service{},
		created: map[string][]types.UID{},
	}
	client := api.Dynamic()
	setFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	s.sets, s.trainJobs = client.Resource(jobSetResource).Namespace(namespace), client.Resource(trainJobResource).Namespace(namespace)
	factory := informers.NewSharedInformerFactoryWithOptions(api.Client, 0, informers.WithNamespace(namespace))
	watched := []cache.SharedIndexInformer{
		setFactory.ForResource(jobSetResource).Informer(), factory.Batch().V1().Jobs().Informer(),
		factory.Core().V1().Pods().Informer(), factory.Core().V1().Services().Informer(),
	}
	if trainManager != nil {
		watched = append(watched, setFactory.ForResource(trainJobResource).Informer())
	}
	t.Cleanup(s.log)
	s.Feed = observe.NewFeed(s.apply, watched...)
	setFactory.Start(ctx.Done())
	factory.Start(ctx.Done())
	return s
}

// until processes changes until a function holds.
func (s *stage) until(what string, holds func() bool) {
	s.t.Helper()
	s.Until(s.t, what, holds)
}

func (s *stage) apply(object any, gone bool) (line string) {
	s.t.Helper()
	switch o := object.(type) {
	case *unstructured.Unstructured:
		if o.GetKind() == trainJobKind {
			s.train = &trainJob{}
			s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s.train))
			line = fmt.Sprintf("TrainJob: %v, %v", s.train.Status.Conditions, s.train.Status.JobsStatus)
			break
		}
		js, err := typed(o)
		s.must(err)
		line = fmt.Sprintf("JobSet: deleted %t, %v, restarts %d, replicated %v",
			js.DeletionTimestamp != nil, conditions(js), js.Status.Restarts, js.Status.ReplicatedJobsStatus)
		if s.set = js; gone {
			s.set = nil
		}
	case *batchv1.Job:
		if !slices.Contains(s.created[o.Name], o.UID) {
			s.created[o.Name] = append(s.created[o.Name], o.UID)
		}
		line = fmt.Sprintf("Job %s of restart %s: %s", o.Name, o.Labels[restartAttempt], observe.Status(o))
		keep(s.jobs, o.Name, o, gone)
	case *corev1.Pod:
		line = fmt.Sprintf("pod %s: %s, deleted %t", o.Name, o.Status.Phase, o.DeletionTimestamp != nil)
		keep(s.pods, o.Name, o, gone)
	case *corev1.Service:
		line = "Service " + o.Name
		keep(s.services, o.Name, o, gone)
	}
	if gone {
		line += " is gone"
	}
	return line
}

func keep[T any](in map[string]T, name string, object T, gone bool) {
	if in[name] = object; gone {
		delete(in, name)
	}
}

// log logs what the controllers have logged about the namespace if the test has failed.
func (s *stage) log() {
	if !s.t.Failed() {
		return
	}
	for _, c := range []*server.Controller{s.side.controller, manager, trainManager} {
		if c != nil {
			s.t.Logf("the log of %s:\n%s", c.Name, c.Log(s.namespace, 20))
		}
	}
}

// conditions returns the conditions of a JobSet, each written as Type=Status/Reason.
func conditions(js *jobset.JobSet) (names []string) {
	for _, c := range js.Status.Conditions {
		names = append(names, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return names
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
