package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Live is the state of an existing Job. The simulation continues from its status and pods.
type Live struct {
	// Now is the time of the status and of the pods.
	Now time.Time
	// Pods lists pods of the namespace. Pods of other owners are ignored.
	Pods []*corev1.Pod
	// Assume says that there is no scenario: what the pods do is derived from what they
	// have done until now, and from the evidence. [Result.Assumed] says how.
	Assume   bool
	Evidence diagnose.Evidence
}

// PodsOf returns the pods that a Job owns or may adopt, in the order of their creation. It
// fails if the selector of the Job is invalid.
func PodsOf(job *batchv1.Job, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	of, err := classify.Of(job, tracking.Keys{}.WithDefaults(), classify.Options{})
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !of.Relation(pod).Own() })
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return pods, nil
}

// continueFrom adds the status and the pods of an existing Job to the cluster, with UIDs that the cluster
// assigns.
func (p *play) continueFrom(job *batchv1.Job, pods []*corev1.Pod) error {
	uids := map[types.UID]types.UID{job.UID: p.cluster.Job().UID}
	pods, err := PodsOf(job, pods)
	if err != nil {
		return err
	}
	counted := 0
	for _, pod := range pods {
		added := p.cluster.Add(slimPod(pod, job.Spec.Selector))
		if added == nil {
			return fmt.Errorf("there are two pods %s", pod.Name)
		}
		uids[pod.UID] = added.UID
		p.cluster.Edit(added.UID, func(next *corev1.Pod) {
			next.CreationTimestamp, next.Status = pod.CreationTimestamp, *pod.Status.DeepCopy()
			next.DeletionTimestamp, next.DeletionGracePeriodSeconds = pod.DeletionTimestamp,
				pod.DeletionGracePeriodSeconds
			p.relabel(next, uids)
		})
		if cluster.HasEnded(pod) && len(pod.Finalizers) == 0 {
			counted++
		}
	}
	status := *job.Status.DeepCopy()
	if u := status.UncountedTerminatedPods; u != nil {
		for _, list := range [][]types.UID{u.Succeeded, u.Failed} {
			for i, uid := range list {
				if known, ok := uids[uid]; ok {
					list[i] = known
				}
			}
		}
	}
	p.cluster.SetStatus(status)
	p.earlier = max(0, status.Succeeded+status.Failed-int32(counted))
	for _, pod := range p.cluster.Pods() {
		p.resume(pod)
	}
	if p.assumed != nil && p.assumed.capped {
		p.places.most = new(p.places.taken)
	}
	return nil
}

// relabel replaces the UID of the Job in the owner and in the labels of a pod.
func (p *play) relabel(pod *corev1.Pod, uids map[types.UID]types.UID) {
	for i, owner := range pod.OwnerReferences {
		if uid, ok := uids[owner.UID]; ok {
			pod.OwnerReferences[i].UID = uid
		}
	}
	for _, key := range generatedLabels {
		if uid, ok := uids[types.UID(pod.Labels[key])]; ok {
			pod.Labels[key] = string(uid)
		}
	}
}

// resume adds an existing pod, and schedules what it does next.
func (p *play) resume(pod *corev1.Pod) {
	l := p.addPod(pod, p.timeOf(pod.CreationTimestamp.Time))
	l.pod().Restarts = restartsOf(pod)
	names := tracking.Keys{}.WithDefaults()
	earlier := classify.CountsOf(&names, pod.Annotations)
	l.before = max(l.before, int(earlier.Failures)+int(earlier.Ignored)) + l.pod().Restarts
	p.taken[l.index] = l.before + 1
	p.draw(l)
	var runs Time // the last start of its containers
	if since, ok := runningSince(pod); ok {
		at := p.timeOf(since)
		runs = at
		if at > 0 && pod.Status.StartTime != nil { // a restart that is still to come
			at = p.timeOf(pod.Status.StartTime.Time)
		}
		l.pod().Started = &at
	}
	l.crashes, l.restarted = l.pod().Restarts, runs
	if !cluster.HasEnded(pod) && (l.pod().Started != nil || pod.Spec.NodeName != "") {
		p.places.take(l)
	}
	var stuck explain.Code // why the pod stays as it is; empty if it does not
	if p.assumed != nil {
		stuck = p.assumed.stuck[pod.Name]
	}
	switch {
	case cluster.HasEnded(pod):
		l.pod().ExitCode = exitCodeOf(pod)
		at := p.timeOf(backoff.FinishTime(pod))
		if started := l.pod().Started; started != nil {
			at = max(at, *started)
		}
		p.ended(l, pod, max(at, l.pod().Created))
		if len(pod.Finalizers) == 0 {
			p.counted = append(p.counted, pod.UID)
		}
	case pod.DeletionTimestamp != nil:
		grace := ofSeconds(*cmp.Or(pod.DeletionGracePeriodSeconds, new(int64)))
		l.pod().Terminating = new(p.timeOf(pod.DeletionTimestamp.Add(-grace)))
		if stuck == "" {
			p.stopping(l, max(0, int64(pod.DeletionTimestamp.Sub(p.start).Seconds())))
		}
	case stuck != "":
		l.lost = stuck == "NodeLost" // if it is deleted, no kubelet stops it
	case l.pod().Started != nil:
		p.scheduleExit(l, time.Duration(runs))
		p.limit(l, -time.Duration(*l.pod().Started))
	case l.placed:
		p.startSoon(l)
	default:
		p.schedule(l)
	}
}

// ofSeconds returns a period in the spec of a pod, as far as a scenario may contain it.
func ofSeconds(n int64) time.Duration {
	return time.Duration(min(max(0, n), int64(longest/time.Second))) * time.Second
}

// restartsOf returns the number of restarts of the first container of a pod, including a
// restart that is still to come.
func restartsOf(pod *corev1.Pod) int {
	if len(pod.Status.ContainerStatuses) == 0 {
		return 0
	}
	c := pod.Status.ContainerStatuses[0]
	n := min(max(0, int(c.RestartCount)), math.MaxInt16)
	if c.State.Waiting != nil && c.LastTerminationState.Terminated != nil {
		n++
	}
	return n
}

// runningSince returns when the containers of a pod were started, or will be restarted. It
// returns false if they were never started.
func runningSince(pod *corev1.Pod) (time.Time, bool) {
	for _, c := range pod.Status.ContainerStatuses {
		switch s := c.State; {
		case s.Running != nil && !s.Running.StartedAt.IsZero():
			return s.Running.StartedAt.Time, true
		case s.Waiting != nil && c.LastTerminationState.Terminated != nil: // to be restarted
			return c.LastTerminationState.Terminated.FinishedAt.Add(crashDelayAfter(int(c.RestartCount))), true
		case s.Terminated != nil && !s.Terminated.StartedAt.IsZero():
			return s.Terminated.StartedAt.Time, true
		}
	}
	if pod.Status.Phase == corev1.PodPending || pod.Status.StartTime == nil {
		return time.Time{}, false
	}
	return pod.Status.StartTime.Time, true
}

// exitCodeOf returns the exit code of a pod that has ended. If a container failed, it is the
// exit code of that container.
func exitCodeOf(pod *corev1.Pod) (code *int32) {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && (code == nil || *code == 0) {
			code = &t.ExitCode
		}
	}
	return code
}
