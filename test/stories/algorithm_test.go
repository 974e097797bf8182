package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/test/stories/script"
	"github.com/jobfate/jobfate/tracking"
)

// The algorithm of KEP-2307, step by step. TestAlgorithm_anyWriteMayFail has faults between the steps.

// "The Job controller calculates the number of succeeded Pods as the sum of:
// .status.succeeded, the size of job.status.uncountedTerminatedPods.succeeded and the number
// of finished Pods that are not in job.status.uncountedTerminatedPods.succeeded and have a
// finalizer." The Job has 10 completions, and pods are created for the others.
func TestAlgorithm_step1_countsInThreePlaces(t *testing.T) {
	job := specJob(t, "completions: 10\nparallelism: 10")
	start := job.CreationTimestamp
	done := podIn(job, 1, corev1.PodSucceeded)
	for _, test := range []struct {
		name      string
		succeeded int32
		uncounted []types.UID
		pods      []*corev1.Pod
		want      int
	}{
		{"none", 0, nil, nil, 10},
		{"in the counter", 3, nil, nil, 7},
		{"in the list, pod gone", 0, []types.UID{"pod-1", "pod-2"}, nil, 8},
		{"with a finalizer", 0, nil, []*corev1.Pod{done}, 9},
		{"with a finalizer and in the list", 0, []types.UID{"pod-1"}, []*corev1.Pod{done}, 9},
		{"without a finalizer and in the list", 0, []types.UID{"pod-1"}, []*corev1.Pod{without(done)}, 9},
		{"without a finalizer: already in the counter", 1, nil, []*corev1.Pod{without(done)}, 9},
		{"all three", 3, []types.UID{"pod-2"}, []*corev1.Pod{done}, 5},
		{"more than completions", 12, nil, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := job.DeepCopy()
			job.Status = batchv1.JobStatus{StartTime: &start, Succeeded: test.succeeded,
				UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: test.uncounted}}
			d := Must(decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: start.Time}))
			Same(t, "pods to create", len(d.Create), test.want)
		})
	}
}

// "The Job controller calculates the number of failed Pods similarly", here with a
// backoffLimit of 3.
func TestAlgorithm_step1_failedPodsSimilarly(t *testing.T) {
	job := specJob(t, "completions: 10\nparallelism: 10\nbackoffLimit: 3")
	start := job.CreationTimestamp
	for _, test := range []struct {
		failed    int32
		uncounted []types.UID
		fails     bool
	}{
		{0, nil, false},
		{2, nil, false},
		{3, nil, true},
		{2, []types.UID{"pod-7"}, true},
		{2, []types.UID{"pod-1"}, false},
		{1, []types.UID{"pod-1", "pod-7"}, false},
	} {
		job := job.DeepCopy()
		job.Status = batchv1.JobStatus{StartTime: &start, Failed: test.failed,
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: test.uncounted}}
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodFailed)}, Now: start.Time}))
		Same(t, fmt.Sprintf("failed %d, uncounted %v and one failed pod: the Job ends", test.failed, test.uncounted),
			explain.Of(d).Job().Code == explain.JobEnding, test.fails)
	}
}

// "Old jobs might not be tracked using this field, in which case this field remains null": the
// lists of a tracked Job may be empty, but the status has them.
func TestAlgorithm_listsAreNeverNull(t *testing.T) {
	for _, mode := range []string{"NonIndexed", "Indexed"} {
		job := specJob(t, "completions: 2\nparallelism: 2\ncompletionMode: "+mode)
		for name, pods := range map[string][]*corev1.Pod{"no pod": nil, "a pod to count": {podIn(job, 1, corev1.PodSucceeded)}} {
			d := Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time}))
			Same(t, mode+", "+name+": the status has lists", d.Status.UncountedTerminatedPods != nil, true)
			if st := decidetest.Settle(d, d.Strip...).Status; st != nil && st.UncountedTerminatedPods == nil {
				t.Errorf("%s, %s: the settled status has no lists", mode, name)
			}
		}
	}
}

