package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

// What the rows of the table call to find causes in the Job.

// says returns the finder for what a text says; empty if there is nothing to say.
func says(text func(*facts) string) func(*facts) found {
	return func(f *facts) found { return found{text: text(f)} }
}

// decided returns the finder for a reason of the decision.
func decided(code explain.Code) func(*facts) found {
	return func(f *facts) (c found) {
		if f.reason.Code == code {
			c.reason = f.reason
		}
		return c
	}
}

// lastTry says that one more failure, or two restarts or one of each pod, make the Job fail; empty if there may be
// more.
func (f *facts) lastTry() string {
	limit := int64(f.Spec.Limit.PerJob)
	left := max(1, limit-int64(f.Progress.Restarts))
	switch {
	case f.countsRestarts() && f.Progress.Restarts > 0 && left <= max(2, int64(f.Progress.Active)):
		return fmt.Sprintf("; %s the Job (spec.backoffLimit %d), which deletes its pods with their logs",
			either(left == 1, "one more restart fails", fmt.Sprintf("%d more restarts fail", left)), limit)
	case int64(f.Progress.Failed) >= limit && limit > 0:
		return fmt.Sprintf("; one more failure fails the Job (spec.backoffLimit %d)", limit)
	}
	return ""
}

// awaitingTermination finds that replacements wait, with why the first pod terminates and how long it may.
func awaitingTermination(f *facts) found {
	c := decided(explain.JobAwaitingTermination)(f)
	r := firstOf(f.pods, func(r *record) bool { return r.Pod.DeletionTimestamp != nil && !hasEnded(r.Pod) })
	if c.reason.Text == "" || r == nil {
		return c
	}
	pod, why := r.Pod, condition(r.Pod, corev1.DisruptionTarget)
	if pod.DeletionTimestamp.After(f.Now) {
		c.reason.Text += ": pod " + pod.Name + " may take until " + f.clock(pod.DeletionTimestamp.Time)
	}
	if e := lastEvent(f.events[pod.UID], disrupts); e != nil {
		why.Message = joined(": ", e.Reason, f.preemptorIn(unnamed(e)))
	}
	c.reason.Text += textIf(why.Status == corev1.ConditionTrue, "; it is disrupted: "+
		joined(": ", why.Reason, oneLine(why.Message)))
	return c
}

// suspendedSince finds that the Job is suspended, since when, and which client has written that, as far as it is known.
func suspendedSince(f *facts) (c found) {
	c = decided(explain.JobSuspended)(f)
	var since string
	if of := jobstatus.True(f.Job.Status.Conditions, batchv1.JobSuspended); of != nil {
		since = "since " + f.clock(of.LastTransitionTime.Time)
	}
	by, _ := suspendWritten(f.Job.ManagedFields)
	if says := joined(" ", since, textIf(by != "", "by "+by)); says != "" {
		c.reason.Text = strings.Replace(c.reason.Text, "is suspended", "is suspended, "+says, 1)
	}
	return c
}

// suspendWritten returns the client that wrote spec.suspend last, and when; empty and zero if that is not known.
func suspendWritten(fields []metav1.ManagedFieldsEntry) (by string, at time.Time) {
	for _, of := range fields {
		if of.FieldsV1 != nil && strings.Contains(of.FieldsV1.GetRawString(), `"f:suspend":`) {
			by, at = of.Manager, latest(at, cmp.Or(of.Time, &metav1.Time{}).Time)
		}
	}
	return by, at
}

// holdKey matches the keys by which people and controllers say that they hold a Job.
var holdKey = regexp.MustCompile(`(^|[/._-])(hold|pause|paused|suspend|suspended|freeze|frozen|gate|approval|` +
	`maintenance|note|reason|because|comment)(-(state|reason|because|by|until))?$`)

// holdReason quotes an annotation that seems to say why its object is suspended; empty if there is none.
func holdReason(annotations map[string]string) string {
	key := firstOf(slices.Sorted(maps.Keys(annotations)), holdKey.MatchString)
	return joined(": ", key, oneLine(annotations[key]))
}

// heldBack finds that the Job is suspended, and has an annotation that seems to say why.
func heldBack(f *facts) found {
	c, why := suspendedSince(f), holdReason(f.Job.Annotations)
	if why == "" || c.reason.Text == "" {
		return found{}
	}
	c.reason.Text += "; " + why
	return c
}

