package whynot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/examples/whynot"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) *metav1.Time {
	return &metav1.Time{Time: now.Add(-time.Duration(seconds) * time.Second)}
}

// scene is an Indexed Job with three completions and the pods of its indexes 0 and 1, which run.
type scene struct {
	jobfate.Snapshot
	spec *batchv1.JobSpec
	pods []*corev1.Pod
}

func newScene(t *testing.T) *scene {
	t.Helper()
	two, three, limit, zero, mode := int32(2), int32(3), int32(6), int32(0), batchv1.IndexedCompletion
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "ml", UID: "job", CreationTimestamp: *ago(600)},
		Spec: batchv1.JobSpec{Parallelism: &two, Completions: &three, CompletionMode: &mode, BackoffLimit: &limit,
			BackoffLimitPerIndex: &zero, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main"}}}}},
		Status: batchv1.JobStatus{StartTime: ago(600), Active: 2},
	}
	s := &scene{Snapshot: jobfate.Snapshot{Job: job, Now: now}, spec: &job.Spec}
	d, err := jobfate.Decide(s.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Create {
		pod := d.Create[i].Pod()
		pod.Name = fmt.Sprintf("train-%d", i)
		pod.UID, pod.CreationTimestamp, pod.Status.Phase = types.UID(pod.Name), *ago(500), corev1.PodRunning
		s.pods = append(s.pods, pod)
	}
	s.Pods = s.pods
	return s
}

// fail lets a pod fail five seconds ago.
func (s *scene) fail(i int, code int32) {
	s.pods[i].Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "main",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: *ago(5)}}}}}
}

func (s *scene) condition(kind batchv1.JobConditionType, reason, message string) {
	s.Job.Status.Conditions = append(s.Job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue,
		Reason: reason, Message: message, LastTransitionTime: *ago(5)})
}

func (s *scene) noLimitPerIndex() { s.spec.BackoffLimitPerIndex = nil }

const theJob = -1

var cases = []struct {
	name  string
	given func(*scene)
	index int32 // or theJob
	code  string
	until time.Time
	// figures are in the text, and in that of package explain.
	figures []string
}{
	{"finished, and why", func(s *scene) {
		s.condition(batchv1.JobFailureTarget, "BackoffLimitExceeded", "too many failures")
		s.condition(batchv1.JobFailed, "BackoffLimitExceeded", "too many failures")
		s.Job.Status.Active, s.Pods = 0, nil
	}, theJob, "Finished", time.Time{}, []string{"Failed", "BackoffLimitExceeded", "too many failures"}},
	{"own write not observed", func(s *scene) { s.InFlight.Status = true },
		theJob, "WaitingForOwnWrite", time.Time{}, []string{"status write"}},
	{"creations not observed", func(s *scene) { s.InFlight.Creations, s.Pods = 2, nil },
		theJob, "WaitingForPods", time.Time{}, []string{"2 creations", "0 deletions"}},
	{"being deleted", func(s *scene) { s.Job.DeletionTimestamp, s.Job.Finalizers = ago(5), []string{"orphan"} },
		theJob, "Deleting", time.Time{}, []string{"being deleted"}},
	{"suspended", func(s *scene) { yes := true; s.spec.Suspend = &yes },
		theJob, "Suspended", time.Time{}, []string{"suspended", "2 pods"}},
	{"backing off", func(s *scene) { s.noLimitPerIndex(); s.fail(0, 1) },
		theJob, "BackingOff", now.Add(5 * time.Second), []string{"1 failure"}},
	{"index failed by the limit", func(s *scene) { s.fail(1, 42) },
		1, "Failed", time.Time{}, []string{"1 failure", "limit is 0", "train-1", "container main", "exit code 42"}},
	{"index failed by a rule", func(s *scene) {
		s.spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailIndex, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}}}}
		s.fail(1, 42)
	}, 1, "Failed", time.Time{}, []string{"FailIndex", "rule 0", "train-1", "container main", "exit code 42"}},
	{"index without a place", func(*scene) {}, 2, "Pending", time.Time{}, []string{"parallelism"}},
	{"success policy met", func(s *scene) {
		zero := "0"
		s.spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: &zero}}}
		s.pods[0].Status.Phase = corev1.PodSucceeded
	}, theJob, "Ending", time.Time{}, []string{"succeeds", "SuccessPolicy", "index 0"}},
	{"terminating pods hold back replacements", func(s *scene) {
		s.noLimitPerIndex()
		policy := batchv1.Failed
		s.spec.PodReplacementPolicy = &policy
		s.pods[0].DeletionTimestamp = ago(5)
	}, theJob, "AwaitingTermination", time.Time{}, []string{"1 "}},
	{"surplus pods, the Job needs fewer", func(s *scene) { *s.spec.Parallelism = 1 },
		theJob, "RemovingPods", time.Time{}, []string{"1 of 2 active pods", "the Job needs"}},
	{"surplus pods, beyond completions", func(s *scene) { *s.spec.Completions = 1 },
		theJob, "RemovingPods", time.Time{}, []string{"1 of 2 active pods", "not below completions"}},
}

