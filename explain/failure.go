package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
)

// Failure is a failed pod and the way in which it failed.
type Failure struct {
	// Pod is the name of the pod.
	Pod string
	// Fault says how the pod failed. It is for people.
	Fault string
	// Match is the rule that the pod matches.
	Match failurepolicy.Match
}

// LastFailure returns the pod of the Job that failed last, by its finish time. If several
// finished at the same time, it returns the first. It is useful for Jobs that are not
// Indexed; in an Indexed Job each index has its own last failure. If no failed pod is
// known, it returns the zero Failure.
func (e Explanation) LastFailure() Failure {
	if e.facts == nil {
		return Failure{}
	}
	return e.facts.failure(e.facts.lastFailed())
}

func (f *facts) lastFailed() (last *record) {
	for _, r := range f.pods {
		if r.Failed && r.Valid && (last == nil || r.Finish().After(last.Finish())) {
			last = r
		}
	}
	return last
}

// failedAt returns when a pod failed. Of a pod that was deleted it is the time of the request, which does not depend on
// the clock of its node.
func failedAt(r *record) time.Time {
	if at := r.Pod.DeletionTimestamp; at != nil {
		return at.Add(-time.Duration(*cmp.Or(r.Pod.DeletionGracePeriodSeconds, new(int64))) * time.Second)
	}
	return r.Finish()
}

func byFailure(a, b *record) int { return failedAt(a).Compare(failedAt(b)) }

// failures returns the failed pods for which is holds, in the order in which they failed: those that were not
// deleted, and those whose deletion may have made the Job fail. The Job's controller deletes the active pods of a Job
// that fails, and they count as failed, too. given is the number of all.
func (f *facts) failures(is func(*record) bool) (own, deleted []*record, given int) {
	var since time.Time // zero if it is not stored that the Job fails: the controller first deletes its pods
	for _, c := range f.Job.Status.Conditions {
		at := c.LastTransitionTime.Time
		if fails := c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobFailed; fails &&
			c.Status == corev1.ConditionTrue && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	byController := map[string]bool{}
	for _, e := range f.events[f.Job.UID] {
		byController[strings.TrimPrefix(oneLine(e.Message), "Deleted pod: ")] = true
	}
	for _, r := range slices.SortedStableFunc(slices.Values(f.pods), byFailure) {
		switch {
		case !r.Failed || !r.Valid || !is(r):
			continue
		case r.Pod.DeletionTimestamp == nil:
			own = append(own, r)
		case (since.IsZero() || failedAt(r).Before(since)) && !byController[r.Pod.Name]:
			deleted = append(deleted, r)
		}
		given++
	}
	return own, deleted, given
}

// decisive returns the pod whose failure was one too many, of the given total of which as many as needed make the Job
// fail; nil if no such pod is known. Deleted pods count only as far as the others are too few. The controller deletes
// last, but it may store the condition long after: when it has succeeded to delete all active pods.
func (f *facts) decisive(total, needed int, is func(*record) bool) *record {
	own, deleted, given := f.failures(is)
	gone := total - given // failures whose pods are not given came first,
	if f.EndStored || f.reason.Code == JobFinished {
		gone = min(gone, max(0, gone-int(f.Parallelism))) // except those of pods that the controller has deleted
	}
	all := slices.Concat(own, deleted[:min(max(0, needed-gone-len(own)), len(deleted))])
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, byFailure)
	last := all[max(0, min(needed-1-gone, len(all)-1))]
	return all[slices.IndexFunc(all, func(r *record) bool { return byFailure(r, last) == 0 })]
}

// restarted returns the pod whose containers were restarted most, if the restarts alone exceed the backoff limit. It
// makes the Job fail, although the controller may have deleted it then.
func (f *facts) restarted() (most *record) {
	all, highest := int32(0), int32(0)
	for _, r := range f.pods {
		n := int32(0)
		for _, c := range slices.Concat(r.Pod.Status.ContainerStatuses, r.Pod.Status.InitContainerStatuses) {
			n += c.RestartCount
		}
		all += n
		if n > highest {
			most, highest = r, n
		}
	}
	return either(f.CountRestarts && all >= max(1, f.Limit.PerJob), most, nil)
}

