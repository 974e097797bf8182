package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// side is one of the two controllers.
type side struct {
	name      string
	start     func(context.Context, server.Options) (*server.Controller, error)
	managedBy *string
	args      []string
}

// cost is what a controller used to run a workload.
type cost struct {
	pods   int
	calls  proxy.Counts
	took   time.Duration // until the last Job was complete
	cpu    time.Duration
	memory int64           // peak bytes
	waits  []time.Duration // the time of each timed Job from its creation to its first pod
}

func (c *cost) String() string {
	return fmt.Sprintf("%d pods, %d calls, %s, CPU %s, %d MB", c.pods, c.calls.Of(proxy.Call{}),
		c.took.Round(time.Millisecond), c.cpu, c.memory>>20)
}

// measure starts a controller, runs one workload, and removes both.
func measure(ctx context.Context, api *server.Server, s settings, with side, w workload, c *cost) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := proxy.Start(api.Config())
	if err != nil {
		return err
	}
	defer p.Close()
	p.Lag("pods", w.lag)
	controller, err := with.start(ctx, server.Options{
		Name: with.name, Via: p.Config, Workers: s.workers, QPS: w.qps, Burst: w.qps, Args: with.args,
	})
	if err != nil {
		return err
	}
	defer controller.Kill()
	namespace, err := api.Namespace(ctx, with.name)
	if err != nil {
		return err
	}
	st := newStage(api.Client, namespace, with.managedBy)
	st.kubelet = kubelet.Start(ctx, api.Client, namespace, st.script)
	st.watch(ctx)
	if err := st.warm(ctx); err != nil {
		return err
	}
	quiet(ctx, p, s.quiet)
	if err := forgetPeak(controller.Pid()); err != nil {
		return err
	}
	before, err := controller.Usage()
	if err != nil {
		return err
	}
	called, pods := p.Counts(), st.pods()

	began := time.Now()
	if err := w.run(ctx, st); err != nil {
		return err
	}
	c.took = time.Since(began)
	quiet(ctx, p, s.quiet)

	after, err := controller.Usage()
	if err != nil {
		return err
	}
	c.cpu, c.memory = after.CPU-before.CPU, after.MaxRSS
	c.calls = proxy.Counts{}
	for call, n := range p.Counts() {
		if n > called[call] {
			c.calls[call] = n - called[call]
		}
	}
	c.pods, c.waits = st.pods()-pods, st.waits()
	controller.Kill()
	return clean(ctx, api, namespace)
}

// quiet waits until a controller has sent nothing for some time.
func quiet(ctx context.Context, p *proxy.Proxy, long time.Duration) {
	for before := -1; ctx.Err() == nil; {
		now := p.Counts()
		n := now.Of(proxy.Call{}) - now.Of(proxy.Call{Resource: "leases"})
		if n == before {
			return
		}
		before = n
		select {
		case <-time.After(long):
		case <-ctx.Done():
		}
	}
}

// forgetPeak resets the kernel's peak memory of a process.
func forgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// clean removes all Jobs and pods before the next controller starts. The API server ends a request after a
// minute, so clean removes some pods at a time.
func clean(ctx context.Context, api *server.Server, namespace string) error {
	orphan := metav1.DeletePropagationOrphan
	err := api.Client.BatchV1().Jobs(namespace).
		DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &orphan}, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, now := api.Client.CoreV1().Pods(namespace), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for stays := ""; ; {
		if err := pods.DeleteCollection(ctx, now, metav1.ListOptions{Limit: 2000}); err != nil {
			return err
		}
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || len(left.Items) == 0 {
			return err
		}
		pod := &left.Items[0]
		if pod.Name == stays {
			return fmt.Errorf("pod %s of %s cannot be removed; it has the finalizers %v", pod.Name, namespace,
				pod.Finalizers)
		}
		stays = pod.Name
	}
}
