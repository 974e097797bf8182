package sync

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// If the real controller departs from a KEP, jobfate follows the controller. docs/divergences.md
// lists these cases, and the tests below show that both sides behave alike.

// sameOnBothSides returns the outcome of a trial. The two sides may differ only by the divergences in
// except.
func sameOnBothSides(t *testing.T, c *trial, except ...string) outcome {
	t.Helper()
	us, them := mustDecide(t, c), newRun(c)
	if same(them.outcome, us.out) {
		return us.out
	}
	names, diff := explain(us, them)
	if diff != "" || slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(except, name) }) {
		t.Errorf("explained by %v (-real +jobfate):\n%s", names, diff)
	}
	return us.out
}

// KEP-3850: "the finalizer removal is delayed" after the UID has been recorded.
// Both record the UID only when the replacement exists.
func TestKEP3850_recordedOnceReplaced(t *testing.T) {
	failed := pod("a", corev1.PodFailed, index(0), failures(0), finished(1, -20))
	recorded := func(o outcome) []types.UID {
		return o.Statuses[len(o.Statuses)-1].Status.UncountedTerminatedPods.Failed
	}
	waiting := sameOnBothSides(t, newTrial(size(1, 1), limitPerIndex(3), failed, func(c *trial) { c.limits.Base = time.Hour; c.limits.Cap = time.Hour }),
		"per-index-record", "whole-status")
	if len(waiting.Statuses) > 0 && len(recorded(waiting)) > 0 || len(waiting.Strips) > 0 {
		t.Errorf("before the replacement: statuses %s, %d finalizers removed; want the pod in no list and its finalizer kept", text(waiting.Statuses), len(waiting.Strips))
	}
	replaced := sameOnBothSides(t, newTrial(size(1, 1), limitPerIndex(3), failed, pod("b", corev1.PodRunning, index(0), failures(1))), "per-index-record")
	if len(replaced.Statuses) != 2 || replaced.StoredFirst != 1 || len(replaced.Strips) != 1 {
		t.Fatalf("after the replacement: %d statuses, %d finalizers removed; want 2 and 1", len(replaced.Statuses), len(replaced.Strips))
	}
	if got := replaced.Statuses[0].Status.UncountedTerminatedPods.Failed; !slices.Equal(got, []types.UID{"a"}) {
		t.Errorf("after the replacement: %v recorded, want the pod a", got)
	}
}

// KEP-3850: the field causes no further status updates. From a failure to the running replacement,
// both write 3 statuses, and 4 with a limit per index.
func TestKEP3850_statusWritesOfAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		trial func() *trial
		want  int
	}{
		"backoffLimit": {func() *trial {
			return newTrial(size(1, 1), onJob(func(j *batchv1.Job) { byIndex(j); j.Status.Active = 1 }), pod("a", corev1.PodFailed, index(0)))
		}, 3},
		"backoffLimitPerIndex": {func() *trial {
			return newTrial(size(1, 1), limitPerIndex(3), onJob(func(j *batchv1.Job) { j.Status.Active, j.Status.FailedIndexes = 1, new("") }),
				pod("a", corev1.PodFailed, index(0), failures(0)))
		}, 4},
	} {
		sides := map[string]func(*trial) outcome{
			"the real controller": func(c *trial) outcome { return newRun(c).outcome },
			"jobfate":             func(c *trial) outcome { return mustDecide(t, c).out },
		}
		for _, side := range slices.Sorted(maps.Keys(sides)) {
			Same(t, name+", "+side+": statuses written", statusWrites(test.trial(), sides[side]), test.want)
		}
	}
}

// statusWrites runs syncs until nothing is written and no timer is set. Each write is observed at
// once. It returns the number of status writes.
func statusWrites(c *trial, sync func(*trial) outcome) (n int) {
	for range 20 {
		o := sync(c)
		n += len(o.Statuses)
		s := &c.snapshot
		if len(o.Statuses) > 0 {
			s.Job.Status = *o.Statuses[len(o.Statuses)-1].Status
		}
		for _, strip := range o.Strips {
			// A failed pod without the finalizer may be removed at any time.
			s.Pods = slices.DeleteFunc(s.Pods, func(p *corev1.Pod) bool { return p.Name == strip.Pod })
		}
		for _, creation := range o.Creations {
			p := creation.Object.DeepCopy()
			p.Name, p.UID, p.ResourceVersion = creation.Pod, types.UID(creation.Pod), "1"
			p.Status.Phase = corev1.PodRunning
			s.Pods = append(s.Pods, p)
		}
		s.Backoff.Failures, s.Backoff.LastFailure = o.Backoff.Failures, time.Time{}
		if o.Backoff.LastFailure != nil {
			s.Backoff.LastFailure = *o.Backoff.LastFailure
		}
		switch {
		case len(o.Statuses)+len(o.Strips)+len(o.Creations) > 0:
		case o.Requeue > 0:
			s.Now = s.Now.Add(o.Requeue)
		default:
			return n
		}
	}
	return -1
}

