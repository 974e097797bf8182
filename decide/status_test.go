package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// KEP-3850 § Tracking the number of failures per index: "if x is the highest
// batch.kubernetes.io/job-index-failure-count for the index, the newly created pod will have the
// annotation set to x+1. An exception is when the newly failed pod matches the Ignore action in pod
// failure policy."
func TestCreate_failuresOfTheIndex(t *testing.T) {
	for name, test := range map[string]struct {
		code                  int32
		failed, ignored, want string
	}{
		"the first failure":         {1, "0", "0", "1"},
		"a later failure":           {1, "2", "3", "3 3"},
		"a failure that is ignored": {42, "2", "3", "2 4"},
	} {
		s := newScene(t, `parallelism: 1
completions: 1
completionMode: Indexed
backoffLimitPerIndex: 9
podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}`)
		s.pod("failed", 1, corev1.PodFailed, 0, func(pod *corev1.Pod) {
			pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = test.failed
			pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = test.ignored
			pod.Status.ContainerStatuses[0].State.Terminated.ExitCode = test.code
		})
		s.Now = s.at(10_000)
		create := s.outcome(t).Create
		Same(t, name+": pods that are created", len(create), 1)
		of := create[0].Pod().Annotations
		got := strings.TrimSpace(of[batchv1.JobIndexFailureCountAnnotation] + " " + of[batchv1.JobIndexIgnoredFailureCountAnnotation])
		Same(t, name, got, test.want)
	}
}

// KEP-3850 § Downgrade: without the feature, the limit per index has no effect, and the status has no
// failed indexes.
func TestWithoutPerIndexBackoff(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 2\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nbackoffLimit: 1")
	s.Job.Status.FailedIndexes = new("0")
	s.pod("a", 1, corev1.PodFailed, 0)
	s.config.WithoutPerIndex = true
	if o := s.expect(t, "one failure", "strip a; failed 1; sync in 9s"); o.made.status.FailedIndexes != nil {
		t.Errorf("the status has the failed indexes %q", *o.made.status.FailedIndexes)
	}
	s.pod("b", 2, corev1.PodFailed, 0)
	s.expect(t, "two failures", "strip a,b; failed 2; FailureTarget BackoffLimitExceeded")
}

// The pods of a Job that ends are deleted at once, even if writes are not observed; only the end waits.
func TestEnd_deletesPodsBeforeWritesAreObserved(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1\nactiveDeadlineSeconds: 10")
	s.Job.Status.StartTime, s.Now = s.stored(0), s.at(10)
	s.pod("a", 1, corev1.PodRunning, 0)
	s.InFlight.Creations = 1
	s.expect(t, "past the deadline", "delete a")
}

// A created pod that is not observed may run, so a Job that has its completions waits for it. A surplus pod that
// is deleted in the same sync does not run any more.
func TestEnd_ofCompletionsWaitsForCreations(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.pod("a", 1, corev1.PodSucceeded, 0)
	s.InFlight.Creations = 1
	s.expect(t, "a creation is not observed", "strip a")
	s.InFlight = InFlight{Deletions: 1}
	s.expect(t, "a deletion is not observed", "strip a")
	s.InFlight = InFlight{}
	s.pod("b", 1, corev1.PodRunning, 0)
	s.expect(t, "a surplus pod", "delete b; strip a,b; SuccessCriteriaMet CompletionsReached")
}

// The status counts the pods as they are once the plan is carried out.
func TestStatus_countsWhatThePlanLeaves(t *testing.T) {
	for spec, want := range map[string]string{
		"parallelism: 3\ncompletions: 5":                "active 3, ready 2, terminating 0",
		"parallelism: 1\ncompletions: 5":                "active 1, ready 1, terminating 1",
		"parallelism: 1\ncompletions: 5\nsuspend: true": "active 0, ready 0, terminating 2",
	} {
		s := newScene(t, spec)
		s.pod("a", 1, corev1.PodRunning, 0, Ready)
		s.pod("b", 1, corev1.PodRunning, 0, Ready)
		status := s.outcome(t).made.status
		got := fmt.Sprintf("active %d, ready %d, terminating %d", status.Active, *status.Ready, *status.Terminating)
		Same(t, spec, got, want)
	}
}

