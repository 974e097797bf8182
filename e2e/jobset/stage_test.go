package jobset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
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

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// side is who runs the child Jobs.
type side struct {
	name       string
	managedBy  *string // in the template of every Job; nil for the built-in controller
	controller *server.Controller
}

// stage is a namespace in which one side plays a case. What has changed is gone through
// one change at a time.
type stage struct {
	t         *testing.T
	side      side
	namespace string
	sets      dynamic.ResourceInterface
	trainJobs dynamic.ResourceInterface
	kubelet   *kubelet.Kubelet

	news chan struct{} // has an element when changes may have come
	mu   sync.Mutex
	come []change // what the case has not gone through

	// What the case has gone through.
	set      *jobset.JobSet // nil before it is made and after it is gone
	train    *trainer.TrainJob
	jobs     map[string]*batchv1.Job
	pods     map[string]*corev1.Pod
	services map[string]*corev1.Service
	made     map[string][]types.UID // the Jobs that there have ever been, by name
	start    time.Time
	story    []string
}

type change struct {
	at     time.Duration
	object any
	gone   bool
}

// lives is the script of all cases: pods run until the case ends them, and those that no
// node fits stay pending.
func lives(p kubelet.Pod) kubelet.Life {
	if p.Spec.NodeSelector[corev1.LabelOSStable] == noSystem {
		return kubelet.Wait()
	}
	return kubelet.Run()
}

// restartAttempt is a label of Jobs: the restart of the JobSet that they were made in.
const restartAttempt = "jobset.sigs.k8s.io/restart-attempt"

// noSystem is an operating system that no node has.
const noSystem = "none"

// newStage makes a stage for a test that goes on until the context is done.
func newStage(ctx context.Context, t *testing.T, by side) *stage {
	t.Helper()
	namespace, err := api.Namespace(ctx, by.name)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{
		t: t, side: by, namespace: namespace,
		kubelet: kubelet.Start(ctx, api.Client, namespace, lives),
		news:    make(chan struct{}, 1), start: time.Now(),
		jobs: map[string]*batchv1.Job{}, pods: map[string]*corev1.Pod{}, services: map[string]*corev1.Service{},
		made: map[string][]types.UID{},
	}
	if s.sets, err = jobSets(api, namespace); err != nil {
		t.Fatal(err)
	}
	client, err := dynamicClient(api)
	if err != nil {
		t.Fatal(err)
	}
	setFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	s.trainJobs = client.Resource(trainJobResource).Namespace(namespace)
	factory := informers.NewSharedInformerFactoryWithOptions(api.Client, 0, informers.WithNamespace(namespace))
	watched := []cache.SharedIndexInformer{
		setFactory.ForResource(jobSetResource).Informer(), factory.Batch().V1().Jobs().Informer(),
		factory.Core().V1().Pods().Informer(), factory.Core().V1().Services().Informer(),
	}
	if trainManager != nil {
		watched = append(watched, setFactory.ForResource(trainJobResource).Informer())
	}
	for _, informer := range watched {
		informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { s.tell(o, false) },
			UpdateFunc: func(_, o any) { s.tell(o, false) },
			DeleteFunc: func(o any) {
				if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = tombstone.Obj
				}
				s.tell(o, true)
			},
		})
	}
	setFactory.Start(ctx.Done())
	factory.Start(ctx.Done())
	return s
}

func (s *stage) tell(o any, gone bool) {
	s.mu.Lock()
	s.come = append(s.come, change{time.Since(s.start), o, gone})
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// until goes through the changes until a function holds.
func (s *stage) until(what string, holds func() bool) {
	s.t.Helper()
	late := time.After(observe.DefaultPatience)
	for !holds() {
		if s.step() {
			continue
		}
		select {
		case <-s.news:
		case <-late:
			s.t.Fatalf("not within %s: %s; what came:\n%s", observe.DefaultPatience, what, s.told())
		}
	}
	s.story = append(s.story, fmt.Sprintf("%8.3fs this is it: %s", time.Since(s.start).Seconds(), what))
}

// step goes through the next change, if one has come.
func (s *stage) step() bool {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.come) == 0 {
		return false
	}
	c := s.come[0]
	s.come = s.come[1:]
	line := ""
	switch o := c.object.(type) {
	case *unstructured.Unstructured:
		if o.GetKind() == trainer.TrainJobKind {
			s.train = &trainer.TrainJob{}
			s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s.train))
			line = fmt.Sprintf("TrainJob: %v, %v", s.train.Status.Conditions, s.train.Status.JobsStatus)
			break
		}
		js, err := typed(o)
		if err != nil {
			s.t.Fatal(err)
		}
		line = fmt.Sprintf("JobSet: deleted %t, %v, restarts %d, replicated %v",
			js.DeletionTimestamp != nil, conditions(js), js.Status.Restarts, js.Status.ReplicatedJobsStatus)
		if s.set = js; c.gone {
			s.set = nil
		}
	case *batchv1.Job:
		if !slices.Contains(s.made[o.Name], o.UID) {
			s.made[o.Name] = append(s.made[o.Name], o.UID)
		}
		line = fmt.Sprintf("Job %s of restart %s: %s", o.Name, o.Labels[restartAttempt], observe.Status(o))
		keep(s.jobs, o.Name, o, c.gone)
	case *corev1.Pod:
		line = fmt.Sprintf("pod %s: %s, deleted %t", o.Name, o.Status.Phase, o.DeletionTimestamp != nil)
		keep(s.pods, o.Name, o, c.gone)
	case *corev1.Service:
		line = "Service " + o.Name
		keep(s.services, o.Name, o, c.gone)
	}
	if c.gone {
		line += " is gone"
	}
	s.story = append(s.story, fmt.Sprintf("%8.3fs %s", c.at.Seconds(), line))
	return true
}

func keep[T any](in map[string]T, name string, object T, gone bool) {
	if in[name] = object; gone {
		delete(in, name)
	}
}

// told is the story with what the controllers logged about the namespace.
func (s *stage) told() string {
	told := strings.Join(s.story, "\n") +
		"\n" + s.side.controller.Log(s.namespace, 20) + "\n" + manager.Log(s.namespace, 20)
	if trainManager != nil {
		told += "\n" + trainManager.Log(s.namespace, 20)
	}
	return told
}

// conditions are those of a JobSet as Type=Status/Reason.
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
