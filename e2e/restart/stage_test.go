package restart

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobfate/jobfate/e2e/server"
)

const (
	namespace = "default"
	// patience is the longest wait.
	patience = 5 * time.Minute
	// pollTime is the interval at which logs and lists are read. It is short, because a
	// measurement begins with a line of a log.
	pollTime = 200 * time.Millisecond
	closely  = 2 * time.Millisecond
	// atATime is the number of concurrent requests of users.
	atATime = 16
)

// stage is an API server with one controller at a time. There is no kubelet: pods stay pending,
// and count as active.
type stage struct {
	*testing.T
	api  *server.Server
	with side
	jobs int // the number of Jobs created so far
}

func newStage(t *testing.T, with side) *stage {
	t.Helper()
	api, err := server.Start(t.Context())
	s := &stage{t, api, with, 0}
	s.must(err)
	_, err = api.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
	return s
}

func (s *stage) stop() {
	s.Helper()
	s.must(s.api.Stop())
	os.RemoveAll(s.api.Dir())
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) poll(every time.Duration, holds func(context.Context) (bool, error)) {
	s.Helper()
	s.must(wait.PollUntilContextTimeout(s.Context(), every, patience, true, holds))
}

// start starts a controller, waits until its caches are filled, and returns how long that took.
func (s *stage) start(o server.Options) (*server.Controller, time.Duration) {
	s.Helper()
	o.Name = fmt.Sprintf("%s-%d", s.with.name, time.Now().UnixNano()) // a log of its own
	began := time.Now()
	c, err := s.with.start(s.api, s.Context(), o)
	s.must(err)
	s.poll(closely, func(context.Context) (bool, error) { return c.Log(s.with.filled, 1) != "", c.Err() })
	return c, time.Since(began)
}

// create creates a Job of some pods that run at once.
func (s *stage) create(ctx context.Context, name string, pods int32) error {
	_, err := s.api.Client.BatchV1().Jobs(namespace).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{ManagedBy: s.with.managedBy, Parallelism: &pods, Completions: &pods, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}},
		}},
	}, metav1.CreateOptions{})
	return err
}

// make creates Jobs, and runs a controller until each Job has its pods and a status.
func (s *stage) make(prefix string, jobs int, pods int32) {
	s.Helper()
	c, _ := s.start(server.Options{QPS: 1000, Burst: 1000, Workers: 16})
	defer c.Kill()
	group, ctx := errgroup.WithContext(s.Context())
	group.SetLimit(atATime)
	for i := range jobs {
		group.Go(func() error { return s.create(ctx, fmt.Sprintf("%s-%d", prefix, i), pods) })
	}
	s.must(group.Wait())
	s.poll(pollTime, func(ctx context.Context) (bool, error) {
		list, err := s.api.Client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		run := 0
		for _, job := range list.Items {
			if strings.HasPrefix(job.Name, prefix) && job.Status.Active == pods {
				run++
			}
		}
		return run == jobs, nil
	})
}

// fill creates Jobs of one pod.
func (s *stage) fill(jobs int) { s.make("old", jobs, 1) }

// wait creates a new Job, and returns the time until its pod exists.
func (s *stage) wait() time.Duration {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.jobs++
	name := fmt.Sprintf("new-%d", s.jobs)
	watch, err := s.api.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
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
	s.make("gone", pods/each, each)
	background := metav1.DeletePropagationBackground
	for i := range pods / each {
		s.must(s.api.Client.BatchV1().Jobs(namespace).Delete(s.Context(), fmt.Sprintf("gone-%d", i), metav1.DeleteOptions{PropagationPolicy: &background}))
	}
	s.poll(pollTime, func(ctx context.Context) (bool, error) {
		list, err := s.pods(ctx)
		n := 0
		for _, pod := range list {
			if pod.DeletionTimestamp != nil {
				n++
			}
		}
		return n == pods, err
	})
}

// pods lists the pods whose Job is gone.
func (s *stage) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := s.api.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var gone []corev1.Pod
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, "gone-") {
			gone = append(gone, pod)
		}
	}
	return gone, nil
}

// orphans returns the number of orphans that are left.
func (s *stage) orphans() int {
	s.Helper()
	left, err := s.pods(s.Context())
	s.must(err)
	return len(left)
}

// freed waits until some orphans are freed. They are being deleted, so a freed orphan is gone.
func (s *stage) freed(n int) {
	s.Helper()
	all := s.orphans()
	s.poll(pollTime, func(ctx context.Context) (bool, error) {
		left, err := s.pods(ctx)
		return all-len(left) >= n, err
	})
}

// removeOrphans frees the remaining orphans.
func (s *stage) removeOrphans() {
	s.Helper()
	left, err := s.pods(s.Context())
	s.must(err)
	group, ctx := errgroup.WithContext(s.Context())
	group.SetLimit(atATime)
	for _, pod := range left {
		group.Go(func() error {
			_, err := s.api.Client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		})
	}
	s.must(group.Wait())
}
