package decide

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// API reference, activeDeadlineSeconds: "If a Job is suspended (at creation or through an update),
// this timer will effectively be stopped and reset when the Job is resumed again."
func TestDeadline_afterAResume(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1\nactiveDeadlineSeconds: 30\nsuspend: true")
	s.Job.Status.StartTime, s.Now = s.stored(0), s.at(60)
	s.pod("before", 1, corev1.PodRunning, 0)
	o := s.expect(t, "suspended when the deadline has passed", "delete before")
	s.Job.Status, s.Pods, s.Now = o.made.status, nil, s.at(100)
	o = s.expect(t, "suspended for longer than the deadline", "nothing")
	Same(t, "start time of a suspended Job", o.made.status.StartTime, nil)

	s.Job.Status = o.made.status
	*s.Job.Spec.Suspend = false
	o = s.expect(t, "resumed", "create 1; sync in 30s")
	if got := o.made.status.StartTime; got == nil || !got.Time.Equal(s.Now) {
		t.Errorf("the start time is %v, want the time of the resume, %v", got, s.Now)
	}

	s.Job.Status = o.made.status
	s.pod("a", 1, corev1.PodRunning, 0)
	s.Now = s.at(110)
	s.expect(t, "ten seconds after the resume", "sync in 20s")
	s.Now = s.at(130)
	s.expect(t, "at the deadline after the resume", "delete a; strip a; failed 1; FailureTarget DeadlineExceeded")
}

// Suspending a Job does not end the delay after a failure. Otherwise suspending and resuming it
// would be a way around the backoff.
func TestDelay_afterAResume(t *testing.T) {
	for limit, resumed := range map[string]string{
		"":                          "failed 1; sync in 6s", // 10s after the failure
		"\nbackoffLimitPerIndex: 3": "create index 1; failed 1; sync in 6s",
	} {
		s := newScene(t, "parallelism: 2\ncompletions: 2\ncompletionMode: Indexed\nsuspend: true"+limit)
		s.condition(batchv1.JobSuspended)
		s.Job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"failed"}}
		failed := s.pod("failed", 1, corev1.PodFailed, 100)
		if limit == "" {
			Released(failed) // with a limit per index it waits for its replacement
		}
		s.Backoff.Failures, s.Backoff.LastFailure = 1, s.at(100)
		s.Now = s.at(104)
		s.expect(t, "suspended"+limit, "failed 1")

		*s.Job.Spec.Suspend = false
		s.expect(t, "resumed"+limit, resumed)
		s.Now = s.at(110)
		s.expect(t, "after the delay"+limit, "create index 0,1; failed 1")
	}
}

// KEP-3850 § Job completion: "The Failed condition is added once all indexes completed their
// execution (either failed or succeeded), or when the number of failed indexes exceeds the specified
// .spec.maxFailedIndexes." The failures that this sync finds count, not only those in the status.
func TestMaxFailedIndexes_inTheSameSync(t *testing.T) {
	s := newScene(t, "parallelism: 4\ncompletions: 4\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nmaxFailedIndexes: 1")
	s.pod("a", 1, corev1.PodFailed, 0)
	s.pod("b", 2, corev1.PodRunning, 0)
	s.pod("c", 3, corev1.PodRunning, 0)
	s.pod("d", 4, corev1.PodRunning, 0)
	s.expect(t, "as many failed indexes as allowed", "strip a; failed 1")

	s.Pods = s.Pods[:1]
	s.pod("b", 2, corev1.PodFailed, 0)
	s.pod("c", 3, corev1.PodRunning, 0)
	s.expect(t, "two fail in one sync", "delete c; strip a,b,c; failed 3; FailureTarget MaxFailedIndexesExceeded")

	s.Job.Status.FailedIndexes = new("0")
	s.Pods = nil
	s.pod("b", 2, corev1.PodFailed, 0)
	s.pod("c", 3, corev1.PodRunning, 0)
	s.expect(t, "one is in the status and one fails", "delete c; strip b,c; failed 2; FailureTarget MaxFailedIndexesExceeded")
}

