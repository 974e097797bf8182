package stories

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
)

// The explanation says whether a Job can still succeed, and what that requires.
func TestExplanation_Prospect(t *testing.T) {
	const (
		two      = "completions: 2\nparallelism: 2"
		indexed  = "completions: 3\nparallelism: 3\ncompletionMode: Indexed"
		perIndex = indexed + "\nbackoffLimitPerIndex: 1"
	)
	for _, test := range []struct {
		name, spec string
		happens    func(*world)
		code       explain.Code
		text       string
		until      string
	}{
		{"pods", two, func(w *world) { w.runAll(); w.End("pod-1", 0) }, explain.ProspectPossible,
			"yes: 1 of 2 pods to go; at most 6 failures, 0 so far", ""},
		{"without completions", "parallelism: 2", func(w *world) { w.runAll() }, explain.ProspectPossible,
			"yes: one pod must succeed, and all must finish; at most 6 failures, 0 so far", ""},
		{"without completions, one done", "parallelism: 2", func(w *world) { w.runAll(); w.End("pod-1", 0) }, explain.ProspectPossible,
			"yes: a pod has succeeded, the others must finish; at most 6 failures, 0 so far", ""},
		{"restarts count", two + "\nbackoffLimit: 1\ntemplate: {spec: {restartPolicy: OnFailure}}", func(*world) {}, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; at most 1 failure, 0 so far, or as many container restarts, 0 so far", ""},
		{"indexes", perIndex, func(w *world) { w.runAll(); w.exitIndexes(0, 1) }, explain.ProspectPossible,
			"yes: 2 of 3 indexes to go; at most 1 failure per index", ""},
		{"indexes that may fail often", indexed + "\nbackoffLimitPerIndex: 4\nbackoffLimit: 3", func(w *world) { w.runAll() }, explain.ProspectPossible,
			"yes: 3 of 3 indexes to go; at most 4 failures per index; at most 3 failures, 0 so far", ""},
		{"the limit per index is turned off", perIndex, func(w *world) {
			w.opts, w.rules = []jobfate.Option{jobfate.WithoutPerIndexBackoff()}, nil
			w.runAll()
			w.exitIndexes(1, 1)
		}, explain.ProspectPossible, "yes: 3 of 3 indexes to go; no limit on failures, 1 so far", ""},
		{"a deadline", two + "\nactiveDeadlineSeconds: 60", func(w *world) { w.runAll(); w.advance(time.Second) }, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; at most 6 failures, 0 so far; before the deadline at 12:01:00Z", "12:01:00"},
		{"suspended, the deadline does not run", two + "\nsuspend: true\nactiveDeadlineSeconds: 60", func(w *world) { w.runAll() }, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; once it is resumed; at most 6 failures, 0 so far", ""},
		{"no parallelism", "completions: 2\nparallelism: 0", func(w *world) { w.runAll() }, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; once its parallelism is above 0; at most 6 failures, 0 so far", ""},
		{"an index has failed", indexed + "\nbackoffLimitPerIndex: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, explain.ProspectOutOfReach,
			"no: index 1 has failed; the Job fails when no other index is left to run", ""},
		{"two indexes have failed", indexed + "\nbackoffLimitPerIndex: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1, 2) }, explain.ProspectOutOfReach,
			"no: 2 indexes have failed, the first is 1; the Job fails when no other index is left to run", ""},
		{"a success policy", indexed + "\nsuccessPolicy: {rules: [{succeededCount: 2}]}", func(w *world) { w.runAll() }, explain.ProspectPossible,
			"yes: 3 of 3 indexes to go, or fewer by the success policy; at most 6 failures, 0 so far", ""},
		{"an index has failed, the success policy does not need it", indexed + "\nbackoffLimitPerIndex: 0\nsuccessPolicy: {rules: [{succeededIndexes: '1'}, {succeededCount: 2}]}",
			func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, explain.ProspectPossible,
			"yes: index 1 has failed, but rule 1 of the success policy can still be met; at most 0 failures per index", ""},
		{"an index has failed, the first rule does not need it", indexed + "\nbackoffLimitPerIndex: 0\nsuccessPolicy: {rules: [{succeededIndexes: '0'}]}",
			func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, explain.ProspectPossible,
			"yes: index 1 has failed, but rule 0 of the success policy can still be met; at most 0 failures per index", ""},
		{"an index has failed, the success policy needs it", indexed + "\nbackoffLimitPerIndex: 0\nsuccessPolicy: {rules: [{succeededIndexes: '1'}]}",
			func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, explain.ProspectOutOfReach,
			"no: index 1 has failed; the Job fails when no other index is left to run", ""},
		{"being deleted with enough pods", two, func(w *world) { w.runAll(); w.DeleteJob(metav1.DeletePropagationForeground) }, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; only with the pods it has, because it is being deleted; at most 6 failures, 0 so far", ""},
		{"being deleted without", two, func(w *world) { w.DeleteJob(metav1.DeletePropagationForeground) }, explain.ProspectOutOfReach,
			"no: the Job is being deleted, and 0 pods cannot reach the 2 successes that are still needed", ""},
		{"its status is not observed yet", two, func(w *world) { w.lag(true); w.sync() }, explain.ProspectPossible,
			"yes: 2 of 2 pods to go; at most 6 failures, 0 so far", ""},
		{"its status is not observed yet, with a deadline", two + "\nactiveDeadlineSeconds: 60", func(w *world) {
			w.stale("pod-1")
			w.advance(time.Minute)
		}, explain.ProspectPossible, "yes: 2 of 2 pods to go; at most 6 failures, 0 so far", ""},
		{"succeeding now", "completions: 1", func(w *world) { w.runAll(); w.End("pod-1", 0) }, explain.ProspectSuccess,
			"yes, it is decided that the Job succeeds", ""},
		{"failing, pods not observed", "completions: 3\nparallelism: 2\nbackoffLimit: 0", (*world).failUnobserved, explain.ProspectFailure, "no, it is decided that the Job fails", ""},
		{"failing now", two + "\nbackoffLimit: 0", func(w *world) { w.runAll(); w.End("pod-1", 1) }, explain.ProspectFailure,
			"no, it is decided that the Job fails", ""},
		{"failed", "completions: 1\nbackoffLimit: 0", func(w *world) { w.settle(); w.End("pod-1", 1); w.settle() }, explain.ProspectFailure,
			"no, the Job has failed", ""},
		{"succeeding", perIndex + "\nsuccessPolicy: {rules: [{succeededCount: 1}]}", func(w *world) { w.runAll(); w.exitIndexes(0, 1); w.settle() }, explain.ProspectSuccess,
			"yes, it is decided that the Job succeeds", ""},
		{"complete", "completions: 1", func(w *world) { w.settle(); w.End("pod-1", 0); w.settle() }, explain.ProspectSuccess,
			"yes, the Job has succeeded", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			test.happens(w)
			got, until := explain.Of(mustDecide(t, w.snapshot(), w.opts...)).Prospect(), ""
			if !got.Until.IsZero() {
				until = clock(got.Until)
			}
			if got.Code != test.code || got.Text != test.text || until != test.until {
				t.Errorf("got %s until %q\n%s\nwant %s until %q\n%s", got.Code, until, got.Text, test.code, test.until, test.text)
			}
		})
	}
	if got := (explain.Explanation{}).Prospect(); got != (explain.Reason{}) {
		t.Errorf("the zero explanation has the prospect %+v, want none", got)
	}
}

// The explanation lists what a Job waits for, and until when.
func TestExplanation_Waits(t *testing.T) {
	const perIndex = "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1"
	for _, test := range []struct {
		name, spec string
		happens    func(*world)
		want       string // code and text of each wait, one a line
	}{
		{"pods, and a backoff", perIndex, func(w *world) { w.runAll(); w.exitIndexes(1, 1) },
			"PodsToFinish: 2 pods to finish\nBackoff 12:00:10: the backoff to end at 12:00:10Z"},
		{"pods that it creates", "completions: 2\nparallelism: 2", func(*world) {}, "PodsToFinish: 2 pods to finish"},
		{"a deadline", "completions: 1\nactiveDeadlineSeconds: 60", func(w *world) { w.runAll() },
			"PodsToFinish: 1 pod to finish\nDeadline 12:01:00: its deadline at 12:01:00Z, when it fails"},
		{"suspended", "completions: 1\nsuspend: true", func(*world) {}, "Resume: a user to resume the Job"},
		{"being suspended", "completions: 1", func(w *world) { w.runAll(); w.edit("suspend: true") },
			"Resume: a user to resume the Job\nPodsToTerminate: 1 pod to terminate"},
		{"no parallelism", "completions: 1\nparallelism: 0", func(*world) {}, "Parallelism: a user to raise the parallelism above 0"},
		{"termination", "completions: 1\npodReplacementPolicy: Failed", func(w *world) { w.runAll(); w.Delete("pod-1", 30) },
			"PodsToTerminate 12:00:30: 1 pod to terminate, due by 12:00:30Z"},
		{"termination, overdue", "completions: 1\npodReplacementPolicy: Failed", func(w *world) { w.runAll(); w.Delete("pod-1", 30); w.advance(time.Minute) },
			"PodsToTerminate 12:00:30: 1 pod to terminate, due since 12:00:30Z"},
		{"termination of one, the others are to be deleted", "completions: 2\nparallelism: 2\npodReplacementPolicy: Failed", func(w *world) {
			w.runAll()
			w.Delete("pod-1", 30)
			w.edit("suspend: true")
		}, "Resume: a user to resume the Job\nPodsToTerminate: 2 pods to terminate"},
		{"its own write, and what the stale status shows", "completions: 3\nparallelism: 3\npodReplacementPolicy: Failed", func(w *world) {
			w.stale("pod-1")
			w.Delete("pod-2", 30)
			w.cache.ShowPod("pod-2")
		}, "OwnWrite: the last status write to be observed\nPodsToFinish: 1 pod to finish\nPodsToTerminate 12:00:30: 1 pod to terminate, due by 12:00:30Z"},
		{"the removal of the Job", "completions: 1\nactiveDeadlineSeconds: 60", func(w *world) { w.runAll(); w.DeleteJob(metav1.DeletePropagationForeground) },
			"Deletion: the Job to be deleted\nPodsToFinish: 1 pod to finish"},
		{"pods not observed", "completions: 1", func(w *world) { w.lag(false); w.sync() }, "PodsToBeObserved: 1 creation and 0 deletions to be observed\nPodsToFinish: 1 pod to finish"},
		{"its own write", "completions: 1", func(w *world) { w.lag(true); w.sync() },
			"OwnWrite: the last status write to be observed\nPodsToBeObserved: 1 creation and 0 deletions to be observed\nPodsToFinish: 1 pod to finish"},
		{"failing", "completions: 2\nparallelism: 2\nbackoffLimit: 0", func(w *world) { w.runAll(); w.End("pod-1", 1) },
			"PodsToTerminate: 1 pod to terminate"},
		{"finished", "completions: 1", func(w *world) { w.settle(); w.End("pod-1", 0); w.settle() }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			test.happens(w)
			var got []string
			for _, r := range explain.Of(mustDecide(t, w.snapshot())).Waits() {
				until := ""
				if !r.Until.IsZero() {
					until = " " + clock(r.Until)
				}
				got = append(got, string(r.Code)+until+": "+r.Text)
			}
			if got := strings.Join(got, "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	if got := (explain.Explanation{}).Waits(); got != nil {
		t.Errorf("the zero explanation waits for %v, want nothing", got)
	}
}