// running finds that the decision calls the Job running, and that no pod contradicts it.
func running(f *facts) found { return f.running(false) }

// running finds that; last says that the Job fails with the next failure.
func (f *facts) running(last bool) (c found) {
	if len(f.symptoms) > 0 || last != (f.lastTry() != "") {
		return c
	}
	c = decided(explain.JobRunning)(f)
	evicted := f.digest.Given > 0 && f.faultOf(f.digest.Groups[0].example).evicted // which says something of the node
	if c.reason.Text != "" && f.digest.Given > 0 {
		last := f.digest.Groups[0].example
		end := cmp.Or(f.faultOf(last).End, &corev1.ContainerStateTerminated{})
		c.reason.Text += "; failed before: " + f.digest.Line(2) + textIf(evicted || oneLine(end.Message) != "",
			"; the last of them, "+f.named(last)+": "+f.faultOf(last).Fault)
		f.show(&c, last)
		c.reason.Text = joined("; ", c.reason.Text, c.clue.text)
		c.pods, c.how = nil, textIf(f.digest.Given > 1 || evicted, f.adviceOn(&c)+
			textIf(f.ownLimit(last), templateAdvice))
	}
	if c.reason.Text != "" && f.digest.Given == 0 && f.digest.says != "" {
		f.addGone(&c)
		c.reason.Text += "; failed before: " + f.digest.Line(1)
		c.how = f.adviceOn(&c)
	}
	if c.reason.Text != "" {
		c.reason.Text = joined("; ", c.reason.Text, f.startedAgain()) + f.lastTry()
	}
	return c
}

// startedAgain says that a container runs again after the runtime had lost it; empty if none is given.
func (f *facts) startedAgain() string {
	for _, r := range f.pods {
		for i := range r.Pod.Status.ContainerStatuses {
			c := &r.Pod.Status.ContainerStatuses[i]
			lost := f.lost(r.Pod, c.LastTerminationState.Terminated)
			if lost != "" && c.State.Running != nil && r.Active {
				return "container " + c.Name + " of pod " + r.Pod.Name + " was started again at " +
					f.clock(c.State.Running.StartedAt.Time) + ", after " + lost
			}
		}
	}
	return ""
}

// backingOff finds that the next pod waits, and says which failure its delay follows, if that pod is known.
func backingOff(f *facts) found {
	c := decided(explain.JobBackingOff)(f)
	if c.reason.Text == "" {
		return c
	}
	last := firstOf(f.pods, func(p *record) bool {
		if !f.PerIndex() {
			return p.Failed && p.Valid && p.Finish().Equal(f.Plan.Record.LastFailure)
		}
		last := f.Predecessor(p.Index)
		return last != nil && last.Pod == p.Pod && f.DelayOf(p.Index) == f.Plan.Wait
	})
	if last == nil {
		c.reason.Text = joined("; ", c.reason.Text, f.addGone(&c)) + f.lastTry()
		c.how = f.adviceOn(&c)
		return c
	}
	f.show(&c, last)
	c.reason.Text += ", " + duration.HumanDuration(c.reason.Until.Sub(last.Finish())) + " after " + f.named(last) +
		" failed: " + c.signs.Fault
	g := f.digest.leading(last)
	switch {
	case g == nil || len(g.Pods) == 1:
	case slices.Contains(g.records, last):
		c.reason.Text += ", as " + f.digest.ofFailed(g) + " did"
	default:
		f.show(&c, g.example)
		c.reason.Text += "; " + f.digest.ofFailed(g) + ", such as " + f.named(g.example) + ": " + c.signs.Fault
	}
	c.reason.Text = joined("; ", c.reason.Text, c.clue.text, c.differs.text) + f.lastTry()
	c.pods, c.how = nil, f.adviceOn(&c)
	return c
}

// whyFailed says why the Job fails and, if it ran out of time, what its active pods were doing.
func (f *facts) whyFailed() found {
	c := f.textFailed()
	if f.failureReason() == batchv1.JobReasonDeadlineExceeded && len(f.symptoms) > 0 {
		shown := f.symptoms[0].found(f)
		c.text, c.evidence = c.text+"; "+shown.text, shown.evidence
		c.pods, c.pod, c.container, c.node = shown.pods, shown.pod, shown.container, shown.node
	}
	return c
}

