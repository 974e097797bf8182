package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/validation"
)

// Proposals says what would have helped a Job against its failures.
type Proposals struct {
	// Patterns are what the failures have in common.
	Patterns []Pattern `json:"patterns"`
	// Patch is the change to merge into the next Job, which the API server accepts with it: fields of the spec. It
	// is absent if no pattern has one.
	Patch map[string]any `json:"patch,omitempty"`
	// Immutable lists the fields of Patch that are immutable in an existing Job, and Advice says what to do then.
	Immutable []string `json:"immutable,omitempty"`
	Advice    string   `json:"advice,omitempty"`
}

// Pattern is something that failures have in common. Text says what they show, and Remedy what would have helped.
type Pattern struct {
	Code   explain.Code `json:"code"`
	Text   string       `json:"text"`
	Remedy string       `json:"remedy"`
	// Gain says how the failures would have counted. It is absent for a pattern without a change, and if too few of
	// the failed pods are left.
	Gain string `json:"gain,omitempty"`
	// NotCounted is the number of failed pods that would not have counted, and Later of those that were created
	// after the Job or their index would have failed.
	NotCounted int `json:"notCounted,omitempty"`
	Later      int `json:"later,omitempty"`
	// GoesOn says that the Job would not have failed. That is known only if all failed pods are given.
	GoesOn bool `json:"goesOn,omitempty"`

	// change returns a spec with other fields; nil if no change of the spec alone would have helped.
	change func(batchv1.JobSpec) batchv1.JobSpec
}

// patterns is the table of patterns. A row sees the changes of those before it.
var patterns = []struct {
	code explain.Code
	find func(*whatIf) Pattern // without a text, there is none
}{
	{"DisruptionsCounted", disruptionsCounted},
	{"OneIndexFails", oneIndexFails},
	{"SameExitCode", sameExitCode},
	{"RestartsInVain", restartsInVain},
	{"DeadlineInQueue", deadlineInQueue},
}

// Proposals returns what would have helped the Job. A Job that has succeeded needs no help.
func (d Diagnosis) Proposals() Proposals {
	f, all := d.facts, Proposals{Patterns: []Pattern{}}
	if f == nil || hasSucceeded(f.Job) {
		return all
	}
	w := &whatIf{facts: f, next: f.Job}
	for _, r := range f.toBlame() {
		if !r.Ignored() {
			w.counted = append(w.counted, r)
		}
	}
	w.total = len(w.counted) + f.digest.Gone
	for _, row := range patterns {
		if p, ok := w.try(row.code, row.find(w)); ok {
			all.Patterns = append(all.Patterns, p)
		}
	}
	if w.next == f.Job {
		return all
	}
	all.Patch = map[string]any{"spec": changed(&f.Job.Spec, &w.next.Spec)}
	for _, err := range validation.Update(w.next, f.Job) {
		if strings.HasSuffix(err.Detail, "field is immutable") && !slices.Contains(all.Immutable, err.Field) {
			all.Immutable = append(all.Immutable, err.Field)
		}
	}
	all.Advice = f.filled(strings.Join(all.Immutable, " and ")+" cannot change in an existing Job: RECREATE.", found{})
	return all
}

// changed returns the fields of a spec that differ from those of another.
func changed(was, is *batchv1.JobSpec) map[string]any {
	before, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(was)
	after, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(is)
	out := map[string]any{}
	for name, value := range after {
		if !reflect.DeepEqual(value, before[name]) {
			out[name] = value
		}
	}
	return out
}

// of says of how many of the failed pods something is true: "2 of the 4 failed pods left".
func (w *whatIf) of(n int) string {
	if w.total == 1 {
		return "the failed pod"
	}
	d := Digest{Given: len(w.counted), Gone: w.total - len(w.counted)}
	return d.ofFailed(&Group{Pods: make([]string, n)})
}

// withRule returns a change that adds a rule to the pod failure policy, as the first or the last one. With a policy,
// only failed pods are replaced (KEP-3939): another value, which the API server may have set, must change.
func withRule(first bool, rule batchv1.PodFailurePolicyRule) func(batchv1.JobSpec) batchv1.JobSpec {
	return func(spec batchv1.JobSpec) batchv1.JobSpec {
		one := []batchv1.PodFailurePolicyRule{rule}
		rules := cmp.Or(spec.PodFailurePolicy, &batchv1.PodFailurePolicy{}).Rules
		rules = either(first, slices.Concat(one, rules), slices.Concat(rules, one))
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
		if spec.PodReplacementPolicy != nil {
			spec.PodReplacementPolicy = new(batchv1.Failed)
		}
		return spec
	}
}

