package real_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller/job"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
)

// busy returns a Job of 50 indexes whose pods are deleted, succeed and fail.
func busy(t testing.TB) real.Input {
	job := newJob(t, size(10, 50), indexed, perIndex(3))
	var pods []*corev1.Pod
	for i := range 50 {
		phase := []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}[i%3]
		pods = append(pods, newPod(job, fmt.Sprint("pod-", i), phase, index(i), failures(i%2), exit(int32(i%3%2), i)))
	}
	return real.Input{Job: job, Pods: pods, Now: at(100)}
}

// The output does not depend on the order of the controller's goroutines.
func TestSyncIsDeterministic(t *testing.T) {
	create := real.Input{Job: newJob(t, size(100, 200), indexed), Now: at(0)}
	create.Fail.Create = map[int]error{40: real.ErrInternal, 41: real.ErrConflict, 60: real.ErrNamespaceTerminating}
	remove := busy(t)
	remove.Fail = real.Faults{
		StripToDelete: map[string]error{"pod-6": real.ErrInternal, "pod-9": real.ErrNotFound},
		Delete:        map[string]error{"pod-3": real.ErrConflict, "pod-12": real.ErrInternal, "pod-15": real.ErrNotFound},
		Strip:         map[string]error{"pod-2": real.ErrInternal, "pod-5": real.ErrConflict, "pod-8": real.ErrNotFound},
	}
	for name, in := range map[string]real.Input{"create": create, "delete": remove} {
		want := real.Sync(in)
		if len(want.Calls) < 25 || want.Err == nil {
			t.Fatalf("%s: %d calls, error %v; too little to show an order", name, len(want.Calls), want.Err)
		}
		for range 30 {
			if diff := cmp.Diff(want, real.Sync(in), cmp.Comparer(sameError)); diff != "" {
				t.Fatalf("%s: the same input, another output (-first +second):\n%s", name, diff)
			}
		}
	}
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestSyncDoesNotChangeItsInput(t *testing.T) {
	in := busy(t)
	before := make([]*corev1.Pod, len(in.Pods))
	for i, p := range in.Pods {
		before[i] = p.DeepCopy()
	}
	job := in.Job.DeepCopy()
	mustSync(t, in)
	if diff := cmp.Diff(before, in.Pods); diff != "" {
		t.Errorf("pods changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(job, in.Job); diff != "" {
		t.Errorf("the Job changed (-before +after):\n%s", diff)
	}
}

func TestCreatedPodIsThatOfRealPodControl(t *testing.T) {
	job := newJob(t, size(1, 3), indexed, perIndex(1))
	replaced := newPod(job, "old", corev1.PodFailed, index(0), failures(0), exit(1, 0))
	out := mustSync(t, real.Input{Job: job, Pods: []*corev1.Pod{replaced}, Now: at(60)})
	if len(out.Created()) != 1 {
		t.Fatalf("got calls %s, want one creation", trace(out))
	}
	got := out.Created()[0]
	labels := map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}
	maps.Copy(labels, job.Spec.Template.Labels)
	want := metav1.ObjectMeta{
		GenerateName: "job-0-",
		Labels:       labels,
		Annotations: map[string]string{
			batchv1.JobCompletionIndexAnnotation:   "0",
			batchv1.JobIndexFailureCountAnnotation: "1",
		},
		Finalizers: []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid",
			Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
	if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if got.Spec.Hostname != "job-0" || got.Spec.Containers[0].Env[0].Name != "JOB_COMPLETION_INDEX" {
		t.Errorf("got hostname %s, environment %v", got.Spec.Hostname, got.Spec.Containers[0].Env)
	}
	want2 := []real.Event{{Type: "Normal", Reason: "SuccessfulCreate", Message: "Created pod: job-0-00000"}}
	if diff := cmp.Diff(want2, out.PodEvents); diff != "" {
		t.Errorf("events of pods (-want +got):\n%s", diff)
	}
}

// The calls of one sync, in order, and the memory afterwards.
func TestCalls(t *testing.T) {
	tests := []struct {
		name   string
		in     func(t *testing.T) real.Input
		want   string
		memory real.Memory
	}{
		{
			name: "adopt, release, and ignore pods of other owners",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(2, 3))
				orphan := newPod(job, "orphan", corev1.PodRunning, func(p *corev1.Pod) { p.OwnerReferences = nil })
				stray := newPod(job, "stray", corev1.PodRunning, func(p *corev1.Pod) { p.Labels = nil })
				other := newPod(job, "other", corev1.PodRunning, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" })
				return real.Input{Job: job, Pods: []*corev1.Pod{stray, orphan, other}, Now: at(0)}
			},
			want:   "release stray; adopt orphan; create job-00000; write status",
			memory: real.Memory{Creations: 1, Backoff: &real.Record{}},
		},
		{
			name: "no adoption by a Job that was deleted meanwhile",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(1, 1))
				live := job.DeepCopy()
				live.DeletionTimestamp = timeAt(0)
				orphan := newPod(job, "orphan", corev1.PodRunning, func(p *corev1.Pod) { p.OwnerReferences = nil })
				return real.Input{Job: job, Live: live, Pods: []*corev1.Pod{orphan}, Now: at(0)}
			},
		},
		{
			name: "delete surplus pods: their finalizers are removed first",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(1, 3))
				return real.Input{Job: job, Now: at(0), Pods: []*corev1.Pod{
					newPod(job, "a", corev1.PodRunning, ready), newPod(job, "b", corev1.PodPending), newPod(job, "c", corev1.PodPending),
				}}
			},
			want:   "strip to delete b; delete b; strip to delete c; delete c; write status",
			memory: real.Memory{Deletions: 2, Backoff: &real.Record{}},
		},
		{
			name: "a failed Job: the pods keep their finalizers until the status is stored",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(2, 3), func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32) })
				return real.Input{Job: job, Now: at(60), Pods: []*corev1.Pod{
					newPod(job, "a", corev1.PodRunning), newPod(job, "b", corev1.PodFailed, exit(1, 50)),
				}}
			},
			// Not finished: the deleted pod is terminating.
			want: "delete a; write status; strip a; strip b; write status",
			memory: real.Memory{
				Stripped: []types.UID{"a", "b"},
				Backoff:  &real.Record{Failures: 1, LastFailure: &timeAt(50).Time},
			},
		},
		{
			name: "unmet expectations: nothing is created",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(2, 3))
				return real.Input{Job: job, Now: at(0), Memory: real.Memory{Creations: 1, Deletions: 2}}
			},
			want:   "write status",
			memory: real.Memory{Creations: 1, Deletions: 2, Backoff: &real.Record{}},
		},
		{
			name: "a finalizer that was stripped already is not stripped again",
			in: func(t *testing.T) real.Input {
				job := newJob(t, size(1, 3))
				job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
				return real.Input{
					Job: job, Now: at(0), Pods: []*corev1.Pod{newPod(job, "a", corev1.PodSucceeded, exit(0, 0))},
					Memory: real.Memory{Stripped: []types.UID{"a"}, Creations: 1},
				}
			},
			want:   "write status",
			memory: real.Memory{Stripped: []types.UID{"a"}, Creations: 1, Backoff: &real.Record{}},
		},
		{
			name: "the Job finished, and the cache does not show it",
			in: func(t *testing.T) real.Input {
				return real.Input{Job: newJob(t), Now: at(0), Memory: real.Memory{Finished: true}}
			},
			memory: real.Memory{Finished: true},
		},
	}
	for _, tt := range tests {
		out := real.Sync(tt.in(t))
		if got := trace(out); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(tt.memory, out.Memory); diff != "" {
			t.Errorf("%s: memory (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestFaults(t *testing.T) {
	three := func(t *testing.T) real.Input {
		job := newJob(t, size(3, 9), indexed)
		return real.Input{Job: job, Now: at(100), Pods: []*corev1.Pod{
			newPod(job, "a", corev1.PodSucceeded, index(0), exit(0, 1)),
			newPod(job, "b", corev1.PodRunning, index(1)),
			newPod(job, "c", corev1.PodRunning, index(1)), // a duplicate
		}}
	}
	orphan := func(t *testing.T) real.Input {
		job := newJob(t, size(1, 1))
		return real.Input{Job: job, Now: at(0), Pods: []*corev1.Pod{
			newPod(job, "a", corev1.PodRunning, func(p *corev1.Pod) { p.OwnerReferences = nil }),
		}}
	}
	fresh := func(t *testing.T) real.Input {
		return real.Input{Job: newJob(t, size(9, 9), indexed), Now: at(0)}
	}
	stray := func(t *testing.T) real.Input {
		in := orphan(t)
		in.Pods = []*corev1.Pod{newPod(in.Job, "a", corev1.PodRunning, func(p *corev1.Pod) { p.Labels = nil })}
		return in
	}
	const injected = "Internal error occurred: injected"
	tests := []struct {
		name string
		in   func(*testing.T) real.Input
		fail real.Faults
		want string
		err  string
	}{
		{
			"none", three, real.Faults{},
			"strip to delete b; delete b; write status; strip a", "",
		},
		{
			"the strip before a deletion", three, real.Faults{StripToDelete: map[string]error{"b": real.ErrInternal}},
			"strip to delete b failed; write status; strip a", "removing completion finalizer: " + injected,
		},
		{
			"a deletion", three, real.Faults{Delete: map[string]error{"b": real.ErrInternal}},
			"strip to delete b; delete b failed; write status; strip a", "unable to delete pods: " + injected,
		},
		{
			"a deletion, of a pod that is gone", three, real.Faults{Delete: map[string]error{"b": real.ErrNotFound}},
			"strip to delete b; delete b failed; write status; strip a", "",
		},
		{
			"a strip", three, real.Faults{Strip: map[string]error{"a": real.ErrInternal}},
			"strip to delete b; delete b; write status; strip a failed", "tracking status: " + injected,
		},
		{
			"the first status", three, real.Faults{Status: map[int]error{0: real.ErrInternal}},
			"strip to delete b; delete b; write status failed", "tracking status: adding uncounted pods to status: " + injected,
		},
		{
			"the third creation: a batch of four is skipped", fresh, real.Faults{Create: map[int]error{2: real.ErrInternal}},
			"create job-0-00000; create job-1-00001; create job-2-00002 failed; write status", injected,
		},
		{
			"a creation in a namespace that is being deleted: the pod counts as active", fresh,
			real.Faults{Create: map[int]error{0: real.ErrNamespaceTerminating, 1: real.ErrInternal}},
			"create job-0-00000 failed; create job-1-00001 failed; create job-2-00002; write status", injected,
		},
		{
			"an adoption", orphan, real.Faults{Adopt: map[string]error{"a": real.ErrInternal}},
			"adopt a failed", injected,
		},
		{
			"an adoption, of a pod that is gone", orphan, real.Faults{Adopt: map[string]error{"a": real.ErrNotFound}},
			"adopt a failed; create job-00000; write status", "",
		},
		{
			"the check before an adoption", orphan, real.Faults{Get: real.ErrInternal},
			"", "can't adopt Pod ns/a (a): can't recheck DeletionTimestamp: " + injected,
		},
		{
			"a release", stray, real.Faults{Release: map[string]error{"a": real.ErrInternal}},
			"release a failed", injected,
		},
		{
			"a release that is rejected as invalid: it counts as done", stray, real.Faults{Release: map[string]error{"a": real.ErrInvalid}},
			"release a failed; create job-00000; write status", "",
		},
	}
	for _, tt := range tests {
		in := tt.in(t)
		in.Fail = tt.fail
		out := real.Sync(in)
		if got := trace(out); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		got := ""
		if out.Err != nil {
			got = out.Err.Error()
		}
		if got != tt.err {
			t.Errorf("%s: got error %q, want %q", tt.name, got, tt.err)
		}
	}
}

func TestEventsMetricsAndTimers(t *testing.T) {
	job := newJob(t, size(1, 1), indexed, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(100)) })
	job.Status.StartTime = timeAt(0)
	job.Status.Active = 1
	in := real.Input{Job: job, Now: at(10), Pods: []*corev1.Pod{newPod(job, "a", corev1.PodRunning, index(0))}}
	out := mustSync(t, in)
	if len(out.Requeues) != 1 || out.Requeues[0] != 90*time.Second {
		t.Errorf("got timers %v, want the deadline in 1m30s", out.Requeues)
	}

	in.Pods = []*corev1.Pod{newPod(job, "a", corev1.PodSucceeded, index(0), exit(0, 5))}
	out = mustSync(t, in)
	if diff := cmp.Diff([]real.Event{{Type: "Normal", Reason: "Completed", Message: "Job completed"}}, out.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := map[string]float64{
		`job_finished_indexes_total{backoffLimit="global",status="succeeded"}`:                          1,
		`job_pods_finished_total{completion_mode="Indexed",result="succeeded"}`:                         1,
		`job_syncs_total{action="tracking",completion_mode="Indexed",result="success"}`:                 1,
		`jobs_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"}`: 1,
	}
	if diff := cmp.Diff(want, out.Metrics); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	in := real.Input{Job: newJob(t, size(9, 9)), Now: at(0)}
	in.Limits.MaxCreateDelete = 4
	if got := mustSync(t, in).Done(real.Create); len(got) != 4 {
		t.Errorf("MaxCreateDelete 4: created %v", got)
	}

	j := newJob(t, size(1, 9))
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, newPod(j, fmt.Sprint(i), corev1.PodFailed, exit(1, 0)))
	}
	in = real.Input{Job: j, Pods: pods, Now: at(0)}
	in.Limits = real.Limits{MaxUncounted: 3, Base: time.Hour, Cap: 2 * time.Hour}
	out := mustSync(t, in)
	if got := out.Done(real.Strip); len(got) != 3 {
		t.Errorf("MaxUncounted 3: stripped %v", got)
	}
	if len(out.Requeues) != 1 || out.Requeues[0] != 2*time.Hour {
		t.Errorf("Cap 2h: timers %v", out.Requeues)
	}

	in.Limits = real.Limits{Base: time.Nanosecond, BatchPeriod: time.Minute, Cap: time.Second}
	in.Now = at(0)
	if out := mustSync(t, in); len(out.Requeues) != 1 || out.Requeues[0] != time.Minute {
		t.Errorf("BatchPeriod 1m: timers %v", out.Requeues)
	}

	if job.MaxUncountedPods != 500 || job.MaxPodCreateDeletePerSync != 500 || job.SyncJobBatchPeriod != time.Second ||
		job.DefaultJobPodFailureBackOff != 10*time.Second || job.MaxJobPodFailureBackOff != 10*time.Minute {
		t.Error("a sync leaves the limits changed")
	}
}

