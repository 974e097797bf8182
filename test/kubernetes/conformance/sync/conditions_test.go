package sync

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

var writeConditions = flag.Bool("conditions", false, "write docs/conditions.tsv")

const conditionsFile = "../../../../docs/conditions.tsv"

// TestConditions compares the texts of all conditions, byte for byte: those of Kubernetes, those of
// jobfate, and those of docs/conditions.tsv. Other controllers match these texts.
func TestConditions(t *testing.T) {
	failed := func(name string, change ...func(*corev1.Pod)) func(*trial) {
		return pod(name, corev1.PodFailed, change...)
	}
	disrupted := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	}
	onDisruption := onJob(func(j *batchv1.Job) {
		j.Spec.PodReplacementPolicy = new(batchv1.Failed)
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}}
	})
	inInit := func(p *corev1.Pod) {
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
		p.Status.InitContainerStatuses[0].Name = "setup"
	}
	limit := func(n int32) func(*trial) { return onJob(func(j *batchv1.Job) { j.Spec.BackoffLimit = &n }) }
	succeeded := func(count *int32, indexes *string) func(*trial) {
		return onJob(func(j *batchv1.Job) {
			byIndex(j)
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: indexes, SucceededCount: count}}}
		})
	}
	var out strings.Builder
	out.WriteString("when\ttype\tstatus\treason\tmessage\n")
	for _, c := range []struct {
		when  string
		trial *trial
	}{
		{"the backoff limit is exceeded", newTrial(size(1, 1), limit(0), failed("a"))},
		{"the backoff limit is exceeded by restarts in place", newTrial(size(1, 1), limit(1), onJob(func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}), pod("a", corev1.PodRunning, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 2}}
		}))},
		{"the deadline is exceeded", newTrial(onJob(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(30)) }))},
		{"a rule matches an exit code", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionIgnore), rule(batchv1.PodFailurePolicyActionFailJob),
			onJob(func(j *batchv1.Job) { j.Spec.PodFailurePolicy.Rules[0].OnExitCodes.Values = []int32{2} }), failed("a"))},
		{"a rule matches an exit code of an init container", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionFailJob), failed("a", inInit))},
		{"a rule matches a condition", newTrial(size(1, 1), onDisruption, failed("a", disrupted))},
		{"a rule matches two pods: the one with the lowest index", newTrial(size(2, 2), onJob(byIndex), rule(batchv1.PodFailurePolicyActionFailJob),
			failed("a", index(1)), failed("b", index(0)))},
		{"a rule matches two pods without index: the one with the lowest UID", newTrial(size(2, 2), rule(batchv1.PodFailurePolicyActionFailJob), failed("b"), failed("a"))},
		{"an index has failed", newTrial(size(1, 1), limitPerIndex(0), failed("a", index(0)))},
		{"too many indexes have failed", newTrial(size(1, 2), limitPerIndex(0), onJob(func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(0)) }), failed("a", index(0)))},
		{"all pods have succeeded", newTrial(size(1, 1), pod("a", corev1.PodSucceeded))},
		{"all indexes have succeeded", newTrial(size(1, 1), onJob(byIndex), pod("a", corev1.PodSucceeded, index(0)))},
		{"a success policy names indexes", newTrial(size(1, 2), succeeded(nil, new("0")), pod("a", corev1.PodSucceeded, index(0)))},
		{"a success policy counts indexes", newTrial(size(1, 2), succeeded(new(int32(1)), nil), pod("a", corev1.PodSucceeded, index(0)))},
		{"the Job is suspended", newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))},
		{"the Job is resumed", newTrial(conditions(batchv1.JobSuspended, corev1.ConditionTrue))},
	} {
		us := mustDecide(t, c.trial)
		// The second status of a sync has all that the first has.
		statuses := newRun(c.trial).outcome.Statuses
		theirs, ours := texts(c.when, statuses[len(statuses)-1].Status), texts(c.when, us.out.Statuses[len(us.out.Statuses)-1].Status)
		if diff := cmp.Diff(theirs, ours); diff != "" || ours == "" {
			t.Errorf("%s (-real +jobfate):\n%s", c.when, diff)
		}
		out.WriteString(ours)
	}
	if *writeConditions {
		NoError(t, os.WriteFile(conditionsFile, []byte(out.String()), 0o644))
	}
	if diff := cmp.Diff(string(Must(os.ReadFile(conditionsFile))), out.String()); diff != "" {
		t.Errorf("docs/conditions.tsv (-listed +found):\n%s", diff)
	}
}

func texts(when string, st *batchv1.JobStatus) (lines string) {
	for _, c := range st.Conditions {
		lines += fmt.Sprintf("%s\t%s\t%s\t%s\t%s\n", when, c.Type, c.Status, c.Reason, c.Message)
	}
	return lines
}