// KEP-3850 § Global exponential backoff delay: "failures or successes in one index should not
// influence backoff delays for another index". Without a limit per index the delay is one for the
// whole Job, and a success ends it.
func TestDelay_ofAnIndexAndTheSuccessOfAnother(t *testing.T) {
	for limit, want := range map[string]string{
		"":                          "create index 0; strip failed,succeeded; failed 1",
		"\nbackoffLimitPerIndex: 3": "strip succeeded; sync in 6s",
	} {
		s := newScene(t, "parallelism: 2\ncompletions: 2\ncompletionMode: Indexed"+limit)
		s.pod("failed", 1, corev1.PodFailed, 100)
		s.pod("succeeded", 2, corev1.PodSucceeded, 103)
		s.Now = s.at(104)
		s.expect(t, "limit"+limit, want)
		s.Pods = s.Pods[:1]
		remembered := map[string]int32{"": 1}[limit] // with a limit per index the pods carry the counts
		Same(t, "failures remembered for the whole Job with the limit"+limit, s.outcome(t).Backoff.Failures, remembered)
	}

	s := newScene(t, "parallelism: 2\ncompletions: 2\nbackoffLimitPerIndex: 3"+indexed)
	s.Backoff.Failures, s.Backoff.LastFailure = 3, s.at(0)
	d := s.expect(t, "failures of the whole Job delay no index", "create index 0,1")
	Same(t, "the record, which counts if the limit per index is switched off", d.Backoff, s.Backoff)
}

// KEP-2307 § Deleted Pods: "if the Job controller deletes the Pod (when the user decreases
// parallelism or suspends the Job, for example), the controller removes the finalizer before deleting
// it. Thus, these deletions don’t count towards the failures." That also holds while it is unknown
// whether the deletion was carried out.
func TestDeletions_byTheControllerAreNoFailures(t *testing.T) {
	for _, job := range []struct {
		spec, want string
	}{
		{"parallelism: 1\ncompletions: 3", "delete b"},
		{"parallelism: 2\ncompletions: 3\nsuspend: true", "delete a,b"},
	} {
		s := newScene(t, job.spec)
		s.pod("a", 1, corev1.PodRunning, 0)
		b := s.pod("b", 1, corev1.PodPending, 0)
		o := s.expect(t, job.spec, job.want)
		for _, d := range o.Delete {
			Same(t, job.spec+": the finalizer goes first, so that the deletion is no failure", d.StripFirst, true)
		}
		closed := o.Revise(Undone{Deletions: []types.UID{"b"}})
		Same(t, job.spec+": the deletion of b may have failed", does(closed), job.want)
		Same(t, job.spec+": active pods while b may run", closed.made.status.Active, int32(len(s.Pods)-len(o.Delete)+1))

		s.Job.Status = o.made.status
		s.InFlight.Deletions = len(o.Delete)
		s.expect(t, job.spec+": the deletions are not observed", "nothing")

		s.InFlight.Deletions = 0
		for i := range o.Delete {
			pod := s.Pods[len(s.Pods)-1-i]
			Released(pod)
			s.deletedAt(1)(pod)
		}
		s.expect(t, job.spec+": the pods terminate", "nothing")
		b.Status.Phase = corev1.PodFailed
		s.expect(t, job.spec+": a pod has terminated", "nothing")
	}

	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.pod("a", 1, corev1.PodRunning, 0, s.deletedAt(1))
	s.expect(t, "another client deletes a pod, which counts", "strip a; failed 1; sync in 10s")
}

// KEP-2307 § Algorithm: "If there are pending Pods to count, the controller puts back the Job into
// the work queue." The next sync is due even if nothing else changes.
func TestRequeue_whileFinalizersAreLeft(t *testing.T) {
	for _, test := range []struct {
		reason      string
		completions int
		finished    []string
		change      func(*scene)
		want        string
	}{
		{"fewer pods than the lists hold", 5, []string{"a"}, func(s *scene) { s.config.UncountedCap = 2 }, "strip a"},
		{"more pods than the lists hold", 5, []string{"a", "b", "c"}, func(s *scene) { s.config.UncountedCap = 2 },
			"strip a,b; sync in 1s"},
		{"more pods than one sync may free", 5, []string{"a", "b", "c"},
			func(s *scene) { s.config.RemovalsCap = 1 }, "strip a; sync in 1s"},
		{"the last pods fill the lists, so the Job cannot end in this sync", 2, []string{"a", "b"}, func(s *scene) { s.config.UncountedCap = 2 },
			"strip a,b; SuccessCriteriaMet CompletionsReached; sync in 1s"},
		{"the last pods do not fill the lists", 2, []string{"a", "b"}, func(s *scene) { s.config.UncountedCap = 3 },
			"strip a,b; SuccessCriteriaMet CompletionsReached"},
		{"the last pods fill the lists, and another one terminates, whose end starts a sync", 2, []string{"a", "b"}, func(s *scene) {
			s.config.UncountedCap = 2
			s.pod("c", 1, corev1.PodRunning, 0, s.deletedAt(0), Released)
		}, "strip a,b; SuccessCriteriaMet CompletionsReached"},
		{"the Job has ended", 2, []string{"a", "b"},
			func(s *scene) { s.condition(batchv1.JobComplete); s.config.RemovalsCap = 1 }, "strip a; sync in 1s"},
		{"the Job has ended, and nothing is left", 2, []string{"a"},
			func(s *scene) { s.condition(batchv1.JobComplete); s.config.RemovalsCap = 1 }, "strip a"},
	} {
		s := newScene(t, fmt.Sprintf("parallelism: 0\ncompletions: %d", test.completions))
		for _, name := range test.finished {
			s.pod(name, 1, corev1.PodSucceeded, 0)
		}
		test.change(s)
		s.expect(t, test.reason, test.want)
	}
}