// The controller processes the pods in the order of the input: its message names the first pod that
// matches a FailJob rule.
func TestOrderOfPodsIsKept(t *testing.T) {
	j := newJob(t, size(5, 5), func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{1}},
		}}}
	})
	var pods []*corev1.Pod
	for _, name := range []string{"c", "a", "e", "b", "d"} {
		pods = append(pods, newPod(j, name, corev1.PodFailed, exit(1, 0)))
	}
	for range pods {
		out := mustSync(t, real.Input{Job: j, Pods: pods, Now: at(0)})
		want := "Container main for pod ns/" + pods[0].Name + " failed"
		if got := lastStatus(t, out).Conditions[0].Message; !strings.HasPrefix(got, want) {
			t.Errorf("got message %q, want %q…", got, want)
		}
		pods = append(pods[1:], pods[0])
	}
}

func TestStripsOrphan(t *testing.T) {
	j := newJob(t)
	finished := j.DeepCopy()
	finished.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	external := finished.DeepCopy()
	external.Spec.ManagedBy = new("example.com/other")
	for _, tt := range []struct {
		name string
		pod  *corev1.Pod
		job  *batchv1.Job
		want bool
	}{
		{"its Job runs", newPod(j, "a", corev1.PodFailed), j, false},
		{"its Job is gone", newPod(j, "a", corev1.PodFailed), nil, true},
		{"its Job is finished", newPod(j, "a", corev1.PodFailed), finished, true},
		{"its Job is finished, by another controller", newPod(j, "a", corev1.PodFailed), external, false},
		{"it has no owner", newPod(j, "a", corev1.PodFailed, func(p *corev1.Pod) { p.OwnerReferences = nil }), j, true},
		{"it has no finalizer", newPod(j, "a", corev1.PodFailed, func(p *corev1.Pod) { p.Finalizers = nil }), nil, false},
	} {
		if got := real.StripsOrphan(tt.pod, tt.job); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A status that the harness rejects gets the error of the API server.
func TestValidateRefusesLikeTheServer(t *testing.T) {
	job := newJob(t, size(1, 2))
	bad := job.DeepCopy()
	bad.Status.Active = -1
	errs := apiserver.AcceptStatus(job, bad)
	if len(errs) == 0 {
		t.Fatal("the server accepts a negative number of active pods")
	}
	// The controller keeps the negative count of the old status.
	bad.Status.Failed = -1
	out := real.Sync(real.Input{Job: bad, Live: job, Now: at(0), Validate: true})
	if !apierrors.IsInvalid(out.Err) {
		t.Errorf("got error %v, want Invalid", out.Err)
	}
}

// The controller skips a sync while a cache is older than one of its writes, as with its default
// feature gates.
func TestStale(t *testing.T) {
	for _, test := range []struct {
		name          string
		wrote, cached real.Versions
		stale         bool
	}{
		{"no write", real.Versions{}, real.Versions{Jobs: "1", Pods: "1"}, false},
		{"the cache of pods is older", real.Versions{Pods: "10"}, real.Versions{Jobs: "20", Pods: "9"}, true},
		{"the cache of Jobs is older", real.Versions{Jobs: "10"}, real.Versions{Jobs: "9", Pods: "20"}, true},
		{"both are as new", real.Versions{Jobs: "10", Pods: "9"}, real.Versions{Jobs: "10", Pods: "9"}, false},
	} {
		in := real.Input{Job: newJob(t, size(1, 1)), Now: at(0), Cached: test.cached}
		in.Wrote = test.wrote
		out := real.Sync(in)
		if out.Stale != test.stale || (out.Err != nil) != test.stale || (len(out.Calls) == 0) != test.stale {
			t.Errorf("%s: stale %t, %d calls, error %v; want stale %t", test.name, out.Stale, len(out.Calls), out.Err, test.stale)
		}
	}
}