// ending finds that the Job is about to fail, and why.
func ending(f *facts) (c found) {
	if f.reason.Code != explain.JobEnding || f.End.Condition.Type != batchv1.JobFailureTarget {
		return c
	}
	c = f.whyFailed()
	c.how = f.adviceOn(&c)
	c.reason = explain.Reason{Code: explain.JobEnding, Until: f.reason.Until, Text: "the Job fails: " + c.text +
		f.textDeletes() + also("", f.Plan.Terminating, "pod", " terminating")}
	return c
}

// succeeded finds that the Job has ended, with what its last pod said, and whether it had a try left.
func succeeded(f *facts) found {
	c := found{reason: finished(f.Job)}
	if !hasSucceeded(f.Job) {
		return c
	}
	var last time.Time
	var says string
	for _, r := range f.pods {
		for _, of := range r.Pod.Status.ContainerStatuses {
			end := of.State.Terminated
			if r.Succeeded && end != nil && end.Message != "" && end.FinishedAt.After(last) {
				last, says = end.FinishedAt.Time, "; "+f.named(r)+" says: "+oneLine(end.Message)
			}
		}
	}
	limit, failed := f.Spec.Limit.PerJob, f.Job.Status.Failed
	if failed > 0 {
		c.reason.Text = joined("; ", c.reason.Text+" after "+count(failed, "failure")+", whose work began anew",
			f.digest.Line(2), textIf(f.digest.Gone > 0, f.addGone(&found{})))
		for _, g := range f.digest.Groups[:min(1, len(f.digest.Groups))] {
			c.reason.Text += "; " + f.named(g.example) + ": " + f.faultOf(g.example).Fault
		}
	}
	c.reason.Text += textIf(limit > 0 && failed >= limit, fmt.Sprintf("; it took the last try: %s, spec.backoffLimit "+
		"is %d", count(failed, "failure"), limit)) + says
	return c
}

// succeededAgain finds that the Job has succeeded, after failures of which a pod is gone, or was ended from outside.
func succeededAgain(f *facts) found {
	outside := func(g Group) bool {
		return g.example.Lost || g.example.Pod.Status.Reason != "" || f.faultOf(g.example).disrupted
	}
	again := f.Job.Status.Failed > 0 && (f.digest.Gone > 0 || slices.ContainsFunc(f.digest.Groups, outside))
	return either(again, succeeded(f), found{})
}

// succeeding finds that the Job is about to succeed.
func succeeding(f *facts) found {
	if f.reason.Code == explain.JobEnding && f.End.Condition.Type != batchv1.JobFailureTarget {
		return found{reason: f.reason}
	}
	return found{}
}

// refusedAll finds that a quota refuses the pods of a Job that has no active one.
func refusedAll(f *facts) found {
	return either(f.Progress.Active == 0, refused("exceeded quota", "insufficient quota")(f), found{})
}

// refused returns the finder for a refusal of pods by the API server whose message has one of the
// parts; without parts, any.
func refused(parts ...string) func(*facts) found {
	return func(f *facts) (c found) {
		if f.refusal != "" && mentions(f.refusal, parts...) {
			at, missing := timeOf(f.refusedBy), count(len(f.decision.Create), "pod")
			c.text = missing + " cannot be created" + textIf(f.overdue(at), ", as of "+f.ago(at)) + ": " + f.refusal +
				f.usage(f.refusal)
			if server, _, _ := f.serverOf(hostsIn(f.refusal, false)); mentions(f.refusal, "call webhook") {
				c.text = joined("; ", c.text, server)
			}
			names := f.namesOf("ServiceAccount", f.Job.Namespace)
			c.text += textIf(len(names) > 0 && mentions(f.refusal, "service account"), "; the input has "+list(names))
			c.evidence = []string{f.eventText(f.refusedBy)}
			c.injected = f.injectedAt(f.refusal)
		}
		return c
	}
}

// webhookGone finds that the service of a webhook does not exist.
func webhookGone(f *facts) found {
	if c := refused("failed calling webhook", "failed to call webhook")(f); mentions(c.text, `service "`) &&
		mentions(c.text, "not found") {
		return c
	}
	return found{}
}