// KEP-2307 § Algorithm: "Steps 2 to 4 might be skipped in the scenario where a status update happened too
// recently". What users wait for is not delayed.
func TestThrottle_delaysOnlyCounting(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"a success":            {func(*scene) {}, "sync in 6s"},
		"the Job is suspended": {func(s *scene) { *s.Job.Spec.Suspend = true }, "delete b,c; strip a"},
		"the Job starts":       {func(s *scene) { s.Job.Status.StartTime = nil }, "strip a"},
		"the Job fails": {func(s *scene) {
			s.Pods = s.Pods[:2] // few pods, which could wait
			s.condition(batchv1.JobFailureTarget)
		}, "delete b; strip a,b; failed 1; FailureTarget"},
		"the Job is complete": {func(s *scene) {
			s.Job.Status.Succeeded, s.Pods = 4, s.Pods[:1]
		}, "strip a; SuccessCriteriaMet CompletionsReached"},
		"the status lists a pod, and only its finalizer is left": {func(s *scene) {
			s.Job.Status = s.outcome(t).made.status
		}, "sync in 6s"},
		"more pods are freed, but not recorded": {func(s *scene) {
			s.Job.Spec.PodFailurePolicy = ExitCodePolicy()
			for _, name := range []string{"d", "e"} {
				s.pod(name, 1, corev1.PodFailed, 0).Status.ContainerStatuses[0].State.Terminated.ExitCode = ExitIgnore
			}
		}, "sync in 6s"},
		"nothing has changed": {func(s *scene) {
			s.Pods = s.Pods[1:]
			s.Job.Status = s.outcome(t).made.status
		}, "nothing"},
	} {
		s := newScene(t, "parallelism: 2\ncompletions: 5\nsuspend: false")
		s.Job.Status.StartTime = s.stored(0)
		s.Now, s.LastStatus = s.at(4), s.at(0)
		s.config.Throttle = throttle{Every: 10 * time.Second, Share: 1}
		s.pod("a", 1, corev1.PodSucceeded, 0)
		s.pod("b", 1, corev1.PodRunning, 0)
		s.pod("c", 1, corev1.PodRunning, 0)
		test.change(s)
		Same(t, name, strings.TrimSpace(does(s.outcome(t))), test.want)
	}
}

// KEP-2307 and KEP-3850, metrics: each pod and each index is added once, when it is counted.
func TestMetrics(t *testing.T) {
	created := func(reason string) string {
		return "job_pods_creation_total reason=" + reason + " status=succeeded"
	}
	for _, test := range []struct {
		name   string
		spec   string
		change func(*scene)
		want   []string
	}{
		{"new pods", "parallelism: 1\ncompletions: 1", func(*scene) {}, []string{created("new") + " 1"}},
		{"a pod after a failure", "parallelism: 1\ncompletions: 1", func(s *scene) { s.Job.Status.Failed = 1 },
			[]string{created("recreate_terminating_or_failed") + " 1"}},
		{"a pod after a failure, policy Failed", "parallelism: 1\ncompletions: 1\npodReplacementPolicy: Failed", func(s *scene) { s.Job.Status.Failed = 1 },
			[]string{created("recreate_failed") + " 1"}},
		{"a pod after a failure, with a failure policy and no replacement policy", "parallelism: 1\ncompletions: 1", func(s *scene) {
			s.Job.Status.Failed, s.Job.Spec.PodReplacementPolicy, s.Job.Spec.PodFailurePolicy = 1, nil, ExitCodePolicy()
		}, []string{created("recreate_failed") + " 1"}},
		{"a pod after a failure, with neither policy", "parallelism: 1\ncompletions: 1", func(s *scene) {
			s.Job.Status.Failed, s.Job.Spec.PodReplacementPolicy = 1, nil
		}, []string{created("recreate_terminating_or_failed") + " 1"}},
		{"a pod beside a terminating one, policy Failed", "parallelism: 2\ncompletions: 2\npodReplacementPolicy: Failed", func(s *scene) {
			s.pod("a", 1, corev1.PodRunning, 0, s.deletedAt(0))
		}, []string{created("recreate_terminating_or_failed") + " 1"}},
		{"a pod after a failure, without replacement policies", "parallelism: 1\ncompletions: 1", func(s *scene) {
			s.Job.Status.Failed, s.config.WithoutReplacement = 1, true
		}, []string{created("new") + " 1"}},
		{"fewer active pods than before, as others were deleted", "parallelism: 3\ncompletions: 3", func(s *scene) {
			s.pod("a", 1, corev1.PodRunning, 0)
			s.pod("b", 1, corev1.PodRunning, 0)
			s.InFlight.Pods = []PodInFlight{{UID: "a", Deleted: true}, {UID: "b", Deleted: true}}
		}, nil},
		{"an index that completes after the Job was scaled down", "parallelism: 0\ncompletions: 5\ncompletionMode: Indexed", func(s *scene) {
			s.Job.Status.CompletedIndexes, s.Job.Status.Succeeded = "0,1,7-9", 5
			s.pod("a", 3, corev1.PodSucceeded, 0)
		}, []string{"job_finished_indexes_total backoffLimit=global status=succeeded 1",
			"job_pods_finished_total completion_mode=Indexed result=succeeded 1"}},
		{"an index that fails, beside one that the status lists as failed, although it has completed",
			"parallelism: 0\ncompletions: 5\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0", func(s *scene) {
				s.Job.Status.CompletedIndexes, s.Job.Status.Succeeded, s.Job.Status.FailedIndexes = "0", 1, new("0")
				s.pod("a", 2, corev1.PodFailed, 0)
			}, []string{"job_finished_indexes_total backoffLimit=perIndex status=failed 1"}},
		{"an index that has completed before and one that completes", "parallelism: 0\ncompletions: 5\ncompletionMode: Indexed", func(s *scene) {
			s.Job.Status.CompletedIndexes, s.Job.Status.Succeeded = "0", 1
			s.pod("a", 1, corev1.PodSucceeded, 0)
			s.pod("b", 2, corev1.PodSucceeded, 0)
		}, []string{"job_finished_indexes_total backoffLimit=global status=succeeded 1",
			"job_pods_finished_total completion_mode=Indexed result=succeeded 1"}},
		{"an index that fails", "parallelism: 0\ncompletions: 5\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0", func(s *scene) {
			s.pod("a", 1, corev1.PodFailed, 0)
		}, []string{"job_finished_indexes_total backoffLimit=perIndex status=failed 1"}},
	} {
		s := newScene(t, test.spec)
		test.change(s)
		Same(t, test.name, strings.Join(Texts(s.outcome(t).Metrics), "; "), strings.Join(test.want, "; "))
	}

	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.condition(batchv1.JobFailureTarget)
	s.Job.Status.Conditions[0].Reason = "DeadlineExceeded"
	settled := s.outcome(t).Settle()
	Same(t, "the end", strings.Join(Texts(settled.Metrics), "; "),
		"jobs_finished_total completion_mode=NonIndexed reason=DeadlineExceeded result=failed 1")
}

