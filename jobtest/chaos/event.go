package chaos

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// emit passes an event to Config.Observe.
func (r *run) emit(e cluster.Event) {
	if r.Observe != nil {
		r.Observe(&e)
	}
}

// event returns an event that happens now.
func (r *run) event(kind cluster.EventKind, l *leader) cluster.Event {
	e := cluster.Event{Kind: kind, Leader: l.n, OldJob: r.c.Job(), OldPods: r.c.Pods()}
	e.Job = e.OldJob
	return e
}

// emitChange emits a change of another client.
func (r *run) emitChange(s *cluster.Step) {
	if s.Request == nil {
		r.emit(cluster.Event{Kind: cluster.Changed, OldJob: s.OldJob, Job: s.Job, OldPod: s.OldPod, Pod: s.Pod})
	}
}

// emitRequest emits a request with what it has changed.
func (r *run) emitRequest(q *cluster.Request, err error) {
	e := r.event(cluster.Sent, r.acting)
	e.Request, e.Err = q, err
	e.Answered = err == nil || !r.acting.lost && !errors.Is(err, cluster.ErrKilled) &&
		!errors.Is(err, cluster.ErrNoAnswer) && !errors.Is(err, cluster.ErrGivenUp)
	if change := r.change; change != nil && change.Request == q {
		e.OldJob, e.Job, e.OldPod, e.Pod = change.OldJob, change.Job, change.OldPod, change.Pod
		e.Invalid = change.Refused
		e.OldPods = undone(e.OldPods, change)
	}
	r.emit(e)
}

// undone returns the pods before a change.
func undone(pods []*corev1.Pod, change *cluster.Step) []*corev1.Pod {
	before := slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return change.Pod != nil && pod.UID == change.Pod.UID
	})
	if change.OldPod != nil {
		before = append(before, change.OldPod)
	}
	return before
}