// "If any Pod finalizer removal fails in step 3, the controller manager still
// executes step 4 with the Pods that succeeded."
func TestAlgorithm_step4_afterPartOfStep3(t *testing.T) {
	w := newWorldOf(t, "completions: 3\nparallelism: 3")
	w.settle()
	for _, uid := range []types.UID{"pod-1", "pod-2", "pod-3"} {
		w.End(uid, 0)
	}
	w.fault = fault{at: w.writes + 3, kind: refuse} // status, strip p1, strip p2
	w.sync()
	want := []string{"startTime: 12:00:00", "active: 0", "ready: 0", "terminating: 0", "succeeded: 2", "failed: 0",
		"uncounted.succeeded: [p2]", `SuccessCriteriaMet: True CompletionsReached "Reached expected number of succeeded pods"`}
	if diff := cmp.Diff(want, showStatus(&w.Job().Status)); diff != "" {
		t.Errorf("after the second removal failed, the status (-want +got):\n%s", diff)
	}
	w.sync()
	if o := w.Job().Status.Succeeded; o != 3 || explain.Of(w.last).Job().Code != explain.JobEnding {
		t.Errorf("then %d succeeded and the Job is %s, want 3 and the end", o, explain.Of(w.last).Job().Code)
	}
}

// "The Job controller counts the Pods in the .status.uncountedTerminatedPods lists
// that: have no finalizer, or were removed from the system."
func TestAlgorithm_step4_whichPods(t *testing.T) {
	job := specJob(t, "completions: 10\nparallelism: 1")
	start := job.CreationTimestamp
	job.Status = batchv1.JobStatus{StartTime: &start, Succeeded: 1, Failed: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
		Succeeded: []types.UID{"pod-1", "pod-2", "pod-3"}, Failed: []types.UID{"pod-4"},
	}}
	d := Must(decide.Job(decide.Snapshot{Job: job, Now: start.Time, Pods: []*corev1.Pod{
		podIn(job, 1, corev1.PodSucceeded), without(podIn(job, 2, corev1.PodSucceeded)),
	}}))
	// p2 has no finalizer, p3 and p4 are gone.
	if st := d.Status; st.Succeeded != 3 || st.Failed != 2 || !slices.Equal(st.UncountedTerminatedPods.Succeeded, []types.UID{"pod-1"}) || len(st.UncountedTerminatedPods.Failed) != 0 {
		t.Errorf("got %d succeeded, %d failed, %v uncounted; want 3, 2 and p1", st.Succeeded, st.Failed, st.UncountedTerminatedPods)
	}
	Same(t, "settled: succeeded", decidetest.Settle(d, d.Strip...).Status.Succeeded, 4)
}

// "Even if more than one Pod gets created for the same index, only one of them
// counts towards completions."
func TestAlgorithm_oneOfTwoPodsOfAnIndexCounts(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	first := podIn(job, 1, corev1.PodSucceeded)
	second := first.DeepCopy()
	second.Name, second.UID = "job-0-again", "uid-again"
	d := Must(decide.Job(decide.Snapshot{Job: job, Now: job.CreationTimestamp.Time, Pods: []*corev1.Pod{first, second}}))
	Same(t, "succeeded, completed, to strip", []any{d.Status.Succeeded, d.Status.CompletedIndexes, len(d.Strip)}, []any{int32(1), "0", 2})
}

// "We limit the number of UIDs to the order of hundreds, keeping the size of the
// slice under 20kb." The limit is 500, and it also bounds the finalizers that one sync
// removes.
func TestAlgorithm_cap(t *testing.T) {
	for _, test := range []struct {
		pods  int
		mode  string
		first int  // recorded by the first sync
		syncs int  // until all pods are counted
		ended bool // after the first sync
	}{
		{499, "NonIndexed", 499, 1, true},
		{500, "NonIndexed", 500, 2, false}, // full: the Job does not end before a sync that is not full
		{501, "NonIndexed", 500, 2, false},
		{1001, "NonIndexed", 500, 3, false},
		{499, "Indexed", 499, 1, true},
		{500, "Indexed", 500, 2, false},
		{501, "Indexed", 500, 2, false},
	} {
		t.Run(fmt.Sprintf("%d %s", test.pods, test.mode), func(t *testing.T) {
			w := newWorldOf(t, fmt.Sprintf("completions: %[1]d\nparallelism: %[1]d\ncompletionMode: %[2]s", test.pods, test.mode))
			w.settle()
			for _, pod := range w.Pods() {
				w.End(pod.UID, 0)
			}
			w.sync()
			stripped := 0
			for _, pod := range w.Pods() {
				if !builtin.HasFinalizer(pod) {
					stripped++
				}
			}
			st := &w.Job().Status
			if stripped != test.first || st.CompletionTime != nil != test.ended {
				t.Errorf("after one sync %d of %d finalizers are gone, ended %t; want %d, %t", stripped, test.pods, st.CompletionTime != nil, test.first, test.ended)
			}
			syncs := 1
			for w.sync() {
				syncs++
			}
			if st = &w.Job().Status; st.Succeeded != int32(test.pods) || st.CompletionTime == nil || syncs != test.syncs {
				t.Errorf("%d succeeded, complete %t, after %d syncs; want %d, true, %d", st.Succeeded, st.CompletionTime != nil, syncs, test.pods, test.syncs)
			}
		})
	}
}