// Each answer has the code and the time of package explain, and the same figures in the text.
func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			c.given(s)
			d, err := jobfate.Decide(s.Snapshot)
			if err != nil {
				t.Fatal(err)
			}
			got, want := whynot.Job(d), explain.Of(d).Job()
			theirs := want.Text
			if c.index != theJob {
				r := explain.Of(d).Index(c.index)
				got, want = whynot.Index(d, c.index), r.Reason
				theirs = fmt.Sprint(r.Text, " ", r.LastFailure.Pod, " ", r.LastFailure.Fault)
			}
			if got.Code != c.code || string(want.Code) != c.code || !got.Until.Equal(c.until) || !want.Until.Equal(c.until) {
				t.Errorf("got %+v, explain %+v, want %s until %v", got, want, c.code, c.until)
			}
			for _, figure := range c.figures {
				if !strings.Contains(got.Text, figure) || !strings.Contains(theirs, figure) {
					t.Errorf("got %q, explain %q, want %q in both", got.Text, theirs, figure)
				}
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	s := newScene(t)
	seconds := int64(700)
	s.spec.ActiveDeadlineSeconds = &seconds
	d, err := jobfate.Decide(s.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if got := whynot.Deadline(d); !got.Until.Equal(now.Add(100 * time.Second)) {
		t.Errorf("got %+v, want the deadline in 100s", got)
	}
}

// The codes and times are those of package explain for any Job and any pods.
func TestExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(jobtest.Snapshots(jobtest.Wild()), jobtest.Lived()).Draw(t, "snapshot")
		d, err := jobfate.Decide(s)
		if err != nil {
			return
		}
		e := explain.Of(d)
		if got, want := whynot.Job(d), e.Job(); got.Code != string(want.Code) || !got.Until.Equal(want.Until) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		var deadline explain.Reason
		if all := e.Waits(); len(all) > 0 && all[len(all)-1].Code == explain.WaitDeadline {
			deadline = all[len(all)-1]
		}
		if got := whynot.Deadline(d); got.Code != string(deadline.Code) || !got.Until.Equal(deadline.Until) {
			t.Fatalf("got %+v, want %+v", got, deadline)
		}
		for index := range int32(4) {
			got, want := whynot.Index(d, index), e.Index(index).Reason
			if slices.Contains([]explain.Code{explain.IndexStuck, explain.IndexWaiting, explain.IndexStarting,
				explain.IndexRemoving}, want.Code) {
				want.Code = explain.IndexActive // the example says no more of active pods
			}
			if got.Code != string(want.Code) || !got.Until.Equal(want.Until) {
				t.Fatalf("index %d: got %+v, want %+v", index, got, want)
			}
		}
	})
}
