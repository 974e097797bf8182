package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cluster"
)

// pendingSince sets since when a pod has been pending, on no node.
func pendingSince(pod *corev1.Pod, since time.Time) {
	pod.CreationTimestamp = metav1.NewTime(since)
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
}

func unschedulableFor(d time.Duration) func(*corev1.Pod, time.Time) {
	return func(pod *corev1.Pod, now time.Time) {
		pendingSince(pod, now.Add(-d))
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: pod.CreationTimestamp, Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}
	}
}

// took sets how long a succeeded pod has run.
func took(d time.Duration) func(*corev1.Pod, time.Time) {
	return func(pod *corev1.Pod, _ time.Time) {
		end := *pod.Status.ContainerStatuses[0].State.Terminated
		end.StartedAt = metav1.NewTime(end.FinishedAt.Add(-d))
		pod.Status.ContainerStatuses[0].State.Terminated = &end
	}
}

// cannotPull leaves a pod on its node, without its image.
func cannotPull(pod *corev1.Pod, now time.Time) {
	pendingSince(pod, now.Add(-time.Hour))
	pod.Spec.NodeName = "node-a"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
}

// runningFor sets how long a pod has been running.
func runningFor(d time.Duration) func(*corev1.Pod, time.Time) {
	return func(pod *corev1.Pod, now time.Time) {
		since := metav1.NewTime(now.Add(-d))
		pod.CreationTimestamp = since
		pod.Status.StartTime = &since
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
		}
	}
}

// refusedCreation is the event of a pod of the Job that was not created a minute ago.
func refusedCreation(message string) func(*batchv1.Job, time.Time) *corev1.Event {
	return func(job *batchv1.Job, now time.Time) *corev1.Event {
		return &corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Job", UID: job.UID}, Reason: "FailedCreate", Type: corev1.EventTypeWarning,
			Message: "Error creating: " + message, LastTimestamp: metav1.NewTime(now.Add(-time.Minute)),
		}
	}
}

// terminatingSince sets how long a pod has been terminating.
func terminatingSince(d time.Duration) func(*corev1.Pod, time.Time) {
	return func(pod *corev1.Pod, now time.Time) {
		at, grace := metav1.NewTime(now.Add(30*time.Second-d)), int64(30)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
	}
}

