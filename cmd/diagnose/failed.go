package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

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
	since, byController := f.failsSince(), map[string]bool{}
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

// failsSince returns when it was stored that the Job fails; zero if it was not: the controller first deletes its pods.
func (f *facts) failsSince() (since time.Time) {
	for _, c := range f.Job.Status.Conditions {
		at := c.LastTransitionTime.Time
		if fails := c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobFailed; fails &&
			c.Status == corev1.ConditionTrue && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}

// deletedAtEnd counts the pods that the controller has deleted because the Job fails, and that are not given: they
// count as failed, too.
func (f *facts) deletedAtEnd() (n int) {
	since := f.failsSince()
	for _, e := range f.events[f.Job.UID] {
		if e.Reason == "SuccessfulDelete" && !since.IsZero() && !timeOf(e).Before(since) &&
			f.podNamed(madePod(e)) == nil {
			n++
		}
	}
	return n
}

// decisive returns the pod whose failure was one too many, of the given total of which as many as needed make the Job
// fail; nil if no such pod is known. Deleted pods count only as far as the others are too few. The controller deletes
// last, but it may store the condition long after: when it has succeeded to delete all active pods.
func (f *facts) decisive(total, needed int, is func(*record) bool) *record {
	own, deleted, given := f.failures(is)
	gone := total - given // failures whose pods are not given came first,
	if f.EndStored() || f.reason.Code == explain.JobFinished {
		// except those of pods that the controller has deleted
		gone = min(gone, max(0, gone-int(*cmp.Or(f.Job.Spec.Parallelism, new(int32(1))))))
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
	return either(f.countsRestarts() && all >= max(1, f.Spec.Limit.PerJob), most, nil)
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
func ignored(f *facts) (c found) {
	since, failures, took := f.lastSuccess(), []*record(nil), time.Duration(0)
	for _, p := range f.pods {
		if p.Failed && p.Ignored() && p.Finish().After(since) && (p.Match().Container != "" || f.faultOf(p).evicted) {
			failures = append(failures, p)
			if end := f.faultOf(p).End; end != nil {
				took = max(took, end.FinishedAt.Sub(end.StartedAt.Time))
			}
		}
	}
	if len(failures) < 3 {
		return c
	}
	last := slices.MaxFunc(failures, func(a, b *record) int { return a.Finish().Compare(b.Finish()) })
	if f.past(last.Finish(), longPatience+max(longPatience, took)) { // the longest delay, and then a run
		return c
	}
	f.show(&c, last)
	c.pods, c.how = nil, f.adviceOn(&c)
	c.text = fmt.Sprintf("%d failures were ignored, the last %s: %s: %s; %s", len(failures), f.ago(last.Finish()),
		f.named(last), c.signs.Fault, f.ruleText(last))
	return c
}

// failureReason returns the reason with which the Job has failed or is going to; empty if neither.
func (f *facts) failureReason() string {
	if end := jobstatus.OutcomeOf(f.Job); end.Phase == jobstatus.Failed || end.Phase == jobstatus.Failing {
		return end.Reason
	}
	return textIf(f.End.Condition.Type == batchv1.JobFailureTarget, f.End.Condition.Reason)
}

// failureMessage returns the message with which the Job has failed or is going to.
func (f *facts) failureMessage() string {
	if end := jobstatus.OutcomeOf(f.Job); f.End.Condition.Message == "" || end.Terminal() {
		return end.Message
	}
	return f.End.Condition.Message
}

// culprit returns the pod that shows why the Job fails: one that a FailJob rule matched, the one whose failure was one
// too many, the one that failed last, or one whose containers failed and were restarted; nil if none is known.
func (f *facts) culprit() (r *record) {
	indexes := f.failedIndexes()
	ofIndex := func(r *record) bool { return indexes.Contains(r.Index) }
	reason, counts := f.failureReason(), func(*record) bool { return true }
	switch {
	case reason == batchv1.JobReasonBackoffLimitExceeded:
		counts = func(r *record) bool { return !r.Ignored() }
		r = f.restarted()
		if r == nil {
			r = f.decisive(int(max(f.Progress.Failed, f.Job.Status.Failed)), int(f.Spec.Limit.PerJob)+1, counts)
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
		if r == nil && p.Pod.DeletionTimestamp == nil && !p.Succeeded && f.explained.FailureOf(p).End != nil {
			return p
		}
	}
	return r
}

func (f *facts) failedIndexes() indexset.Set {
	return either(f.Progress.FailedIndexes.Len() > 0, f.Progress.FailedIndexes, jobstatus.Indexes(f.Job).Failed)
}

// decisiveFailures returns the digest of the failures that may make the Job fail: if failed indexes do, of theirs.
func (f *facts) decisiveFailures(reason string) *Digest {
	if reason != batchv1.JobReasonFailedIndexes && reason != batchv1.JobReasonMaxFailedIndexesExceeded {
		return &f.digest
	}
	indexes := f.failedIndexes()
	pods := slices.DeleteFunc(f.toBlame(), func(r *record) bool { return !indexes.Contains(r.Index) })
	most := indexes.Len() * (int(f.Spec.Limit.PerIndex) + 1) // failures that the limit allows these indexes
	return &Digest{f.grouped(pods), len(pods), min(f.digest.Gone, max(0, most-len(pods))), ""}
}

// indexesOf says how the pods of failed indexes failed of which nothing is told yet.
func (f *facts) indexesOf(of *Digest, told ...*record) string {
	var parts []string
	for i := range of.Groups {
		g := &of.Groups[i]
		if of == &f.digest || slices.ContainsFunc(told, func(r *record) bool { return slices.Contains(g.records, r) }) {
			continue
		}
		parts = append(parts, of.ofFailed(g)+", such as "+f.named(g.example)+": "+f.faultOf(g.example).Fault)
	}
	const most = 2
	more := len(parts) - most
	return joined("; ", strings.Join(parts[:min(most, len(parts))], "; "), textIf(more > 0, count(more, "other group")))
}

// textFailed says why the Job has failed, or fails: which pod and how, and which limit.
func (f *facts) textFailed() found {
	reason, message := f.failureReason(), f.failureMessage()
	r := f.culprit()
	c := found{text: reason}
	limit := f.limit(reason)
	if r == nil {
		says := cmp.Or(f.addGone(&c), f.neverCreated(&c))
		if reason == batchv1.JobReasonDeadlineExceeded {
			spent, _ := f.spent()
			says = joined("; ", f.pace(), spent, says)
		}
		_, _, given := f.failures(func(*record) bool { return true })
		none := reason == batchv1.JobReasonDeadlineExceeded && f.Job.Status.Failed+f.Job.Status.Succeeded == 0 &&
			jobstatus.Finished(f.Job) != nil && limit != "" && says == ""
		c.text = joined("; ", joined(": ", reason, message), limit, says,
			textIf(none, "it has had no pod: those that are deleted at the deadline count as failed, and none has"),
			textIf(says == "" && limit != "" && max(f.Progress.Failed, f.Job.Status.Failed) > int32(given),
				either(reason == batchv1.JobReasonDeadlineExceeded, "pods that are active at the deadline are "+
					"deleted, and count as failed", "none of its failed pods was given")))
		return c
	}
	rule := f.ruleText(r)
	of := f.decisiveFailures(reason)
	how, shown := f.howFailed(r, of, strings.HasPrefix(reason, batchv1.JobReasonPodFailurePolicy))
	f.show(&c, shown)
	how = joined("; ", how, c.differs.text, f.indexesOf(of, r, shown))
	if g := of.groupNamed(shown.Pod.Name); g != nil && len(f.before(g)) > 0 && f.before(g)[0] == shown {
		last := cmp.Or(f.faultOf(g.records[len(g.records)-1]).End, &corev1.ContainerStateTerminated{})
		if said := f.clueIn(g.Container, last.Message).saying; said != nil && said != c.clue.saying {
			c.then = said.advice
		}
	}
	if g := of.groupNamed(shown.Pod.Name); g != nil && shown != r {
		c.pods = append(slices.DeleteFunc(slices.Clone(g.Pods), func(name string) bool { return name == r.Pod.Name }),
			r.Pod.Name)
	}
	why := joined(": ", reason, either(limit == "" && rule == "", message, limit))
	gone := ""
	if of.Gone > 0 || reason == batchv1.JobReasonDeadlineExceeded {
		gone = f.addGone(&c)
	}
	c.text = joined("; ", how, gone, why)
	if reason == batchv1.JobReasonDeadlineExceeded {
		c.text, c.failing = joined("; ", why, f.pace(), how, gone), f.kept(shown)
	}
	return c
}

// kept reports whether pods kept failing as one did, by themselves, and none has succeeded: several did, or the one
// that was left at the deadline had not had as long.
func (f *facts) kept(r *record) bool {
	g := f.digest.groupNamed(r.Pod.Name)
	none := f.lastSuccess().IsZero() && f.Job.Status.Succeeded == 0
	short := f.deadline().Sub(r.Finish()) < r.Finish().Sub(beganAt(r))+time.Minute
	return g != nil && (len(g.Pods) > 1 || short) && g.ExitCode != nil && none
}

// show makes a failed pod the one that a cause describes.
func (f *facts) show(c *found, r *record) {
	c.signs = f.faultOf(r)
	c.pods, c.pod, c.container, c.node = []string{r.Pod.Name}, r.Pod.Name, c.signs.Container, r.Pod.Spec.NodeName
	c.evidence, c.differs = []string{"pod/" + r.Pod.Name}, contrast{}
	c.message = cmp.Or(c.signs.End, &corev1.ContainerStateTerminated{}).Message
	c.clue = f.clueIn(c.container, c.message)
	c.object = c.clue.object
	if g := f.digest.groupNamed(r.Pod.Name); g != nil {
		c.differs = g.differs
	}
	if e := f.systemOOM(r, c.signs.End); e != nil {
		c.evidence, c.systemOOM = append(c.evidence, f.eventText(e)), true
	}
	if e := f.killedAsFailed(r); e != nil {
		c.evidence, c.probed = append(c.evidence, f.eventText(e)), true
	}
}

// howFailed says how the decisive pod failed, and how the most pods of a digest did. It returns the pod that shows what
// to do: the decisive one if a rule has made it so, else one of the largest group.
func (f *facts) howFailed(r *record, of *Digest, byRule bool) (how string, shown *record) {
	says := func(r *record) string {
		fault := f.faultOf(r)
		e := cmp.Or(f.systemOOM(r, fault.End), &corev1.Event{})
		probe := cmp.Or(f.killedAsFailed(r), &corev1.Event{})
		c := cmp.Or(f.containerNamed(fault.Container), &corev1.Container{})
		heap := textIf(outOfMemory(fault.End), heapOption(c))
		return joined("; ", f.named(r)+": "+fault.Fault+f.notExecutable(fault.Container, fault.End)+
			textIf(fault.done != "", ", after container "+fault.done+" had succeeded"), fault.lost, fault.earlier, heap,
			f.culpritOf(r),
			oneLine(probe.Message), clockBehind(r.Pod, fault.End),
			cmp.Or(f.clueIn(fault.Container, cmp.Or(fault.End, &corev1.ContainerStateTerminated{}).Message).text,
				f.mentioned(fault.Fault)), f.ruleText(r),
			textIf(e.Reason != "", "node "+r.Pod.Spec.NodeName+": "+oneLine(e.Message)))
	}
	g := of.leading(r)
	if g == nil || len(g.Pods) == 1 {
		return says(r), r
	}
	most := of.ofFailed(g) + textIf(g.node != "", f.damage(g.node)) + ", such as "
	first, cause := f.before(g), f.firstOfAll(of, g)
	n := len(first)
	switch {
	case cause != nil && !byRule:
		return "the first, " + says(cause) + "; " + most + says(g.example) + ", within " +
			duration.HumanDuration(failedAt(g.records[len(g.records)-1]).Sub(failedAt(cause))) +
			" of it, which may follow from that", cause
	case n > 0 && !byRule:
		last := g.records[len(g.records)-1]
		return "the first " + textIf(n > 1, fmt.Sprintf("%d ", n)) + "of " + of.ofFailed(g) + ", " +
			textIf(n > 1, "such as ") + says(first[0]) + "; those after that failed in another way, which may follow " +
			"from it, such as " + says(last), first[0]
	case slices.Contains(g.records, r):
		return most + says(r), r
	case byRule:
		return says(r) + "; " + most + says(g.example), r
	}
	return most + says(g.example) + "; the last, " + says(r), g.example
}

// before returns the first pods of a group if those after them were created later and failed in another way, each in
// the same: that may follow from what the first ones have done, or from what has ended them. It is empty if there are
// no such pods.
func (f *facts) before(g *Group) (first []*record) {
	says := func(r *record) string { return withoutDigits(f.alike(r).Message) }
	was, next := says(g.records[0]), ""
	for _, r := range g.records {
		is := says(r)
		if next == "" && is == was {
			first = append(first, r)
			continue
		}
		next = cmp.Or(next, is)
		if is != next || r.Index != first[0].Index || r.Pod.CreationTimestamp.Time.Before(first[0].Finish()) {
			return nil
		}
	}
	return either(next != "" && was != "" && len(g.records) >= fewest, first, nil)
}

// coupled matches what workers say whose peer has gone.
var coupled = regexp.MustCompile(`(?i)peer|broken pipe|NCCL|gloo|rendezvous|worker|rank`)

// firstOfAll returns the pod of a digest that failed first, if the pods of its group of most failed soon after it in
// another way, ran beside it, and say that they needed it. It is nil if there is no such pod.
func (f *facts) firstOfAll(of *Digest, g *Group) *record {
	var first *record
	for i := range of.Groups {
		for _, r := range of.Groups[i].records {
			if !r.Ignored() && (first == nil || byFailure(r, first) < 0) {
				first = r
			}
		}
	}
	if first == nil || f.faultOf(first).disrupted || len(g.Pods) < 2 || !coupled.MatchString(g.Message) {
		return nil
	}
	soon := failedAt(first).Add(longPatience / 5)
	for _, r := range g.records {
		if r == first || r.Index == first.Index || !failedAt(r).After(failedAt(first)) || failedAt(r).After(soon) ||
			!r.Pod.CreationTimestamp.Time.Before(failedAt(first)) {
			return nil
		}
	}
	return first
}

// ruleText says which rule of the pod failure policy a failed pod matches.
func (f *facts) ruleText(r *record) string {
	match := r.Match()
	return textIf(match.Matched(), "matched "+string(match.Action)+" "+match.Explain())
}

// failuresCounted returns how many failures the status counts, once the decision is carried out.
func (f *facts) failuresCounted() int32 {
	counted := f.Job.Status.Failed
	return either(jobstatus.Finished(f.Job) == nil, max(f.Progress.Failed, counted), counted)
}

// limit returns the limit of the spec that a reason is about, with its value and what was counted.
func (f *facts) limit(reason string) string {
	job := f.Job
	failures := f.failuresCounted()
	failed := max(f.Progress.FailedIndexes.Len(), jobstatus.Indexes(job).Failed.Len())
	indexes := cmp.Or(textIf(f.Progress.FailedIndexes.Len() > 0, f.Progress.FailedIndexes.String()),
		*cmp.Or(job.Status.FailedIndexes, new(string)))
	list := textIf(len(indexes) <= maxList, " ("+indexes+")")
	switch reason {
	case batchv1.JobReasonBackoffLimitExceeded:
		text := count(failures, "failure")
		if n := f.deletedAtEnd(); n > 0 && n < int(failures) && !f.countsRestarts() {
			text += fmt.Sprintf(" (at least %d of them pods that were deleted because the Job fails)", n)
		}
		if restarts := f.Progress.Restarts; restarts > 0 {
			text += fmt.Sprintf(" and %d container restarts", restarts)
		}
		return fmt.Sprintf("%s, spec.backoffLimit is %d", text, f.Spec.Limit.PerJob) +
			textIf(f.countsRestarts() && f.Progress.Restarts == 0 && failures <= f.Spec.Limit.PerJob,
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
			either(failed == 1, "1 index has", fmt.Sprintf("%d indexes have", failed)), list, f.Spec.Limit.PerIndex)
	}
	return ""
}

// maxList is the number of bytes of a list of indexes in a sentence.
const maxList = 60

// fault is how a pod failed.
type fault struct {
	explain.Failure
	evicted   bool   // the pod was evicted while it ran
	disrupted bool   // the pod has the condition DisruptionTarget
	late      bool   // the kubelet ended the pod at the deadline of the pod
	deleted   bool   // the pod was deleted, and nothing else is known
	rejected  bool   // the kubelet has not run the pod
	done      string // a container beside the one that failed which has succeeded
	hidden    bool   // a rule that ignores disruptions comes after the one that matched
	lost      string // the container was lost with its node or its runtime, or the pod with its kubelet
	earlier   string // a container of the pod that had failed before, and how
}

// faultOf says how a pod of the Job failed.
func (f *facts) faultOf(r *record) fault {
	is, status := fault{Failure: f.explained.FailureOf(r)}, &r.Pod.Status
	if is.End != nil {
		is.Fault = strings.Replace(is.Fault, oneLine(is.End.Message), oneLine(essence(is.End.Message)), 1)
	}
	atOnce := mentions(status.Message, "The node had condition: ") // pkg/kubelet/eviction/eviction_manager.go, Admit
	is.evicted = status.Reason == "Evicted" && !atOnce
	is.disrupted = condition(r.Pod, corev1.DisruptionTarget).Status == corev1.ConditionTrue
	is.late = status.Reason == batchv1.JobReasonDeadlineExceeded // the kubelet's reason has the same name
	is.deleted = r.Pod.DeletionTimestamp != nil && is.End == nil && !is.disrupted && status.Reason == "" &&
		strings.TrimSuffix(oneLine(status.Message), ".") == ""
	is.rejected = status.Reason != "" && !is.evicted && !is.disrupted && len(status.ContainerStatuses) == 0
	is.hidden = f.ignoredLater(is.Match)
	is.lost = cmp.Or(f.lost(r.Pod, is.End), textIf(is.rejected, f.rejectedAgain(r)))
	for _, c := range status.ContainerStatuses {
		end := c.State.Terminated
		if end != nil && end.ExitCode == 0 && is.End != nil && is.End.ExitCode != 0 && (status.Reason == "" ||
			is.late && end.FinishedAt.Add(time.Minute).Before(is.End.FinishedAt.Time)) {
			is.done = c.Name
		}
		if end != nil && end.ExitCode != 0 && is.End != nil && end.FinishedAt.Before(&is.End.FinishedAt) {
			is.earlier = joined(": ", "container "+c.Name+" had failed "+
				duration.HumanDuration(is.End.FinishedAt.Sub(end.FinishedAt.Time))+" before, "+explain.Exit(end),
				oneLine(end.Message))
		}
	}
	return is
}

// rejectedAgain says that the kubelet had run a pod, and has rejected it once it was started again; empty if nothing
// given shows that.
func (f *facts) rejectedAgain(r *record) string {
	node := r.Pod.Spec.NodeName
	had := lastEvent(f.events[r.Pod.UID], reasonIs("Started", "NodeNotReady"))
	e := lastEvent(f.about("Node", "", node), reasonIs("Rebooted"))
	rebooted := e != nil && timeOf(e).After(beganAt(r))
	placed := condition(r.Pod, corev1.PodScheduled).LastTransitionTime.Time
	return textIf(had != nil || rebooted || !placed.IsZero() && r.Finish().Sub(placed) > patience,
		"it was on its node since "+f.clock(beganAt(r))+textIf(rebooted, ", which was rebooted at "+
			f.clock(timeOf(e))))
}

// lost says that the runtime does not know how a container ended (containerd: internal/cri/server/restart.go), and
// whether its node was rebooted; empty if it knows.
func (f *facts) lost(pod *corev1.Pod, end *corev1.ContainerStateTerminated) string {
	if end == nil || end.ExitCode != 255 || end.Reason != "Unknown" {
		return ""
	}
	e := lastEvent(f.about("Node", "", pod.Spec.NodeName), reasonIs("Rebooted"))
	return "its runtime had lost it" +
		textIf(e != nil, ": node "+pod.Spec.NodeName+" was rebooted at "+f.clock(timeOf(e)))
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
