package diagnose

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/jobstatus"
)

// How the Jobs of a CronJob end, and how long they take.

// ends finds that Jobs do not end well.
func (c *cronFacts) ends() {
	n, first, e := c.replaced()
	success := c.of.Status.LastSuccessfulTime
	if c.of.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent && n > 0 && !(success != nil && success.After(first)) {
		since := "no success is known"
		if success != nil {
			since = "the last success was " + c.lasting(success.Time) + " ago"
		}
		_, takes := c.usual()
		c.add("RunsReplaced", count(n, "Job")+either(n == 1, " was", " were")+" deleted before the end, as far as "+
			"events say, because the next one started (concurrencyPolicy Replace); "+since+takes, e)
	}
	failed, last := 0, ""
	for _, job := range c.Runs {
		end := jobstatus.Finished(job)
		if end != nil && (end.Type == batchv1.JobComplete || c.succeededAfter(end.LastTransitionTime.Time)) {
			break
		}
		if end != nil {
			last = cmp.Or(last, job.Name+" has failed: "+cmp.Or(end.Reason, oneLine(end.Message)))
			failed++
		}
	}
	if e, text := c.gone(); failed == 0 && e != nil {
		c.add("FailuresGone", text, e)
	}
	if text := c.outgrown(); text != "" && failed > 0 {
		c.add("DeadlineOutgrown", text, nil)
		return
	}
	if failed > 0 {
		failed += c.failedBefore()
		long := success != nil && c.next(c.next(success.Time)).Before(c.now)
		c.add("RunsFail", textIf(failed > 1, fmt.Sprintf("the last %d Jobs have failed; ", failed))+
			textIf(long, "the last success was "+c.lasting(cmp.Or(success, &c.of.CreationTimestamp).Time)+" ago; ")+
			"Job "+last+c.changed(), nil)
	}
}

// endedJob returns the name of the Job whose end an event reports, and the condition with which it ended.
func endedJob(e *corev1.Event) (name, condition string, ended bool) {
	name, condition, ended = strings.Cut(strings.TrimPrefix(oneLine(e.Message), "Saw completed job: "), ", condition: ")
	return name, condition, ended && e.Reason == "SawCompletedJob"
}

// failedBefore counts the Jobs that are gone and have failed since the last success, as events say.
func (c *cronFacts) failedBefore() (n int) {
	since := cmp.Or(c.of.Status.LastSuccessfulTime, &c.of.CreationTimestamp).Time
	for _, e := range c.events {
		name, condition, ended := endedJob(e)
		if ended && condition == string(batchv1.JobFailed) && c.run(name) == nil && timeOf(e).After(since) {
			n++
		}
	}
	return n
}

// gone says how many of the last Jobs have failed, by the events, if none of them is given; without an event, none has.
func (c *cronFacts) gone() (last *corev1.Event, text string) {
	n, said := 0, ""
	if c.jobs == nil {
		return nil, ""
	}
	for _, e := range slices.Backward(c.events) {
		name, condition, ended := endedJob(e)
		if !ended {
			continue
		}
		if condition != string(batchv1.JobFailed) || c.run(name) != nil || c.succeededAfter(timeOf(e)) {
			break
		}
		last, n, said = cmp.Or(last, e), n+1, cmp.Or(said, c.warned(name))
	}
	kept, ttl := c.of.Spec.FailedJobsHistoryLimit, c.of.Spec.JobTemplate.Spec.TTLSecondsAfterFinished
	success := c.of.Status.LastSuccessfulTime
	return last, joined("; ", either(n == 1, "the last Job has", fmt.Sprintf("the last %d Jobs have", n))+
		" failed, as events say, and nothing is left", said,
		textIf(*cmp.Or(kept, new(int32(1))) == 0, "spec.failedJobsHistoryLimit is 0"), textIf(ttl != nil, fmt.Sprintf(
			"spec.jobTemplate.spec.ttlSecondsAfterFinished is %d", *cmp.Or(ttl, new(int32)))),
		textIf(success != nil, "the last success was "+c.lasting(cmp.Or(success, &metav1.Time{}).Time)+" ago"))
}

// warned returns what the last warning about a pod of a Job says; empty if there is none.
func (c *cronFacts) warned(job string) string {
	last := &corev1.Event{}
	for _, name := range c.podsOf[key{"Job", c.of.Namespace, job}] {
		e := lastEvent(c.byKey[key{"Pod", c.of.Namespace, name}], isWarning)
		if e != nil && timeOf(e).After(timeOf(last)) {
			last = e
		}
	}
	return joined(": ", textIf(last.Reason != "", "the last warning about its pod "+last.InvolvedObject.Name),
		last.Reason, oneLine(last.Message))
}