// disruptionsCounted finds disrupted pods that count as failed, although the Job does not ask for that. The rule that
// ignores them comes first: the exit code of a disrupted pod often matches another rule.
func disruptionsCounted(w *whatIf) (is Pattern) {
	decides := func(r batchv1.PodFailurePolicyRule) bool { return slices.ContainsFunc(r.OnPodConditions, onDisruption) }
	if slices.ContainsFunc(cmp.Or(w.Job.Spec.PodFailurePolicy, &batchv1.PodFailurePolicy{}).Rules, decides) {
		return is
	}
	var reasons []string
	for _, r := range w.counted {
		if w.faultOf(r).disrupted && w.matters(r) && !overused(r.Pod) {
			reasons = append(reasons, condition(r.Pod, corev1.DisruptionTarget).Reason)
		}
	}
	slices.Sort(reasons)
	n := len(reasons)
	is.Text = textIf(n > 0, w.of(n)+either(n == 1, " was", " were")+" disrupted ("+
		strings.Join(slices.Compact(reasons), ", ")+"), and counted")
	is.Remedy = "a rule that ignores disruptions"
	is.change = withRule(true, batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}})
	return is
}

// overused reports whether the kubelet evicted a pod for what it used itself (pkg/kubelet/eviction/helpers.go,
// evictionMessage): without counting that, each new pod would do the same.
func overused(pod *corev1.Pod) bool {
	return pod.Status.Reason == "Evicted" && mentions(pod.Status.Message, "has larger consumption of")
}

// matters reports whether the failure of a pod may decide how the Job ends. With a limit per index, that of an index
// that has completed since does not, nor that of an index without which the Job has failed.
func (w *whatIf) matters(r *record) bool {
	reason := w.failureReason()
	done := w.Progress.Completed.Contains(r.Index) || reason != "" && !w.failedIndexes().Contains(r.Index)
	return !w.PerIndex() || reason == batchv1.JobReasonBackoffLimitExceeded || !done
}

// oneIndexFails finds that the failures of one index have used up the limit of all, while other indexes were left. With
// the limits proposed, it fails alone, and the Job still fails after about as many failures as before.
func oneIndexFails(w *whatIf) (is Pattern) {
	if w.failureReason() != batchv1.JobReasonBackoffLimitExceeded || !w.Indexed() || w.PerIndex() {
		return is
	}
	failures := map[int32]int32{}
	for _, r := range w.counted {
		failures[r.Index]++
	}
	worst, others := int32(-1), int32(0)
	for index, n := range failures {
		if 2*int(n) > len(w.counted) {
			worst = index
		} else {
			others = max(others, n)
		}
	}
	left := int(*w.Spec.Completions) - w.Progress.Completed.Len() - 1
	if failures[worst] < fewest || left < 1 {
		return is
	}
	limit, perIndex := w.Spec.Limit.PerJob, max(1, others)
	is.Text = fmt.Sprintf("%s were of index %d, and used up backoffLimit %d of all; %d of the others had not completed",
		w.of(int(failures[worst])), worst, limit, left)
	is.Remedy = "a limit per index"
	is.change = func(spec batchv1.JobSpec) batchv1.JobSpec {
		spec.BackoffLimitPerIndex, spec.BackoffLimit = &perIndex, new(int32(math.MaxInt32))
		spec.MaxFailedIndexes = new(min(max(1, limit/(perIndex+1)), *w.Spec.Completions))
		return spec
	}
	return is
}

// fewest is the number of failures from which they may be a pattern.
const fewest = 3

