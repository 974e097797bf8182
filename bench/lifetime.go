package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// A lifetime is what happens to an Indexed Job from its creation to its end.
type lifetime struct {
	indexes, parallelism int
	// failing says that the first pod of every index fails.
	failing bool
}

// pods returns how many pods the Job needs.
func (l lifetime) pods() int {
	if l.failing {
		return 2 * l.indexes
	}
	return l.indexes
}

// job returns the Job, with a backoff limit of its own or one per index. Either
// is as large as it has to be for the Job to complete.
func (l lifetime) job(perIndex bool) *batchv1.Job {
	completions, parallelism, mode := int32(l.indexes), int32(l.parallelism), batchv1.IndexedCompletion
	failures := int32(l.pods() - l.indexes)
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, CompletionMode: &mode, BackoffLimit: &failures,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "image"}},
		}},
	}}
	if perIndex {
		once, all := int32(1), int32(math.MaxInt32)
		job.Spec.BackoffLimitPerIndex, job.Spec.BackoffLimit = &once, &all
	}
	return job
}

// A life is a lifetime as it goes on, in a cluster without faults and with
// caches that never lag.
type life struct {
	lifetime
	cluster    *cluster.Cluster
	cache      *cluster.Cache
	controller cluster.Controller
	syncs      int
	ran        map[string]bool // the indexes whose first pod has ended
}

func (l lifetime) begin(perIndex bool, controller cluster.Controller) (*life, error) {
	c, err := cluster.New(l.job(perIndex), now)
	if err != nil {
		return nil, err
	}
	return &life{lifetime: l, cluster: c, cache: c.NewCache(true), controller: controller, ran: map[string]bool{}}, nil
}

func (l *life) ended() bool { return l.cluster.Job().Status.CompletionTime != nil }

var errStuck = errors.New("the Job waits for nothing")

// step lets the controller look at the Job once. When it has nothing more to
// write, then pods start or end, all of them at once; when there are none, then
// the time comes for which the controller waits.
func (l *life) step() error {
	before := l.cluster.Version()
	out := l.cluster.Run(l.controller, l.cache)
	l.syncs++
	switch {
	case out.Err != nil:
		return out.Err
	case l.cluster.Version() != before || l.ended():
		return nil
	}
	if l.runPods(); l.cluster.Version() != before {
		l.cluster.Now = l.cluster.Now.Add(time.Second)
		return nil
	}
	if out.After <= 0 {
		return errStuck
	}
	l.cluster.Now = l.cluster.Now.Add(out.After)
	return nil
}

// runPods does the kubelet's part: it starts the pods that wait, or else ends
// those that run.
func (l *life) runPods() {
	before := l.cluster.Version()
	pods := l.cluster.Pods()
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			l.cluster.Start(pod.UID)
		}
	}
	if l.cluster.Version() != before {
		return
	}
	for _, pod := range pods {
		if !cluster.IsActive(pod) {
			continue
		}
		index, code := pod.Annotations[batchv1.JobCompletionIndexAnnotation], int32(0)
		if l.failing && !l.ran[index] {
			code = 1
		}
		l.ran[index] = true
		l.cluster.End(pod.UID, code)
	}
}

// check says what is wrong with the end.
func (l *life) check() error {
	status := l.cluster.Job().Status
	succeeded, failed, pods := int(status.Succeeded), int(status.Failed), len(l.cluster.Pods())
	if succeeded != l.indexes || failed != l.pods()-l.indexes || pods != l.pods() {
		return fmt.Errorf("the Job ends with %d succeeded and %d failed of %d pods, want %d indexes and %d pods", succeeded, failed, pods, l.indexes, l.pods())
	}
	return nil
}

// together leads lives to their ends, sync by sync in turn, so that whatever
// else the machine does meets all of them.
func together(lives ...*life) error {
	for round := 0; ; round++ {
		going := false
		for k := range lives {
			l := lives[(k+round)%len(lives)]
			if l.ended() {
				continue
			}
			going = true
			if err := l.step(); err != nil {
				return fmt.Errorf("sync %d: %w", l.syncs, err)
			}
		}
		if !going {
			break
		}
	}
	for _, l := range lives {
		if err := l.check(); err != nil {
			return err
		}
	}
	return nil
}
