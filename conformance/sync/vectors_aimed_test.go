package sync

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/vectors"
)

// aimed returns cases on both sides of a boundary, and cases with values that are parsed in a special
// way. Random trials do not find all of them. They detect mistakes in the functions that a decision
// calls.
func aimed() (all []*vectors.Case) {
	for _, table := range [][][]func(*trial){delays(), finishTimes(), records(), limits(), annotations(), owners(), deadlines()} {
		for _, change := range table {
			all = append(all, withFewLabels(newTrial(change...)))
		}
	}
	return all
}

func remembers(failures int32, last time.Duration) func(*trial) {
	return func(c *trial) {
		c.snapshot.Backoff.Failures, c.snapshot.Backoff.LastFailure = failures, at(0).Add(last)
	}
}

// delays returns Jobs that wait for a delay before they create a pod.
func delays() (all [][]func(*trial)) {
	for _, n := range []int32{1, 2, 3, 6, 7, 8, 31, 32, 33, 63, 64, 65, math.MaxInt32} {
		all = append(all, []func(*trial){size(1, 6), remembers(n, -5*time.Second)})
	}
	for _, last := range []time.Duration{-11 * time.Second, -10*time.Second - 1, -10 * time.Second, -10*time.Second + time.Millisecond, -time.Second, 0, time.Second, time.Hour} {
		all = append(all, []func(*trial){size(1, 6), remembers(1, last)})
	}
	for _, p := range []struct {
		base, limit time.Duration
		failures    int32
	}{
		{time.Second, 4 * time.Second, 2}, {time.Second, 4 * time.Second, 3}, {time.Second, 4 * time.Second, 4},
		{3 * time.Second, 7 * time.Second, 1}, {3 * time.Second, 7 * time.Second, 2}, {3 * time.Second, 7 * time.Second, 3},
		{time.Second, time.Hour, 12}, {time.Second, time.Hour, 13},
	} {
		all = append(all, []func(*trial){size(1, 6), remembers(p.failures, 0), func(c *trial) { c.limits.Base, c.limits.Cap = p.base, p.limit }})
	}
	return all
}

// container returns the status of a container that finished some seconds after noon, or that is
// running.
func container(name string, seconds int, runs ...bool) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: name}
	if len(runs) == 0 {
		s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(seconds)}
	} else {
		s.State.Running = &corev1.ContainerStateRunning{}
	}
	return s
}

// finishTimes returns failed pods with different sources of their finish time.
func finishTimes() (all [][]func(*trial)) {
	containers := func(statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = statuses }
	}
	// The sidecars are the first init containers. An ordinary one follows.
	sidecars := func(statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, s := range statuses {
				p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: s.Name, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)})
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "init"})
			p.Status.InitContainerStatuses = append(statuses, container("init", -1))
		}
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, seconds int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: at(seconds)})
		}
	}
	deleted := func(seconds int, grace int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(seconds)), &grace
		}
	}
	none := containers()
	for _, change := range [][]func(*corev1.Pod){
		{containers(container("a", -9), container("b", -4))},
		{containers(container("a", -4), container("b", -9))},
		{containers(container("a", -4), container("b", -9), container("c", -7))},
		{containers(container("a", -4), container("b", 0, true)), condition(corev1.PodReady, corev1.ConditionFalse, -3)},
		{containers(container("a", 0, true), container("b", -4))},
		{containers(container("a", -4)), sidecars(container("s", -2))},
		{containers(container("a", -2)), sidecars(container("s", -4))},
		{containers(container("a", -2)), sidecars(container("s", -4), container("t", -6))},
		{containers(container("a", -4)), sidecars(container("s", 0, true)), condition(corev1.PodReady, corev1.ConditionFalse, -3)},
		{containers(container("a", -4)), sidecars(container("s", 0, true))},
		{containers(container("a", 0, true)), sidecars(container("s", -4))},
		{containers(container("a", -4)), sidecars()},
		{none, sidecars(container("s", -6))},
		{none, condition(corev1.PodReady, corev1.ConditionFalse, -6)},
		{none, condition(corev1.PodReady, corev1.ConditionTrue, -6)},
		{none, condition(corev1.PodReady, corev1.ConditionUnknown, -6)},
		{none, condition(corev1.PodInitialized, corev1.ConditionFalse, -8), condition(corev1.PodReady, corev1.ConditionFalse, -6)},
		{none, condition(corev1.PodReady, corev1.ConditionFalse, -6), deleted(-1, 3)},
		{none, deleted(-1, 3)},
		{none, deleted(-1, 0)},
		{none, deleted(20, 30)},
		{none},
		{none, func(p *corev1.Pod) { p.CreationTimestamp = at(-2) }},
	} {
		all = append(all, []func(*trial){size(1, 6), pod("a", corev1.PodFailed, change...)})
		perIndex := append([]func(*corev1.Pod){index(0), failures(0)}, change...)
		all = append(all, []func(*trial){size(1, 6), limitPerIndex(3), pod("a", corev1.PodFailed, perIndex...)})
	}
	return all
}

