package lifetime

import (
	"slices"

	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/conformance/real"
)

// skippedByKubernetes reports whether the real controller, with its default gates, skips a sync
// because its cache is older than its own writes.
func (w *world) skippedByKubernetes() bool {
	if w.wrote == "" || !w.stale() {
		return false
	}
	return real.Sync(real.Input{
		Job: w.Job(), Pods: w.seen(), Now: w.Now,
		Memory: real.Memory{Wrote: real.Versions{Pods: w.wrote}}, Cached: real.Versions{Pods: w.cache.View().PodsVersion},
	}).Stale
}

// Creations or deletions are not observed: jobfate counts them, and without its gate Kubernetes counts
// the pods of its cache.
func unobservedCounts(c *comparison) verdict {
	add := c.unobserved()
	if add == (counts{}) {
		return no
	}
	before := c.before.clone()
	add.to(before, -1)
	c.want, c.out = kubernetesSyncs(before, c.settings, c.faults)
	add.to(c.want.world, 1)
	return mended
}

// counts are numbers of pods.
type counts struct{ active, ready, terminating int32 }

// to adds the counts to the stored status, or subtracts them.
func (n counts) to(w *world, sign int32) {
	st := w.Job().Status
	st.Active += sign * n.active
	for field, by := range map[**int32]int32{&st.Ready: n.ready, &st.Terminating: n.terminating} {
		if *field != nil {
			*field = new(**field + sign*by)
		}
	}
	w.SetStatus(st)
}

// unobserved returns what the writes in flight add to the counts of the cache, except for pods that
// Kubernetes deletes again, as it does when a Job ends.
func (c *comparison) unobserved() (add counts) {
	w := c.before
	for uid := range w.created {
		if w.shown(uid) == nil {
			add.active++
		}
	}
	for uid := range w.deleted {
		pod := w.shown(uid)
		switch {
		case slices.Contains(c.want.deleted, uid):
		case pod == nil:
			add.terminating++
		case cluster.IsActive(pod):
			add.active--
			add.terminating++
			if podutil.IsPodReady(pod) {
				add.ready--
			}
		}
	}
	return add
}
