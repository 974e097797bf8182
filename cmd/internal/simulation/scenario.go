package simulation

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/indexset"
)

// Scenario defines how pods behave and what happens to a Job. With the zero Scenario every pod
// succeeds.
type Scenario struct {
	// Seed is the seed of all random values.
	Seed uint64 `json:"seed,omitempty"`
	// StartDelay is the time from the creation of a pod until it runs: 1s by default. If
	// the pod has to wait for capacity, the time begins when it is admitted.
	StartDelay *metav1.Duration `json:"startDelay,omitempty"`
	// StopDelay is the time from the deletion of a running pod until it stops: 1s by
	// default, and never more than its grace period.
	StopDelay *metav1.Duration `json:"stopDelay,omitempty"`
	// BatchPeriod is the time from a change of a pod until the controller syncs. One sync
	// handles all changes until then. The default is 1s, as in Kubernetes; with 0s the
	// controller syncs at once.
	BatchPeriod *metav1.Duration `json:"batchPeriod,omitempty"`
	// Limit is the virtual time at which the simulation gives up: 7 days by default.
	Limit *metav1.Duration `json:"limit,omitempty"`
	// Capacity is the number of pods that the cluster can run at once. The others stay
	// Pending, and are admitted in the order of their creation. By default there is no
	// limit.
	Capacity *int32 `json:"capacity,omitempty"`
	// LostNodes defines how the cluster treats lost nodes.
	LostNodes LostNodes `json:"lostNodes,omitzero"`
	// Pods define how pods behave. The first entry that matches a pod applies. A pod without
	// a match succeeds after 10s.
	Pods []Behaviour `json:"pods,omitempty"`
	// Events happen at their times; events of the same time happen in the order of the
	// list.
	Events []Event `json:"events,omitempty"`
}

// LostNodes defines what happens to the pods on a lost node. The kubelet of the node has stopped, so
// no pod ends by itself.
type LostNodes struct {
	// UnreachableAfter is the time until the node counts as unreachable and its
	// pods as not ready: 50s by default, like --node-monitor-grace-period of
	// kube-controller-manager in Kubernetes 1.37.
	UnreachableAfter *metav1.Duration `json:"unreachableAfter,omitempty"`
	// Toleration is the time from then until the pods are evicted: they get the condition
	// DisruptionTarget, are deleted, and stay terminating. The default is the toleration of
	// the pod template, or 5m without one, which Kubernetes adds to every pod.
	Toleration *metav1.Duration `json:"toleration,omitempty"`
	// RemovedAfter is the time from the loss until the Node object is removed.
	// Without it the node stays, and its pods stay terminating.
	RemovedAfter *metav1.Duration `json:"removedAfter,omitempty"`
	// CollectedAfter is the time from the removal of the node until pod garbage
	// collection fails and deletes its pods: 40s by default.
	CollectedAfter *metav1.Duration `json:"collectedAfter,omitempty"`
}

// Behaviour defines what a pod does.
type Behaviour struct {
	// Indexes lists the indexes whose pods the behaviour matches; empty is all. The pods of a
	// NonIndexed Job are numbered from 0 in the order of their creation.
	Indexes Indexes `json:"indexes,omitempty"`
	// Chance is the probability that the behaviour matches a pod; 1 by default.
	Chance *float64 `json:"chance,omitempty"`
	// StartDelay replaces the StartDelay of the scenario.
	StartDelay *metav1.Duration `json:"startDelay,omitempty"`
	// Durations lists the run times of the first, second, ... pod of an index. The last one
	// applies to all further pods; 10s by default.
	Durations []metav1.Duration `json:"durations,omitempty"`
	// Spread is the maximum random time that is added to the run time of each pod.
	Spread metav1.Duration `json:"spread,omitzero"`
	// Exits lists the exit codes of the first, second, ... pod of an index. The last one
	// applies to all further pods; 0 by default.
	Exits []int32 `json:"exits,omitempty"`
	// Evict says that the pod does not exit but is evicted, with the condition
	// DisruptionTarget.
	Evict bool `json:"evict,omitempty"`
}

// Event is a change of the Job, its pods or the cluster at a time.
type Event struct {
	At metav1.Duration `json:"at"`
	// Suspend, Parallelism and Completions are set in the spec.
	Suspend     *bool  `json:"suspend,omitempty"`
	Parallelism *int32 `json:"parallelism,omitempty"`
	Completions *int32 `json:"completions,omitempty"`
	// Capacity replaces the capacity of the cluster.
	Capacity *int32 `json:"capacity,omitempty"`
	// Evict evicts the active pods of these indexes that are on a node, with
	// DisruptionTarget, like a drain of their nodes.
	Evict Indexes `json:"evict,omitempty"`
	// Lose loses the nodes of the running pods of these indexes.
	Lose Indexes `json:"lose,omitempty"`
	// RemoveNodes removes the Node objects of the lost pods of these indexes.
	RemoveNodes Indexes `json:"removeNodes,omitempty"`
	// ForceDelete deletes the pods of these indexes without a grace period.
	ForceDelete Indexes `json:"forceDelete,omitempty"`
}

// The defaults of a Scenario.
const (
	defaultDelay       = time.Second
	defaultDuration    = 10 * time.Second
	defaultBatch       = time.Second
	defaultLimit       = 7 * 24 * time.Hour
	defaultUnreachable = 50 * time.Second
	defaultToleration  = 5 * time.Minute
	defaultCollected   = 40 * time.Second
)

// nth returns the n-th value of a list, or the last one beyond its end.
func nth[T any](list []T, n int, none T) T {
	if len(list) == 0 {
		return none
	}
	return list[min(n, len(list)-1)]
}

// or returns a duration, or the other one if it is not set.
func or(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return d.Duration
}

// Indexes are completion indexes in a scenario: in any form that the API server
// accepts in a status, as in "0-1,7", or "all". A single index may be a number.
type Indexes string

// all stands for all indexes.
const all Indexes = "all"

// UnmarshalJSON reads a string or a number.
func (x *Indexes) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseUint(string(text), 10, 31); err == nil {
		*x = Indexes(strconv.FormatUint(n, 10))
		return nil
	}
	if s := ""; json.Unmarshal(text, &s) == nil {
		*x = Indexes(s)
		return nil
	}
	return fmt.Errorf(`want indexes such as 3 or "0-1,7", or all`)
}

// set returns the indexes; "all" is every index that an int32 can hold.
func (x Indexes) set() (indexset.Set, error) {
	switch x {
	case "":
		return indexset.Set{}, nil
	case all:
		return indexset.Range(0, math.MaxInt32-1), nil
	}
	return indexset.ParseOrdered(string(x), math.MaxInt32)
}
