package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/machine"
)

var theJob = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "job"}}

func (b *fixture) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	return Must(b.Reconcile(t.Context(), theJob))
}

// interfered syncs the Job while another client changes or deletes it, and checks that the sync is
// retried soon.
func (b *fixture) interfered(t *testing.T) {
	t.Helper()
	if _, err := b.Reconcile(t.Context(), theJob); !expected(err) {
		t.Errorf("got %v, want an error that another client causes", err)
	}
	Same(t, "the delay", b.retries.When(theJob), defaultBatchPeriod)
}

// remembered returns the number of Jobs with a memory.
func (b *fixture) remembered() (n int) {
	b.memories.Range(func(any, any) bool { n++; return true })
	return n
}

// The first sync of a new Job creates the pods and then stores the status, without a live read. From then on the Job
// has the default priority.
func TestNewJob(t *testing.T) {
	job := newJob()
	b := newSynced(t, job)
	Same(t, "the priority", *b.reconcile(t).Priority, 0)
	Same(t, "writes", b.writes(), []string{"create pods", "patch jobs/status"})
	Same(t, "live reads", b.reads(), 0)
	// The cache shows neither the pod nor the status: no write is repeated.
	b.server.ClearActions()
	Same(t, "the delay", b.reconcile(t).RequeueAfter, time.Second)
	Same(t, "writes of the second sync", b.writes(), nil)
}

// A pod is recorded before its finalizer is removed, and counted afterwards.
func TestCount(t *testing.T) {
	job := newJob(started)
	pod := newPod(job, "pod", "5", Succeeded)
	b := newSynced(t, job, pod)
	b.reconcile(t)
	Same(t, "writes", b.writes(), []string{"patch jobs/status", "patch pods", "patch jobs/status"})
	if stored := b.stored(t); stored.Status.Succeeded != 1 || stored.Status.CompletionTime == nil {
		t.Errorf("got %+v, want a complete Job with one pod", stored.Status)
	}
	Same(t, "events", b.sent(), []string{"Normal Completed Job completed"})
}

// The version of the cache of Jobs is read before the Job.
func TestVersionComesFirst(t *testing.T) {
	job := newJob()
	b := newFixture(t)
	b.show(t, job)
	b.store.jobs.Bookmark("20")
	b.store.jobs = &lateIndexer{Indexer: b.store.jobs, before: func() { b.store.jobs.Bookmark("21") }}
	if v := b.store.view(theJob.NamespacedName); v.Job != job || v.JobsVersion != "20" || v.Barrier != "1" {
		t.Errorf("got Job %v, version %s, barrier %s, want the Job, 20, 1", v.Job, v.JobsVersion, v.Barrier)
	}
}

// Without a Job, or after an error, the next sync reads all pods.
func TestMemory_readsAllPodsAfterAnError(t *testing.T) {
	invalid := newJob(func(job *batchv1.Job) { job.Spec.CompletionMode = new(batchv1.CompletionMode("None")) })
	for _, view := range []machine.View{{Now: Noon()}, {Now: Noon(), Job: invalid, Barrier: "1", JobsVersion: "1", PodsVersion: "1"}} {
		m := &memory{machine: machine.New(decide.ManagedBy(managedBy)), read: position{"uid", 5}}
		err := m.begin(view, nil)
		Same(t, "there is an error", err != nil, view.Job != nil)
		Same(t, fmt.Sprintf("after %v the next sync reads all pods", err), m.read, position{})
	}
}

// lateIndexer calls a function before an object is read.
type lateIndexer struct {
	cache.Indexer
	before func()
}

func (l *lateIndexer) GetByKey(key string) (any, bool, error) {
	l.before()
	return l.Indexer.GetByKey(key)
}