// outgrown says that the last Jobs failed at their deadline, and that those which succeeded before took almost as long,
// or longer each time, so that the next one would not have ended in time.
func (c *cronFacts) outgrown() string {
	n, limit, runs := 0, int64(0), ""
	for _, job := range c.Runs {
		end := jobstatus.Finished(job)
		if s := job.Spec.ActiveDeadlineSeconds; end == nil && s != nil && job.Status.StartTime != nil {
			deadline := job.Status.StartTime.Add(time.Duration(*s) * time.Second)
			runs = "; Job " + job.Name + ", which still runs, reaches its own at " + c.date(deadline)
		}
		if end != nil && end.Reason != batchv1.JobReasonDeadlineExceeded {
			break
		}
		if end != nil {
			n, limit = n+1, *cmp.Or(job.Spec.ActiveDeadlineSeconds, &limit)
		}
	}
	if n == 0 {
		return ""
	}
	took, deadline := c.took(), time.Duration(limit)*time.Second
	if long, _ := c.usual(); len(took) == 0 {
		took = append(took, long) // 0 if it is not known
	}
	grown := (took[0] - took[len(took)-1]) / time.Duration(max(1, len(took)-1))
	if slices.Max(took) == 0 || 10*slices.Max(took) < 9*deadline && took[0]+grown < deadline {
		return ""
	}
	var parts []string
	for _, t := range slices.Backward(took) {
		parts = append(parts, duration.HumanDuration(t))
	}
	last := either(n == 1, "the last Job", "the last "+count(n, "Job"))
	return last + " failed at the deadline of " + duration.HumanDuration(deadline) + " (activeDeadlineSeconds); " +
		"those before that succeeded took " + strings.Join(parts, ", ") + runs
}

// changed says what differs between the templates of the last Job that succeeded and of the first one after it that
// failed, of those that are given.
func (c *cronFacts) changed() string {
	var failed *batchv1.Job
	for _, job := range c.Runs {
		end := jobstatus.Finished(job)
		switch {
		case end == nil:
		case end.Type == batchv1.JobFailed:
			failed = job
		case failed != nil:
			return ChangedSince(failed, []*batchv1.Job{job})
		}
	}
	return ""
}

// ChangedSince says what differs between the template of a Job of a CronJob and that of the last one before it which
// succeeded, of those that are given. It is empty if there is none, or nothing differs.
func ChangedSince(job *batchv1.Job, jobs []*batchv1.Job) string {
	var last *batchv1.Job
	of := cmp.Or(metav1.GetControllerOfNoCopy(job), &metav1.OwnerReference{})
	for _, o := range jobs {
		if of.Kind == "CronJob" && metav1.IsControlledBy(o, &metav1.ObjectMeta{UID: of.UID}) && hasSucceeded(o) &&
			o.CreationTimestamp.Before(&job.CreationTimestamp) &&
			(last == nil || last.CreationTimestamp.Before(&o.CreationTimestamp)) {
			last = o
		}
	}
	if last == nil {
		return ""
	}
	was, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&last.Spec.Template.Spec)
	is, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&job.Spec.Template.Spec)
	return textIf(!reflect.DeepEqual(was, is), "; since Job "+last.Name+", which succeeded, the template has "+
		"changed: "+list(differences("", was, is)))
}

// succeededAfter reports whether a Job that is not given has succeeded after a time, and so may have started later than
// those that are.
func (c *cronFacts) succeededAfter(t time.Time) bool {
	last := c.of.Status.LastSuccessfulTime
	return last != nil && last.After(t) && !slices.ContainsFunc(c.Runs, func(job *batchv1.Job) bool {
		return job.Status.CompletionTime != nil && job.Status.CompletionTime.Equal(last)
	})
}

// replaced returns the number of Jobs that the controller deleted to start the next ones, with the start time of the
// first and the last event about one. Their names have the start time. The history limits delete Jobs, too, but only
// after the next one was created.
func (c *cronFacts) replaced() (n int, first time.Time, last *corev1.Event) {
	for _, e := range c.events {
		_, name, _ := strings.Cut(e.Message, "Deleted job "+c.of.Name+"-")
		minutes, err := strconv.ParseInt(name, 10, 64)
		start := time.Unix(minutes*60, 0)
		next := c.next(start)
		created := c.created(fmt.Sprintf("%s-%d", c.of.Name, next.Unix()/60))
		limit := cmp.Or(created, next.Add(patience/4)) // the event that the next one was created may be missing
		if at := timeOf(e); err == nil && !at.Before(next) && !at.After(limit) {
			n += int(max(1, e.Count))
			first, last = cmp.Or(first, start), e
		}
	}
	return n, first, last
}

// took returns how long the last Jobs that succeeded took, the last one first.
func (c *cronFacts) took() (all []time.Duration) {
	const some = 3
	for _, job := range c.Runs {
		if end := job.Status.CompletionTime; end != nil && job.Status.StartTime != nil && len(all) < some {
			all = append(all, end.Sub(job.Status.StartTime.Time))
		}
	}
	return all
}

// usual says how long Jobs take: the last ones at most or, if none is given, the time from the last start time to the
// last success. It is 0 if neither is known.
func (c *cronFacts) usual() (long time.Duration, says string) {
	if took := c.took(); len(took) > 0 {
		long = slices.Max(took)
		return long, " (the last ones took at most " + duration.HumanDuration(long) + ")"
	}
	success := c.of.Status.LastSuccessfulTime
	_, started := c.active()
	if success == nil || !started.IsZero() && started.Before(c.next(success.Time)) { // it outlasted a start time
		return 0, ""
	}
	for _, before := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour} {
		for t := c.next(success.Add(-before)); !t.IsZero() && !t.After(success.Time); t = c.next(t) {
			long = success.Sub(t)
		}
		if long > 0 {
			break
		}
	}
	return long, textIf(long > 0, " (the last success came "+duration.HumanDuration(long)+" after its start time)")
}

// podless reports whether the first active Job has had no pod.
func (c *cronFacts) podless() bool {
	job := c.run(c.of.Status.Active[0].Name)
	status := cmp.Or(job, &batchv1.Job{}).Status
	return job != nil && status.Active+status.Succeeded+status.Failed+*cmp.Or(status.Terminating, new(int32)) == 0
}
