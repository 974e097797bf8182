package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/podtest"
)

// snapshot simulates a Job up to a time, and returns the Job and its pods at that time.
func snapshot(t *testing.T, job *batchv1.Job, s Scenario, at time.Duration) (*batchv1.Job, *Live) {
	t.Helper()
	s.Limit = &metav1.Duration{Duration: at}
	p := podtest.Must(newPlay(job, s, Settings{KeepCounted: true}))
	podtest.Must(p.run())
	live := &Live{Now: p.cluster.Now}
	for _, pod := range p.cluster.Pods() {
		live.Pods = append(live.Pods, pod.DeepCopy())
	}
	return underOtherUIDs(p.cluster.Job().DeepCopy(), live.Pods), live
}

// underOtherUIDs gives a Job and its pods UIDs that the cluster does not have.
func underOtherUIDs(job *batchv1.Job, pods []*corev1.Pod) *batchv1.Job {
	const other = "other-"
	rename := func(labels map[string]string) {
		for key, value := range labels {
			if value == string(job.UID) {
				labels[key] = other + value
			}
		}
	}
	rename(job.Spec.Selector.MatchLabels)
	rename(job.Spec.Template.Labels)
	for _, pod := range pods {
		rename(pod.Labels)
		pod.UID, pod.OwnerReferences[0].UID = other+pod.UID, other+pod.OwnerReferences[0].UID
	}
	if u := job.Status.UncountedTerminatedPods; u != nil {
		for _, list := range [][]types.UID{u.Succeeded, u.Failed} {
			for i := range list {
				list[i] = other + list[i]
			}
		}
	}
	job.UID = other + job.UID
	return job
}

func ended(r *Result) string {
	return fmt.Sprintf("%s %s: succeeded %d, failed %d, completed %q, failed indexes %q",
		r.End, r.Reason, r.Status.Succeeded, r.Status.Failed, r.Status.CompletedIndexes,
		*cmp.Or(r.Status.FailedIndexes, new("")))
}

// TestLive interrupts Jobs and continues from their status and pods. They end in the same way,
// at about the same time: the start delay of a pending pod begins again.
func TestLive(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario string
	}{
		{"all is well", indexed(4, 2), ""},
		{"an index fails twice", indexed(3, 2, perIndex(2)), "pods: [{indexes: 1, exits: [1, 1, 0], durations: [5s]}]"},
		{"an index fails for good", indexed(2, 2, perIndex(1)), "pods: [{indexes: 1, exits: [1]}]"},
		{"the second pod of a Job fails", indexed(3, 1, nonIndexed), "pods: [{indexes: 1, exits: [3]}]"},
		{"the Job fails", indexed(3, 3, nonIndexed, func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1)) }), "pods: [{exits: [1]}]"},
		{"a rule fails the Job", indexed(2, 2, ignoreDisruptions), "pods: [{indexes: 0, exits: [42]}, {durations: [1h]}]"},
		{"a pod takes long to stop", indexed(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(9)) }), "stopDelay: 25s"},
		{"few places", indexed(4, 4), "capacity: 1"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := podtest.Must(ReadScenario([]byte(tc.scenario)))
			want := played(t, tc.job, s, Settings{})
			for at := time.Duration(0); at <= time.Duration(want.Took); at += time.Second {
				job, live := snapshot(t, tc.job, s, at)
				before := job.DeepCopy()
				got := played(t, job, s, Settings{Live: live})
				podtest.Same(t, fmt.Sprintf("from %s on", at), ended(got), ended(want))
				if took := time.Duration(got.Took) + at; took < time.Duration(want.Took)-2*time.Second || took > time.Duration(want.Took)+12*time.Second {
					t.Errorf("from %s on: it ended at %s, want about %s", at, took, want.Took)
				}
				live.Pods = slices.DeleteFunc(live.Pods, func(pod *corev1.Pod) bool { return len(pod.Finalizers) == 0 })
				podtest.Same(t, fmt.Sprintf("from %s on, without the pods that have been counted", at), ended(played(t, job, s, Settings{Live: live})), ended(want))
				podtest.Same(t, fmt.Sprintf("from %s on: the status that was given", at), job.Status, before.Status)
			}
		})
	}
}

