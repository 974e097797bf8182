package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// workload creates Jobs and returns when they are complete.
type workload struct {
	name string
	qps  int
	lag  time.Duration // of the events of pods
	run  func(context.Context, *stage) error
}

func workloads(s settings) []workload {
	one := workload{fmt.Sprintf("one Job of %d indexes", s.indexes), s.qps, 0,
		func(ctx context.Context, st *stage) error { return large(ctx, st, s.indexes) }}
	ten := workload{fmt.Sprintf("%d Jobs of 10", s.jobs), s.qps, 0,
		func(ctx context.Context, st *stage) error { return many(ctx, st, s.jobs) }}
	late := func(w workload) workload {
		w.name, w.lag = fmt.Sprintf("%s, pods observed %s late", w.name, s.lag), s.lag
		return w
	}
	return []workload{
		one, ten, late(one), late(ten),
		{fmt.Sprintf("%d indexes fail once", s.failing), s.qps, 0, func(ctx context.Context, st *stage) error {
			return failOnce(ctx, st, s.failing)
		}},
		{fmt.Sprintf("%d indexes fail once, backoff limit per index", s.failing), s.qps, 0,
			func(ctx context.Context, st *stage) error {
				return failOncePerIndex(ctx, st, s.failing)
			}},
		{fmt.Sprintf("small Jobs beside one of %d", s.indexes), s.fairQPS, 0,
			func(ctx context.Context, st *stage) error {
				return beside(ctx, st, s.indexes, cmp.Or(s.beside, s.indexes/16), s.fairQPS)
			}},
	}
}

func succeed(kubelet.Pod) kubelet.Life { return kubelet.Succeed() }

func indexed(n int) batchv1.JobSpec {
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(n)), Parallelism: new(int32(n)),
		BackoffLimit: new(int32(n)),
	}
}

func large(ctx context.Context, st *stage, n int) error {
	return st.run(ctx, "large", indexed(n), succeed)
}

func many(ctx context.Context, st *stage, jobs int) error {
	const atATime = 8
	var group errgroup.Group
	group.SetLimit(atATime)
	for i := range jobs {
		group.Go(func() error { return st.create(ctx, fmt.Sprintf("small-%d", i), true, indexed(10), succeed) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return st.done(ctx)
}

// failOnce makes all pods wait until the last one exists. Then all but one fail, and that one
// succeeds last, because a success ends the backoff. Without that success, or if pods failed before
// the last one was created, the Job would back off for ten minutes.
func failOnce(ctx context.Context, st *stage, n int) error {
	var first []*corev1.Pod // guarded by the lock of the stage
	err := st.create(ctx, "failing", false, indexed(n), func(p kubelet.Pod) kubelet.Life {
		if p.Attempt > 0 {
			return kubelet.Succeed()
		}
		first = append(first, p.Pod)
		return kubelet.Wait()
	})
	if err != nil {
		return err
	}
	if err := st.until(ctx, func() bool { return len(first) == n }); err != nil {
		return err
	}
	before := len(st.kubelet.Ended())
	st.kubelet.Become(quick(kubelet.Fail(1)), first[1:]...)
	for len(st.kubelet.Ended())-before < n-1 {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// Finish times are whole seconds.
	st.kubelet.Become(quick(kubelet.Succeed().After(1500*time.Millisecond)), first[0])
	return st.done(ctx)
}

func quick(l kubelet.Life) kubelet.Life {
	l.Direct = true
	return l
}

func failOncePerIndex(ctx context.Context, st *stage, n int) error {
	spec := indexed(n)
	spec.BackoffLimit, spec.BackoffLimitPerIndex = nil, new(int32(1))
	return st.run(ctx, "failing", spec, func(p kubelet.Pod) kubelet.Life {
		if p.Attempt > 0 {
			return kubelet.Succeed()
		}
		return kubelet.Fail(1)
	})
}

// beside creates small Jobs while a large one runs. A small Job takes 7 requests, so
// together they use less than a fifth of the limit. They arrive at a steady rate. If each
// waited for the creation of the one before, few would arrive while the API server is slow,
// and those waits would hardly count. Their number is fixed, so that both controllers run
// the same Jobs.
func beside(ctx context.Context, st *stage, n, small, qps int) error {
	if err := st.create(ctx, "large", false, indexed(n), succeed); err != nil {
		return err
	}
	tick := time.NewTicker(40 * time.Second / time.Duration(qps))
	defer tick.Stop()
	var group errgroup.Group
	for i := range small {
		group.Go(func() error { return st.create(ctx, fmt.Sprintf("small-%d", i), true, batchv1.JobSpec{}, succeed) })
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return st.done(ctx)
}
