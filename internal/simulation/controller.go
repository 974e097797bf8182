package simulation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Settings are how the controller decides, and what bounds a simulation.
type Settings struct {
	// RuleNames are the names of the rules of the pod failure policy.
	RuleNames []string
	// Options are passed to each decision.
	Options []jobfate.Option
	// Live is set for a Job that exists: the simulation goes on from there.
	Live *Live
	// Bounds are those of DefaultBounds where they are zero.
	Bounds Bounds
	// GoOn is asked before each sync, with the virtual time and the number of pods
	// so far: the simulation is interrupted when it says no. It may be nil.
	GoOn func(now Time, pods int) bool
	// Stored is called with each status that is stored; an error ends the simulation.
	// It may be nil.
	Stored func(Status) error
}

// controller is the Job controller of a simulation. This file has all that the
// package knows of how decisions are made and carried out.
type controller struct {
	cluster *cluster.Cluster
	cache   *cluster.Cache
	caller  *cluster.Caller
	last    jobfate.Decision
	// backsOff is told at each decision until when which indexes back off.
	backsOff func(until map[int32]time.Time)
}

// newController returns a controller.
func newController(c *cluster.Cluster, s Settings, backsOff func(until map[int32]time.Time)) *controller {
	options := s.Options
	if s.RuleNames != nil {
		options = append(slices.Clone(options), jobfate.RuleNames(s.RuleNames...))
	}
	out := &controller{cluster: c, cache: c.NewCache(true), caller: cluster.NewCaller(options...)}
	out.caller.Machine.Core().Check = nil // that is for tests
	out.backsOff = backsOff
	return out
}

// sync syncs once. It returns when to sync again; the zero time is when something
// has changed.
func (c *controller) sync() (again time.Time, err error) {
	view := c.cache.View()
	out := c.cluster.Run(c.caller, c.cache)
	if d := c.caller.Machine.Result().Decision; d.Basis() != nil && view.Job != nil {
		c.last = d
		c.backsOff(backingOff(view, d))
	}
	return out.At, out.Err
}

// waitsFor says how the Job stood at the last decision.
func (c *controller) waitsFor() string { return explain.Of(c.last).Job().Text }

// wholeJob stands for the Job where an index is asked for.
const wholeJob = -1

// backingOff returns until when the Job or its indexes back off.
func backingOff(s cluster.View, d jobfate.Decision) map[int32]time.Time {
	until := map[int32]time.Time{}
	if backoff.LimitOf(&s.Job.Spec).Target != backoff.TargetIndex {
		if why := explain.Of(d).Job(); why.Code == explain.JobBackingOff {
			until[wholeJob] = why.Until
		}
		return until
	}
	if !slices.ContainsFunc(s.Pods, mayBackOff) {
		return until // without asking for each index, which takes a while
	}
	for why := range explain.Of(d).Indexes() {
		if why.Code != explain.IndexBackingOff {
			continue
		}
		for i := range why.Indexes.All() {
			until[i] = why.Until
		}
	}
	return until
}

// mayBackOff reports whether the index of a pod may back off: one that has not failed
// makes no index wait.
func mayBackOff(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil
}