// TestLiveCounts checks the result of a Job that has two counted pods, one that
// runs, and one of another owner.
func TestLiveCounts(t *testing.T) {
	job, live := snapshot(t, indexed(4, 1), Scenario{}, 30*time.Second)
	foreign := live.Pods[0].DeepCopy()
	foreign.Name, foreign.UID, foreign.OwnerReferences[0].UID = "foreign", "foreign", "other"
	live.Pods = append(live.Pods, foreign)
	got := played(t, job, Scenario{}, Settings{Live: live})
	const want = `0: -29s--19s Succeeded
1: -17s--7s Succeeded
2: -5s-5s Succeeded
3: 7s-17s Succeeded
Complete CompletionsReached at 18s: 4 pods, 40s`
	podtest.Same(t, "the result", drawn(got), want)
	most := 0
	p := podtest.Must(newPlay(job, Scenario{}, Settings{Live: live}))
	p.Continue = func(now Time, _ int) bool {
		if now > 0 {
			most = max(most, len(p.cluster.Pods()))
		}
		return true
	}
	if _, err := p.run(); err != nil || most > 1 {
		t.Errorf("got %v, and syncs look at %d pods, want only those that have not been counted", err, most)
	}
	live.Pods = append(live.Pods, live.Pods[0])
	if _, err := Play(job, Scenario{}, Settings{Live: live}); err == nil || !strings.Contains(err.Error(), "there are two pods job-0-1") {
		t.Errorf("a pod twice: got %v, want an error", err)
	}
}

// TestLiveRestarts continues from a pod whose container waits for its restart, 4s after its
// second crash.
func TestLiveRestarts(t *testing.T) {
	s := Scenario{Pods: []Behaviour{{Exits: []int32{1, 1, 1, 0}, Durations: []metav1.Duration{seconds(3)}}}}
	onFailure := func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }
	job, live := snapshot(t, indexed(1, 1, onFailure), Scenario{}, 9*time.Second)
	crashed := metav1.NewTime(live.Now.Add(-4 * time.Second))
	pod := live.Pods[0].DeepCopy()
	pod.Status.ContainerStatuses[0].RestartCount = 1
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: crashed}
	live.Pods[0] = pod
	got := played(t, job, s, Settings{Live: live})
	// The container is restarted at 6s and fails after 3s. It is restarted 20s later and succeeds after 3s.
	if last := got.Lanes[0].Pods[0]; last.Restarts != 3 || *last.Ended != Time(32*time.Second) {
		t.Errorf("got %d restarts and the end at %s, want 3 and 32s", last.Restarts, *last.Ended)
	}
}

// TestLiveEnded continues from a Job that has ended, with a pod that never ends.
func TestLiveEnded(t *testing.T) {
	job, live := snapshot(t, indexed(1, 1), Scenario{}, 30*time.Second)
	pending := live.Pods[0].DeepCopy()
	pending.Name, pending.UID, pending.Spec.NodeName, pending.Status = "late", "late", "", corev1.PodStatus{Phase: corev1.PodPending}
	live.Pods = append(live.Pods, pending)
	got, err := Play(job, Scenario{Capacity: new(int32(0))}, Settings{Live: live})
	if err != nil || got.End != Complete || got.WaitsFor != "" {
		t.Errorf("got %v, %v; want Complete", got, err)
	}
}

// TestLiveUncounted continues from a status that lists a failed pod as uncounted.
func TestLiveUncounted(t *testing.T) {
	job, live := snapshot(t, indexed(1, 1), Scenario{}, 5*time.Second)
	pod := live.Pods[0]
	pod.Status.Phase = corev1.PodFailed
	job.Status.Active = 0
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{pod.UID}}
	for _, finalizers := range [][]string{nil, {batchv1.JobTrackingFinalizer}} {
		pod.Finalizers = finalizers
		got, err := Play(job, Scenario{}, Settings{Live: live})
		if err != nil || got.End != Complete || got.Status.Failed != 1 || len(got.Status.UncountedTerminatedPods.Failed) != 0 {
			t.Errorf("finalizers %q: got %v, %v; want 1 failed pod", finalizers, got, err)
		}
	}
}

func TestCrashDelayAfter(t *testing.T) {
	for restarts, want := range map[int]time.Duration{math.MinInt32: 0, -1: 0, 0: 0, 1: 10 * time.Second, 2: 20 * time.Second,
		5: 160 * time.Second, 6: 5 * time.Minute, math.MaxInt32: 5 * time.Minute} {
		podtest.Same(t, fmt.Sprint("the delay after restarts: ", restarts), crashDelayAfter(restarts), want)
	}
}
