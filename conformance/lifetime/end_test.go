package lifetime

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate"
)

const mostRounds = 400

// end leads the Job to its end with jobfate alone: caches catch up, nothing
// fails, pods end, time passes.
func (l *lifetime) end(t *rapid.T) {
	restart := rapid.Bool().Draw(t, "restart before the end")
	if restart {
		s := snapshot(l.world)
		record, err := jobfate.RebuildBackoff(s)
		if err != nil {
			t.Fatalf("RebuildBackoff: %v", err)
		}
		l.world.memory = record
		l.world.observeAll()
		l.world.created, l.world.deleted, l.world.stripped = uids{}, uids{}, uids{}
		l.reach["end: backoff rebuilt"]++
	}
	if chance(t, 70, "resume") {
		job := l.world.job.DeepCopy()
		job.Spec.Suspend = ptr(false)
		if *job.Spec.Parallelism == 0 {
			job.Spec.Parallelism = ptr[int32](1)
		}
		l.world.job = job
	}
	fails := chance(t, 30, "pods fail to the end")
	if !l.rounds(t, fails) && !l.rounds(t, false) {
		l.reach["end: by deletion"]++
		job := l.world.job.DeepCopy()
		job.DeletionTimestamp, job.Finalizers = l.world.clock(), []string{"foregroundDeletion"}
		l.world.job = job
		l.rounds(t, false)
	} else {
		l.reach["end: alone"]++
	}
	if err := l.referee.buried(l.world); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(l.story, "\n"))
	}
	st := &l.world.job.Status
	if terminal(l.world.job) && int(st.Failed) != len(l.referee.failed) {
		t.Fatalf("failed is %d, charged were %d", st.Failed, len(l.referee.failed))
	}
}

// rounds goes on until nothing is left to do, and reports whether the Job is
// then finished.
func (l *lifetime) rounds(t *rapid.T, fails bool) bool {
	for range mostRounds {
		w := l.world
		w.observeAll()
		if terminal(w.job) {
			l.afterTheEnd(t)
			w.observeAll()
			return true
		}
		o, d, err := jobfateSyncs(w, l.habits, noFaults())
		if err != nil || o.refused != nil {
			t.Fatalf("jobfate: %v, refused %v\n%s", err, o.refused, strings.Join(l.story, "\n"))
		}
		l.say("alone: %s; %s", d.Why.Job().Text, brief(o))
		l.reach["steps alone"]++
		if err := l.referee.watch(w, o); err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(l.story, "\n"))
		}
		l.world = o.world
		l.world.collect()
		l.world.observeAll()
		moved := l.world.progress(fails)
		if o.requeue > 0 {
			l.world.now = l.world.now.Add(o.requeue)
		} else if d.Idle() && !moved {
			return false
		}
	}
	return false
}

// progress ends every pod that runs or terminates.
func (w *world) progress(fails bool) bool {
	moved := false
	for _, pod := range w.stored() {
		if ended(pod) {
			continue
		}
		moved = true
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodRunning {
			w.change(pod.UID, start)
			continue
		}
		code := int32(0)
		if fails || pod.DeletionTimestamp != nil {
			code = 1
		}
		w.exit(pod.UID, code)
	}
	w.now = w.now.Add(time.Second)
	return moved
}