// KEP-3850 uses the finish times of the containers only if all have one, and otherwise the transition
// of Ready. Both sides use the existing container statuses, those of sidecars last.
func TestKEP3850_finishTime(t *testing.T) {
	ended := func(name string, seconds int) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: at(seconds)}}}
	}
	unready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: at(20)}}
	for name, test := range map[string]struct {
		pod *corev1.Pod
		kep int
		is  int
	}{
		"the main container runs beside a sidecar that has finished": {&corev1.Pod{
			Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}, Containers: []corev1.Container{{Name: "main"}}},
			Status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: unready, InitContainerStatuses: []corev1.ContainerStatus{ended("side", 3)},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main"}}},
		}, 20, 3},
		"the status of one container is missing": {&corev1.Pod{
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}, {Name: "other"}}},
			Status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: unready, ContainerStatuses: []corev1.ContainerStatus{ended("main", 5)}},
		}, 20, 5},
	} {
		for side, got := range map[string]time.Time{"the real controller": real.FinishedTime(test.pod), "jobfate": backoff.FinishTime(test.pod)} {
			if want := at(test.is).Time; !got.Equal(want) {
				t.Errorf("%s, %s: finished at %s, want %s (the KEP: %s)", name, side, got, want, at(test.kep))
			}
		}
	}
}

// KEP-3850: ignored failures do not count towards the delay. Both sides count them: after three
// ignored failures and one that counts, the delay is 80 s, not 10 s.
func TestKEP3850_ignoredFailuresDelay(t *testing.T) {
	o := sameOnBothSides(t, newTrial(size(1, 1), limitPerIndex(5), pod("a", corev1.PodFailed, index(0), failures(0), ignored(3))), "per-index-record")
	if o.Requeue != 80*time.Second || len(o.Creations) != 0 {
		t.Errorf("%d creations, requeue after %s; want none and 80s", len(o.Creations), o.Requeue)
	}
}

// KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for the index, the newly
// created pod will have the annotation set to x+1." On both sides x is the count of the failed pod
// with the most failures, ignored ones included: here it is 1 of 1+3, and not 2 of 2+0.
func TestKEP3850_highestCount(t *testing.T) {
	o := sameOnBothSides(t, newTrial(size(1, 1), limitPerIndex(5),
		pod("a", corev1.PodFailed, index(0), failures(2), finished(1, -3000)),
		pod("b", corev1.PodFailed, index(0), failures(1), ignored(3), finished(1, -2000)),
	), "per-index-record", "whole-status")
	if len(o.Creations) != 1 {
		t.Fatalf("%d creations, want 1", len(o.Creations))
	}
	got := o.Creations[0].Object.Annotations
	if got[batchv1.JobIndexFailureCountAnnotation] != "2" || got[batchv1.JobIndexIgnoredFailureCountAnnotation] != "3" {
		t.Errorf("the new pod has the annotations %v, want the counts 2 and 3", got)
	}
}

// The comment of maxFailedIndexes in KEP-3850 says that without it the Job is marked
// Complete. Its text says Failed, and so do both sides.
func TestKEP3850_failedIndexesFailTheJob(t *testing.T) {
	o := sameOnBothSides(t, newTrial(size(2, 2), limitPerIndex(0), onJob(func(j *batchv1.Job) {
		j.Spec.MaxFailedIndexes = nil
		j.Status.CompletedIndexes, j.Status.FailedIndexes, j.Status.Succeeded, j.Status.Failed = "0", new("1"), 1, 1
	})))
	if last := o.Statuses[len(o.Statuses)-1].Status; !isTrue(last, batchv1.JobFailed) || condition(last, batchv1.JobFailed).Reason != batchv1.JobReasonFailedIndexes {
		t.Errorf("status %s, want Failed with FailedIndexes", text(last))
	}
}

// In KEP-2307, only a pod with the finalizer is active. On both sides a running pod without it is
// active too, and is not counted when it ends.
func TestKEP2307_activeWithoutTheFinalizer(t *testing.T) {
	bare := func(p *corev1.Pod) { p.Finalizers = nil }
	if o := sameOnBothSides(t, newTrial(size(2, 2), pod("a", corev1.PodRunning, bare))); len(o.Creations) != 1 {
		t.Errorf("it runs: %d creations, want 1 beside it", len(o.Creations))
	}
	if o := sameOnBothSides(t, newTrial(size(2, 2), pod("a", corev1.PodSucceeded, bare))); len(o.Creations) != 2 {
		t.Errorf("it has succeeded: %d creations, want 2", len(o.Creations))
	}
}