// API reference, completionMode: "the Pod hostname takes the form $(job-name)-$(index)". It
// replaces a hostname in the template; in a Job without indexes that hostname is kept.
func TestCreate_hostnames(t *testing.T) {
	for mode, want := range map[string][]string{
		"Indexed":    {"job-0", "job-1"},
		"NonIndexed": {"mine", "mine"},
	} {
		s := newScene(t, "parallelism: 2\ncompletions: 2\ncompletionMode: "+mode)
		s.Job.Name, s.Job.Spec.Template.Spec.Hostname = "job", "mine"
		create := s.outcome(t).Create
		Same(t, mode+": pods", len(create), len(want))
		for i, c := range create {
			Same(t, fmt.Sprintf("%s: hostname of pod %d", mode, i), c.Pod().Spec.Hostname, want[i])
		}
	}
}

// With the option OwnerKind, a caller runs custom resources as Jobs.
func TestCreate_ownerKind(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 1")
	s.config = *configure([]Option{OwnerKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"})})
	of := s.outcome(t).Create[0].Pod().OwnerReferences[0]
	Same(t, "the owner", []string{of.APIVersion, of.Kind, string(of.UID)}, []string{"example.com/v1", "Simulation", string(s.Job.UID)})
}

// Misplaced pods go in the order of the Job controller: pods beyond the completions before the duplicates of the highest
// index.
func TestDelete_misplacedInOrder(t *testing.T) {
	s := newScene(t, "parallelism: 3\ncompletions: 3"+indexed)
	s.pod("a", 1, corev1.PodPending, 0)
	s.pod("b", 1, corev1.PodRunning, 0)
	s.pod("c", 2, corev1.PodPending, 0)
	s.pod("d", 2, corev1.PodRunning, 0)
	s.pod("e", 1, corev1.PodRunning, 0, Index("3"))
	got := Each(s.outcome(t).Delete, func(d Deletion) string { return d.Pod.Name + ": " + d.Cause })
	Same(t, "deletions", got, []string{"a: " + CauseDuplicate, "e: " + CauseBeyond, "c: " + CauseDuplicate})
}

// Of two surplus pods that are alike, the one that was created later goes, also within one second.
func TestDelete_comparesFractionsOfASecond(t *testing.T) {
	for _, young := range []string{"a", "b"} {
		s := newScene(t, "parallelism: 1\ncompletions: 3")
		for _, name := range []string{"a", "b"} {
			s.pod(name, 1, corev1.PodRunning, 0, func(pod *corev1.Pod) {
				pod.CreationTimestamp.Time = s.created
				if name == young {
					pod.CreationTimestamp.Time = s.created.Add(time.Millisecond)
				}
			})
		}
		s.expect(t, young+" is younger", "delete "+young)
	}
}

// Of two surplus pods that are alike, the one whose container has restarted more often goes. As in
// Kubernetes, a pod counts with its worst container, and with its worst sidecar: restarts are not
// summed.
func TestDelete_comparesTheWorstContainer(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	restarted := func(sidecars bool, counts ...int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = nil, nil
			for i, n := range counts {
				status := corev1.ContainerStatus{Name: fmt.Sprint("c", i), RestartCount: n}
				if sidecars {
					pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: status.Name, RestartPolicy: &always})
					pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
				} else {
					pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
				}
			}
		}
	}
	for _, sidecars := range []bool{false, true} {
		for _, test := range []struct {
			a, b []int32
			want string
		}{
			{[]int32{5}, []int32{3, 3}, "delete a"},
			{[]int32{3, 3}, []int32{5}, "delete b"},
			{[]int32{1, 5}, []int32{4, 4, 4}, "delete a"},
		} {
			s := newScene(t, "parallelism: 1\ncompletions: 3")
			s.pod("a", 1, corev1.PodRunning, 0, restarted(sidecars, test.a...))
			s.pod("b", 1, corev1.PodRunning, 0, restarted(sidecars, test.b...))
			s.expect(t, fmt.Sprintf("sidecars %t, restarts %v and %v", sidecars, test.a, test.b), test.want)
		}
	}
}