// An invalid Job gets one event and is not requeued. Each sync fails, and controller-runtime counts
// each failure.
func TestInvalidJob(t *testing.T) {
	job := newJob(func(job *batchv1.Job) { job.Spec.CompletionMode = new(batchv1.CompletionMode("Unheard")) })
	b := newSynced(t, job)
	for range 3 {
		if _, err := b.Reconcile(t.Context(), theJob); !errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("got %v, want a terminal error", err)
		}
	}
	got := b.sent()
	if len(got) != 1 || !strings.HasPrefix(got[0], "Warning CannotDecide ") || !strings.Contains(got[0], "spec.completionMode") {
		t.Errorf("events: got %q, want one that names the field", got)
	}
	Same(t, "writes", b.writes(), nil)
}

// Invalid rule names are reported once, and the Job runs without them.
func TestInvalidRuleNames(t *testing.T) {
	job := newJob(func(job *batchv1.Job) { job.Annotations = map[string]string{namesAnnotation: "?"} })
	b := newSynced(t, job)
	b.reconcile(t)
	b.reconcile(t)
	bad := 0
	for _, e := range b.sent() {
		if strings.HasPrefix(e, "Warning InvalidRuleNames ") {
			bad++
		}
	}
	Same(t, "events", bad, 1)
	Same(t, "writes", b.writes(), []string{"create pods", "patch jobs/status"})
}

// The delay grows with each failure, but not past a deadline, also if a sync does not create all pods. The
// queue gets the error, and the sync is counted as failed.
func TestRetryDelays(t *testing.T) {
	job := newJob(started, many(1000), func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = new(int64(3)) })
	b := newSynced(t, job)
	b.fail("create", "pods", -1, errQuota)
	for n, want := range []time.Duration{1, 2, 3, 3} {
		if _, err := b.Reconcile(t.Context(), theJob); !apierrors.IsForbidden(err) {
			t.Fatalf("got %v, want the error of the quota", err)
		}
		Same(t, "the delay", b.retries.When(theJob), want*time.Second)
		b.metrics.expect(t, n+1, syncsTotal, "NonIndexed", "error", "pods_created")
		stored := b.stored(t)
		b.show(t, stored)
	}
}

// The delay that the API server asks for takes precedence.
func TestRetryDelays_RetryAfter(t *testing.T) {
	r := newRetries[reconcile.Request]()
	r.bounds.Store(theJob, bounds{due: time.Second, notBefore: 7 * time.Second})
	for _, want := range []time.Duration{7, 2, 4} { // the bounds apply to one retry only
		Same(t, "the delay", r.When(theJob), want*time.Second)
	}
}

// Another client changes or deletes the Job during a sync. The sync is counted as failed and is
// retried soon, even after earlier failures.
func TestConflictsAreRetriedSoon(t *testing.T) {
	for name, err := range map[string]error{
		"a conflict":      apierrors.NewConflict(pods, "job", nil),
		"the Job is gone": apierrors.NewNotFound(pods, "job"),
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob()
			b := newSynced(t, job)
			b.fail("patch", "jobs", 1, err)
			b.retries.When(theJob) // it failed before
			b.interfered(t)
			b.metrics.expect(t, 1, syncsTotal, "NonIndexed", "error", "pods_created")
		})
	}
}

// The names of the rules may be added after the Machine was created. Those that the caller reads from a field of
// the API win over those of the annotation.
func TestRuleNamesChange(t *testing.T) {
	job := newJob(started, ExitRule(batchv1.PodFailurePolicyActionFailJob, 3))
	running := newPod(job, "pod", "5")
	for want, field := range map[string][]decide.Option{
		"PodFailurePolicy_DatabaseDown": nil,
		"PodFailurePolicy_Field":        {decide.FailurePolicy(failurepolicy.FromAPI(job.Spec.PodFailurePolicy, "Field"))},
	} {
		b := newSynced(t, job, running)
		b.DecideFor = func(*batchv1.Job) []decide.Option { return field }
		b.reconcile(t)
		job := b.stored(t)
		job.Annotations = map[string]string{namesAnnotation: `{"0": "DatabaseDown"}`}
		b.show(t, job, newPod(job, "pod", "200", Exit(3, After(0))))
		b.reconcile(t)
		stored := b.stored(t)
		if conditions := stored.Status.Conditions; len(conditions) == 0 || conditions[0].Reason != want {
			t.Errorf("conditions: got %+v, want the reason %s", conditions, want)
		}
	}
}

