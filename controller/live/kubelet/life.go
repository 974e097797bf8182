package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Life describes what happens to a pod. The zero value is bound, runs, and exits with 0 at
// once.
type Life struct {
	// Pending and Running are the durations of these phases.
	Pending, Running time.Duration
	// Stuck pods stay Pending. Forever pods run until they are deleted.
	Stuck, Forever bool
	// Unready pods run without being ready.
	Unready bool
	// Restarts is the restart count of the containers.
	Restarts int32
	// End is the end of a pod that is not deleted.
	End End
	// Stop is the end of a deleted pod, Stopping the time until then. Undying pods ignore
	// their deletion.
	Stop     *End
	Stopping time.Duration
	Undying  bool
	// Direct pods go from Pending to their end in one step, without being scheduled. That
	// takes a third of the requests, for tests with very many pods.
	Direct bool
}

// End describes the end of a pod.
type End = cluster.PodEnd

func (l *Life) run() cluster.PodRun { return cluster.PodRun{Unready: l.Unready, Restarts: l.Restarts} }

// Succeed is the life of a pod that exits with 0.
func Succeed() Life { return Life{} }

// Fail is the life of a pod that exits with the given code.
func Fail(code int32) Life { return Life{End: End{Exit: code}} }

// Run is the life of a pod that runs until it is deleted.
func Run() Life { return Life{Forever: true} }

// Wait is the life of a pod that never starts.
func Wait() Life { return Life{Stuck: true} }

// After makes the pod run for a duration first.
func (l Life) After(d time.Duration) Life {
	l.Running = d
	return l
}

// Disrupted ends the pod with the condition DisruptionTarget.
func (l Life) Disrupted() Life {
	return l.With(corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: "PreemptionByScheduler"})
}

// With ends the pod with another condition.
func (l Life) With(c corev1.PodCondition) Life {
	l.End.Conditions = append(l.End.Conditions[:len(l.End.Conditions):len(l.End.Conditions)], c)
	return l
}

// Exiting sets the exit code of one container.
func (l Life) Exiting(container string, code int32) Life {
	exits := map[string]int32{container: code}
	for name, code := range l.End.Exits {
		if name != container {
			exits[name] = code
		}
	}
	l.End.Exits = exits
	return l
}

// Dying sets the exit code of a deleted pod, and the time until it ends. By default it ends
// at once with exit code 143.
func (l Life) Dying(code int32, after time.Duration) Life {
	l.Stop, l.Stopping = &End{Exit: code}, after
	return l
}

// NeverDying makes the pod keep running when it is deleted.
func (l Life) NeverDying() Life {
	l.Undying = true
	return l
}