// overdueTermination returns the finder for pods that should have terminated. mild says that the Job goes on without
// them.
func overdueTermination(mild bool) func(*facts) found {
	return func(f *facts) (c found) {
		if mild == (f.goesOn() && (!f.Spec.ReplaceFailedOnly || f.suspended())) {
			c = f.terminationOverdue()
		}
		if c.text != "" {
			fails := f.failureReason()
			c.text = joined("; ", succeeding(f).reason.Text, textIf(fails != "" && f.reason.Code == explain.JobEnding,
				"the Job fails: "+fails), c.text)
		}
		if c.text != "" && f.goesOn() && !mild {
			c.text += "; the Job replaces pods only once they have terminated"
		}
		if c.text != "" && mild && f.Progress.Active > 0 {
			c.text += "; the Job goes on with " + count(f.Progress.Active, "active pod")
		}
		return c
	}
}

// deletionOverdue returns the finder for finalizers that keep the Job; foreground says that they are those of the
// garbage collector alone, ofPods that pods have others.
func deletionOverdue(foreground, ofPods bool) func(*facts) found {
	return func(f *facts) (c found) {
		others := slices.ContainsFunc(f.Job.Finalizers, func(name string) bool {
			return name != metav1.FinalizerDeleteDependents && name != metav1.FinalizerOrphanDependents
		})
		kept := !others && slices.ContainsFunc(f.pods, func(r *record) bool {
			at := r.Pod.DeletionTimestamp
			return at != nil && f.overdue(at.Time) && f.foreignFinalizers(r.Pod) != ""
		})
		if foreground != others && kept == ofPods {
			c.text = f.deletionOverdue()
		}
		return c
	}
}

// held returns the finder for a state of Kueue's Workload that keeps the Job suspended.
func held(state string) func(*facts) found {
	return func(f *facts) (c found) {
		if f.reason.Code == explain.JobSuspended && f.kueue == state && f.says != "" {
			c.text = "Kueue holds the Job suspended: " + oneLine(f.says) + f.textDeletes()
			c.evidence = []string{strings.ToLower(f.workload().text("kind")) + "/" +
				f.workload().text("metadata", "name")}
		}
		return c
	}
}

// queuedForQuota finds that Kueue holds the Job until there is quota.
func queuedForQuota(f *facts) (c found) {
	if text := f.queued(); short.MatchString(text) {
		c.text = text
	}
	return c
}

// queuedBehind finds that Kueue holds the Job, and that a Workload has quota whose pods do no work.
func queuedBehind(f *facts) (c found) {
	of := queuedForQuota(f)
	if m := idly.FindStringSubmatch(of.text); m != nil {
		c = of
		c.object = strings.ToLower(m[1]) + "/" + m[2]
	}
	return c
}

// unqueued finds that a Job that is suspended has a label of Kueue, and not the one that names its queue.
func unqueued(f *facts) found {
	c := suspendedSince(f)
	for _, key := range slices.Sorted(maps.Keys(f.Job.Labels)) {
		if strings.HasPrefix(key, kueueGroup+"/queue") && key != kueueQueue && c.reason.Text != "" && f.queue() == "" {
			c.reason.Text += "; Kueue does not know the Job: its label is " + key + ", not " + kueueQueue
			return c
		}
	}
	return found{}
}

// heldUnready finds that Kueue has evicted the Job because its pods were not ready in time, and why the last of them
// were not, by the events that are left.
func heldUnready(f *facts) found {
	c := held(workloadUnready)(f)
	if c.text != "" {
		c.text = joined("; ", c.text, f.addGone(&c))
	}
	return c
}

// ownerSuspended returns the finder for an owner that keeps the Job suspended, and is suspended itself or not.
func ownerSuspended(itself bool) func(*facts) found {
	return func(f *facts) (c found) {
		by, how := f.held()
		if f.reason.Code != explain.JobSuspended || how == "" || suspended(by.object) != "" != itself {
			return c
		}
		c.text, c.object = f.reason.Text+" by "+by.String()+": "+how, strings.ToLower(by.kind)+"/"+by.name
		c.evidence = []string{c.object}
		return c
	}
}
