package vectors

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/tracking"
)

// Counted is the result of count: the next step of counting.
type Counted struct {
	// Status is stored first. Then the finalizers of the pods with these names are removed.
	Status json.RawMessage `json:"status,omitempty"`
	Strip  []string        `json:"strip,omitempty"`
	Full   bool            `json:"full,omitempty"` // the lists take no more pods
	// First is the status to store if only the first of these pods has lost its finalizer,
	// and All the status to store if all have.
	First json.RawMessage `json:"first,omitempty"`
	All   json.RawMessage `json:"all,omitempty"`
}

func count(in JobAndPods) Counted {
	c := tracking.Keys{}.Count(in.Job, in.Pods)
	out := Counted{Status: objectOf(c.Status), Full: c.Full}
	var gone []types.UID
	for _, pod := range c.Strip {
		out.Strip, gone = append(out.Strip, pod.Name), append(gone, pod.UID)
	}
	if len(gone) > 0 {
		out.First, out.All = objectOf(c.Settle(gone[0])), objectOf(c.Settle(gone...))
	}
	return out
}

// Transition is the result of enterTracking and leaveTracking: patches, those of the pods
// by name.
type Transition struct {
	Pods   map[string]json.RawMessage `json:"pods,omitempty"`
	Status json.RawMessage            `json:"status,omitempty"`
	Job    json.RawMessage            `json:"job,omitempty"`
}

func enterTracking(in JobAndPods) Transition {
	return transition(tracking.Keys{}.EnterTracking(in.Job, in.Pods))
}

func leaveTracking(in JobAndPods) Transition {
	return transition(tracking.Keys{}.LeaveTracking(in.Job, in.Pods))
}

func transition(t tracking.Transition) Transition {
	out := Transition{Status: patchOf(t.Status), Job: patchOf(t.Job)}
	for _, p := range t.Pods {
		if out.Pods == nil {
			out.Pods = map[string]json.RawMessage{}
		}
		out.Pods[p.Pod.Name] = patchOf(p.Patch)
	}
	return out
}

// Gauged is the result of gauge: whether job_terminated_pod_tracking_finalizer counts a
// pod.
type Gauged struct {
	Counts bool `json:"counts"`
}

func gauge(in OnePod) Gauged { return Gauged{tracking.Keys{}.Gauge(in.Pod)} }