// lastSuccess returns when a pod of the Job last succeeded; zero if none did.
func (f *facts) lastSuccess() (at time.Time) {
	for _, r := range f.pods {
		if r.Succeeded {
			at = latest(at, r.Finish())
		}
	}
	return at
}

// ignored finds that pods fail by themselves again and again, and that no limit counts it.
func ignored(r *reading) (c found) {
	since, failures := r.lastSuccess(), []*record(nil)
	for _, p := range r.pods {
		if p.Failed && p.Ignored() && p.Match().Container != "" && p.Finish().After(since) {
			failures = append(failures, p)
		}
	}
	if len(failures) < 3 {
		return c
	}
	last := slices.MaxFunc(failures, func(a, b *record) int { return a.Finish().Compare(b.Finish()) })
	if r.past(last.Finish(), 2*longPatience) { // the longest delay, and then a run
		return c
	}
	fault := r.faultOf(last)
	c.pod, c.container, c.evidence = last.Pod.Name, fault.container, []string{"pod/" + last.Pod.Name}
	c.text = fmt.Sprintf("%d failures were ignored, the last %s: %s: %s; %s", len(failures), r.ago(last.Finish()),
		r.named(last), fault.text, r.ruleText(last))
	return c
}

// failure says how a pod failed; it is zero without a pod.
func (f *facts) failure(r *record) Failure {
	if r == nil {
		return Failure{}
	}
	return Failure{Pod: r.Pod.Name, Fault: f.faultOf(r).text, Match: r.Match()}
}

// failureReason returns the reason with which the Job has failed or is going to; empty if neither.
func (f *facts) failureReason() string {
	if end := jobstatus.OutcomeOf(f.Job); end.Phase == jobstatus.Failed || end.Phase == jobstatus.Failing {
		return end.Reason
	}
	return textIf(f.Ending.Type == batchv1.JobFailureTarget, f.Ending.Reason)
}

// failureMessage returns the message with which the Job has failed or is going to.
func (f *facts) failureMessage() string {
	if end := jobstatus.OutcomeOf(f.Job); f.Ending.Message == "" || end.Terminal() {
		return end.Message
	}
	return f.Ending.Message
}

// culprit returns the pod that shows why the Job fails: one that a FailJob rule matched, the one whose failure was one
// too many, the one that failed last, or one whose containers failed and were restarted; nil if none is known.
func (f *facts) culprit() (r *record) {
	indexes := either(f.FailedIndexes.Len() > 0, f.FailedIndexes, jobstatus.Indexes(f.Job).Failed)
	ofIndex := func(r *record) bool { return indexes.Contains(r.Index) }
	reason, counts := f.failureReason(), func(*record) bool { return true }
	switch {
	case reason == batchv1.JobReasonBackoffLimitExceeded:
		counts = func(r *record) bool { return !r.Ignored() }
		r = f.restarted()
		if r == nil {
			r = f.decisive(int(max(f.Failed, f.Job.Status.Failed)), int(f.Limit.PerJob)+1, counts)
		}
	case reason == batchv1.JobReasonMaxFailedIndexesExceeded && f.Job.Spec.MaxFailedIndexes != nil:
		return f.decisive(indexes.Len(), int(*f.Job.Spec.MaxFailedIndexes)+1, ofIndex)
	case reason == batchv1.JobReasonFailedIndexes:
		return f.decisive(indexes.Len(), indexes.Len(), ofIndex)
	case strings.HasPrefix(reason, batchv1.JobReasonPodFailurePolicy):
		own, deleted, _ := f.failures((*record).FailsJob)
		for _, p := range either(len(own) > 0, own, deleted) {
			r = cmp.Or(r, p)
			if strings.Contains(f.failureMessage(), " "+p.Pod.Namespace+"/"+p.Pod.Name+" ") {
				return p
			}
		}
		return r
	}
	if own, _, _ := f.failures(counts); r == nil && len(own) > 0 {
		return slices.MaxFunc(own, byFailure)
	}
	for _, p := range f.pods {
		if r == nil && p.Pod.DeletionTimestamp == nil && !p.Succeeded && faultOf(p.Pod).exited != nil {
			return p
		}
	}
	return r
}

