package simulation

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// watch observes every change of the cluster.
func (p *play) watch(s cluster.Step) {
	if s.Refused != nil {
		return
	}
	p.changed = p.now()
	p.steps++
	p.scheduleSync(p.cluster.Now.Add(p.batchPeriod(s)))
	switch {
	case s.Pod == nil && s.OldPod == nil:
		if s.Job != nil && s.OldJob != nil {
			p.watchStatus(&s.OldJob.Status, &s.Job.Status)
		}
	case s.OldPod == nil:
		l := p.addPod(s.Pod, p.now())
		p.draw(l)
		p.schedule(l)
	default:
		if l := p.lives[s.OldPod.UID]; l != nil {
			p.watchPod(l, s.OldPod, s.Pod)
		}
	}
}

// batchPeriod returns how long the controller waits for further changes after a change. After
// a change of the spec it syncs at once.
func (p *play) batchPeriod(s cluster.Step) time.Duration {
	if s.Job != nil && s.OldJob != nil && s.Job.Generation != s.OldJob.Generation {
		return 0
	}
	return or(p.scenario.BatchPeriod, defaultBatch)
}

// watchPod records the deletion and the end of a pod. A nil pod has been removed.
func (p *play) watchPod(l *simPod, old, pod *corev1.Pod) {
	if pod != nil && cluster.HasEnded(pod) && len(pod.Finalizers) == 0 {
		p.counted = append(p.counted, pod.UID)
	}
	if l.gone {
		return
	}
	switch {
	case pod == nil && !cluster.HasEnded(old):
		p.ended(l, old, p.now())
	case pod != nil && cluster.HasEnded(pod):
		p.ended(l, pod, p.now())
	case pod != nil && old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
		l.pod().Terminating = new(p.now())
		p.stopping(l, *pod.DeletionGracePeriodSeconds)
	}
}

// ended records the end of a pod, and gives its place to other pods.
func (p *play) ended(l *simPod, pod *corev1.Pod, at Time) {
	l.gone = true
	p.running--
	if !p.indexed {
		p.lanes.release(l.lane)
	}
	p.places.leave(l)
	p.admit()
	ended := l.pod()
	ended.Ended = &at
	p.result.Totals.Running += ended.Ran(at)
	t := &p.result.Totals
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		ended.Outcome = PodSucceeded
		t.Succeeded++
		return
	case disrupted(pod):
		ended.Outcome = PodEvicted
		t.Evicted++
	case pod.DeletionTimestamp != nil || !cluster.HasEnded(pod): // or removed while it ran
		ended.Outcome = PodDeleted
		t.Deleted++
	default:
		ended.Outcome = PodFailed
		t.Failed++
	}
	if pod.Status.Phase == corev1.PodFailed {
		p.failed = append(p.failed, l)
	}
}

func disrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// watchStatus records a status write, and the conditions that it changes.
func (p *play) watchStatus(old, next *batchv1.JobStatus) {
	if p.Stored != nil {
		if err := p.Stored(Status{p.now(), old, next}); err != nil {
			p.fail(err)
		}
	}
	for _, c := range next.Conditions {
		if !slices.ContainsFunc(old.Conditions, func(was batchv1.JobCondition) bool {
			return was.Type == c.Type && was.Status == c.Status && was.Reason == c.Reason
		}) {
			p.result.Conditions = append(p.result.Conditions,
				Condition{p.now(), string(c.Type), string(c.Status), c.Reason, c.Message})
		}
	}
}

// decided records what a decision says of delays and of failed pods.
func (p *play) decided(d decide.Decision) {
	p.backsOff(backingOff(d))
	p.failed = slices.DeleteFunc(p.failed, func(l *simPod) bool {
		r := d.Facts().Pod(l.uid)
		if r == nil || !r.Failed { // the decision is not about the failure
			return p.lives[l.uid] == nil
		}
		if match := r.Match(); match.Matched() {
			l.pod().Rule, l.pod().Action = match.Explain(), string(match.Action)
		}
		return true
	})
}

// backsOff records the ends of the delays of indexes that back off.
func (p *play) backsOff(waiting map[int32]time.Time) {
	for key, until := range p.waiting {
		if !until.Equal(waiting[key]) && until.After(p.cluster.Now) {
			p.cutShort(key)
		}
	}
	for key, until := range waiting {
		if !until.Equal(p.waiting[key]) {
			waits := p.waits(key)
			*waits = append(*waits, Wait{p.now(), p.timeOf(until)})
		}
	}
	p.waiting = waiting
}

// cutShort ends the last wait of an index early. A wait without a duration is removed.
func (p *play) cutShort(index int32) {
	waits := p.waits(index)
	last := len(*waits) - 1
	(*waits)[last].Until = p.now()
	if (*waits)[last].From == p.now() {
		*waits = (*waits)[:last]
	}
}

// waits returns the list of the waits of an index or of the Job.
func (p *play) waits(index int32) *[]Wait {
	if index == wholeJob {
		return &p.result.Waits
	}
	return &p.lanes.of(index).Waits
}