// After a restart the record of failures follows from the failed pods, unless a later failure is
// remembered.
func TestBackoff_afterARestart(t *testing.T) {
	for name, test := range map[string]struct {
		remembered backoff.Record
		want       string
	}{
		"nothing is remembered":                  {backoff.Record{}, "failed 2; sync in 16s"},
		"a later failure is remembered":          {backoff.Record{Failures: 1, LastFailure: time.Unix(103, 0)}, "failed 2; sync in 9s"},
		"an earlier failure is remembered":       {backoff.Record{Failures: 5, LastFailure: time.Unix(50, 0)}, "failed 2; sync in 16s"},
		"more failures are remembered":           {backoff.Record{Failures: 3, LastFailure: time.Unix(100, 0)}, "failed 2; sync in 36s"},
		"that of an earlier Job of this name":    {backoff.Record{Job: "other", Failures: 5, LastFailure: time.Unix(103, 0)}, "failed 2; sync in 16s"},
		"fewer failures of that time than known": {backoff.Record{Failures: 1, LastFailure: time.Unix(100, 0)}, "failed 2; sync in 16s"},
	} {
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("CET", 3600)} { // that of a record read from JSON
			s := newScene(t, "parallelism: 1\ncompletions: 5")
			s.Job.Status.Failed = 2
			s.pod("a", 1, corev1.PodFailed, 99, Released)
			s.pod("b", 1, corev1.PodFailed, 100, Released)
			s.Now, s.Backoff = s.at(104), test.remembered
			if at := test.remembered.LastFailure; !at.IsZero() {
				s.Backoff.LastFailure = s.at(int(at.Unix())).In(zone)
			}
			s.expect(t, fmt.Sprintf("%s, in %s", name, zone), test.want)
		}
	}
}

// A deleted pod that is listed twice is terminating once; the second one is an error.
func TestInFlight_twice(t *testing.T) {
	job := Train(1)
	in := Snapshot{Job: job, Pods: []*corev1.Pod{PodOf(job, "a", "1")}, Now: Noon(), InFlight: InFlight{
		Deletions: 1, Pods: []PodInFlight{{UID: "a", Deleted: true}, {UID: "a", Deleted: true}}}}
	if _, err := Job(in); err == nil || err.Error() != `inFlight.pods[1].uid: Duplicate value: "a"` {
		t.Errorf("the error is %v, want one about the second pod", err)
	}
	in.InFlight.Pods = in.InFlight.Pods[:1]
	d, err := Job(in)
	if err != nil || d.Status.Active != 0 || *d.Status.Terminating != 1 {
		t.Errorf("got %+v, %v, want one terminating pod", d.Status, err)
	}
}
