package faults

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/live/kubelet"
	"github.com/jobfate/jobfate/stories/script"
)

// history records which pods the status of a Job has listed as uncounted failures, in all observed
// states.
type history struct {
	named, now map[types.UID]bool
}

// record records a state. It returns false if the status lists a pod again after it was counted.
func (h *history) record(s script.State) bool {
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

// differences lists the pods that the status has listed as failed although the kubelet has not ended
// them as failed, and the failed pods that the status has never listed.
func (h *history) differences(ends map[types.UID]kubelet.Ended) string {
	var b strings.Builder
	for uid := range h.named {
		if end := ends[uid]; end.Phase != "Failed" || !end.Tracked {
			fmt.Fprintf(&b, "the status has listed %s; the kubelet's record: %s\n", uid, about(end))
		}
	}
	for uid, end := range ends {
		if end.Phase != "Succeeded" && end.Tracked && !h.named[uid] {
			fmt.Fprintf(&b, "no observed status has listed %s; the kubelet's record: %s\n", uid, about(end))
		}
	}
	return b.String()
}

func about(end kubelet.Ended) string {
	if end.Pod == nil {
		return "no pod that has ended"
	}
	return fmt.Sprintf("%s, phase %q, tracked %t, deleted %t", end.Pod.Name, end.Phase, end.Tracked, end.Pod.DeletionTimestamp != nil)
}
