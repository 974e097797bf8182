package simulation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func replaceFailed(s *batchv1.JobSpec) {
	s.PodReplacementPolicy = ptr(batchv1.Failed)
}

func tolerating(seconds *int64) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.Template.Spec.Tolerations = []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, TolerationSeconds: ptr(int64(1))}, // of another taint
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds},
		}
	}
}

// eventsOf returns the events, one per line.
func eventsOf(r *Result) string {
	var b strings.Builder
	for _, h := range r.Happened {
		b.WriteString(h.At.String() + " " + h.Text + "\n")
	}
	return b.String()
}

// TestLostNodes loses nodes at 5s. Kubernetes 1.37 counts a node as unreachable
// after 50s (pkg/controller/nodelifecycle/config/v1alpha1/defaults.go) and evicts
// its pods 300s later (plugin/pkg/admission/defaulttolerationseconds). The delay before a
// replacement begins when the pod becomes not ready.
func TestLostNodes(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario string
		want     string
		events   string
	}{
		{"the pod is replaced once it is terminating, but the Job waits for its termination", indexed(1, 1), "events: [{at: 5s, lose: all}]",
			`0: 1s-open Unfinished 5m56s-6m6s Succeeded
Stalled  at 6m6s: 2 pods, 14s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
5m55s pod job-0-1 is evicted from its lost node, and stays terminating
`},
		{"with podReplacementPolicy Failed the Job waits forever", indexed(1, 1, replaceFailed), "events: [{at: 5s, lose: 0}]",
			`0: 1s-open Unfinished
Stalled  at 5m55s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
5m55s pod job-0-1 is evicted from its lost node, and stays terminating
`},
		{"or until the node is removed", indexed(1, 1, replaceFailed), "lostNodes: {removedAfter: 20m}\nevents: [{at: 5s, lose: 0}]",
			`0: 1s-20m45s Evicted 20m46s-20m56s Succeeded
Complete CompletionsReached at 20m56s: 2 pods, 14s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
5m55s pod job-0-1 is evicted from its lost node, and stays terminating
20m5s the node of pod job-0-1 is removed
20m45s pod job-0-1 is failed and deleted by pod garbage collection
`},
		{"the node is removed before it is unreachable", indexed(2, 2), "lostNodes: {collectedAfter: 10s}\nevents: [{at: 5s, lose: 0-1}, {at: 6s, removeNodes: all}]",
			`0: 1s-16s Evicted 37s-47s Succeeded
1: 1s-16s Evicted 37s-47s Succeeded
wait 16s-36s
Complete CompletionsReached at 47s: 4 pods, 28s`, `5s the nodes of 2 pods (indexes 0,1) are lost
6s the nodes of 2 pods (indexes 0,1) are removed
16s 2 pods (indexes 0,1) are failed and deleted by pod garbage collection
`},
		{"a pod that is deleted by force is gone once it is counted", indexed(1, 1), "events: [{at: 5s, lose: 0}, {at: 1m, forceDelete: 0}]",
			`0: 1s-1m Deleted 1m6s-1m16s Succeeded
wait 1m-1m5s
Complete CompletionsReached at 1m16s: 2 pods, 14s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
1m pod job-0-1 is deleted by force
`},
		{"a toleration of the template", indexed(1, 1, replaceFailed, tolerating(ptr(int64(20)))), "events: [{at: 5s, lose: 0}]",
			`0: 1s-open Unfinished
Stalled  at 1m15s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
1m15s pod job-0-1 is evicted from its lost node, and stays terminating
`},
		{"the shortest of several", indexed(1, 1, replaceFailed, tolerating(ptr(int64(20))), func(s *batchv1.JobSpec) {
			s.Template.Spec.Tolerations = append(s.Template.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists, TolerationSeconds: ptr(int64(30))},
				corev1.Toleration{Key: corev1.TaintNodeUnreachable, TolerationSeconds: ptr(int64(10))})
		}), "events: [{at: 5s, lose: 0}]", `0: 1s-open Unfinished
Stalled  at 1m5s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
1m5s pod job-0-1 is evicted from its lost node, and stays terminating
`},
		{"a toleration without end", indexed(1, 1, tolerating(nil)), "events: [{at: 5s, lose: 0}]", `0: 1s-open Unfinished
Stalled  at 55s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
`},
		{"the scenario decides before the template", indexed(1, 1, replaceFailed, tolerating(nil)), "lostNodes: {unreachableAfter: 1s, toleration: 2s}\nevents: [{at: 5s, lose: 0}]", `0: 1s-open Unfinished
Stalled  at 8s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
6s the node of pod job-0-1 is unreachable
8s pod job-0-1 is evicted from its lost node, and stays terminating
`},
		{"the Job deletes a pod on a lost node", indexed(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr(int64(7)) }), "events: [{at: 5s, lose: 0}]",
			`0: 1s-open Unfinished
Stalled  at 55s: 1 pods, 4s`, `5s the node of pod job-0-1 is lost
55s the node of pod job-0-1 is unreachable
`},
		{"no pod runs yet", indexed(1, 1), "events: [{at: 0s, lose: 0}, {at: 1s, removeNodes: 0}, {at: 12s, forceDelete: 0}, {at: 12s, evict: 0}]", `0: 1s-11s Succeeded
Complete CompletionsReached at 11s: 1 pods, 10s`, `0s lose 0: no such pod runs
1s removeNodes 0: no such pod is on a lost node
`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := checkPlay(t, tc.job, "batchPeriod: 0s\n"+tc.scenario, tc.want)
			if diff := cmp.Diff(tc.events, eventsOf(got)); diff != "" {
				t.Errorf("events, -want +got:\n%s", diff)
			}
			if (got.End == Stalled) != (got.WaitsFor != "") {
				t.Errorf("%s: waits for %q", got.End, got.WaitsFor)
			}
		})
	}
}

