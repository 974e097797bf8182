package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/tracking"
)

// A decision, its explanation and the pods agree on why an index or the Job failed, in every
// state of the searches. The oracle matches each pod with the rules itself.
func TestReasons(t *testing.T) {
	reached := map[string]int{}
	for _, k := range append([]kindOfJob{
		jobKind("per index, no retry, FailIndex", exits(1, 42), perIndex, withPolicy(failIndex), retriesPerIndex(0)),
		jobKind("two leaders", exits(1, 42), scale(1), perIndex, withPolicy(failIndex), retriesPerIndex(5)), // they may create two pods for an index
	}, kindsOfJob...) {
		c := k.make(2)
		if c.New != nil || c.Job.Spec.PodFailurePolicy == nil && c.Job.Spec.BackoffLimitPerIndex == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			c.Pods, c.Faults, c.Kinds, c.Limit = 3, 1, oneLeader, unit()*1_000
			if k.name == "two leaders" {
				c.Pods, c.Faults, c.Kinds = 2, 2, []faultKind{otherLeader}
			}
			c = deciding(c, func(in decide.Snapshot, own decide.Option, _ inside.Usual) (decide.Decision, error) {
				if err := checkReasons(in, reached); err != nil {
					t.Error(err)
				}
				return decide.Job(in, own)
			})
			if r, err := run(c); err != nil || r.Found != nil {
				t.Fatalf("found %v (%v)", r.Found, err)
			}
		})
	}
	for _, reason := range []string{"by a rule", "by the limit", "its pod is gone", "FailJob", "beside another failure", "the Job ends", "demand ends", "demand goes on"} {
		if reached[reason] == 0 {
			t.Errorf("no decision is about an index or a Job that failed: %s", reason)
		}
	}
	t.Log(reached)
}

// checkReasons compares what is said about a decision with the pods that it was made on.
func checkReasons(in decide.Snapshot, reached map[string]int) error {
	decision, err := decide.Job(decide.Snapshot{Job: in.Job, Pods: in.Pods, Now: in.Now, Backoff: in.Backoff, LastStatus: in.LastStatus})
	if err != nil {
		return err
	}
	o := failureOracle{in.Job, failurepolicy.FromAPI(in.Job.Spec.PodFailurePolicy), in.Pods}
	if err := o.checkVerdict(decision.Status, reached); err != nil {
		return err
	}
	if err := o.checkDemand(reached); err != nil {
		return fmt.Errorf("%w; the Job is %s, its pods are %s", err, encoded(in.Job), encoded(in.Pods))
	}
	for said := range explain.Of(decision).Indexes() {
		for index := range said.Indexes.All() {
			if err := o.checkIndex(index, said, reached); err != nil {
				return fmt.Errorf("index %d, %q of pod %q: %w; the Job is %s, its pods are %s", index, said.Text, said.LastFailure.Pod, err, encoded(in.Job), encoded(in.Pods))
			}
		}
	}
	return nil
}

// failureOracle says which pods fail their index or the Job.
type failureOracle struct {
	job    *batchv1.Job
	policy *failurepolicy.Spec
	pods   []*corev1.Pod
}

// failed reports whether a pod counts as failed. The list that has its UID overrules its phase.
func (o failureOracle) failed(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	if lists := o.job.Status.UncountedTerminatedPods; lists != nil && ended && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		if slices.Contains(lists.Failed, pod.UID) || slices.Contains(lists.Succeeded, pod.UID) {
			return slices.Contains(lists.Failed, pod.UID)
		}
	}
	onlyFailed := o.policy != nil || o.job.Spec.PodReplacementPolicy != nil && *o.job.Spec.PodReplacementPolicy == batchv1.Failed
	return pod.Status.Phase == corev1.PodFailed || !ended && pod.DeletionTimestamp != nil && !onlyFailed
}

func (o failureOracle) failures(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.Annotations[batchv1.JobIndexFailureCountAnnotation])
	return n
}

// why says why a pod fails its index: by a rule, by the limit, or not at all.
func (o failureOracle) why(pod *corev1.Pod) string {
	action := o.policy.Match(pod).Action
	switch {
	case !o.failed(pod) || action == ignore:
		return ""
	case action == failIndex:
		return "by a rule"
	case o.job.Spec.BackoffLimitPerIndex != nil && o.failures(pod) >= int(*o.job.Spec.BackoffLimitPerIndex):
		return "by the limit"
	}
	return ""
}

