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
	"reflect"
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
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// counted is the status of a replicated Job: the number of Jobs in each state.
type counted = jobset.ReplicatedJobStatus

// One Job fails, so all are restarted, the one that has succeeded too. Then all succeed.
func TestJobSet(t *testing.T) {
	ctx := t.Context() // the stages run until the final states are compared
	var err error
	manager, err = startManager(ctx, api)
	world.Must(t, err)
	stages := [2]*stage{}
	t.Run("with", func(t *testing.T) {
		for i, side := range []world.Side{builtIn, ours} {
			t.Run(side.Name, func(t *testing.T) {
				t.Parallel()
				s := newStage(ctx, t, side)
				stages[i] = s
				s.UntilReady(1, everyone...)
				s.Become(kubelet.Succeed(), leader)
				want := []counted{{Name: "leader", Succeeded: 1}, {Name: "worker", Ready: 3, Active: 3}}
				s.Until("the leader is counted", func() bool { return reflect.DeepEqual(counts(s.set), want) })
				s.Become(kubelet.Fail(1), worker(0))
				s.UntilReady(2, everyone...)
				s.Until("the restart is counted", func() bool {
					return s.set.Status.Restarts == 1 && s.set.Status.RestartsCountTowardsMax == 1
				})
				s.Become(kubelet.Succeed(), everyone...)
				s.Until("the JobSet is complete", func() bool {
					return slices.Contains(conditions(s.set), "Completed=True/AllJobsCompleted")
				})
				for name, job := range s.Jobs {
					if !reflect.DeepEqual(job.Spec.ManagedBy, side.ManagedBy) {
						t.Errorf("%s is managed by %v, want %v", name, job.Spec.ManagedBy, side.ManagedBy)
					}
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	a, b := stages[0], stages[1]
	observe.Agree(t, a.Feed, b.Feed, func() string {
		if diff := difference(a, b); diff != "" || a.settled() && b.settled() {
			return diff
		}
		return "the Jobs and pods have not settled"
	})
}

var (
	api *server.Server
	// The controllers of the child Jobs, and JobSet's manager, which both sides share.
	builtIn, ours world.Side
	manager       *server.Controller
)

func TestMain(m *testing.M) { os.Exit(world.RunBoth(m, &api, 12, server.Options{}, &ours, &builtIn)) }

// newJobSet returns a JobSet with one restart: a NonIndexed leader and three Indexed workers, which a controller manages.
// Indexed is JobSet's default. Each of its Jobs fails when its first pod fails.
func newJobSet(managedBy *string) *unstructured.Unstructured {
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
	js.APIVersion, js.Kind = jobset.GroupVersion.String(), "JobSet"
	js.Spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 1}
	js.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "leader", Replicas: 1}, {Name: "worker", Replicas: 3}}
	for i := range js.Spec.ReplicatedJobs {
		spec := &js.Spec.ReplicatedJobs[i].Template.Spec
		spec.BackoffLimit, spec.ManagedBy = new(int32(0)), managedBy
		spec.Template.Spec = world.PodSpec()
	}
	js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(js)
	if err != nil {
		panic(err) // it can be written as JSON
	}
	return &unstructured.Unstructured{Object: object}
}

// The names of the Jobs of a JobSet.
const leader = "set-leader-0"

func worker(n int) string { return fmt.Sprintf("set-worker-%d", n) }

var everyone = []string{leader, worker(0), worker(1), worker(2)}

var jobSetResource = jobset.GroupVersion.WithResource("jobsets")

// stage is a namespace in which the test runs with one side.
type stage struct {
	*world.Stage
	set *jobset.JobSet // after the changes that are processed
}

// newStage creates a JobSet whose Jobs a side runs, until the context is done.
func newStage(ctx context.Context, t *testing.T, side world.Side) *stage {
	t.Helper()
	s := &stage{}
	s.Stage = world.NewStage(ctx, t, api, side.Name, jobSetResource, kubelet.Always(kubelet.Run()), s.changed)
	t.Cleanup(func() {
		for _, c := range []*server.Controller{side.Controller, manager} {
			if t.Failed() {
				t.Logf("the log of %s:\n%s", c.Name, c.Log(s.Namespace, 20))
			}
		}
	})
	_, err := s.Objects.Create(t.Context(), newJobSet(side.ManagedBy), metav1.CreateOptions{})
	s.Must(err)
	s.Until("the JobSet exists", func() bool { return s.set != nil })
	return s
}

func (s *stage) changed(object *unstructured.Unstructured) string {
	s.set = &jobset.JobSet{}
	s.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, s.set))
	return fmt.Sprintf("JobSet: %v, restarts %d, replicated %v", conditions(s.set), s.set.Status.Restarts, s.set.Status.ReplicatedJobsStatus)
}

// conditions returns the conditions of a JobSet, each written as Type=Status/Reason.
func conditions(js *jobset.JobSet) (names []string) {
	for _, c := range js.Status.Conditions {
		names = append(names, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return names
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

// settled reports whether no Job is being deleted, and all ended pods are counted.
func (s *stage) settled() bool {
	for _, job := range s.Jobs {
		if job.DeletionTimestamp != nil {
			return false
		}
	}
	return !slices.ContainsFunc(script.State{All: s.Pods}.Tracked(), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || script.Ended(p)
	})
}

// outcome is the part of a final state that is compared in addition to the statuses and pods of
// the Jobs.
type outcome struct {
	Status jobset.JobSetStatus
	Made   map[string]int // how often each Job was made
	Jobs   []string
}

// difference returns how the final states differ, in the JobSet, its Jobs, and their pods.
func difference(a, b *stage) string {
	if diff := gocmp.Diff(a.outcome(), b.outcome()); diff != "" {
		return diff
	}
	for _, name := range slices.Sorted(maps.Keys(a.Jobs)) {
		if diff := compare.Ends(withoutKeys(a.StateOf(name)), withoutKeys(b.StateOf(name))); diff != "" {
			return name + ":\n" + diff
		}
	}
	return ""
}

func (s *stage) outcome() outcome {
	o := outcome{Status: *s.set.Status.DeepCopy(), Made: map[string]int{}, Jobs: slices.Sorted(maps.Keys(s.Jobs))}
	o.Status.ReplicatedJobsStatus = counts(s.set)
	for i := range o.Status.Conditions {
		o.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	for name, uids := range s.Made {
		o.Made[name] = len(uids)
	}
	return o
}

// withoutKeys replaces the hash that JobSet computes from the namespace and the name of a Job, and the
// UID of the JobSet.
func withoutKeys(s script.State) script.State {
	plain := script.State{Job: s.Job.DeepCopy(), All: map[string]*corev1.Pod{}}
	hideKey(plain.Job.Labels, plain.Job.Annotations)
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
