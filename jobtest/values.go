package jobtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/indexset"
)

// Sets generates sets of indexes below a number.
func Sets(below int32) *rapid.Generator[indexset.Set] {
	return rapid.Custom(func(t *rapid.T) indexset.Set {
		var b indexset.Builder
		for range rapid.IntRange(0, 5).Draw(t, "intervals") {
			first := rapid.Int32Range(0, max(below-1, 0)).Draw(t, "first")
			b.AddRange(first, first+rapid.Int32Range(0, 4).Draw(t, "more"))
		}
		return b.Set().Clip(below)
	})
}

// DamagedSets generates texts of sets that the Job controller does not write: with fragments that are
// no intervals, out of order, or beyond completions.
func DamagedSets(completions int32) *rapid.Generator[indexset.Text] {
	faults := []string{"", "x", "-", "0-x", "5-3", "1-2-4", "99999999999999999999", " 4", "+4", "007", "2-2",
		fmt.Sprint(completions)}
	return rapid.Custom(func(t *rapid.T) indexset.Text {
		parts := strings.Split(Sets(completions).Draw(t, "set").String(), ",")
		at := rapid.IntRange(0, len(parts)).Draw(t, "where")
		fault := rapid.SampledFrom(faults).Draw(t, "fault")
		return indexset.Text(strings.Join(slices.Insert(parts, at, fault), ","))
	}).Filter(func(text indexset.Text) bool {
		_, damage := text.Set(completions)
		return damage != nil
	})
}

var exitCodes = rapid.SampledFrom([]int32{1, 2, 42, 137, 143})

// FailedPods generates pods that have failed: with an exit code, a reason, a disruption, or without
// saying why.
func FailedPods() *rapid.Generator[*corev1.Pod] {
	return rapid.Custom(func(t *rapid.T) *corev1.Pod {
		ended := metav1.NewTime(Noon().Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "second")) * time.Second))
		name := fmt.Sprint(JobName, "-", rapid.IntRange(0, 9).Draw(t, "index"))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
		pod.Status.Phase = corev1.PodFailed
		switch rapid.IntRange(0, 4).Draw(t, "why") {
		case 0:
			pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: memory."
		case 1:
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", LastTransitionTime: ended}}
		case 2:
		default:
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: ended,
					ExitCode: exitCodes.Draw(t, "exit code"),
					Reason:   rapid.SampledFrom([]string{"Error", "OOMKilled"}).Draw(t, "reason"),
					Message:  rapid.SampledFrom([]string{"", "CUDA error 700"}).Draw(t, "message")}}}}
		}
		return pod
	})
}

// FailurePolicies generates valid pod failure policies, whose rules may have names.
func FailurePolicies() *rapid.Generator[*failurepolicy.Spec] {
	return rapid.Custom(func(t *rapid.T) *failurepolicy.Spec {
		s := &failurepolicy.Spec{}
		for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
			r := failurepolicy.Rule{Name: rapid.SampledFrom([]string{"", fmt.Sprint("Rule", i)}).Draw(t, "name"),
				Action: rapid.SampledFrom([]batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionFailJob,
					batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount}).Draw(t, "action")}
			if rapid.Bool().Draw(t, "on conditions") {
				r.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
			} else {
				r.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{exitCodes.Draw(t, "code")}}
			}
			s.Rules = append(s.Rules, r)
		}
		return s
	})
}

// Drafts generates backoff limits in the form of the early draft of KEP-3850, all of them valid.
func Drafts() *rapid.Generator[backoff.Draft] {
	return rapid.Custom(func(t *rapid.T) backoff.Draft {
		var d backoff.Draft
		if rapid.Bool().Draw(t, "limited") {
			limit := rapid.Int32Range(0, 9).Draw(t, "limit")
			d.BackoffLimit = &limit
		}
		target := rapid.SampledFrom([]backoff.Target{"", backoff.TargetJob, backoff.TargetIndex}).Draw(t, "target")
		if rapid.Bool().Draw(t, "in the policy") {
			d.PodFailurePolicy = &backoff.DraftPolicy{BackoffLimitTarget: target}
		} else {
			d.BackoffLimitTarget = target
		}
		return d
	})
}

// GroupPolicies generates failure policies of groups whose templates are a and b: rules that escalate,
// with budgets of members and the group.
func GroupPolicies() *rapid.Generator[*group.Policy] {
	return rapid.Custom(func(t *rapid.T) *group.Policy {
		p := &group.Policy{Budgets: []group.Budget{
			{Name: "alone", Per: group.PerMember, Max: rapid.Int32Range(0, 3).Draw(t, "alone"),
				Renew: rapid.Bool().Draw(t, "renew")},
			{Name: "together", Max: rapid.Int32Range(1, 3).Draw(t, "together")},
		}}
		if rapid.Bool().Draw(t, "windowed") {
			p.Budgets[1].Window = &metav1.Duration{Duration: time.Hour}
		}
		wider := rapid.SampledFrom([]group.Action{group.RestartTemplate, group.RestartGroup})
		last := rapid.SampledFrom([]group.Action{group.FailGroup, group.CompleteGroup, group.SuspendGroup, group.Leave})
		reasons := rapid.SampledFrom([][]string{nil, {"BackoffLimitExceeded"}, {"PodFailurePolicy"}})
		templates := rapid.SampledFrom([][]string{nil, {"a"}, {"b"}})
		for range rapid.IntRange(1, 3).Draw(t, "rules") {
			rule := group.Rule{
				OnReasons: reasons.Draw(t, "reasons"),
				Templates: templates.Draw(t, "templates"),
				Steps: []group.Step{
					{Action: group.RestartMember, Charges: []string{"alone"}, Backoff: &backoff.Policy{}},
					{Action: wider.Draw(t, "wider"), Charges: []string{"together"}},
					{Action: last.Draw(t, "last")},
				}}
			if p.Rules = append(p.Rules, rule); rule.OnReasons == nil && rule.Templates == nil {
				break // nothing may be behind a rule that matches all failures
			}
		}
		return p
	})
}
