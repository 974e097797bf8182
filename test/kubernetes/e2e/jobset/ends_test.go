package jobset

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/stories/script"
)

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
	Train    trainJob
	Created  map[string]int
	Specs    map[string]batchv1.JobSpec
	Services map[string]corev1.ServiceSpec
}

// difference returns how the final states of a case differ, in the JobSet, its Jobs, their pods and
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
	if s.train != nil {
		e.Train.Status.Conditions = slices.Clone(s.train.Status.Conditions)
		for i := range e.Train.Status.Conditions {
			e.Train.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		e.Train.Status.JobsStatus = slices.SortedFunc(slices.Values(s.train.Status.JobsStatus),
			func(a, b counted) int { return strings.Compare(a.Name, b.Name) })
	}
	for name, uids := range s.created {
		e.Created[name] = len(uids)
	}
	if s.deletedRunning {
		e.Created, e.Train.Status.JobsStatus = nil, nil
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
