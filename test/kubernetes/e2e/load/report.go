package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// report holds the costs of the runs.
type report struct {
	rows []*row
}

// row is a workload.
type row struct {
	name             string
	jobfate, builtIn []*cost
}

func (r *report) add(workload, side string, c *cost) {
	if len(r.rows) == 0 || r.rows[len(r.rows)-1].name != workload {
		r.rows = append(r.rows, &row{name: workload})
	}
	last := r.rows[len(r.rows)-1]
	if side == "built-in" {
		last.builtIn = append(last.builtIn, c)
	} else {
		last.jobfate = append(last.jobfate, c)
	}
}

// String returns a Markdown table.
func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| | jobfate | built-in | ratio |\n| --- | ---: | ---: | ---: |\n")
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| **%s** | | | |\n", row.name)
		for _, m := range row.measures() {
			a, c := m.of(row.jobfate), m.of(row.builtIn)
			ratio := "–"
			if c > 0 {
				ratio = fmt.Sprintf("%.2f", a/c)
			}
			fmt.Fprintf(&b, "| %s | %.*f | %.*f | %s |\n", m.name, m.digits, a, m.digits, c, ratio)
		}
	}
	return b.String()
}

// measure is a row of the table: a number computed from some runs.
type measured struct {
	name   string
	digits int
	of     func([]*cost) float64
}

func (r *row) measures() []measured {
	list := []measured{
		{"time to completion, s", 1, median(func(c *cost) float64 { return c.took.Seconds() })},
		{"CPU, s", 2, median(func(c *cost) float64 { return c.cpu.Seconds() })},
		{"CPU per pod, ms", 2, median(func(c *cost) float64 { return c.cpu.Seconds() * 1000 / float64(c.pods) })},
		{"peak memory, MB", 0, median(func(c *cost) float64 { return float64(c.memory) / (1 << 20) })},
		{"calls per pod", 3, perPod(proxy.Call{})},
	}
	for _, call := range r.calls() {
		list = append(list, measured{"— " + call.String(), 3, perPod(call)})
	}
	if len(r.jobfate) > 0 && len(r.jobfate[0].waits) > 0 {
		list = append(list,
			measured{"first pod after, p50, s", 2, wait(0.5)},
			measured{"first pod after, p99, s", 2, wait(0.99)},
		)
	}
	return list
}

// calls lists the kinds of calls that either controller makes, in order.
func (r *row) calls() []proxy.Call {
	kinds := map[proxy.Call]bool{}
	for _, c := range slices.Concat(r.jobfate, r.builtIn) {
		for call := range c.calls {
			kinds[call] = true
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b proxy.Call) int {
		return cmp.Or(-strings.Compare(a.Resource, b.Resource), strings.Compare(a.Verb, b.Verb))
	})
}

// median returns the median of the runs, or the mean of two.
func median(of func(*cost) float64) func([]*cost) float64 {
	return func(list []*cost) float64 {
		if len(list) == 0 {
			return 0
		}
		var values []float64
		for _, c := range list {
			values = append(values, of(c))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
}

func perPod(call proxy.Call) func([]*cost) float64 {
	return median(func(c *cost) float64 { return float64(c.calls.Of(call)) / float64(c.pods) })
}

// wait returns the quantile of the waits of the Jobs of all runs.
func wait(share float64) func([]*cost) float64 {
	return func(list []*cost) float64 {
		var all []time.Duration
		for _, c := range list {
			all = append(all, c.waits...)
		}
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return all[int(share*float64(len(all)-1))].Seconds()
	}
}

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
	st := &stage{client: api.Client, namespace: namespace, managedBy: with.managedBy, jobs: map[string]*jobRun{},
		changed: make(chan struct{}, 1)}
	st.kubelet = kubelet.Start(ctx, api.Client, namespace, st.script)
	st.watch(ctx)
	if err := st.run(ctx, "warm", batchv1.JobSpec{}, succeed); err != nil { // fills the controller's caches
		return err
	}
	quiet(ctx, p, s.quiet)
	// The kernel forgets the peak memory so far.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", controller.Pid()), []byte("5"), 0); err != nil {
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
