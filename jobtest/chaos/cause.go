package chaos

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
)

// unobservedWrite is a write of a controller whose effect it has not observed.
type unobservedWrite struct {
	name, answer string
	uid          types.UID // of the created pod
	step         int
}

// note records a creation whose pod the controller waits to observe in its cache.
func (r *run) note(q *cluster.Request, a cluster.Answer, err error) {
	l := r.acting
	switch {
	case q.Verb == cluster.Create && err == nil:
		l.unobserved = append(l.unobserved, unobservedWrite{name: "the creation of " + string(a.Pod.UID),
			uid: a.Pod.UID, step: r.Step})
	case q.Verb == cluster.Create && r.served == q: // it took effect, but the answer was lost
		l.unobserved = append(l.unobserved, unobservedWrite{name: "the creation of " + string(r.created),
			uid: r.created, answer: err.Error(), step: r.Step})
	case q.Verb == cluster.Create && apierrors.IsAlreadyExists(err):
		l.unobserved = append(l.unobserved, unobservedWrite{name: "the creation of pod " + q.Pod.Name,
			answer: err.Error(), step: r.Step})
	}
}

// observe removes the writes that a view shows.
func (l *leader) observe(pods []*corev1.Pod) {
	var left []unobservedWrite
	for _, o := range l.unobserved {
		if o.uid == "" || !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.UID == o.uid }) {
			left = append(left, o)
		}
	}
	l.unobserved = left
}

// explainer is a controller that can say why a Job stalls.
type explainer interface{ Explain() string }

// explain names the cause of a stall, as far as it is visible from outside.
func (r *run) explain(out cluster.Outcome) {
	if !r.log.On || len(r.leaders) == 0 {
		return
	}
	l := r.leaders[0]
	var causes []string
	for _, o := range l.unobserved {
		if o.uid != "" && r.c.Pod(o.uid) != nil {
			continue // it can still be observed
		}
		why := "the pod was removed before the cache showed it"
		if o.answer != "" {
			why = fmt.Sprintf("its answer in step %d was %q, and the cache will never show a pod for it",
				o.step, o.answer)
		}
		causes = append(causes, fmt.Sprintf("%s is still in flight and nothing will resolve it: %s", o.name, why))
	}
	if e, ok := l.controller.(explainer); ok && e.Explain() != "" {
		causes = append(causes, e.Explain())
	}
	switch {
	case out.Err != nil:
		causes = append(causes, fmt.Sprintf("every sync fails: %v", out.Err))
	case out.At.IsZero():
		causes = append(causes, "the controller has set no requeue")
	default:
		causes = append(causes, "the controller has set a requeue for "+out.At.Format("15:04:05"))
	}
	r.cause = strings.Join(causes, ";\n  ")
}