// "keeping the size of the slice under 20kb": a UID is a UUID of 36 characters.
func TestAlgorithm_sizeOfTheLists(t *testing.T) {
	uid := types.UID("00000000-0000-0000-0000-000000000000")
	list := batchv1.UncountedTerminatedPods{Failed: slices.Repeat([]types.UID{uid}, classify.DefaultCap)}
	raw, err := list.Marshal() // as etcd stores it
	if err != nil || len(raw) >= 20_000 {
		t.Errorf("%d UIDs take %d bytes (%v), want less than 20 kB", classify.DefaultCap, len(raw), err)
	}
}

// "Steps 2 to 4 might be skipped in the scenario where a status update happened
// too recently and the number of uncounted Pods is a small percentage of
// parallelism."
func TestAlgorithm_throttle(t *testing.T) {
	w := newWorldOf(t, "completions: 100\nparallelism: 20", decide.Throttle(5*time.Second, 0.1))
	w.settle()
	first := w.snapshot().LastStatus

	// Two of twenty are a small percentage, and the last status write is recent. Pods are
	// created nevertheless, and no pod is counted.
	w.advance(time.Second)
	w.End("pod-1", 0)
	w.End("pod-2", 0)
	w.sync()
	if d := w.last; d.Status != nil || len(d.Strip) != 0 || len(d.Create) != 2 || decidetest.Settle(d, w.Pods()...).Status != nil {
		t.Errorf("too soon: status %v, %d to strip, %d to create; want nothing stored and 2 to create", d.Status, len(d.Strip), len(d.Create))
	}
	Same(t, "the next sync", w.next, first.Add(5*time.Second))

	// Three of twenty are more than a tenth.
	w.End("pod-3", 0)
	w.sync()
	Same(t, "three of twenty: stored, succeeded", Pair(w.last.Status != nil, w.Job().Status.Succeeded), Pair(true, int32(3)))
	second := w.snapshot().LastStatus

	// Once enough time has passed, one pod is enough.
	w.End("pod-4", 0)
	w.sync()
	Same(t, "one of twenty, too soon: stored, last", Pair(w.last.Status != nil, w.snapshot().LastStatus), Pair(false, second))
	w.wait()
	Same(t, "succeeded, after", Pair(w.Job().Status.Succeeded, w.Now.Sub(second)), Pair(int32(4), 5*time.Second))

	// Suspending a Job is never delayed.
	NoError(t, w.EditJob(func(spec *batchv1.JobSpec) { spec.Suspend = new(true) }))
	w.sync()
	Same(t, "the suspension is stored at once", w.last.Status != nil, true)
}

// § Deleted Jobs: "adding the orphan Pod (Pod for which the Job controller
// doesn't exist) to a separate work queue. A single worker scans this work queue
// to remove the finalizer from the Pod."
func TestAlgorithm_orphans(t *testing.T) {
	w := newWorldOf(t, "completions: 3\nparallelism: 3")
	w.settle()
	for _, pod := range w.Pods() {
		w.Start(pod.UID)
	}
	job := w.Job()
	w.DeleteJob(metav1.DeletePropagationBackground)
	w.CollectGarbage()
	var c tracking.Controller
	for _, pod := range w.Pods() {
		Same(t, shortName(pod)+" is freed although its Job exists", c.Frees(pod, job), false)
		Same(t, shortName(pod)+" is freed when its Job is gone", c.Frees(pod, w.Job()), true)
	}
	w.settle()
	for _, pod := range w.Pods() {
		w.End(pod.UID, 143)
	}
	Same(t, "pods that are left", showPods(w.Pods()), showPods(nil))
}