// records returns pods that finish when the backoff record already has failures.
func records() (all [][]func(*trial)) {
	for _, seconds := range [][]int{{-9}, {-9, -5}, {-5, -9}, {-9, -5, -7}, {-5, -5}} {
		for _, success := range []int{1, -10, -9, -6, -5, -4} {
			change := []func(*trial){size(1, 9), remembers(2, -7*time.Second)}
			if success < 0 {
				change = append(change, pod("s", corev1.PodSucceeded, finished(0, success)), pod("t", corev1.PodSucceeded, finished(0, -10)))
			}
			for i, s := range seconds {
				change = append(change, pod(string(rune('a'+i)), corev1.PodFailed, finished(1, s)))
			}
			all = append(all, change)
		}
	}
	return append(all,
		[]func(*trial){size(1, 9), remembers(2, -7*time.Second), pod("s", corev1.PodSucceeded, finished(0, -9))},
		[]func(*trial){size(1, 9), remembers(2, -3*time.Second), pod("a", corev1.PodFailed, finished(1, -9))},
	)
}

// limits returns numbers of failures and restarts on both sides of a limit.
func limits() (all [][]func(*trial)) {
	limit := func(n *int32) func(*trial) {
		return onJob(func(j *batchv1.Job) { j.Spec.BackoffLimit = n })
	}
	failed := func(n int32) func(*trial) { return onJob(func(j *batchv1.Job) { j.Status.Failed = n }) }
	for _, n := range []*int32{nil, new(int32(0)), new(int32(1)), new(int32(5))} {
		most := int32(6)
		if n != nil {
			most = *n
		}
		for _, counted := range []int32{most - 1, most, most + 1} {
			if counted >= 0 {
				all = append(all, []func(*trial){size(1, 9), limit(n), failed(counted)},
					[]func(*trial){size(1, 9), limit(n), failed(counted), pod("a", corev1.PodFailed)},
					[]func(*trial){size(1, 9), limitPerIndex(2), limit(n), failed(counted)})
			}
		}
	}
	onFailure := onJob(func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
	restarts := func(main, init int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: main}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: init}}
		}
	}
	for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending} {
		for _, n := range []int32{0, 1, 3} {
			for _, r := range [][2]int32{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}} {
				all = append(all, []func(*trial){size(2, 9), onFailure, limit(new(n)), pod("a", phase, restarts(r[0], r[1]))})
			}
		}
	}
	for n := range int32(3) {
		for had := range 4 {
			all = append(all, []func(*trial){size(1, 3), limitPerIndex(n), pod("a", corev1.PodFailed, index(0), failures(had))})
		}
	}
	return all
}

