package lifetime

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/explain"
)

const mostRounds = 400

// end runs the Job to its end with jobfate alone. Caches catch up, no request fails, pods end, and
// time passes.
func (l *lifetime) end(t *rapid.T) {
	if w := l.world; w.Job() == nil {
		l.reach["end: deleted"]++
		w.cache.ShowAll()
	} else {
		l.finish(t)
	}
	if err := l.checkEnded(); err != nil {
		t.Fatalf("%v\n%s", err, l.story)
	}
}

func (l *lifetime) finish(t *rapid.T) {
	w := l.world
	if rapid.Bool().Draw(t, "restart before the end") {
		w.restart()
		w.inDoubt = true
		l.reach["end: backoff rebuilt"]++
	}
	if chance(t, 70, "resume") {
		err := w.EditJob(func(spec *batchv1.JobSpec) {
			spec.Suspend, spec.Parallelism = new(false), new(max(1, *spec.Parallelism))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fails := chance(t, 30, "pods fail to the end")
	if l.rounds(t, fails) || l.rounds(t, false) {
		l.reach["end: alone"]++
	} else {
		l.reach["end: by deletion"]++
		l.world.DeleteJob(metav1.DeletePropagationForeground)
		l.rounds(t, false)
	}
}

// checkEnded checks a Job that has ended, and its pods.
func (l *lifetime) checkEnded() error {
	w := l.world
	for _, pod := range w.Pods() {
		if builtin.HasFinalizer(pod) {
			return fmt.Errorf("L3: %s keeps its finalizer", describe(pod))
		}
	}
	if w.stale() {
		return fmt.Errorf("the cache never caught up")
	}
	if job := w.Job(); job != nil && terminal(job) && job.Status.Failed != w.judge.ghost.Failed {
		return fmt.Errorf("S1: failed is %d, charged were %d", job.Status.Failed, w.judge.ghost.Failed)
	}
	return nil
}

// rounds continues until nothing is left to do, and reports whether the Job is then finished or
// gone.
func (l *lifetime) rounds(t *rapid.T, fails bool) bool {
	for range mostRounds {
		w := l.world
		w.observeAll()
		if w.Job() == nil {
			return true
		}
		if terminal(w.Job()) {
			l.afterTheEnd(t)
			w.observeAll()
			return true
		}
		o, d, err := jobfateSyncs(w, l.settings, noFaults())
		if err != nil || o.refused != nil {
			t.Fatalf("jobfate: %v, rejected %v\n%s", err, o.refused, l.story)
		}
		l.say("alone: %s; %s", explain.Of(d).Job().Text, describeOutcome(o))
		l.reach["steps alone"]++
		if err := o.world.judge.verdict; err != nil {
			t.Fatalf("%v\n%s", err, l.story)
		}
		l.world = o.world
		l.world.CollectGarbage()
		l.world.observeAll()
		moved := l.world.progress(fails)
		if o.requeue > 0 {
			l.world.Now = l.world.Now.Add(o.requeue)
		} else if d.Idle() && !moved {
			return false
		}
	}
	return false
}

// progress ends all running and terminating pods.
func (w *world) progress(fails bool) bool {
	moved := false
	for _, pod := range w.Pods() {
		if cluster.HasEnded(pod) {
			continue
		}
		moved = true
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodRunning {
			w.Start(pod.UID)
			continue
		}
		code := int32(0)
		if fails || pod.DeletionTimestamp != nil {
			code = 1
		}
		w.End(pod.UID, code)
	}
	w.Now = w.Now.Add(time.Second)
	return moved
}