// The throttle delays nothing if there is nothing to store.
func TestAlgorithm_throttleOfNothing(t *testing.T) {
	w := newWorldOf(t, "completions: 3\nparallelism: 3")
	w.runAll()
	s := w.snapshot()
	s.LastStatus = s.Now.Add(-time.Second)
	d := Must(decide.Job(s, decide.Throttle(time.Minute, 1)))
	Same(t, "idle, requeue, notes", fmt.Sprint(d.Idle(), d.Requeue, len(explain.Of(d).Notes())), "true 0s 0")
	s.Job = s.Job.DeepCopy()
	s.Job.Status.Active = 2
	d = Must(decide.Job(s, decide.Throttle(time.Minute, 1)))
	if !d.Idle() || d.Requeue != 59*time.Second || len(explain.Of(d).Notes()) != 1 || explain.Of(d).Notes()[0].Code != explain.NoteStatusPutOff {
		t.Errorf("idle %t, requeue %s, notes %v; want the status delayed for 59s", d.Idle(), d.Requeue, explain.Of(d).Notes())
	}
}

// Each revision of a decision is computed from the plan. A delay by the throttle in the first
// revision does not affect the second.
func TestAlgorithm_revisedTwice(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	done, surplus := podIn(job, 1, corev1.PodSucceeded), podIn(job, 1, corev1.PodRunning)
	surplus.Name, surplus.UID = "surplus", "surplus"
	job.Status.StartTime, job.Status.Active = &job.CreationTimestamp, 1
	now := job.CreationTimestamp.Time
	s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{done, surplus}, Now: now, LastStatus: now}
	d := Must(decide.Job(s, decide.Throttle(time.Minute, 2)))

	delayed := d.Revise(decide.Undone{Deletions: []types.UID{"surplus"}})
	if delayed.Status != nil || decidetest.Settle(delayed, delayed.Strip...).Status != nil {
		t.Fatalf("the deletion fails: got the status %s, want it delayed", toJSON(delayed.Status))
	}
	again := delayed.Revise(decide.Undone{})
	if again.Status == nil || len(again.Strip) != 2 {
		t.Fatalf("the deletion succeeds: got the status %s and %d finalizers to remove", toJSON(again.Status), len(again.Strip))
	}
	if st := decidetest.Settle(again, again.Strip...).Status; st == nil || st.Succeeded != 1 {
		t.Errorf("settled: got the status %s, want 1 succeeded", toJSON(st))
	}
}

// Faults of writes, and stale caches, change the end of no scenario of these files. In other files they may: a crash
// delays the Job, and its successor counts the pods as failed that it finds terminating.
func TestAlgorithm_anyWriteMayFail(t *testing.T) {
	for _, file := range []string{"adoption", "algorithm", "backoff_delay", "deletion", "elastic", "freeing"} {
		datadriven.RunTest(t, "testdata/scenarios/"+file+".txt", func(t *testing.T, d *datadriven.TestData) string {
			if d.HasArg("only") && d.CmdArgs[1].Vals[0] != "jobfate" {
				return d.Expected
			}
			anyWriteMayFail(t, d)
			return d.Expected
		})
	}
}

func anyWriteMayFail(t *testing.T, d *datadriven.TestData) {
	s, err := script.Parse(d.Input)
	NoError(t, err)
	run := func(name string, f fault, stale string) (writes int) {
		t.Run(d.CmdArgs[0].Key+", "+name, func(t *testing.T) {
			w := newWorld(t)
			w.scenario, w.fault, w.stale = s, f, stale
			if got := w.play(s, d)[0]; got != strings.TrimSpace(d.Expected) {
				t.Errorf("the end is\n%s\nwant\n%s\n%s", got, d.Expected, w.Story())
			}
			if held := slices.IndexFunc(w.Pods(), builtin.HasFinalizer); held >= 0 {
				t.Errorf("%s still has its finalizer\n%s", shortName(w.Pods()[held]), w.Story())
			}
			writes = w.writes
		})
		return writes
	}
	for at := range run("no fault", fault{}, "") {
		for _, kind := range []faultKind{crashBefore, crashAfter, refuse, lose} {
			run(fmt.Sprintf("%s %d", kind, at+1), fault{at + 1, kind}, "")
		}
	}
	run("stale pods", fault{}, "pods")
	run("stale pods and Job", fault{}, "pods,jobs")
}

// runAll lets the controller create pods, and starts the pods.
func (w *world) runAll() {
	w.settle()
	for _, pod := range w.alive() {
		if pod.DeletionTimestamp == nil {
			w.Start(pod.UID)
		}
	}
	w.settle()
}