// annotations returns annotations with texts that are parsed as numbers.
func annotations() (all [][]func(*trial)) {
	set := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations[key] = value }
	}
	for _, text := range []string{"", "-1", "-2147483649", "0", "01", "+1", " 1", "1.0", "x", "2", "2147483647", "2147483648", "9223372036854775808"} {
		all = append(all,
			[]func(*trial){size(1, 3), limitPerIndex(3), pod("a", corev1.PodFailed, index(0), set(batchv1.JobIndexFailureCountAnnotation, text))},
			[]func(*trial){size(1, 3), limitPerIndex(3), rule(batchv1.PodFailurePolicyActionIgnore), pod("a", corev1.PodFailed, index(0), failures(1), set(batchv1.JobIndexIgnoredFailureCountAnnotation, text))},
			[]func(*trial){size(2, 3), onJob(byIndex), pod("a", corev1.PodSucceeded, set(batchv1.JobCompletionIndexAnnotation, text))},
			[]func(*trial){size(2, 3), onJob(byIndex), pod("a", corev1.PodRunning, isReady, set(batchv1.JobCompletionIndexAnnotation, text))},
		)
	}
	// If an index has several failed pods, the one with the highest count is replaced.
	for _, counts := range [][4]int{{0, 1, 1, 0}, {1, 0, 0, 2}, {2, 0, 0, 1}, {1, 1, 1, 2}, {1, 2, 2, 1}, {1, 2, 2, 0}, {2, 0, 1, 2}, {math.MaxInt32, 1, math.MaxInt32, 2}} {
		all = append(all, []func(*trial){size(1, 3), limitPerIndex(9),
			pod("a", corev1.PodFailed, index(0), failures(counts[0]), ignored(counts[1]), finished(1, -20)),
			pod("b", corev1.PodFailed, index(0), failures(counts[2]), ignored(counts[3]), finished(1, -10))})
	}
	return all
}

// owners returns pods whose labels, owner references or end decide whether they belong to the Job.
func owners() (all [][]func(*trial)) {
	other := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }
	noController := func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }
	unlabelled := func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }
	uncounted := func(p *corev1.Pod) { p.Finalizers = nil }
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = new(at(20)) }
	as := func(_ *corev1.Pod) {}
	deleting := onJob(func(j *batchv1.Job) { j.DeletionTimestamp, j.Finalizers = new(at(-1)), []string{"example.com/f"} })
	complete, failed := conditions(batchv1.JobComplete, corev1.ConditionTrue), conditions(batchv1.JobFailed, corev1.ConditionTrue)
	for _, job := range []func(*trial){size(1, 3), deleting, complete, failed} {
		for _, owner := range []func(*corev1.Pod){as, orphaned, other, noController} {
			for _, change := range [][]func(*corev1.Pod){{}, {unlabelled}, {uncounted}, {deleted}, {unlabelled, uncounted}, {unlabelled, deleted}, {uncounted, deleted}} {
				all = append(all, []func(*trial){size(1, 3), job, pod("a", corev1.PodRunning, append(change, owner)...)})
			}
		}
	}
	selector := func(s metav1.LabelSelector) func(*trial) {
		return onJob(func(j *batchv1.Job) {
			j.Spec.ManualSelector, j.Spec.Selector = new(true), &s
			j.Spec.Template.Labels = map[string]string{"a": "1", "b": "2", "c": "3", "d.e/f": "4", "g": "5", "empty": ""}
		})
	}
	needs := func(op metav1.LabelSelectorOperator, key string, values ...string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	for _, s := range []metav1.LabelSelector{
		{MatchLabels: map[string]string{"a": "1"}}, {MatchLabels: map[string]string{"a": "1", "b": "2"}},
		{MatchLabels: map[string]string{"a": "1", "b": "2", "c": "3", "d.e/f": "4"}}, {MatchLabels: map[string]string{"a": "1", "b": "2", "c": "3", "d.e/f": "4", "g": "5"}},
		{MatchLabels: map[string]string{"empty": ""}}, needs(metav1.LabelSelectorOpExists, "a"), needs(metav1.LabelSelectorOpDoesNotExist, "z"),
		{MatchLabels: map[string]string{"a": "1"}, MatchExpressions: needs(metav1.LabelSelectorOpDoesNotExist, "z").MatchExpressions},
		needs(metav1.LabelSelectorOpIn, "a", "1", "2"), needs(metav1.LabelSelectorOpNotIn, "a", "9"),
	} {
		for _, labels := range []map[string]string{
			{"a": "1", "b": "2", "c": "3", "d.e/f": "4", "g": "5", "empty": ""}, {"a": "1", "b": "2", "c": "3", "d.e/f": "5", "g": "5"},
			{"a": "9", "empty": "x", "z": "1"}, {"a": "1", "z": "1"}, {},
		} {
			for _, owner := range []func(*corev1.Pod){as, orphaned} {
				all = append(all, []func(*trial){selector(s), pod("a", corev1.PodRunning, owner, func(p *corev1.Pod) { p.Labels = labels })})
			}
		}
	}
	return all
}

