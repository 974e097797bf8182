package jobset

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// side is one of the two controllers that run the child Jobs.
type side struct {
	name       string
	managedBy  *string // in the template of every Job; nil for the built-in controller
	controller *server.Controller
}

// stage is a namespace in which the test runs with one side. The stage processes one change at a
// time.
type stage struct {
	t         *testing.T
	side      side
	namespace string
	sets      dynamic.ResourceInterface
	kubelet   *kubelet.Kubelet

	*observe.Feed

	// The state after the changes that are processed.
	set      *jobset.JobSet // nil before it is created and after it is gone
	jobs     map[string]*batchv1.Job
	pods     map[string]*corev1.Pod
	services map[string]*corev1.Service
	created  map[string][]types.UID // all Jobs that ever existed, by name
}

// restartAttempt is the label of a Job with the number of the restart that created it.
const restartAttempt = "jobset.sigs.k8s.io/restart-attempt"

// newStage returns a stage for a test. The stage runs until the context is done.
func newStage(ctx context.Context, t *testing.T, by side) *stage {
	t.Helper()
	namespace, err := api.Namespace(ctx, by.name)
	world.Must(t, err)
	s := &stage{
		t: t, side: by, namespace: namespace,
		kubelet: kubelet.Start(ctx, api.Client, namespace, kubelet.Always(kubelet.Run())),
		jobs:    map[string]*batchv1.Job{}, pods: map[string]*corev1.Pod{}, services: map[string]*corev1.Service{},
		created: map[string][]types.UID{},
	}
	client := api.Dynamic()
	setFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	s.sets = client.Resource(jobSetResource).Namespace(namespace)
	factory := informers.NewSharedInformerFactoryWithOptions(api.Client, 0, informers.WithNamespace(namespace))
	watched := []cache.SharedIndexInformer{
		setFactory.ForResource(jobSetResource).Informer(), factory.Batch().V1().Jobs().Informer(),
		factory.Core().V1().Pods().Informer(), factory.Core().V1().Services().Informer(),
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
		observe.Keep(s.jobs, o.Name, o, gone)
	case *corev1.Pod:
		line = fmt.Sprintf("pod %s: %s, deleted %t", o.Name, o.Status.Phase, o.DeletionTimestamp != nil)
		observe.Keep(s.pods, o.Name, o, gone)
	case *corev1.Service:
		line = "Service " + o.Name
		observe.Keep(s.services, o.Name, o, gone)
	}
	if gone {
		line += " is gone"
	}
	return line
}

// log logs what the controllers have logged about the namespace if the test has failed.
func (s *stage) log() {
	if !s.t.Failed() {
		return
	}
	for _, c := range []*server.Controller{s.side.controller, manager} {
		s.t.Logf("the log of %s:\n%s", c.Name, c.Log(s.namespace, 20))
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
	world.Must(s.t, err)
}

// create creates the JobSet. The controller of this side runs its Jobs.
func (s *stage) create(js *jobset.JobSet) {
	s.t.Helper()
	_, err := s.sets.Create(s.t.Context(), untyped(s.managed(js)), metav1.CreateOptions{})
	s.must(err)
	s.until("the JobSet exists", func() bool { return s.set != nil })
}

// managed returns a copy of a JobSet whose Jobs name the controller of this side.
func (s *stage) managed(js *jobset.JobSet) *jobset.JobSet {
	js = js.DeepCopy()
	for i := range js.Spec.ReplicatedJobs {
		js.Spec.ReplicatedJobs[i].Template.Spec.ManagedBy = s.side.managedBy
	}
	return js
}

// become changes the script of the pods of some Jobs. It first waits for the pods, which may be
// observed later than their Job.
func (s *stage) become(life kubelet.Life, jobs ...string) {
	s.t.Helper()
	for _, job := range jobs {
		s.until(job+" has its pods", func() bool {
			return s.jobs[job] != nil && len(s.podsOf(job)) >= int(*s.jobs[job].Spec.Parallelism)
		})
		s.kubelet.Become(life, s.podsOf(job)...)
	}
}

// podsOf returns the pods of the current Job with a name, ordered by index.
func (s *stage) podsOf(job string) []*corev1.Pod {
	return s.stateOf(job).Pods()
}

// stateOf returns a Job and all pods of the namespace.
func (s *stage) stateOf(job string) script.State {
	return script.State{Job: s.jobs[job], All: s.pods}
}

// untilReady waits until all pods of some Jobs are ready, and each of these Jobs has been created
// the given number of times.
func (s *stage) untilReady(times int, jobs ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("the Jobs %v, created %d times, are ready", jobs, times), func() bool {
		return !slices.ContainsFunc(jobs, func(name string) bool {
			job := s.jobs[name]
			return job == nil || len(s.created[name]) != times || job.Status.Ready == nil || *job.Status.Ready != *job.Spec.Parallelism ||
				len(s.stateOf(name).Active()) != int(*job.Spec.Parallelism)
		})
	})
}

// untilCondition waits until the JobSet has a condition, written as Type=Status/Reason.
func (s *stage) untilCondition(want string) {
	s.t.Helper()
	s.until(want, func() bool { return s.set != nil && slices.Contains(conditions(s.set), want) })
}

// counted is the status of a replicated Job: the number of Jobs in each state.
type counted = jobset.ReplicatedJobStatus

// untilCounted waits until the JobSet has these statuses of its replicated Jobs.
func (s *stage) untilCounted(want ...counted) {
	s.t.Helper()
	s.until(fmt.Sprintf("the replicated Jobs have the statuses %v", want), func() bool {
		return s.set != nil && reflect.DeepEqual(counts(s.set), want)
	})
}

// counts returns the statuses of the replicated Jobs in the order of the spec. JobSet writes them
// in any order.
func counts(js *jobset.JobSet) (in []counted) {
	for _, r := range js.Spec.ReplicatedJobs {
		for _, status := range js.Status.ReplicatedJobsStatus {
			if status.Name == r.Name {
				in = append(in, status)
			}
		}
	}
	return in
}

// untilRestarts waits until the status of the JobSet has these numbers of restarts. counting is the number of restarts
// that count towards the maximum.
func (s *stage) untilRestarts(restarts, counting int32) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d restarts, %d of which count", restarts, counting), func() bool {
		return s.set != nil && s.set.Status.Restarts == restarts && s.set.Status.RestartsCountTowardsMax == counting
	})
}

// wantManaged checks that all Jobs name the controller of this side.
func (s *stage) wantManaged() {
	s.t.Helper()
	for name, job := range s.jobs {
		if got, want := job.Spec.ManagedBy, s.side.managedBy; (got == nil) != (want == nil) || got != nil && *got != *want {
			s.t.Errorf("%s: spec.managedBy is %v, want %v", name, got, want)
		}
	}
}