func TestMemory_endsWithTheJob(t *testing.T) {
	job := newJob()
	b := newSynced(t, job)
	b.reconcile(t)
	Same(t, "Jobs that are remembered", b.remembered(), 1)
	NoError(t, errors.Join(b.store.jobs.Delete(job), b.server.Tracker().Delete(jobsKind, "default", "job")))
	b.reconcile(t)
	Same(t, "Jobs that are remembered", b.remembered(), 0)
	b.show(t, job)
	b.interfered(t)
	b.show(t, newJob(builtIn))
	b.reconcile(t)
	Same(t, "Jobs that are remembered", b.remembered(), 0)
	b.show(t, newJob(started, Has(batchv1.JobComplete)))
	b.server.ClearActions()
	b.reconcile(t)
	Same(t, "requests for a Job that has ended, and memories", []int{len(b.server.Actions()), b.remembered()}, []int{0, 0})
}

// A Job that has ended is remembered until the cache shows that the finalizer of its last pod is
// gone. Without the memory, the next sync would remove the finalizer again.
func TestMemory_outlivesTheJobUntilItsWritesAreObserved(t *testing.T) {
	job := newJob(started)
	pod := newPod(job, "pod", "5", Succeeded)
	b := newFixture(t, job, pod)
	show := func(podsVersion string, objects ...runtime.Object) {
		t.Helper()
		b.show(t, objects...)
		NoError(t, b.store.pods.Bookmark(podsVersion))
	}
	show("50", job, pod) // the API server's next version is 101
	b.reconcile(t)
	stored := b.stored(t)
	if jobstatus.Finished(stored) == nil {
		t.Fatalf("conditions %+v, want a complete Job", stored.Status.Conditions)
	}
	b.server.ClearActions()
	show("50", stored)
	for range 2 {
		b.reconcile(t)
		Same(t, "writes while the cache shows the finalizer", b.writes(), nil)
		Same(t, "Jobs that are remembered", b.remembered(), 1)
	}
	show("1000", newPod(job, "pod", "102", Succeeded, Released))
	b.reconcile(t)
	Same(t, "Jobs that are remembered", b.remembered(), 0)
}

// The record of events is reset for a new Job of the same name.
func TestReported_resetForANewUID(t *testing.T) {
	events := reported{job: "earlier", refusal: "no", failed: indexset.MustParse("1")}
	events.resetFor(newJob())
	if events.refusal != "" || !events.failed.IsEmpty() || events.job != "job-uid" {
		t.Errorf("got %+v, want the record of a Job without events", events)
	}
	events.refusal = "no"
	events.resetFor(newJob())
	Same(t, "the record of the same Job", events.refusal, "no")
}

// A reason to wait is reported once, not at every sync.
func TestExplained(t *testing.T) {
	var events reported
	for _, step := range []struct {
		code       explain.Code
		now, until int
		want       string
	}{
		{explain.JobRunning, 0, 0, ""},
		{explain.JobBackingOff, 1, 10, "BackingOff"},
		{explain.JobBackingOff, 2, 10, ""},
		{explain.JobRunning, 11, 0, ""},
		{explain.JobBackingOff, 20, 40, ""}, // of the same kind, and soon after
		{explain.JobAwaitingTermination, 30, 0, "AwaitingTermination"},
		{explain.JobBackingOff, 31, 40, "BackingOff"},
		{explain.JobBackingOff, 400, 40, ""}, // still the same
		{explain.JobBackingOff, 401, 900, "BackingOff"},
	} {
		reason := explain.Reason{Code: step.code, Until: After(step.until).Time, Text: "text"}
		Same(t, fmt.Sprintf("%s after %d s", step.code, step.now), events.explained(reason, After(step.now).Time).Reason, step.want)
	}
}

