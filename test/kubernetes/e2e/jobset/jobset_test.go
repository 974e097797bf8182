// Package jobset runs JobSet 0.12.0 on a real API server: its manager, built with its own go.mod, with its webhooks and
// its permissions. The module controller/jobfate-controller and the built-in Job controller run the child Jobs of the
// same JobSet, in separate namespaces. The final states must be equal.
//
// Pods follow a script, and Jobs end because their pods end. What JobSet decides is tested by its own tests, with jobfate
// inside: see test/adopters.
package jobset

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/stories/script"
)

// One Job fails, so all are restarted, the one that has succeeded too. Then all succeed.
func TestJobSet(t *testing.T) {
	ctx := t.Context() // the stages run until the final states are compared
	stages := [2]*stage{}
	t.Run("with", func(t *testing.T) {
		for i, by := range []side{builtIn, ours} {
			t.Run(by.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(ctx, t, by)
				stages[i] = s
				s.create(leaderAndWorkers())
				s.untilReady(1, everyone...)
				s.become(kubelet.Succeed(), leader)
				s.untilCounted(counted{Name: "leader", Succeeded: 1}, counted{Name: "worker", Ready: 3, Active: 3})
				s.become(kubelet.Fail(1), worker(0))
				s.untilReady(2, everyone...)
				s.untilRestarts(1, 1)
				s.become(kubelet.Succeed(), everyone...)
				s.untilCondition("Completed=True/AllJobsCompleted")
				s.wantManaged()
			})
		}
	})
	if !t.Failed() {
		agree(t, stages[0], stages[1])
	}
}

var (
	api *server.Server
	// The controllers of the child Jobs.
	builtIn = side{name: "built-in"}
	ours    = side{name: "jobfate", managedBy: new(server.ManagedBy)}
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 12, func(ctx context.Context, s *server.Server) (err error) {
		if builtIn.controller, err = s.BuiltIn(ctx, server.Options{}); err != nil {
			return err
		}
		if ours.controller, err = s.Jobfate(ctx, server.Options{}); err != nil {
			return err
		}
		manager, err = startManager(ctx, s)
		return err
	}))
}

var containers = []corev1.Container{{Name: "main", Image: "image"}}

// set returns a JobSet of replicated Jobs.
func set(jobs ...jobset.ReplicatedJob) *jobset.JobSet {
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
	js.APIVersion, js.Kind = jobset.GroupVersion.String(), "JobSet"
	js.Spec.ReplicatedJobs = jobs
	return js
}

// replicated returns a replicated Job. Each of its Jobs fails when its first pod fails.
func replicated(name string, replicas int32) jobset.ReplicatedJob {
	r := jobset.ReplicatedJob{Name: name, Replicas: replicas}
	r.Template.Spec.BackoffLimit = new(int32(0))
	r.Template.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers}
	return r
}

// leaderAndWorkers returns a JobSet with one restart: a NonIndexed leader and three Indexed workers. Indexed is JobSet's
// default.
func leaderAndWorkers() *jobset.JobSet {
	one := replicated("leader", 1)
	one.Template.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	js := set(one, replicated("worker", 3))
	js.Spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 1}
	return js
}

// The names of the Jobs of leaderAndWorkers.
const leader = "set-leader-0"

func worker(n int) string { return fmt.Sprintf("set-worker-%d", n) }

var everyone = []string{leader, worker(0), worker(1), worker(2)}

var jobSetResource = jobset.GroupVersion.WithResource("jobsets")

// typed is the inverse of untyped, for JobSets.
func typed(object *unstructured.Unstructured) (*jobset.JobSet, error) {
	js := &jobset.JobSet{}
	return js, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, js)
}

func untyped(o any) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // every object here can be written as JSON
	}
	return &unstructured.Unstructured{Object: object}
}

// agree processes the changes of both stages until both have settled and their final states are
// equal.
func agree(t *testing.T, a, b *stage) {
	t.Helper()
	observe.Agree(t, a.Feed, b.Feed, func() string {
		if diff := difference(a, b); diff != "" || a.settled() && b.settled() {
			return diff
		}
		return "the Jobs and pods have not settled"
	})
}

// settled reports whether no Job is being deleted, and all ended pods are counted.
func (s *stage) settled() bool {
	for _, job := range s.jobs {
		if job.DeletionTimestamp != nil {
			return false
		}
	}
	return !slices.ContainsFunc(script.State{All: s.pods}.Tracked(), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || script.Ended(p)
	})
}

// outcome is the part of a final state that is compared in addition to the statuses and pods of
// the Jobs.
type outcome struct {
	Status   jobset.JobSetStatus
	Created  map[string]int
	Specs    map[string]batchv1.JobSpec
	Services map[string]corev1.ServiceSpec
}

// difference returns how the final states differ, in the JobSet, its Jobs, their pods and
// its Service.
func difference(a, b *stage) string {
	if diff := gocmp.Diff(endOf(a), endOf(b)); diff != "" {
		return diff
	}
	for _, name := range slices.Sorted(maps.Keys(a.jobs)) {
		if diff := compare.Ends(withoutKeys(a.stateOf(name)), withoutKeys(b.stateOf(name))); diff != "" {
			return name + ":\n" + diff
		}
	}
	return ""
}

func endOf(s *stage) outcome {
	e := outcome{Created: map[string]int{}, Specs: map[string]batchv1.JobSpec{}, Services: map[string]corev1.ServiceSpec{}}
	if s.set != nil {
		e.Status = *s.set.Status.DeepCopy()
		e.Status.ReplicatedJobsStatus = counts(s.set)
		for i := range e.Status.Conditions {
			e.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
	}
	for name, uids := range s.created {
		e.Created[name] = len(uids)
	}
	for name := range s.jobs {
		spec := withoutKeys(s.stateOf(name)).Job.Spec
		spec.ManagedBy, spec.Selector = nil, nil // the selector contains the Job's UID
		delete(spec.Template.Labels, batchv1.ControllerUidLabel)
		delete(spec.Template.Labels, "controller-uid")
		e.Specs[name] = spec
	}
	for name, service := range s.services {
		e.Services[name] = service.Spec
	}
	return e
}

// withoutKeys replaces the hash that JobSet computes from the namespace and the name of a Job, and the
// UID of the JobSet.
func withoutKeys(s script.State) script.State {
	plain := script.State{Job: s.Job.DeepCopy(), All: map[string]*corev1.Pod{}}
	hideKey(plain.Job.Labels, plain.Job.Annotations, plain.Job.Spec.Template.Labels, plain.Job.Spec.Template.Annotations)
	for _, pod := range s.Pods() {
		plain.All[pod.Name] = pod.DeepCopy()
		hideKey(plain.All[pod.Name].Labels, plain.All[pod.Name].Annotations)
	}
	return plain
}

func hideKey(in ...map[string]string) {
	for _, m := range in {
		for _, key := range []string{jobset.JobKey, jobset.JobSetUIDKey} {
			if _, has := m[key]; has {
				m[key] = "KEY"
			}
		}
	}
}
