package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// With any value of Creations, between none and all of the pods count as created.
func TestClose_impossibleCounts(t *testing.T) {
	s := newScene(t, "completions: 4\nparallelism: 4")
	s.pod("a", 1, corev1.PodRunning, 0)
	d := s.outcome(t)
	Same(t, "pods to create", len(d.Create), 3)
	for _, test := range []struct {
		done   Undone
		active int32
	}{
		{Undone{Creations: -5}, 4},
		{Undone{Creations: 2}, 2},
		{Undone{Creations: 3}, 1},
		{Undone{Creations: 100}, 1},
	} {
		if r := d.Revise(test.done); !r.made.changed || r.made.status.Active != test.active {
			t.Errorf("%+v: status %s, want %d active", test.done, ToJSON(r.made.status), test.active)
		}
	}
}

// What the caps leave waits for the retry of what has failed.
func TestClose_retriesBeforeTheRest(t *testing.T) {
	for _, action := range []Undone{{Creations: 1}, {Deletions: []types.UID{"pod-1"}}} {
		s := newScene(t, "completions: 9\nparallelism: 4")
		s.config.ChangesCap = 2
		for i := range 9 * len(action.Deletions) { // too many
			s.pod(fmt.Sprint("pod-", i+1), i+1, corev1.PodRunning, 0)
		}
		d := s.outcome(t)
		Same(t, "Requeue, and with a failure", []any{d.Requeue, d.Revise(action).Requeue}, []any{time.Second, time.Duration(0)})
	}
}

// A pod that the cache shows, although its creation is in flight, terminates once it is deleted.
func TestClose_creationInFlightIsShown(t *testing.T) {
	s := newScene(t, "completions: 1")
	s.condition(batchv1.JobFailureTarget)
	pod := s.pod("a", 1, corev1.PodRunning, 0)
	s.InFlight = InFlight{Creations: 1, Pods: []PodInFlight{{UID: pod.UID}}}
	d := s.outcome(t)
	Same(t, "pods to delete", len(d.Delete), 1)
	Same(t, "pods after that", d.made.after, counts{Terminating: 1})
}

// Creations that were not tried do not count as failed. A negative Untried counts as 0.
func TestClose_failedCreations(t *testing.T) {
	d := newScene(t, "completions: 4\nparallelism: 4").outcome(t)
	for _, test := range []struct {
		done Undone
		want string
	}{
		{Undone{Creations: 3, Untried: 2}, "job_pods_creation_total reason=new status=failed 1"},
		{Undone{Creations: 3, Untried: -2}, "job_pods_creation_total reason=new status=failed 3"},
	} {
		if got := Texts(d.Revise(test.done).Metrics); !slices.Contains(got, test.want) {
			t.Errorf("%+v: %v, want %s in it", test.done, got, test.want)
		}
	}
	none := newScene(t, "completions: 4\nparallelism: 0").outcome(t)
	Same(t, "metrics without creations", len(none.Revise(Undone{Creations: 3}).Metrics), 0)
}

// status.succeeded of an Indexed Job is the number of its completed indexes, with a limit
// per index too. A UID in the list of succeeded pods, which no controller writes for an
// Indexed Job, adds nothing to it.
func TestSettle_succeededOfIndexedJobs(t *testing.T) {
	for _, limit := range []string{"", "\nbackoffLimitPerIndex: 1"} {
		s := newScene(t, "completions: 2\nparallelism: 2"+indexed+limit)
		pod := s.pod("a", 1, corev1.PodSucceeded, 0)
		s.Job.Status.UncountedTerminatedPods = Lists(UIDs(pod.UID), nil)
		d := s.outcome(t)
		st := d.Settle(UIDsOf(d.Strip)...).Status
		if st == nil || st.Succeeded != 1 || st.CompletedIndexes != "0" || len(st.UncountedTerminatedPods.Succeeded) != 0 {
			t.Errorf("settled%s: %s, want 1 succeeded, index 0 completed and an empty list", limit, ToJSON(st))
		}
	}
}