// textFailed says why the Job has failed, or fails: which pod and how, and which limit.
func (f *facts) textFailed() found {
	reason, message := f.failureReason(), f.failureMessage()
	r := f.culprit()
	c := found{text: reason}
	limit := f.limit(reason)
	if r == nil {
		c.text = joined("; ", joined(": ", reason, message), limit,
			textIf(limit != "" && max(f.Failed, f.Job.Status.Failed) > 0, "none of its failed pods was given"))
		return c
	}
	fault := f.faultOf(r)
	c.pods, c.container, c.node = []string{r.Pod.Name}, fault.container, r.Pod.Spec.NodeName
	c.evidence = []string{"pod/" + r.Pod.Name}
	c.signs = fault
	rule := f.ruleText(r)
	how, why := f.named(r)+": "+fault.text, joined(": ", reason, either(limit == "" && rule == "", message, limit))
	c.text = joined("; ", how, rule, why)
	if reason == batchv1.JobReasonDeadlineExceeded {
		c.text = joined("; ", why, how, rule)
	}
	return c
}

// named returns the name of a pod, with its index.
func (f *facts) named(r *record) string {
	return "pod " + r.Pod.Name + textIf(f.Indexed && r.Index >= 0, " (index "+strconv.Itoa(int(r.Index))+")")
}

// ruleText says which rule of the pod failure policy a failed pod matches.
func (f *facts) ruleText(r *record) string {
	match := r.Match()
	return textIf(match.Matched(), "matched "+string(match.Action)+" "+match.Explain())
}

// limit returns the limit of the spec that a reason is about, with its value and what was counted.
func (f *facts) limit(reason string) string {
	job := f.Job
	failures := either(jobstatus.Finished(job) == nil, max(f.Failed, job.Status.Failed), job.Status.Failed)
	failed := max(f.FailedIndexes.Len(), jobstatus.Indexes(job).Failed.Len())
	indexes := cmp.Or(textIf(f.FailedIndexes.Len() > 0, f.FailedIndexes.String()),
		*cmp.Or(job.Status.FailedIndexes, new(string)))
	list := textIf(len(indexes) <= maxList, " ("+indexes+")")
	switch reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		text := count(failures, "failure")
		if restarts := f.Restarts; f.CountRestarts && restarts > 0 {
			text += fmt.Sprintf(" and %d container restarts", restarts)
		}
		return fmt.Sprintf("%s, spec.backoffLimit is %d", text, f.Limit.PerJob) +
			textIf(f.CountRestarts && f.Restarts == 0 && failures <= f.Limit.PerJob,
				" and counts container restarts, too, those of pods that are gone")
	case batchv1.JobReasonDeadlineExceeded:
		if seconds := job.Spec.ActiveDeadlineSeconds; seconds != nil {
			return fmt.Sprintf("spec.activeDeadlineSeconds is %d", *seconds) +
				textIf(!job.Status.StartTime.IsZero(), ", started at "+f.clock(cmp.Or(job.Status.StartTime,
					&job.CreationTimestamp).Time))
		}
	case batchv1.JobReasonMaxFailedIndexesExceeded:
		if most := job.Spec.MaxFailedIndexes; most != nil {
			return fmt.Sprintf("%d indexes have failed%s, spec.maxFailedIndexes is %d", failed, list, *most)
		}
	case batchv1.JobReasonFailedIndexes:
		return fmt.Sprintf("%s failed%s, spec.backoffLimitPerIndex is %d",
			either(failed == 1, "1 index has", fmt.Sprintf("%d indexes have", failed)), list, f.Limit.PerIndex)
	}
	return ""
}

// maxList is the number of bytes of a list of indexes in a sentence.
const maxList = 60

