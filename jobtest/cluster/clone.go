package cluster

import (
	"maps"
	"slices"
)

// Clone returns a cluster in the same state, which goes its own way from there.
// It has no caches, and none of Intercept, Glance and Watch. Objects never change, so
// they are shared.
func (c *Cluster) Clone() *Cluster {
	next := *c
	next.Intercept, next.Glance, next.Watch, next.caches = nil, nil, nil, nil
	next.sites, next.pods, next.names, next.past = slices.Clone(c.sites), c.pods.clone(), maps.Clone(c.names), slices.Clone(c.past)
	return &next
}

// Clone returns a cache of a clone of its cluster that shows what this one shows.
func (s *Cache) Clone(of *Cluster) *Cache {
	next := *s
	next.c, next.pods = of, s.pods.clone()
	next.jobs = slices.Clone(s.jobs)
	for at, site := range s.jobs {
		next.jobs[at].late, next.jobs[at].lateAt = slices.Clone(site.late), slices.Clone(site.lateAt)
	}
	next.late, next.lateAt = slices.Clone(s.late), slices.Clone(s.lateAt)
	of.caches = append(of.caches, &next)
	return &next
}
