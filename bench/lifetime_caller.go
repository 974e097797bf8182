package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// A timedCaller drives a Machine like [cluster.Caller], and tells how long the Machine
// takes: what it is fed with, decisions, pods to create, patches, events, and what it
// remembers. It feeds the pods that have changed.
type timedCaller struct {
	took    time.Duration
	machine *jobfate.Machine
	shown   map[string]*corev1.Pod
}

func newTimedCaller() *timedCaller {
	return &timedCaller{machine: jobfate.NewMachine(), shown: map[string]*corev1.Pod{}}
}

// Sync lets the Machine sync once.
func (c *timedCaller) Sync(client *cluster.Client) (time.Duration, error) {
	view := jobfate.View{
		Job: client.Job, Fed: true, Now: client.Now,
		JobsVersion: client.JobsVersion, PodsVersion: client.PodsVersion, Barrier: client.Barrier,
	}
	changed := c.changed(client.Pods)
	var err error
	c.time(func() {
		for name, pod := range changed {
			c.machine.Feed(name, pod)
		}
		err = c.machine.Begin(view)
	})
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

// changed returns the pods that have changed since they were last shown, by name.
func (c *timedCaller) changed(pods []*corev1.Pod) map[string]*corev1.Pod {
	changed, shown := map[string]*corev1.Pod{}, make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if shown[pod.Name] = pod; c.shown[pod.Name] != pod {
			changed[pod.Name] = pod
		}
	}
	for name := range c.shown {
		if shown[name] == nil {
			changed[name] = nil
		}
	}
	c.shown = shown
	return changed
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