// fault is how a pod failed.
type fault struct {
	text, container string
	exited          *corev1.ContainerStateTerminated // nil if no container says
	evicted         bool                             // the pod used too much of a resource of its node
	disrupted       bool                             // the pod has the condition DisruptionTarget
	late            bool                             // the kubelet ended the pod at the deadline of the pod
	deleted         bool                             // the pod was deleted, and nothing else is known
	rejected        bool                             // the kubelet has not run the pod
	hidden          bool                             // a rule that ignores disruptions comes after the one that matched
}

// faultOf says how a pod of the Job failed.
func (f *facts) faultOf(r *record) fault {
	is := faultOf(r.Pod)
	if r.Lost {
		is.text = "its node is lost, it should have terminated " + f.ago(r.Pod.DeletionTimestamp.Time) + ", " + is.text
	}
	is.hidden = f.ignoredLater(r.Match())
	return is
}

// ignoredLater reports whether a rule that ignores disruptions comes after the rule that matched.
func (f *facts) ignoredLater(m failurepolicy.Match) bool {
	policy := f.Job.Spec.PodFailurePolicy
	return m.Matched() && policy != nil && m.Rule < len(policy.Rules) &&
		slices.ContainsFunc(policy.Rules[m.Rule+1:], func(rule batchv1.PodFailurePolicyRule) bool {
			return rule.Action == batchv1.PodFailurePolicyActionIgnore &&
				slices.ContainsFunc(rule.OnPodConditions, onDisruption)
		})
}

func onDisruption(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
	return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
}

// faultOf says how a pod failed, from its status: the reason and the message, the first container
// that did not exit with 0, now or before its last restart, and the disruption condition.
func faultOf(pod *corev1.Pod) (is fault) {
	var exited, disrupted string
	message := strings.TrimSuffix(oneLine(pod.Status.Message), ".")
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		end := c.State.Terminated
		killed := pod.DeletionTimestamp != nil && c.RestartCount > 0 // whatever the deletion ended, it failed before
		if last := c.LastTerminationState.Terminated; (killed || end == nil || end.ExitCode == 0 && end.Signal == 0) &&
			pod.Status.Phase != corev1.PodSucceeded && last != nil {
			end = last
		}
		if end != nil && (end.ExitCode != 0 || end.Signal != 0) && exited == "" {
			exited = joined(": ", "container "+c.Name+", "+exit(end)+
				textIf(c.RestartCount > 0, ", "+count(c.RestartCount, "restart")), oneLine(end.Message))
			is.container, is.exited = c.Name, end
		}
	}
	if c := condition(pod, corev1.DisruptionTarget); c.Status == corev1.ConditionTrue {
		why := strings.TrimSuffix(oneLine(c.Message), ".")
		disrupted = joined(": ", joined(" by ", "disrupted", c.Reason), textIf(why != message, why))
	}
	is.evicted, is.disrupted = pod.Status.Reason == "Evicted", disrupted != ""
	is.late = pod.Status.Reason == batchv1.JobReasonDeadlineExceeded // the kubelet's reason has the same name
	is.text = joined(", ", joined(": ", pod.Status.Reason, message), exited, disrupted)
	is.deleted = is.text == "" && pod.DeletionTimestamp != nil
	is.rejected = pod.Status.Reason != "" && !is.evicted && !is.disrupted && len(pod.Status.ContainerStatuses) == 0
	is.text = cmp.Or(is.text, either(is.deleted, "deleted", "the pod gives no reason"))
	return is
}

// signals has the names of the signals that end containers, by their number on Linux.
var signals = map[int32]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS",
	8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}

// exit says how a container ended. Shells and runtimes report the signal n as exit code 128+n.
func exit(end *corev1.ContainerStateTerminated) string {
	signal := signals[cmp.Or(end.Signal, end.ExitCode-128)]
	return joined(", ", fmt.Sprintf("exit code %d", end.ExitCode)+textIf(signal != "", " ("+signal+")"),
		textIf(end.Reason != "Error", end.Reason))
}