// TestAssumed continues existing Jobs without a scenario. The pods continue from their state.
func TestAssumed(t *testing.T) {
	type change = func(*corev1.Pod, time.Time)
	quota := refusedCreation(`pods "x" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=4, limited: pods=4`)
	const each = "Assumed without a scenario: each pod runs 10s and succeeds"
	// The pods of the snapshot run from 1s to 11s.
	for _, tc := range []struct {
		reason  string
		job     *batchv1.Job
		at      time.Duration
		pods    []change // the first pods of the snapshot are changed
		missing int      // the last pods of the snapshot were not created
		event   func(*batchv1.Job, time.Time) *corev1.Event
		node    *corev1.Node
		want    string
	}{
		{reason: "a pod that has run for two hours", job: indexed(2, 1), at: 5 * time.Second, pods: []change{runningFor(2 * time.Hour)},
			want: `Assumed without a scenario: each pod runs 2h, as long as the oldest so far, and succeeds; a pod that has run as long ends in 10s.
0: -2h-10s Succeeded
1: 12s-2h0m12s Succeeded
Complete CompletionsReached at 2h0m13s: 2 pods, 4h0m10s
`},
		{reason: "pods that end at once", job: indexed(3, 1), at: 15 * time.Second, pods: []change{took(0)},
			want: `Assumed without a scenario: each pod runs 0s, like the pod that has succeeded, and succeeds; a pod that has run as long ends in 10s.
0: -4s--4s Succeeded
1: -2s-10s Succeeded
2: 12s-12s Succeeded
Complete CompletionsReached at 12s: 3 pods, 12s
`},
		{reason: "no pod runs", job: indexed(1, 1), at: 11 * time.Second, pods: []change{took(0)},
			want: `Assumed without a scenario: each pod runs 0s, like the pod that has succeeded, and succeeds.
0: 0s-0s Succeeded
Complete CompletionsReached at 0s: 1 pods, 0s
`},
		{reason: "the median of three", job: indexed(5, 1), at: 40 * time.Second, pods: []change{took(time.Second), took(20 * time.Second), took(4 * time.Second)},
			want: `Assumed without a scenario: each pod runs 4s, the median of the 3 that have succeeded, and succeeds.
0: -30s--29s Succeeded
1: -37s--17s Succeeded
2: -9s--5s Succeeded
3: -3s-1s Succeeded
4: 2s-6s Succeeded
Complete CompletionsReached at 7s: 5 pods, 33s
`},
		{reason: "a pod that was unschedulable for a minute", job: indexed(1, 1), at: 5 * time.Second, pods: []change{unschedulableFor(time.Minute)},
			want: each + `.
0: 1s-11s Succeeded
Complete CompletionsReached at 12s: 1 pods, 10s
`},
		{reason: "a quota, and an unschedulable pod", job: indexed(3, 3), at: 5 * time.Second, pods: []change{unschedulableFor(time.Hour)}, missing: 1, event: quota,
			want: each + `; stuck pods stay as they are: Unschedulable (1); no further pod gets a node before one ends; no more than 2 pods at a time: QuotaExceeded.
0: never-open Unfinished
1: -4s-6s Succeeded
2: 8s-18s Succeeded
Stalled  at 19s: 3 pods, 20s
stuck pods: Unschedulable (1)`},
		{reason: "pods that have succeeded", job: indexed(6, 1), at: 30 * time.Second,
			want: `Assumed without a scenario: each pod runs 10s, the median of the 2 that have succeeded, and succeeds.
0: -29s--19s Succeeded
1: -17s--7s Succeeded
2: -5s-5s Succeeded
3: 7s-17s Succeeded
4: 19s-29s Succeeded
5: 31s-41s Succeeded
Complete CompletionsReached at 42s: 6 pods, 1m
`},
		{reason: "a pod that has run longer than those that have succeeded", job: indexed(3, 1), at: 30 * time.Second, pods: []change{nothing, nothing, runningFor(time.Minute)},
			want: `Assumed without a scenario: each pod runs 10s, the median of the 2 that have succeeded, and succeeds; a pod that has run as long ends in 10s.
0: -29s--19s Succeeded
1: -17s--7s Succeeded
2: -1m-10s Succeeded
Complete CompletionsReached at 11s: 3 pods, 1m30s
`},
		{reason: "an unschedulable pod", job: indexed(1, 1), at: 5 * time.Second, pods: []change{unschedulableFor(2 * time.Hour)},
			want: each + `; stuck pods stay as they are: Unschedulable (1); no further pod gets a node before one ends.
0: never-open Unfinished
Stalled  at 0s: 1 pods, 0s
stuck pods: Unschedulable (1)`},
		{reason: "an unschedulable pod beside others", job: indexed(5, 3), at: 5 * time.Second, pods: []change{unschedulableFor(2 * time.Hour), runningFor(3 * time.Second)},
			want: each + `; stuck pods stay as they are: Unschedulable (1); no further pod gets a node before one ends.
0: never-open Unfinished
1: -3s-7s Succeeded
2: -4s-6s Succeeded
3: 8s-18s Succeeded
4: 8s-18s Succeeded
Stalled  at 19s: 5 pods, 40s
stuck pods: Unschedulable (1)`},
		{reason: "the Job needs more pods at once than have a node", job: indexed(5, 3), at: 5 * time.Second, pods: []change{unschedulableFor(2 * time.Hour), failed},
			want: each + `; stuck pods stay as they are: Unschedulable (1); no further pod gets a node before one ends.
0: never-open Unfinished
1: -4s--4s Failed 7s-17s Succeeded
2: -4s-6s Succeeded
3: 18s-28s Succeeded
4: 29s-39s Succeeded
wait 0s-5s
Stalled  at 40s: 6 pods, 40s
stuck pods: Unschedulable (1)`},
		{reason: "an image that cannot be pulled", job: indexed(1, 1), at: 5 * time.Second, pods: []change{cannotPull},
			want: each + `; stuck pods stay as they are: ImagePullFailed (1).
0: never-open Unfinished
Stalled  at 0s: 1 pods, 0s
stuck pods: ImagePullFailed (1)`},
		{reason: "a pod that is on a node, and starts", job: indexed(1, 1), at: 5 * time.Second, pods: []change{starting},
			want: each + `.
0: 1s-11s Succeeded
Complete CompletionsReached at 12s: 1 pods, 10s
`},
		{reason: "a node that is not ready", job: indexed(1, 1, minute), at: 5 * time.Second, pods: []change{onNodeA}, node: unreachable,
			want: each + `; stuck pods stay as they are: NodeLost (1).
0: -1h-open Unfinished
Stalled  at 55s: 1 pods, 1h0m55s
stuck pods: NodeLost (1)`},
		{reason: "a pod that does not terminate", job: indexed(1, 1), at: 5 * time.Second, pods: []change{terminatingSince(time.Hour)},
			want: each + `; stuck pods stay as they are: TerminationOverdue (1).
0: -4s-open Unfinished 1s-11s Succeeded
Stalled  at 12s: 2 pods, 26s
stuck pods: TerminationOverdue (1)`},
		{reason: "a quota that leaves two of three pods", job: indexed(5, 3), at: 5 * time.Second, missing: 1, event: quota,
			want: each + `; no more than 2 pods at a time: QuotaExceeded.
0: -4s-6s Succeeded
1: -4s-6s Succeeded
2: 8s-18s Succeeded
3: 8s-18s Succeeded
4: 20s-30s Succeeded
Complete CompletionsReached at 31s: 5 pods, 50s
`},
		{reason: "a quota that others use up", job: indexed(2, 2), at: 5 * time.Second, missing: 2, event: quota,
			want: each + `; no pod is created: QuotaExceeded.
Stalled  at 0s: 0 pods, 0s
the API server refuses its pods (QuotaExceeded)`},
		{reason: "a webhook that refuses all pods", job: indexed(3, 2), at: 5 * time.Second, missing: 1, event: refusedCreation(`admission webhook "x" denied the request`),
			want: each + `; no pod is created: WebhookRefused.
0: -4s-6s Succeeded
Stalled  at 7s: 1 pods, 10s
the API server refuses its pods (WebhookRefused)`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			job, live := snapshot(t, tc.job, Scenario{}, tc.at)
			live.Pods = live.Pods[:len(live.Pods)-tc.missing]
			job.Status.Active -= int32(tc.missing)
			for i, change := range tc.pods {
				change(live.Pods[i], live.Now)
			}
			if tc.event != nil {
				live.Evidence.Events = []*corev1.Event{tc.event(job, live.Now)}
			}
			live.Evidence.Nodes = []*corev1.Node{tc.node}
			live.Assume = true
			got := played(t, job, Scenario{}, Settings{Live: live})
			if diff := cmp.Diff(tc.want, strings.Join([]string{got.Assumed, drawn(got), got.WaitsFor}, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func nothing(*corev1.Pod, time.Time) {}

func failed(pod *corev1.Pod, _ time.Time) { pod.Status.Phase = corev1.PodFailed }

// onNodeA puts a pod on node-a, where it has run for an hour.
func onNodeA(pod *corev1.Pod, now time.Time) {
	runningFor(time.Hour)(pod, now)
	pod.Spec.NodeName = "node-a"
}

func minute(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }

var unreachable = &corev1.Node{
	ObjectMeta: metav1.ObjectMeta{Name: "node-a"},
	Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
}

// starting leaves a pod on its node, a moment before its container runs.
func starting(pod *corev1.Pod, now time.Time) {
	pendingSince(pod, now.Add(-4*time.Second))
	pod.Spec.NodeName = "node-a"
}

// TestLiveOnNode continues from pending pods in a cluster with capacity 0. A pod that is on a node
// starts. The other one has no node that can be drained.
func TestLiveOnNode(t *testing.T) {
	job, live := snapshot(t, indexed(2, 2), Scenario{}, 5*time.Second)
	starting(live.Pods[0], live.Now)
	pendingSince(live.Pods[1], live.Now)
	for _, tc := range []struct{ events, want, happened string }{
		{"", "0: 1s-11s Succeeded\n1: never-open Unfinished\nStalled  at 12s: 2 pods, 10s", ""},
		{"events: [{at: 0s, evict: 1}, {at: 5s, evict: all}]", "0: 1s-6s Evicted never-open Unfinished\n1: never-open Unfinished\nwait 6s-16s\nStalled  at 16s: 3 pods, 5s",
			"0s evict 1: no such pod is active on a node\n5s pod job-0-1 is evicted\n"},
	} {
		got := played(t, job, scenarioOf(t, "capacity: 0\n"+tc.events), Settings{Live: live})
		if drawn(got) != tc.want || eventsOf(got) != tc.happened || got.Assumed != "" {
			t.Errorf("got\n%s\n%s%s\nwant\n%s\n%s", drawn(got), eventsOf(got), got.Assumed, tc.want, tc.happened)
		}
	}
}

// TestStuckPodsStay continues random Jobs without a scenario. The simulation ends, and the stuck pods
// have not changed unless the Job deleted them.
func TestStuckPodsStay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		template := indexed(rapid.Int32Range(1, 6).Draw(r, "completions"), rapid.Int32Range(1, 4).Draw(r, "parallelism"))
		if rapid.Bool().Draw(r, "not Indexed") {
			nonIndexed(&template.Spec)
		}
		if rapid.Bool().Draw(r, "a deadline") {
			minute(&template.Spec)
		}
		job, live := snapshot(t, template, Scenario{}, time.Duration(rapid.IntRange(0, 40).Draw(r, "at"))*time.Second)
		message := rapid.SampledFrom([]string{"", "exceeded quota", "admission webhook denied the request"}).Draw(r, "event")
		if message != "" && job.Status.Active > 0 {
			live.Pods = live.Pods[:len(live.Pods)-1]
			live.Evidence.Events = []*corev1.Event{refusedCreation(message)(job, live.Now)}
		}
		stuck := map[string]bool{}
		for _, pod := range live.Pods {
			if cluster.IsActive(pod) && rapid.Bool().Draw(r, "stuck") {
				rapid.SampledFrom([]func(*corev1.Pod, time.Time){unschedulableFor(time.Hour), cannotPull}).Draw(r, "how")(pod, live.Now)
				stuck[pod.Name] = true
			}
		}
		live.Assume = true
		got := played(r, job, Scenario{}, Settings{Live: live})
		ends := map[bool][]End{false: {Complete, Failed, Stalled}, true: {Failed, Stalled}}
		if !slices.Contains(ends[len(stuck) > 0], got.End) {
			r.Errorf("got %s with %d stuck pods: %s", got.End, len(stuck), got.Assumed)
		}
		for _, lane := range got.Lanes {
			for _, pod := range lane.Pods {
				if stuck[pod.Name] && (pod.Started != nil || pod.Outcome != PodUnfinished && pod.Outcome != PodDeleted) {
					r.Errorf("stuck pod %s: got %+v", pod.Name, pod)
				}
			}
		}
	})
}
