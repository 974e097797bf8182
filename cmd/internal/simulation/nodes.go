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
	p.later(unreachable, pods, (*play).isLost, "the node of %s is unreachable", "the nodes of %s are unreachable",
		func(left []*simPod) {
			for _, l := range left {
				p.cluster.Ready(l.uid, corev1.ConditionFalse)
			}
		})
	if toleration, ends := p.toleration(); ends {
		p.later(unreachable+toleration, pods, (*play).isActive,
			"%s is evicted from its lost node, and stays terminating",
			"%s are evicted from their lost nodes, and stay terminating",
			func(left []*simPod) { p.evict(left...) })
	}
	if how.RemovedAfter != nil {
		p.later(how.RemovedAfter.Duration, pods, (*play).isLost, "the node of %s is removed",
			"the nodes of %s are removed", p.removeNodes)
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
	p.later(or(p.scenario.LostNodes.CollectedAfter, defaultCollected), pods, (*play).isUnfinished,
		"%s is failed and deleted by pod garbage collection", "%s are failed and deleted by pod garbage collection",
		func(left []*simPod) {
			for _, l := range left {
				p.cluster.Lose(l.uid)
			}
		})
}

// later schedules what happens to the pods that then still exist and for which holds returns true. The texts are about
// one of them, and about many.
func (p *play) later(d time.Duration, pods []*simPod, holds func(*play, *simPod) bool, one, many string,
	do func(left []*simPod)) {
	p.after(d, func() {
		left := slices.DeleteFunc(slices.Clone(pods),
			func(l *simPod) bool { return p.cluster.Pod(l.uid) == nil || !holds(p, l) })
		if len(left) > 0 {
			p.addEvent("%s", p.phrase(left, one, many))
		}
		do(left)
	})
}