// sameExitCode finds that most failures are one exit code of a container, after which no retry has succeeded. From 128
// on, a signal ended the container: memory, or whoever stops pods. Failures on one of several nodes may be its fault.
func sameExitCode(w *whatIf) (is Pattern) {
	groups := w.grouped(w.counted)
	if len(groups) == 0 || groups[0].ExitCode == nil {
		return is
	}
	g := &groups[0]
	code, fault, perIndex := *g.ExitCode, w.faultOf(g.example), w.next.Spec.BackoffLimitPerIndex != nil
	elsewhere := func(r *record) bool { return r.Pod.Spec.NodeName != "" && g.Nodes[r.Pod.Spec.NodeName] == 0 }
	succeeds := func(r *record) bool { return w.Progress.Completed.Contains(r.Index) }
	goesOn := func(r *record) bool { return w.failureReason() == "" && !w.failedIndexes().Contains(r.Index) }
	switch {
	case len(g.Pods) < fewest || 2*len(g.Pods) <= len(w.counted), code < 1 || code > 127,
		fault.disrupted || g.example.Pod.Status.Reason != "" || speaks(g.Message, passing...),
		speaks(g.Message, noConnection...), w.Job.Spec.SuccessPolicy != nil && !perIndex,
		g.node != "" || len(g.Nodes) == 1 && slices.ContainsFunc(w.pods, elsewhere),
		either(w.Indexed(), slices.ContainsFunc(g.records, succeeds), w.Progress.Succeeded > 0),
		slices.ContainsFunc(g.records, goesOn):
		return is
	}
	is.Text = fmt.Sprintf("%s ended with exit code %d of container %s, and no retry has succeeded", w.of(len(g.Pods)),
		code, g.Container) + textIf(code == 1, "; 1 is the code of any error: give this one a code of its own")
	is.Remedy = textIf(code == 1, "an exit code of its own for this error, and ") + "a rule that fails the " +
		either(perIndex, "index", "Job") + " at once"
	if code == 1 {
		return is // a rule would end the Job at any error
	}
	action := either(perIndex, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob)
	is.change = withRule(false, batchv1.PodFailurePolicyRule{Action: action,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: &g.Container,
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}}})
	return is
}

// restartsInVain finds containers that the kubelet restarts again and again, in a Job that counts this.
func restartsInVain(w *whatIf) (is Pattern) {
	counts := w.countsRestarts() && w.Progress.Succeeded == 0
	for _, r := range w.pods {
		for _, c := range slices.Concat(r.Pod.Status.InitContainerStatuses, r.Pod.Status.ContainerStatuses) {
			if counts && c.RestartCount >= fewest && c.State.Running == nil {
				is.Text = fmt.Sprintf("container %s of %s was restarted %d times, and no pod has succeeded; OnFailure "+
					"keeps no failed pod and no log, and allows no pod failure policy",
					c.Name, w.named(r), c.RestartCount)
				is.Remedy = "restartPolicy Never (the pod template is immutable)"
				return is
			}
		}
	}
	return is
}

// deadlineInQueue finds that most pods waited for a node for half of the deadline or more, by which the Job fails.
func deadlineInQueue(w *whatIf) (is Pattern) {
	if w.failureReason() != batchv1.JobReasonDeadlineExceeded || w.Job.Spec.ActiveDeadlineSeconds == nil ||
		w.queue() != "" {
		return is
	}
	deadline, half := w.deadline(), time.Duration(*w.Job.Spec.ActiveDeadlineSeconds)*time.Second/2
	var waited []time.Duration
	for _, r := range w.pods {
		until, scheduled := deadline, condition(r.Pod, corev1.PodScheduled)
		if scheduled.Status == corev1.ConditionTrue {
			until = earliest(until, scheduled.LastTransitionTime.Time)
		} else if r.Pod.Spec.NodeName != "" {
			continue // it is not known when it got its node
		}
		waited = append(waited, until.Sub(r.Pod.CreationTimestamp.Time))
	}
	slices.Sort(waited)
	var last found
	says, n := w.addGone(&last), len(waited)
	switch {
	case n > 0 && waited[(n-1)/2] >= half:
		is.Text = fmt.Sprintf("most pods waited for a node for %s or longer, and activeDeadlineSeconds is %d",
			duration.HumanDuration(waited[(n-1)/2]), *w.Job.Spec.ActiveDeadlineSeconds)
	case n == 0 && last.gone != nil && last.gone.Reason == "FailedScheduling" &&
		mentions(last.gone.Message, "Insufficient "):
		is.Text = says
	}
	is.Remedy = "a queue such as Kueue: the deadline of a Job created with suspend: true starts once there is room"
	return is
}
