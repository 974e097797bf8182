package explain

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What the rows of the table call to find causes in the Job.

// decided returns the finder for a reason of the decision.
func decided(code Code) func(*reading) found {
	return func(r *reading) (c found) {
		if r.reason.Code == code {
			c.reason = r.reason
		}
		return c
	}
}

// running finds that the decision calls the Job running, and that no pod contradicts it.
func running(r *reading) (c found) {
	if len(r.symptoms) == 0 {
		return decided(JobRunning)(r)
	}
	return c
}

// backingOff finds that the next pod waits, and which failure its delay follows, if that pod is known.
func backingOff(r *reading) found {
	c := decided(JobBackingOff)(r)
	i := slices.IndexFunc(r.pods, func(p *record) bool {
		if !r.PerIndex() {
			return p.Failed && p.Valid && p.Finish().Equal(r.Record.LastFailure)
		}
		last := r.Predecessor(p.Index)
		return last != nil && last.Pod == p.Pod && r.DelayOf(p.Index) == r.Wait
	})
	c.how = "Read the events: " + describeJob
	if i < 0 || c.reason.Text == "" {
		return c
	}
	last, fault := r.pods[i], r.faultOf(r.pods[i])
	c.pod, c.container, c.evidence = last.Pod.Name, fault.container, []string{"pod/" + last.Pod.Name}
	c.node, c.signs = last.Pod.Spec.NodeName, fault
	c.how = r.adviceOn(&c)
	c.reason.Text += ", " + duration.HumanDuration(r.retry().Sub(last.Finish())) + " after " + r.named(last) +
		" failed: " + fault.text
	return c
}

// failed finds that the Job has failed, and why.
func failed(r *reading) found {
	if end := finished(r.Job); end.Code == "" || hasSucceeded(r.Job) {
		return found{}
	}
	return r.whyFailed()
}

// whyFailed says why the Job fails and, if it ran out of time, what its active pods were doing.
func (r *reading) whyFailed() found {
	c := r.textFailed()
	if r.failureReason() == batchv1.JobReasonDeadlineExceeded && len(r.symptoms) > 0 {
		shown := r.symptoms[0].found(r.facts)
		c.text, c.evidence = c.text+"; "+shown.text, shown.evidence
		c.pods, c.pod, c.container, c.node = shown.pods, shown.pod, shown.container, shown.node
	}
	return c
}

// ending finds that the Job is about to fail, and why.
func ending(r *reading) (c found) {
	if r.reason.Code != JobEnding || r.Ending.Type != batchv1.JobFailureTarget {
		return c
	}
	c = r.whyFailed()
	c.how = r.adviceOn(&c)
	c.reason = Reason{Code: JobEnding, Until: r.reason.Until, Text: "the Job fails: " + c.text + r.textDeletes() +
		also("", r.TerminatingAfter, "pod", " terminating")}
	return c
}

// succeeding finds that the Job is about to succeed.
func succeeding(r *reading) found {
	if r.reason.Code == JobEnding && r.Ending.Type != batchv1.JobFailureTarget {
		return found{reason: r.reason}
	}
	return found{}
}

// creation returns the finder for a reason why missing pods are not created.
func creation(code Code, mild bool) func(*reading) found {
	return func(r *reading) (c found) {
		if r.creation.Code == code && r.creation.mild == mild {
			c.text, c.pods = r.creation.Text, r.creation.pods
		}
		return c
	}
}

// refused returns the finder for a refusal of pods by the API server whose message has one of the
// parts; without parts, any.
func refused(parts ...string) func(*reading) found {
	return func(r *reading) (c found) {
		if r.refusal != "" && mentions(r.refusal, parts...) {
			c.text, c.evidence = r.creation.Text, []string{r.eventText(r.refusedBy)}
		}
		return c
	}
}

func terminationOverdue(mild bool) func(*reading) found {
	return func(r *reading) (c found) {
		if t := r.terminationOverdue(); t.mild == mild {
			c.text, c.pods = t.Text, t.pods
			c.node = r.nodeOf(t.pods)
		}
		return c
	}
}

// held returns the finder for a state of Kueue's Workload that keeps the Job suspended.
func held(state string) func(*reading) found {
	return func(r *reading) (c found) {
		if r.reason.Code == JobSuspended && r.workload == state && r.says != "" {
			c.text = "Kueue holds the Job suspended: " + oneLine(r.says) + r.textDeletes()
			c.evidence = []string{strings.ToLower(r.facts.workload().text("kind")) + "/" +
				r.facts.workload().text("metadata", "name")}
		}
		return c
	}
}

// ownerSuspended returns the finder for an owner that keeps the Job suspended, and is suspended itself or not.
func ownerSuspended(itself bool) func(*reading) found {
	return func(r *reading) (c found) {
		by, how := r.held()
		if r.reason.Code != JobSuspended || how == "" || suspended(by.object) != "" != itself {
			return c
		}
		c.text, c.object = r.reason.Text+" by "+by.String()+": "+how, strings.ToLower(by.kind)+"/"+by.name
		c.evidence = []string{c.object}
		return c
	}
}