// TestCapacity plays Jobs in a cluster that cannot run all pods at once.
func TestCapacity(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario string
		want     string
	}{
		{"pods wait for a place, in the order of their creation", indexed(3, 3), "capacity: 1", `0: 1s-11s Succeeded
1: 12s-22s Succeeded
2: 23s-33s Succeeded
Complete CompletionsReached at 33s: 3 pods, 30s`},
		{"it grows", indexed(3, 3), "capacity: 1\nevents: [{at: 5s, capacity: 2}]", `0: 1s-11s Succeeded
1: 6s-16s Succeeded
2: 12s-22s Succeeded
Complete CompletionsReached at 22s: 3 pods, 30s`},
		{"it shrinks: running pods continue", indexed(3, 3), "capacity: 2\nevents: [{at: 5s, capacity: 1}]", `0: 1s-11s Succeeded
1: 1s-11s Succeeded
2: 12s-22s Succeeded
Complete CompletionsReached at 22s: 3 pods, 30s`},
		{"a pod that is deleted while it waits gets none", indexed(3, 3), "capacity: 1\nevents: [{at: 5s, parallelism: 1}]", `0: 1s-11s Succeeded
1: never-5s Deleted 12s-22s Succeeded
2: never-5s Deleted 23s-33s Succeeded
Complete CompletionsReached at 33s: 5 pods, 30s`},
		{"a pod on a lost node keeps its place", indexed(2, 2), "capacity: 1\nlimit: 1h\nevents: [{at: 5s, lose: 0}]", `0: 1s-open Unfinished never-open Unfinished
1: never-open Unfinished
Stalled  at 5m55s: 3 pods, 4s`},
		{"none", indexed(1, 1), "capacity: 0", `0: never-open Unfinished
Stalled  at 0s: 1 pods, 0s`},
	} {
		t.Run(tc.reason, func(t *testing.T) { checkPlay(t, tc.job, "batchPeriod: 0s\n"+tc.scenario, tc.want) })
	}
}
