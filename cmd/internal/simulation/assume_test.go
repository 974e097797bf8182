package simulation

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// pendingSince sets since when a pod has been pending, on no node.
func pendingSince(pod *corev1.Pod, since time.Time) {
	pod.CreationTimestamp = metav1.NewTime(since)
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
}

// refusedCreation is the event of a pod of the Job that was not created a minute ago.
func refusedCreation(job *batchv1.Job, now time.Time, message string) *corev1.Event {
	return &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Job", UID: job.UID}, Reason: "FailedCreate", Type: corev1.EventTypeWarning,
		Message: "Error creating: " + message, LastTimestamp: metav1.NewTime(now.Add(-time.Minute)),
	}
}

// changes are what may be with a pod of a snapshot, since some time.
var changes = map[string]func(pod *corev1.Pod, now time.Time, since time.Duration){
	"unchanged": func(*corev1.Pod, time.Time, time.Duration) {},
	"failed":    func(pod *corev1.Pod, _ time.Time, _ time.Duration) { pod.Status.Phase = corev1.PodFailed },
	"unschedulable": func(pod *corev1.Pod, now time.Time, d time.Duration) {
		pendingSince(pod, now.Add(-d))
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: pod.CreationTimestamp, Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}
	},
	"starting": starting,
	"cannotPull": func(pod *corev1.Pod, now time.Time, d time.Duration) {
		starting(pod, now, d)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	},
	"runs": runs,
	"onNodeA": func(pod *corev1.Pod, now time.Time, d time.Duration) {
		runs(pod, now, d)
		pod.Spec.NodeName = "node-a"
	},
	"took": func(pod *corev1.Pod, _ time.Time, d time.Duration) { // how long a succeeded pod has run
		end := *pod.Status.ContainerStatuses[0].State.Terminated
		end.StartedAt = metav1.NewTime(end.FinishedAt.Add(-d))
		pod.Status.ContainerStatuses[0].State.Terminated = &end
	},
	"terminating": func(pod *corev1.Pod, now time.Time, d time.Duration) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(now.Add(30*time.Second-d))), new(int64(30))
	},
}

// runs sets how long a pod has been running.
func runs(pod *corev1.Pod, now time.Time, d time.Duration) {
	since := metav1.NewTime(now.Add(-d))
	pod.CreationTimestamp = since
	pod.Status.StartTime = &since
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
	}
}

// refusals are messages of events.
var refusals = map[string]string{
	"quota":   `pods "x" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=4, limited: pods=4`,
	"webhook": `admission webhook "x" denied the request`,
}

// assumed continues an existing Job without a scenario, for TestScripts.
func assumed(t *testing.T, d *datadriven.TestData, job *batchv1.Job, lines string) string {
	t.Helper()
	var at, event string
	missing := 0
	d.ScanArgs(t, "at", &at)
	if d.HasArg("missing") {
		d.ScanArgs(t, "missing", &missing)
	}
	if d.HasArg("event") {
		d.ScanArgs(t, "event", &event)
	}
	job, live := snapshot(t, job, Scenario{}, podtest.Must(time.ParseDuration(at)))
	live.Pods = live.Pods[:len(live.Pods)-missing]
	job.Status.Active -= int32(missing)
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if name, since, _ := strings.Cut(line, " "); name != "" {
			changes[name](live.Pods[i], live.Now, podtest.Must(time.ParseDuration(cmp.Or(since, "0s"))))
		}
	}
	if event != "" {
		live.Evidence.Events = []*corev1.Event{refusedCreation(job, live.Now, refusals[event])}
	}
	if d.HasArg("unreachable") {
		live.Evidence.Nodes = []*corev1.Node{unreachable}
	}
	live.Assume = true
	got := played(t, job, Scenario{}, Settings{Live: live})
	return strings.TrimSpace(strings.Join([]string{got.Assumed, drawn(got), got.WaitsFor}, "\n")) + "\n"
}

func minute(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }

var unreachable = &corev1.Node{
	ObjectMeta: metav1.ObjectMeta{Name: "node-a"},
	Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
}

// starting leaves a pod on its node, where its container does not run yet.
func starting(pod *corev1.Pod, now time.Time, d time.Duration) {
	pendingSince(pod, now.Add(-d))
	pod.Spec.NodeName = "node-a"
}

// TestLiveOnNode continues from pending pods in a cluster with capacity 0. A pod that is on a node
// starts. The other one has no node that can be drained.
func TestLiveOnNode(t *testing.T) {
	job, live := snapshot(t, indexed(2, 2), Scenario{}, 5*time.Second)
	starting(live.Pods[0], live.Now, 4*time.Second)
	pendingSince(live.Pods[1], live.Now)
	for _, tc := range []struct{ events, want, happened string }{
		{"", "0: 1s-11s Succeeded\n1: never-open Unfinished\nStalled  at 12s: 2 pods, 10s", ""},
		{"events: [{at: 0s, evict: 1}, {at: 5s, evict: all}]", "0: 1s-6s Evicted never-open Unfinished\n1: never-open Unfinished\nwait 6s-16s\nStalled  at 16s: 3 pods, 5s",
			"0s evict 1: no such pod is active on a node\n5s pod job-0-1 is evicted\n"},
	} {
		got := played(t, job, podtest.Must(ReadScenario([]byte("capacity: 0\n"+tc.events))), Settings{Live: live})
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
			live.Evidence.Events = []*corev1.Event{refusedCreation(job, live.Now, message)}
		}
		stuck := map[string]bool{}
		for _, pod := range live.Pods {
			if cluster.IsActive(pod) && rapid.Bool().Draw(r, "stuck") {
				changes[rapid.SampledFrom([]string{"unschedulable", "cannotPull"}).Draw(r, "how")](pod, live.Now, time.Hour)
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
