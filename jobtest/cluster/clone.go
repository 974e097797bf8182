package cluster

import (
	"maps"
	"slices"
)

// Clone returns an independent cluster in the same state. It has no caches, and Intercept,
// BeforeRead and Watch are not set. The two share the objects, which are immutable.
func (c *Cluster) Clone() *Cluster {
	next := *c
	next.Intercept, next.BeforeRead, next.Watch, next.caches = nil, nil, nil, nil
	next.slots, next.pods, next.names, next.past = slices.Clone(c.slots), c.pods.clone(), maps.Clone(c.names),
		slices.Clone(c.past)
	return &next
}

// Clone returns a cache with the same content for a clone of its cluster.
func (s *Cache) Clone(of *Cluster) *Cache {
	next := *s
	next.c, next.pods = of, s.pods.clone()
	next.jobs = slices.Clone(s.jobs)
	for at, slot := range s.jobs {
		next.jobs[at].lagging = slices.Clone(slot.lagging)
	}
	next.lagging, next.laggingAt = slices.Clone(s.lagging), slices.Clone(s.laggingAt)
	of.caches = append(of.caches, &next)
	return &next
}