// One event reports all indexes that fail in a sync, and why they fail.
func TestFailedIndexes(t *testing.T) {
	job := newJob(started, many(5), Indexed(5), PerIndex(0))
	job.Status.FailedIndexes = new("0")
	s := decide.Snapshot{Job: job, Now: Noon()}
	for _, index := range []string{"1", "2", "3", "4"} {
		s.Pods = append(s.Pods, newPod(job, "pod-"+index, "5", Exit(3, After(0)), Index(index)))
	}
	d := Must(decide.Job(s, decide.ManagedBy(managedBy)))
	var events reported
	events.resetFor(job)
	got := events.failedIndexes(d).Message
	var want strings.Builder // without index 0, which had failed before
	for _, n := range []string{"1", "2", "3"} {
		fmt.Fprintf(&want, "index %s: failed after 1 failure, the limit is 0: ", n)
		fmt.Fprintf(&want, "pod pod-%s: container main, exit code 3; ", n)
	}
	want.WriteString("and 1 more")
	Same(t, "the message", got, want.String())
	Same(t, "reported again", events.failedIndexes(d).Reason, "")
	Same(t, "without a status", events.failedIndexes(decide.Decision{}).Reason, "")
}

// A Job may have its own options, which may change from sync to sync.
func TestDecideFor(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) { job.Annotations = map[string]string{"delay": "20s"} })
	pod := newPod(job, "pod", "5", Exit(3, After(0)), Released)
	b := newFixture(t, job, pod)
	b.DecideFor = func(job *batchv1.Job) []decide.Option {
		base := Must(time.ParseDuration(job.Annotations["delay"]))
		return []decide.Option{decide.Backoff(backoff.Policy{Base: base, Cap: time.Hour})}
	}
	job.Status.Failed = 1
	for _, delay := range []time.Duration{20 * time.Second, 40 * time.Second} {
		stored := b.stored(t)
		stored.Annotations["delay"] = delay.String()
		b.show(t, stored, pod)
		Same(t, "the delay", b.reconcile(t).RequeueAfter, delay)
	}
}

// If the manager bounds the time of a sync, the sync continues later.
func TestReconcile_timeIsUp(t *testing.T) {
	job := newJob()
	b := newSynced(t, job)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	Same(t, "the delay of another sync", Must(b.Reconcile(ctx, theJob)).RequeueAfter, time.Second)
	b.reconcile(t)
	Same(t, "writes", b.writes(), []string{"create pods", "patch jobs/status"})
}

// An error that another client causes does not hide an error beside it: that one is logged, and its retries become rare.
func TestExpected(t *testing.T) {
	conflict := fmt.Errorf("claiming pod a: %w", apierrors.NewConflict(pods, "a", nil))
	gone := apierrors.NewNotFound(pods, "b")
	for _, test := range []struct {
		err  error
		want bool
	}{{nil, false}, {errQuota, false}, {conflict, true}, {errors.Join(errors.Join(conflict), gone), true}, {errors.Join(errors.Join(conflict), errQuota), false}} {
		Same(t, fmt.Sprintf("%v is expected", test.err), expected(test.err), test.want)
	}
	// One of two pods to adopt has changed, and the other may not be patched.
	job := newJob()
	a, b := newPod(job, "a", "5", Ownerless, Released), newPod(job, "b", "6", Ownerless, Released)
	f := newSynced(t, job, a, b)
	f.fail("patch", "pods", 1, errQuota)
	f.fail("patch", "pods", 1, conflict)
	f.retries.When(theJob) // it failed before
	if _, err := f.Reconcile(t.Context(), theJob); !errors.Is(err, errQuota) || expected(err) {
		t.Errorf("got %v, want both errors, and to log them", err)
	}
	Same(t, "the delay", f.retries.When(theJob), 2*time.Second)
}
