package simulation

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// watch is told of every change of the cluster.
func (p *play) watch(s cluster.Step) {
	if s.Refused != nil {
		return
	}
	p.changed = p.now()
	p.lookAt(p.cluster.Now.Add(p.batchPeriod(s)))
	switch {
	case s.Pod == nil && s.OldPod == nil:
		if s.Job != nil && s.OldJob != nil {
			p.watchStatus(&s.OldJob.Status, &s.Job.Status)
		}
	case s.OldPod == nil:
		p.born(s.Pod)
	default:
		if l := p.lives[s.OldPod.UID]; l != nil {
			p.watchPod(l, s.OldPod, s.Pod)
		}
	}
}

// batchPeriod is how long the controller waits for more changes after one. A new
// spec has it look at once.
func (p *play) batchPeriod(s cluster.Step) time.Duration {
	if s.Job != nil && s.OldJob != nil && s.Job.Generation != s.OldJob.Generation {
		return 0
	}
	return or(p.scenario.BatchPeriod, defaultBatch)
}

// watchPod takes down the end of a pod. A nil pod is gone.
func (p *play) watchPod(l *life, old, pod *corev1.Pod) {
	if pod != nil && cluster.HasEnded(pod) && len(pod.Finalizers) == 0 {
		p.spent = append(p.spent, pod.UID)
	}
	if l.gone {
		return
	}
	switch {
	case pod == nil && !cluster.HasEnded(old):
		p.ended(l, old)
	case pod != nil && cluster.HasEnded(pod):
		p.ended(l, pod)
	case pod != nil && old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
		grace := *pod.DeletionGracePeriodSeconds
		p.stopping(l, grace)
	}
}

func (p *play) ended(l *life, pod *corev1.Pod) {
	l.gone = true
	p.busy = min(p.busy, l.lane.Index)
	told, now := l.pod(), p.now()
	told.Ended = &now
	if told.Started != nil {
		p.result.Totals.Running += now - *told.Started
	}
	t := &p.result.Totals
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		told.Outcome = PodSucceeded
		t.Succeeded++
		return
	case disrupted(pod):
		told.Outcome = PodEvicted
		t.Evicted++
	case pod.DeletionTimestamp != nil || !cluster.HasEnded(pod): // the second is gone at once
		told.Outcome = PodDeleted
		t.Deleted++
	default:
		told.Outcome = PodFailed
		t.Failed++
	}
	if pod.Status.Phase == corev1.PodFailed {
		if m := p.policy.Match(pod); m.Matched() {
			told.Rule, told.Action = m.Explain(), string(m.Action)
		}
	}
}

func disrupted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// watchStatus takes down a status, and what it changes of the conditions.
func (p *play) watchStatus(old, next *batchv1.JobStatus) {
	p.result.Statuses = append(p.result.Statuses, Status{p.now(), old, next})
	for _, c := range next.Conditions {
		if was := conditionOf(old, c.Type); was == nil || was.Status != c.Status || was.Reason != c.Reason {
			p.result.Conditions = append(p.result.Conditions,
				Condition{p.now(), string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	}
}

func conditionOf(s *batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// decided takes down what a decision waits for.
func (p *play) decided(s jobfate.Snapshot, d jobfate.Decision) {
	waiting := map[int32]time.Time{}
	if backoff.LimitOf(&s.Job.Spec).Target != backoff.TargetIndex {
		if why := explain.Of(d).Job(); why.Code == explain.JobBackingOff {
			waiting[wholeJob] = why.Until
		}
	} else {
		for why := range explain.Of(d).Indexes() {
			for i := int64(why.First); why.Code == explain.IndexBackingOff && i <= int64(why.Last); i++ {
				waiting[int32(i)] = why.Until
			}
		}
	}
	for key, until := range p.waiting {
		if !until.Equal(waiting[key]) && until.After(p.cluster.Now) {
			p.cutShort(key)
		}
	}
	for key, until := range waiting {
		if !until.Equal(p.waiting[key]) {
			waits := p.waits(key)
			*waits = append(*waits, Wait{p.now(), Time(until.Sub(epoch))})
		}
	}
	p.waiting = waiting
}

// cutShort ends the last wait of an index before its time. A wait that ends at the
// moment in which it began was none.
func (p *play) cutShort(index int32) {
	waits := p.waits(index)
	last := len(*waits) - 1
	(*waits)[last].Until = p.now()
	if (*waits)[last].From == p.now() {
		*waits = (*waits)[:last]
	}
}

// wholeJob stands for the Job where an index is asked for.
const wholeJob = -1

// waits returns where the waits of an index are told.
func (p *play) waits(index int32) *[]Wait {
	if index == wholeJob {
		return &p.result.Waits
	}
	return &p.lane(index).Waits
}
