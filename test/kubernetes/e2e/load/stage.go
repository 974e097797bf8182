package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// stage runs a workload: it creates Jobs, and records when they get their first pods and when
// they complete.
type stage struct {
	client    kubernetes.Interface
	namespace string
	managedBy *string
	kubelet   *kubelet.Kubelet

	mu       sync.Mutex
	jobs     map[string]*jobRun
	made     int // the number of pods
	changed  chan struct{}
	failures error
}

// jobRun is the record of a Job.
type jobRun struct {
	script   func(kubelet.Pod) kubelet.Life
	made     time.Time
	firstPod time.Time
	complete bool
	timed    bool // whether to measure the wait for its first pod
}

// script is called for each pod as soon as it is observed.
func (s *stage) script(p kubelet.Pod) kubelet.Life {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	s.made++
	job := s.jobs[p.Job]
	if job.firstPod.IsZero() {
		job.firstPod = time.Now()
	}
	life := job.script(p)
	life.Direct = true
	return life
}

func (s *stage) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *stage) watch(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(s.namespace))
	factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, o any) {
			job := o.(*batchv1.Job)
			s.mu.Lock()
			defer s.mu.Unlock()
			end := jobstatus.Finished(job)
			if end == nil {
				return
			}
			if end.Type == batchv1.JobFailed {
				s.failures = fmt.Errorf("Job %s has failed: %v", job.Name, job.Status.Conditions)
			}
			s.jobs[job.Name].complete = true
			s.notify()
		},
	})
	factory.Start(ctx.Done())
}

// create creates a Job whose pods follow a script.
func (s *stage) create(ctx context.Context, name string, timed bool, spec batchv1.JobSpec,
	script func(kubelet.Pod) kubelet.Life) error {
	s.mu.Lock()
	s.jobs[name] = &jobRun{script: script, made: time.Now(), timed: timed}
	s.mu.Unlock()
	job := world.NewJob(name, s.managedBy, spec)
	_, err := s.client.BatchV1().Jobs(s.namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

// until waits until a function holds. It calls the function with the lock held.
func (s *stage) until(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		done, err := holds(), s.failures
		s.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// done waits until all Jobs are complete.
func (s *stage) done(ctx context.Context) error {
	return s.until(ctx, func() bool {
		for _, job := range s.jobs {
			if !job.complete {
				return false
			}
		}
		return true
	})
}

// run runs a Job whose pods follow a script.
func (s *stage) run(ctx context.Context, name string, spec batchv1.JobSpec, script kubelet.Script) error {
	if err := s.create(ctx, name, false, spec, script); err != nil {
		return err
	}
	return s.done(ctx)
}

func (s *stage) pods() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

func (s *stage) waits() (waits []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, job := range s.jobs {
		if job.timed {
			waits = append(waits, job.firstPod.Sub(job.made))
		}
	}
	return waits
}
