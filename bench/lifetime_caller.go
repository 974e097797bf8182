package main

import (
	"fmt"
	"math/rand"
	"slices"
	"time"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// A timedCaller drives a Machine like [cluster.Caller], and tells how long the Machine
// takes: decisions, pods to create, patches, events, and what it remembers.
type timedCaller struct {
	took    time.Duration
	machine *jobfate.Machine
	order   *rand.Rand
}

func newTimedCaller() *timedCaller {
	return &timedCaller{machine: jobfate.NewMachine(), order: rand.New(rand.NewSource(1))}
}

// Sync lets the Machine sync once.
func (c *timedCaller) Sync(client *cluster.Client) (time.Duration, error) {
	// No list of a cache is in the order of creation.
	pods := slices.Clone(client.Pods)
	c.order.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	view := jobfate.View{
		Job: client.Job, Pods: pods, Now: client.Now,
		JobsVersion: client.JobsVersion, PodsVersion: client.PodsVersion, Barrier: client.Barrier,
	}
	var err error
	c.time(func() { err = c.machine.Begin(view) })
	if err != nil {
		return 0, err
	}
	for batch := c.next(); len(batch) > 0; batch = c.next() {
		for _, r := range batch {
			object, err := client.Do(r)
			c.time(func() { err = c.machine.Answer(r, object, err) })
			if err != nil {
				return 0, fmt.Errorf("%s: %w", r.Verb, err)
			}
		}
	}
	var result jobfate.Result
	c.time(func() { result = c.machine.Result() })
	return result.Requeue, result.Err
}

func (c *timedCaller) next() (batch []jobfate.Request) {
	c.time(func() { batch = c.machine.Next() })
	return batch
}

// time adds what f takes, which calls nothing but the Machine.
func (c *timedCaller) time(f func()) {
	start := clock()
	f()
	c.took += clock() - start
}
