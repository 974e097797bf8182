package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Life is what becomes of a pod. The zero value is bound, runs, and at once
// exits with 0.
type Life struct {
	// Pending and Running are how long it is in the phase of that name.
	Pending, Running time.Duration
	// Stuck pods stay Pending; Forever ones run until they are deleted.
	Stuck, Forever bool
	// Unready pods run without being ready.
	Unready bool
	// Restarts is how often its containers have been restarted where they are.
	Restarts int32
	// End is how it ends by itself.
	End End
	// Stop is how it ends when it is deleted, Stopping how long it takes.
	// Undying pods do not heed that they are deleted.
	Stop     *End
	Stopping time.Duration
	Undying  bool
	// Direct pods go from Pending to their end in one step, unscheduled: a third
	// of the requests, for tests of very many pods.
	Direct bool
}

// End is how a pod ends.
type End struct {
	// Exit is the exit code of all its containers, but for those named in Exits.
	Exit  int32
	Exits map[string]int32
	// Conditions are added to the status with the phase.
	Conditions []corev1.PodCondition
	// Reason is that of the pod's status.
	Reason string
	// Lost pods fail with no word from their containers.
	Lost bool
}

// Succeed is the life of a pod that exits with 0.
func Succeed() Life { return Life{} }

// Fail is the life of a pod that exits with some other code.
func Fail(code int32) Life { return Life{End: End{Exit: code}} }

// Run is the life of a pod that runs until it is deleted.
func Run() Life { return Life{Forever: true} }

// Wait is the life of a pod that never starts.
func Wait() Life { return Life{Stuck: true} }

// After has the pod run for a while first.
func (l Life) After(d time.Duration) Life {
	l.Running = d
	return l
}

// Disrupted ends the pod with the condition DisruptionTarget.
func (l Life) Disrupted() Life {
	return l.With(corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"})
}

// With ends the pod with another condition.
func (l Life) With(c corev1.PodCondition) Life {
	l.End.Conditions = append(l.End.Conditions[:len(l.End.Conditions):len(l.End.Conditions)], c)
	return l
}

// Exiting gives one container an exit code of its own.
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

// Dying says how a pod ends when it is deleted, and how long that takes. By
// default it is killed at once, with exit code 143.
func (l Life) Dying(code int32, after time.Duration) Life {
	l.Stop, l.Stopping = &End{Exit: code}, after
	return l
}

// NeverDying has the pod run on when it is deleted.
func (l Life) NeverDying() Life {
	l.Undying = true
	return l
}
