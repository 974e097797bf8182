package simulation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// lose loses the nodes of pods; each pod has its own node. As in Kubernetes, a node becomes
// unreachable after some time, and its pods are evicted after a further time. No kubelet
// stops the pods.
func (p *play) lose(pods []*simPod) {
	now := p.now()
	for _, l := range pods {
		l.lost = true
		l.pod().Lost = &now
	}
	how := p.scenario.LostNodes
	unreachable := or(how.UnreachableAfter, defaultUnreachable)
	p.after(unreachable, func() {
		left := p.filter(pods, (*play).isLost)
		for _, l := range left {
			p.cluster.Ready(l.uid, corev1.ConditionFalse)
		}
		p.addEventOf(left, "the node of %s is unreachable", "the nodes of %s are unreachable")
	})
	if toleration, ends := p.toleration(); ends {
		p.after(unreachable+toleration, func() {
			left := p.filter(pods, (*play).isActive)
			p.evict(left...)
			p.addEventOf(left, "%s is evicted from its lost node, and stays terminating",
				"%s are evicted from their lost nodes, and stay terminating")
		})
	}
	if how.RemovedAfter != nil {
		p.after(how.RemovedAfter.Duration, func() {
			left := p.filter(pods, (*play).isLost)
			p.addEventOf(left, "the node of %s is removed", "the nodes of %s are removed")
			p.removeNodes(left)
		})
	}
}

// toleration returns how long the pods tolerate an unreachable node, by the first toleration that
// matches its taint. It returns false if they tolerate it forever.
func (p *play) toleration() (time.Duration, bool) {
	if d := p.scenario.LostNodes.Toleration; d != nil {
		return d.Duration, true
	}
	all := p.cluster.Job().Spec.Template.Spec.Tolerations
	switch first := slices.IndexFunc(all, toleratesUnreachable); {
	case first < 0:
		return defaultToleration, true
	case all[first].TolerationSeconds == nil:
		return 0, false
	default:
		return ofSeconds(*all[first].TolerationSeconds), true
	}
}

// toleratesUnreachable reports whether a toleration matches the taint of an unreachable node, which has no value.
func toleratesUnreachable(t corev1.Toleration) bool {
	if t.Effect != "" && t.Effect != corev1.TaintEffectNoExecute ||
		t.Key != "" && t.Key != corev1.TaintNodeUnreachable {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == ""
}

// removeNodes removes the nodes of lost pods. Pod garbage collection then fails
// and deletes them.
func (p *play) removeNodes(pods []*simPod) {
	p.after(or(p.scenario.LostNodes.CollectedAfter, defaultCollected), func() {
		left := p.filter(pods, (*play).isUnfinished)
		p.addEventOf(left, "%s is failed and deleted by pod garbage collection",
			"%s are failed and deleted by pod garbage collection")
		for _, l := range left {
			p.cluster.Lose(l.uid)
		}
	})
}

// filter returns the pods that still exist and for which holds returns true.
func (p *play) filter(pods []*simPod, holds func(*play, *simPod) bool) (out []*simPod) {
	for _, l := range pods {
		if p.cluster.Pod(l.uid) != nil && holds(p, l) {
			out = append(out, l)
		}
	}
	return out
}

func (p *play) addEventOf(pods []*simPod, one, many string) {
	if len(pods) > 0 {
		p.addEvent("%s", p.phrase(pods, one, many))
	}
}
