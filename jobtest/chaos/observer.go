package chaos

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// observer observes the requests of a controller.
type observer struct {
	r *run
	cluster.Controller
}

// Sync implements cluster.Controller.
func (s observer) Sync(client *cluster.Client) (time.Duration, error) {
	r := s.r
	r.refused, r.refusing = r.refusing, nil
	r.acting.observe(client.Pods)
	r.acting.pods, r.at.pending = client.Pods, false
	begin := r.event(cluster.Began, r.acting)
	begin.View = &client.View
	r.emit(begin)
	r.log.logView(r.acting, r.at, &client.View)
	seen := *client
	seen.Send = func(q *cluster.Request) (cluster.Answer, error) {
		if q.Writes() {
			r.Writes++
		}
		before := r.c.Version()
		answer, err := client.Send(q)
		r.emitRequest(q, err)
		r.note(q, answer, err)
		r.log.logRequest(q, err, r.effectOf(q) != nil && r.c.Version() != before)
		if r.Faultless && !r.NoCreations && err != nil && !apierrors.IsNotFound(err) {
			r.checkRejection(q, err)
		}
		return answer, err
	}
	after, err := s.Controller.Sync(&seen)
	r.emit(r.event(cluster.Ended, r.acting))
	var found *referee.Violation
	if errors.As(err, &found) && r.Found(found) {
		r.of = r.at.name
	}
	return after, err
}

// checkRejection records the requests that the API server rejects without a fault. The next
// sync, on a fresh view, must not send the same request again (L4).
func (r *run) checkRejection(q *cluster.Request, err error) {
	key := fmt.Sprint(q.Verb, q.UID, string(q.Patch), podtest.ToJSON([]any{q.Options, q.Pod, q.Job}), r.at.name)
	if r.refused[key] {
		r.violate("L4", "a %s that was rejected is sent again unchanged: %v", q.Verb, err)
	}
	if r.refusing == nil {
		r.refusing = map[string]bool{}
	}
	r.refusing[key] = true
}

func (r *run) violate(property, format string, args ...any) {
	if r.Violate(property, format, args...) {
		if r.at != nil {
			r.of = r.at.name
		}
		if property[0] == 'L' && r.c != nil {
			r.explain()
		}
	}
}

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
