package world

import (
	"context"
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/stories/script"
)

// Stage is a namespace with objects of a kind that create Jobs. It processes one change at a time.
type Stage struct {
	T         *testing.T
	Namespace string
	Objects   dynamic.ResourceInterface // those of the kind
	Kubelet   *kubelet.Kubelet
	*observe.Feed

	// The state after the changes that are processed.
	Changes int // of objects and Jobs
	Jobs    map[string]*batchv1.Job
	Pods    map[string]*corev1.Pod
	Made    map[string][]types.UID // all Jobs that ever existed, by name

	changed func(*unstructured.Unstructured) string
}

// NewStage creates a stage whose namespace begins with a prefix. It runs until the context is done. A function is
// called for each change of an object of the kind, and returns a line about it.
func NewStage(ctx context.Context, t *testing.T, s *server.Server, prefix string, kind schema.GroupVersionResource,
	pods kubelet.Script, changed func(*unstructured.Unstructured) string) *Stage {
	t.Helper()
	namespace, err := s.Namespace(ctx, prefix)
	Must(t, err)
	client := s.Dynamic()
	stage := &Stage{
		T: t, Namespace: namespace, Objects: client.Resource(kind).Namespace(namespace),
		Kubelet: kubelet.Start(ctx, s.Client, namespace, pods), changed: changed,
		Jobs: map[string]*batchv1.Job{}, Pods: map[string]*corev1.Pod{}, Made: map[string][]types.UID{},
	}
	objects := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	factory := informers.NewSharedInformerFactoryWithOptions(s.Client, 0, informers.WithNamespace(namespace))
	stage.Feed = observe.NewFeed(stage.apply, objects.ForResource(kind).Informer(),
		factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer())
	objects.Start(ctx.Done())
	factory.Start(ctx.Done())
	return stage
}

func (s *Stage) apply(object any, gone bool) (line string) {
	switch o := object.(type) {
	case *unstructured.Unstructured:
		s.Changes++
		line = s.changed(o)
	case *batchv1.Job:
		s.Changes++
		if !slices.Contains(s.Made[o.Name], o.UID) {
			s.Made[o.Name] = append(s.Made[o.Name], o.UID)
		}
		line = fmt.Sprintf("Job %s %s: %s", o.Name, o.UID, observe.Status(o))
		observe.Keep(s.Jobs, o.Name, o, gone)
	case *corev1.Pod:
		line = fmt.Sprintf("pod %s: %s, deleted %t", o.Name, o.Status.Phase, o.DeletionTimestamp != nil)
		observe.Keep(s.Pods, o.Name, o, gone)
	}
	if gone {
		line += " is gone"
	}
	return line
}

// Until processes changes until a function holds.
func (s *Stage) Until(what string, holds func() bool) {
	s.T.Helper()
	s.Feed.Until(s.T, what, holds)
}

// UntilReady waits until all pods of some Jobs are ready, and each of these Jobs has been made so often.
func (s *Stage) UntilReady(times int, jobs ...string) {
	s.T.Helper()
	s.Until(fmt.Sprintf("the Jobs %v, made %d times, are ready", jobs, times), func() bool {
		return !slices.ContainsFunc(jobs, func(name string) bool {
			job := s.Jobs[name]
			return job == nil || len(s.Made[name]) != times ||
				job.Status.Ready == nil || *job.Status.Ready != *job.Spec.Parallelism ||
				len(s.StateOf(name).Active()) != int(*job.Spec.Parallelism)
		})
	})
}

// Become changes the script of the pods of some Jobs. It first waits for the pods, which may be
// observed later than their Job.
func (s *Stage) Become(life kubelet.Life, jobs ...string) {
	s.T.Helper()
	for _, job := range jobs {
		s.Until(job+" has its pods", func() bool {
			return s.Jobs[job] != nil && len(s.StateOf(job).Pods()) >= int(*s.Jobs[job].Spec.Parallelism)
		})
		s.Kubelet.Become(life, s.StateOf(job).Pods()...)
	}
}

// StateOf returns a Job and all pods of the namespace.
func (s *Stage) StateOf(job string) script.State { return script.State{Job: s.Jobs[job], All: s.Pods} }

// Must fails the test if there is an error.
func (s *Stage) Must(err error) {
	s.T.Helper()
	Must(s.T, err)
}