func (o failureOracle) checkIndex(index int32, said explain.IndexReason, reached map[string]int) error {
	var pods, fatal []*corev1.Pod // the failed pods of the index, and those that fail it
	var named *corev1.Pod
	for _, pod := range o.pods {
		if pod.Annotations[batchv1.JobCompletionIndexAnnotation] != strconv.Itoa(int(index)) {
			continue
		}
		if metav1.GetControllerOf(pod) == nil {
			return nil // whether the Job adopts the pod is not the question here
		}
		if o.failed(pod) {
			pods = append(pods, pod)
		}
		if o.why(pod) != "" {
			fatal = append(fatal, pod)
		}
		if pod.Name == said.LastFailure.Pod {
			named = pod
		}
	}
	if last := said.LastFailure; last.Pod != "" {
		for _, pod := range o.pods {
			if pod.Name == last.Pod && last.Match != o.policy.Match(pod) {
				return fmt.Errorf("the explanation has %+v, the pod matches %+v", last.Match, o.policy.Match(pod))
			}
		}
	}
	if said.Code != explain.IndexFailed {
		for _, pod := range fatal {
			if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
				return fmt.Errorf("pod %s fails it %s", pod.Name, o.why(pod))
			}
		}
		return nil
	}
	want := "failed"
	switch {
	case o.job.Spec.BackoffLimitPerIndex == nil && len(pods) > 0 && strings.HasPrefix(said.Text, "failed, and not done, because the Job "):
		reached["the Job ends"]++
		return nil
	case len(fatal) == 0:
		reached["its pod is gone"]++
	default:
		if named == nil || o.why(named) == "" {
			return fmt.Errorf("the pod does not fail it")
		}
		reached[o.why(named)]++
		if len(pods) > len(fatal) {
			reached["beside another failure"]++
		}
		want = fmt.Sprintf("failed after %d failures, the limit is %d", o.failures(named)+1, *o.job.Spec.BackoffLimitPerIndex)
		if o.why(named) == "by a rule" {
			want = "failed: its pod matched FailIndex " + o.policy.Match(named).Explain()
		}
		want = strings.Replace(want, "1 failures", "1 failure", 1)
	}
	if said.Text != want {
		return fmt.Errorf("want %q", want)
	}
	return nil
}

// checkVerdict checks the message of a Job that a FailJob rule fails.
func (o failureOracle) checkVerdict(status *batchv1.JobStatus, reached map[string]int) error {
	if status == nil {
		return nil
	}
	for _, c := range status.Conditions {
		if c.Type != batchv1.JobFailureTarget || c.Reason != batchv1.JobReasonPodFailurePolicy || slices.ContainsFunc(o.job.Status.Conditions, func(old batchv1.JobCondition) bool { return old.Type == c.Type }) {
			continue
		}
		reached["FailJob"]++
		if !slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool { return o.failed(pod) && o.policy.Match(pod).Message() == c.Message }) {
			return fmt.Errorf("no pod fails the Job with the message %q", c.Message)
		}
	}
	return nil
}

// checkDemand checks that the demand ends with the last index. TestDemand_holds checks its bounds.
func (o failureOracle) checkDemand(reached map[string]int) error {
	spec := &o.job.Spec
	if spec.BackoffLimitPerIndex == nil || spec.SuccessPolicy != nil || spec.MaxFailedIndexes != nil || o.job.Generation > 1 ||
		o.job.DeletionTimestamp != nil || jobstatus.OutcomeOf(o.job).Phase != jobstatus.Running {
		return nil
	}
	done := indexset.MustParse(o.job.Status.CompletedIndexes)
	if failed := o.job.Status.FailedIndexes; failed != nil {
		done = done.Union(indexset.MustParse(*failed))
	}
	runs := false
	for _, pod := range o.pods {
		switch {
		case !metav1.IsControlledBy(pod, o.job) || !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer):
			return nil
		case pod.Status.Phase == corev1.PodSucceeded || o.why(pod) != "":
			index, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
			done = done.Union(indexset.Of(int32(index)))
		case pod.Status.Phase != corev1.PodFailed:
			runs = true
		}
	}
	ends := done.Len() == int(*spec.Completions)
	least := decide.DemandWithPods(o.job, o.pods, tracking.Keys{}).InTotal.Least
	switch {
	case ends && !runs && least != 0, !ends && least == 0:
		return fmt.Errorf("at least %d more pods run, but the indexes that have ended are %s", least, done)
	case ends:
		reached["demand ends"]++
	default:
		reached["demand goes on"]++
	}
	return nil
}
