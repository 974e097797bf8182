package lifetime

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// TestHandover moves Jobs between jobfate and the real controller, as docs/divergences.md says they may be moved. Each
// takes over from what is stored, whatever the last write of the other was.
func TestHandover(t *testing.T) {
	r := reach{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		h := &handover{plan: p, dice: rand.New(rand.NewPCG(p.seed, 1)), reach: r}
		h.next()
		l := newLife(p, h)
		c := &counted{failed: uids{}, succeeded: uids{}}
		changed := l.Watch
		l.Watch = func(s cluster.Step) {
			changed(s)
			if err := c.see(&s); err != "" {
				t.Fatalf("%s\n%s", err, l.story)
			}
		}
		if !l.run(48 * time.Hour) {
			t.Fatalf("the Job does not end\n%s", l.story)
		}
		r["lives with handovers"]++
		end := endOf(l)
		r["end: "+end.reason]++
		if end.reason != batchv1.JobReasonCompletionsReached || !jobstatus.IsIndexed(&l.Job().Spec) || l.Job().Spec.PodFailurePolicy != nil {
			return
		}
		r["lives in which all failures count"]++
		failed := int32(0)
		for uid, deleted := range c.failed {
			if !deleted {
				failed++
			} else if l.Pod(uid) == nil {
				return // by a controller
			}
		}
		if end.failed != failed {
			t.Fatalf("%d pods have failed, and the status counts %d\n%s", failed, end.failed, l.story)
		}
	})
	r.print(t)
	for _, name := range []string{"takeovers by jobfate", "takeovers by Kubernetes", "kills of jobfate", "kills of Kubernetes",
		"lives in which all failures count"} {
		if r[name] == 0 {
			t.Errorf("no life reached: %s", name)
		}
	}
}

// handover is now jobfate, and now the real controller. The next one begins without a memory, with caches that show
// everything. The last one may have been killed between two writes.
type handover struct {
	reach
	plan *plan
	dice *rand.Rand
	us   bool
	lifeController
}

func (h *handover) name() string { return map[bool]string{true: "jobfate", false: "Kubernetes"}[h.us] }

// next starts one of the two.
func (h *handover) next() {
	if h.us = h.dice.IntN(2) == 0; h.us {
		h.lifeController = newJobfateSide(h.plan, 0)
	} else {
		h.lifeController = &kubernetesSide{limits: h.plan.limits}
	}
	h.reach["takeovers by "+h.name()]++
}

func (h *handover) sync(l *life) ([]time.Duration, error) {
	if l.writes = -1; h.dice.IntN(6) == 0 {
		l.writes = h.dice.IntN(5)
	}
	waits, err := h.lifeController.sync(l)
	switch killed := l.writes == 0; {
	case killed:
		h.reach["kills of "+h.name()]++
		waits, err = []time.Duration{time.Second}, nil
	case h.dice.IntN(4) > 0:
		return waits, err
	}
	l.showAll()
	h.next()
	return append(waits, time.Second), err
}

// showAll lets the watches show everything.
func (l *life) showAll() {
	for _, e := range l.jobs.events {
		l.job = e.job
	}
	for _, e := range l.pods.events {
		l.show(e)
	}
	l.jobs.events, l.pods.events = nil, nil
}

// counted holds the pods that have failed or were deleted, and those that have succeeded.
type counted struct {
	failed    map[types.UID]bool // true if the pod was deleted
	succeeded uids
	last      batchv1.JobStatus
}

// see reports a status that counts a pod twice, or less than the one before.
func (c *counted) see(s *cluster.Step) string {
	if pod := s.Pod; pod != nil {
		if pod.Status.Phase == corev1.PodSucceeded {
			c.succeeded[pod.UID] = true
		}
		// A pod that has succeeded counts as failed if it was deleted while a cache showed it running.
		if deleted := pod.DeletionTimestamp != nil; deleted || pod.Status.Phase == corev1.PodFailed {
			c.failed[pod.UID] = deleted
		}
	}
	if s.Job == nil || s.Pod != nil || s.OldPod != nil {
		return ""
	}
	st, last := s.Job.Status, c.last
	c.last = st
	lists := st.UncountedTerminatedPods
	if lists == nil {
		lists = &batchv1.UncountedTerminatedPods{}
	}
	switch listed := slices.Concat(lists.Failed, lists.Succeeded); {
	case len(listed) > len(slices.Compact(slices.Sorted(slices.Values(listed)))):
		return "a pod is listed twice"
	case int(st.Failed)+len(lists.Failed) > len(c.failed):
		return "more failures are counted than there are failed and deleted pods"
	case !jobstatus.IsIndexed(&s.Job.Spec) && int(st.Succeeded)+len(lists.Succeeded) > len(c.succeeded):
		return "more successes are counted than there are succeeded pods"
	case st.Failed < last.Failed || st.Succeeded < last.Succeeded:
		return "a counter falls"
	}
	return ""
}