// KEP-2307 names the finalizer batch.kubernetes.io/job-completion, and the metrics
// job_pod_finished{result="completed"}, job_sync_total and job_finished_total.
func TestKEP2307_names(t *testing.T) {
	o := sameOnBothSides(t, newTrial(size(1, 1)))
	Same(t, "finalizers", o.Creations[0].Object.Finalizers, []string{"batch.kubernetes.io/job-tracking"})
	o = sameOnBothSides(t, newTrial(pod("a", corev1.PodSucceeded)))
	want := []string{
		`job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"}`,
		`jobs_finished_total{completion_mode="NonIndexed",reason="CompletionsReached",result="succeeded"}`,
	}
	Same(t, "metrics", slices.Sorted(maps.Keys(o.Metrics)), want)
	counted := slices.ContainsFunc(slices.Collect(maps.Keys(real.Sync(newTrial(size(1, 1)).input()).Metrics)), func(name string) bool {
		return strings.HasPrefix(name, "job_syncs_total{")
	})
	if !counted {
		t.Error("the real controller counts no sync in job_syncs_total")
	}
}

// KEP-2307: a sync removes finalizers for a limited time, and then requeues the Job. Both sides only
// limit the number of counted pods, and the real controller sets no timer. MaxRemovals of jobfate
// limits the number of removals in all cases.
func TestKEP2307_noBoundOnTheTimeOfRemovals(t *testing.T) {
	var pods []func(*trial)
	for i := range 501 {
		pods = append(pods, pod(fmt.Sprintf("p%03d", i), corev1.PodSucceeded))
	}
	c := newTrial(append([]func(*trial){size(0, 600)}, pods...)...)
	them := newRun(c)
	if o := them.outcome; len(o.Strips) != 500 || o.Requeue != 0 {
		t.Errorf("Kubernetes: %d finalizers removed, requeue after %s; want 500 and no timer for the last", len(o.Strips), o.Requeue)
	}
	us := mustDecide(t, c)
	names, diff := explain(us, them)
	if diff != "" || !slices.Equal(names, []string{"work-left"}) || us.out.Requeue != time.Second {
		t.Errorf("jobfate requeues after %s, explained by %v; want 1s and work-left (-real +jobfate):\n%s", us.out.Requeue, names, diff)
	}
	d, err := decide.Job(decide.Snapshot{Job: c.snapshot.Job, Pods: c.snapshot.Pods, Now: c.snapshot.Now}, decide.MaxRemovals(20))
	if err != nil || len(d.Strip) != 20 || d.Deferred.Strip != 481 || d.Requeue != time.Second {
		t.Errorf("MaxRemovals(20): %d to strip, left %+v, requeue %s, %v", len(d.Strip), d.Deferred, d.Requeue, err)
	}
}

// KEP-4443: "observe job_pods_finished_total to check if the reason count of taken actions (FailJob,
// Count or Ignore) correlates". On both sides another metric counts the actions.
func TestKEP4443_metricOfActions(t *testing.T) {
	const finished = `job_pods_finished_total{completion_mode="NonIndexed",result="failed"}`
	for action, counted := range map[batchv1.PodFailurePolicyAction]bool{
		batchv1.PodFailurePolicyActionFailJob: true, batchv1.PodFailurePolicyActionCount: true, batchv1.PodFailurePolicyActionIgnore: false,
	} {
		o := sameOnBothSides(t, newTrial(size(2, 2), rule(action), pod("a", corev1.PodFailed), pod("b", corev1.PodRunning)))
		if name := fmt.Sprintf("pod_failures_handled_by_failure_policy_total{action=%q}", action); o.Metrics[name] != 1 {
			t.Errorf("%s: the metrics are %v, want 1 for %s", action, o.Metrics, name)
		}
		if _, ok := o.Metrics[finished]; ok != counted {
			t.Errorf("%s: the metrics are %v, want %s: %t", action, o.Metrics, finished, counted)
		}
	}
}

// The blog on 1.28: with TerminatingOrFailed a terminating pod is replaced "immediately". On both
// sides the pod counts as failed, and the replacement waits 10 s.
func TestBlog_replacementWaitsForTheBackoff(t *testing.T) {
	o := sameOnBothSides(t, newTrial(size(1, 1), pod("a", corev1.PodRunning, func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(30)), new(int64(30))
	})))
	if len(o.Creations) != 0 || o.Requeue != 10*time.Second {
		t.Errorf("%d creations, requeue after %s; want none and 10s", len(o.Creations), o.Requeue)
	}
}
