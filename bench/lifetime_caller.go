package main

import (
	"errors"
	"math/rand"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// A timedCaller carries decisions out like [cluster.Caller], and tells how long
// jobfate takes of it: decisions, settlements, patches, events. It is for caches
// that never lag and requests that never fail, so it has nothing in flight and
// nothing to revise.
type timedCaller struct {
	took       time.Duration
	record     backoff.Record
	lastStatus time.Time
	order      *rand.Rand
}

func newTimedCaller() *timedCaller {
	return &timedCaller{order: rand.New(rand.NewSource(1))}
}

var errUnexpected = errors.New("the decision claims or deletes pods")

// Sync carries one decision out.
func (c *timedCaller) Sync(client *cluster.Client) (time.Duration, error) {
	// No list of a cache is in the order of creation.
	pods := slices.Clone(client.Pods)
	c.order.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	s := jobfate.Snapshot{Job: client.Job, Pods: pods, Now: client.Now, Backoff: c.record, LastStatus: c.lastStatus}
	var d jobfate.Decision
	var err error
	c.time(func() { d, err = jobfate.Decide(s) })
	if err != nil {
		return 0, err
	}
	if len(d.Claim)+len(d.Delete) > 0 {
		return 0, errUnexpected
	}
	if err := c.create(client, d.Create); err != nil {
		return 0, err
	}
	version := client.Job.ResourceVersion
	if version, err = c.store(client, version, d.StatusPatch); err != nil {
		return 0, err
	}
	c.record = d.Backoff
	if err := c.strip(client, d.Strip); err != nil {
		return 0, err
	}
	var settled jobfate.Settlement
	c.time(func() { settled = d.Settle(d.Strip...) })
	_, err = c.store(client, version, settled.StatusPatch)
	return d.Requeue, err
}

// time adds what f takes, which calls nothing but jobfate.
func (c *timedCaller) time(f func()) {
	start := clock()
	f()
	c.took += clock() - start
}

func (c *timedCaller) create(client *cluster.Client, creations []jobfate.Creation) error {
	names := make([]string, len(creations))
	for i, creation := range creations {
		pod, err := client.CreatePod(creation.Pod())
		if err != nil {
			return err
		}
		names[i] = pod.Name
	}
	c.time(func() {
		for i, creation := range creations {
			sink += len(creation.Event(names[i], nil).Message)
		}
	})
	return nil
}

// store stores a status, if there is one, and returns the resource version then.
func (c *timedCaller) store(client *cluster.Client, version string, makePatch func(string) []byte) (string, error) {
	var patch []byte
	c.time(func() { patch = makePatch(version) })
	if patch == nil {
		return version, nil
	}
	job, err := client.PatchStatus(patch)
	if err != nil {
		return "", err
	}
	c.lastStatus = client.Now
	return job.ResourceVersion, nil
}

func (c *timedCaller) strip(client *cluster.Client, pods []*corev1.Pod) error {
	patches := make([][]byte, len(pods))
	c.time(func() {
		for i, pod := range pods {
			patches[i] = tracking.Keys{}.StripPatch(pod)
		}
	})
	for i, pod := range pods {
		if _, err := client.PatchPod(pod, patches[i]); err != nil {
			return err
		}
	}
	return nil
}