// An Indexed Job that was scaled down may keep a counter above its completions. No
// index has completed twice, so there were not too many succeeded pods.
func TestSettle_aStuckCounterIsNotTooManySucceededPods(t *testing.T) {
	for mode, want := range map[batchv1.CompletionMode][]string{
		batchv1.IndexedCompletion:    {"Completed"},
		batchv1.NonIndexedCompletion: {"TooManySucceededPods", "Completed"},
	} {
		s := newScene(t, "completions: 1\nparallelism: 3")
		s.Job.Spec.CompletionMode = &mode
		s.Job.Status.Succeeded = 2
		if mode == batchv1.IndexedCompletion {
			s.Job.Status.CompletedIndexes = "0"
		}
		settled := s.outcome(t).Settle()
		got := Each(settled.Events, func(e Event) string { return e.Reason })
		if !settled.Finished || settled.Status.Succeeded != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: finished %t, events %v, status %s; want the end with %v and 2 succeeded", mode, settled.Finished, got, ToJSON(settled.Status), want)
		}
	}
}

// MaxRemovals only divides the work: a pod that it leaves is added to the record once, when the status records it,
// whatever the order.
func TestClose_capDoesNotChangeTheBackoff(t *testing.T) {
	for caps := range 4 {
		s := newScene(t, "completions: 4\nparallelism: 4\nbackoffLimit: 100")
		s.config.RemovalsCap = caps
		for i, finished := range []int{20, 30, 10, 5} {
			s.pod(fmt.Sprint("pod-", i), 0, corev1.PodFailed, finished)
		}
		s.Now = s.at(31)
		for range 10 {
			d := s.outcome(t)
			Same(t, fmt.Sprint(caps, ": failures that the delay counts"), d.Facts().Plan.Record.Failures, int32(4))
			s.Backoff = d.Backoff
			var gone []types.UID
			for _, pod := range d.Strip {
				pod.Finalizers, gone = nil, append(gone, pod.UID)
			}
			for _, status := range []*batchv1.JobStatus{d.Status, d.Settle(gone...).Status} {
				if status != nil {
					s.Job.Status = *status
				}
			}
		}
		Same(t, fmt.Sprint(caps), s.Backoff, backoff.Record{Job: s.Job.UID, Failures: 4, LastFailure: s.at(30)})
		Same(t, "status.failed", s.Job.Status.Failed, int32(4))
	}
}

// With a limit per index the record stays as it is, also where MaxRemovals leaves pods.
func TestClose_capWithALimitPerIndex(t *testing.T) {
	s := newScene(t, "completions: 4\nparallelism: 4\nbackoffLimitPerIndex: 0"+indexed)
	s.config.RemovalsCap = 1
	s.pod("a", 1, corev1.PodFailed, 0)
	s.pod("b", 2, corev1.PodFailed, 0)
	d := s.outcome(t)
	Same(t, "pods that are left, and failures in the record", []int32{d.Deferred.Strip, d.Backoff.Failures}, []int32{1, 0})
}

// MaxRemovals asks for no sync while the throttle delays the status write.
func TestClose_throttleBesideACap(t *testing.T) {
	for share, want := range map[float64]time.Duration{0.4: time.Second, 1: 19 * time.Second} {
		s := newScene(t, "completions: 3\nparallelism: 2")
		s.config.RemovalsCap, s.config.Throttle = 1, throttle{Every: 20 * time.Second, Share: share}
		s.Job.Status.StartTime, s.LastStatus = s.stored(0), s.at(0)
		s.pod("a", 0, corev1.PodSucceeded, 1)
		s.pod("b", 0, corev1.PodSucceeded, 1)
		s.pod("c", 0, corev1.PodRunning, 0)
		d := s.outcome(t)
		Same(t, fmt.Sprint(share), []any{d.Requeue, d.Status != nil}, []any{want, share < 1})
	}
}
