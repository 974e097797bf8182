package faults

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// history records which pods the status of a Job has named as failed and uncounted, in all
// observed states.
type history struct {
	named, now map[types.UID]bool
}

// see records a state. It reports false if a pod is named again after it was counted.
func (h *history) see(s observe.State) bool {
	if s.Job == nil || s.Job.Status.UncountedTerminatedPods == nil {
		return true
	}
	once, now := true, map[types.UID]bool{}
	for _, uid := range s.Job.Status.UncountedTerminatedPods.Failed {
		once = once && (h.now[uid] || !h.named[uid])
		now[uid], h.named[uid] = true, true
	}
	h.now = now
	return once
}

// tell lists the pods that the status has named although the kubelet has not seen them fail,
// and the reverse.
func (h *history) tell(ends map[types.UID]kubelet.Ended) string {
	var b strings.Builder
	for uid := range h.named {
		if end := ends[uid]; end.Phase != "Failed" || !end.Tracked {
			fmt.Fprintf(&b, "the status has named %s, which the kubelet knows as %s\n", uid, about(end))
		}
	}
	for uid, end := range ends {
		if end.Phase != "Succeeded" && end.Tracked && !h.named[uid] {
			fmt.Fprintf(&b, "no status was seen that names %s, %s\n", uid, about(end))
		}
	}
	return b.String()
}

func about(end kubelet.Ended) string {
	if end.Pod == nil {
		return "none that has ended"
	}
	return fmt.Sprintf("%s, phase %q, tracked %t, deleted %t", end.Pod.Name, end.Phase, end.Tracked, end.Pod.DeletionTimestamp != nil)
}
