package restart

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

const (
	// patience is the longest wait.
	patience = 5 * time.Minute
	// pollTime is the interval at which lists are read, closely that of logs, because a measurement begins with a
	// line of a log.
	pollTime = 200 * time.Millisecond
	closely  = 2 * time.Millisecond
	// atATime is the number of concurrent requests of users.
	atATime = 16
)

// stage is a namespace with one controller at a time. There is no kubelet: pods stay pending,
// and count as active.
type stage struct {
	*testing.T
	with      side
	namespace string
	jobs      int // the number of Jobs created by wait
}

func newStage(t *testing.T, with side) *stage {
	t.Helper()
	namespace, err := api.Namespace(t.Context(), with.name)
	world.Must(t, err)
	return &stage{t, with, namespace, 0}
}

func (s *stage) must(err error) {
	s.Helper()
	world.Must(s.T, err)
}

func (s *stage) poll(every time.Duration, holds func(context.Context) (bool, error)) {
	s.Helper()
	s.must(wait.PollUntilContextTimeout(s.Context(), every, patience, true, holds))
}

// start starts a controller, waits until its caches are filled, and returns how long that took.
func (s *stage) start(o server.Options) (*server.Controller, time.Duration) {
	s.Helper()
	began := time.Now()
	c := s.launch(s.with.name, o)
	s.poll(closely, func(context.Context) (bool, error) { return c.Log(s.with.filled, 1) != "", c.Err() })
	return c, time.Since(began)
}

// launch starts a controller with a log of its own, until the test ends.
func (s *stage) launch(name string, o server.Options) *server.Controller {
	s.Helper()
	o.Name = fmt.Sprintf("%s-%d", name, time.Now().UnixNano())
	return world.Run(s.T, func(ctx context.Context, o server.Options) (*server.Controller, error) {
		return s.with.start(api, ctx, o)
	}, o)
}

// takeover starts two replicas, ends the leader, and returns how long a new Job waits for its pod.
func (s *stage) takeover(end func(*server.Controller) error) time.Duration {
	s.Helper()
	o := limits(5)
	o.Args = []string{"--leader-elect=true", "--leader-elect-namespace=jobfate"}
	leader, _ := s.start(o)
	standby := s.launch("standby", o)
	defer standby.Kill()
	s.poll(closely, func(context.Context) (bool, error) {
		return standby.Log("to acquire leader lease", 1) != "", standby.Err()
	})
	s.must(end(leader))
	return s.wait()
}

// create creates a Job of some pods that run at once.
func (s *stage) create(ctx context.Context, name string, pods int32) error {
	job := world.NewJob(name, s.with.managedBy, batchv1.JobSpec{Parallelism: &pods, Completions: &pods})
	_, err := api.Client.BatchV1().Jobs(s.namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

// make creates Jobs, and runs a controller until each Job has its pods and a status.
func (s *stage) make(jobs int, pods int32) {
	s.Helper()
	c, _ := s.start(server.Options{QPS: 1000, Burst: 1000, Workers: 16})
	defer c.Kill()
	group, ctx := errgroup.WithContext(s.Context())
	group.SetLimit(atATime)
	for i := range jobs {
		group.Go(func() error { return s.create(ctx, fmt.Sprintf("old-%d", i), pods) })
	}
	s.must(group.Wait())
	s.poll(pollTime, func(ctx context.Context) (bool, error) {
		list, err := api.Client.BatchV1().Jobs(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		run := 0
		for _, job := range list.Items {
			if job.Status.Active == pods {
				run++
			}
		}
		return run == jobs, nil
	})
}

// existing are the Jobs of fill.
var existing = map[string]int{}

// fill creates Jobs of one pod until there are so many.
func (s *stage) fill(jobs int) {
	s.Helper()
	if more := jobs - existing[s.with.name]; more > 0 {
		s.make(more, 1)
		existing[s.with.name] = jobs
	}
}

// wait creates a new Job, and returns the time until its pod exists.
func (s *stage) wait() time.Duration {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.jobs++
	name := fmt.Sprintf("new-%d", s.jobs)
	watch, err := api.Client.CoreV1().Pods(s.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
	s.must(err)
	defer watch.Stop()
	began := time.Now()
	s.must(s.create(ctx, name, 1))
	for event := range watch.ResultChan() {
		if _, ok := event.Object.(*corev1.Pod); ok {
			return time.Since(began)
		}
	}
	s.Fatalf("%s: a new Job gets no pod within %s", s.with.name, patience)
	return 0
}

// leave creates pods whose Job is gone while no controller runs, a hundred for each Job.
func (s *stage) leave(pods int) {
	s.Helper()
	const each = 100
	s.make(pods/each, each)
	s.must(api.Client.BatchV1().Jobs(s.namespace).DeleteCollection(s.Context(),
		metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{}))
	s.poll(pollTime, func(ctx context.Context) (bool, error) {
		n := 0
		for _, pod := range s.pods(ctx) {
			if pod.DeletionTimestamp != nil {
				n++
			}
		}
		return n == pods, nil
	})
}

func (s *stage) pods(ctx context.Context) []corev1.Pod {
	s.Helper()
	list, err := api.Client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	s.must(err)
	return list.Items
}

// freed waits until some orphans are freed. They are being deleted, so a freed orphan is gone.
func (s *stage) freed(n int) {
	s.Helper()
	all := len(s.pods(s.Context()))
	s.poll(pollTime, func(ctx context.Context) (bool, error) { return all-len(s.pods(ctx)) >= n, nil })
}

// removeOrphans frees the remaining orphans.
func (s *stage) removeOrphans() {
	s.Helper()
	group, ctx := errgroup.WithContext(s.Context())
	group.SetLimit(atATime)
	for _, pod := range s.pods(ctx) {
		if pod.DeletionTimestamp == nil {
			continue
		}
		group.Go(func() error {
			_, err := api.Client.CoreV1().Pods(s.namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		})
	}
	s.must(group.Wait())
}
