package chaos

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// unobservedWrite is the creation of a pod that a controller has not observed.
type unobservedWrite struct {
	name, answer string
	uid          types.UID // of the pod, if it is known
	step         int
}

// note records a creation whose pod the controller waits to observe in its cache.
func (r *run) note(q *cluster.Request, a cluster.Answer, err error) {
	w := unobservedWrite{step: r.Step}
	switch effect := r.effectOf(q); {
	case q.Verb != cluster.Create:
		return
	case err == nil:
		w.uid, w.name = a.Pod.UID, string(a.Pod.UID)
	case effect != nil: // the answer was lost
		w.uid, w.name, w.answer = effect.Pod.UID, string(effect.Pod.UID), err.Error()
	case apierrors.IsAlreadyExists(err):
		w.name, w.answer = "pod "+q.Pod.Name, err.Error()
	default:
		return
	}
	r.acting.unobserved = append(r.acting.unobserved, w)
}

// observe removes the writes that a view shows.
func (l *leader) observe(pods []*corev1.Pod) {
	l.unobserved = slices.DeleteFunc(l.unobserved, func(o unobservedWrite) bool {
		return o.uid != "" && slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.UID == o.uid })
	})
}

// explainer is a controller that can say why a Job stalls.
type explainer interface{ Explain() string }

// explain names the cause of a stall, as far as it is visible from outside.
func (r *run) explain() {
	if !r.Log.On || len(r.leaders) == 0 {
		return
	}
	l, out := r.leaders[0], r.last
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
		causes = append(causes, fmt.Sprintf("the creation of %s is still in flight and nothing will resolve it: %s",
			o.name, why))
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