// deadlines returns Jobs that are close to their deadline, and that end for one of several reasons.
func deadlines() (all [][]func(*trial)) {
	deadline := func(seconds int64, start int) func(*trial) {
		return onJob(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds, j.Status.StartTime = &seconds, new(at(start)) })
	}
	for _, d := range []struct {
		seconds int64
		start   int
	}{{60, -60}, {60, -59}, {60, -61}, {1, 0}, {1, 30}, {0, 0}, {math.MaxInt32, -60}} {
		all = append(all, []func(*trial){size(1, 3), deadline(d.seconds, d.start), pod("a", corev1.PodRunning, isReady)},
			[]func(*trial){size(1, 3), deadline(d.seconds, d.start), pod("a", corev1.PodFailed)},
			[]func(*trial){size(1, 3), deadline(d.seconds, d.start), onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), pod("a", corev1.PodRunning, isReady)},
			[]func(*trial){size(1, 1), deadline(d.seconds, d.start), pod("a", corev1.PodSucceeded)})
	}
	for most := range int32(3) {
		for _, indexes := range []string{"", "1", "1,2", "1-3"} {
			all = append(all, []func(*trial){size(1, 4), limitPerIndex(0), onJob(func(j *batchv1.Job) {
				j.Spec.MaxFailedIndexes, j.Status.FailedIndexes = &most, &indexes
			})})
		}
	}
	for _, done := range []string{"", "0", "0,1", "0-2", "0-3"} {
		all = append(all, []func(*trial){size(1, 4), limitPerIndex(0), onJob(func(j *batchv1.Job) {
			j.Status.CompletedIndexes, j.Status.FailedIndexes = done, new("3")
		})})
		for _, rule := range []batchv1.SuccessPolicyRule{
			{SucceededIndexes: new("0,1")}, {SucceededCount: new(int32(2))}, {SucceededIndexes: new("1-3"), SucceededCount: new(int32(1))},
			{SucceededIndexes: new("1-3"), SucceededCount: new(int32(2))},
		} {
			all = append(all, []func(*trial){size(1, 4), onJob(byIndex), onJob(func(j *batchv1.Job) {
				j.Status.CompletedIndexes = done
				j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
			}), pod("a", corev1.PodRunning, index(3), isReady)})
		}
	}
	for _, suspend := range []bool{false, true} {
		for _, status := range []corev1.ConditionStatus{"", corev1.ConditionFalse, corev1.ConditionTrue} {
			for _, started := range []*metav1.Time{nil, new(at(-60))} {
				all = append(all, []func(*trial){size(1, 3), onJob(func(j *batchv1.Job) {
					j.Spec.Suspend, j.Status.StartTime = &suspend, started
					if status != "" {
						j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: status, Reason: "JobSuspended"}}
					}
				}), pod("a", corev1.PodRunning, isReady)})
			}
		}
	}
	return all
}
