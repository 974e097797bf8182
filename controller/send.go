package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/machine"
)

const (
	// requestTimeout is the timeout of a request. It is shorter than the graceful shutdown
	// timeout of the manager.
	requestTimeout = 20 * time.Second
	// orphansInFlight is the number of concurrent requests that free orphans. They share the
	// limit of the other writes.
	orphansInFlight = 2
)

// inFlight returns the number of concurrent requests of one sync: as many as the limit
// admits in a fifth of a second. More requests would only wait for the limit, ahead of the
// requests of other Jobs. With fewer, part of the limit would stay unused if the API server
// is slow.
func inFlight(qps float32) int {
	const least, most = 16, 64
	if qps < 0 {
		return most
	}
	return min(max(least, int(qps/5)), most)
}

// sender sends the requests of Machines.
type sender struct{ objects }

// requester is the part of a machine.Machine that drive uses.
type requester interface {
	Next() []machine.Request
	Answer(machine.Request, runtime.Object, error) error
}

// drive sends the requests of a Machine, up to inFlight of them concurrently, and reports
// whether the sync is complete. When the context ends, requests in flight are finished, and
// no others are sent.
func (s sender) drive(ctx context.Context, m requester, inFlight int) bool {
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		objects, errs := make([]runtime.Object, len(batch)), make([]error, len(batch))
		var group errgroup.Group
		group.SetLimit(inFlight)
		for i, r := range batch {
			group.Go(func() error {
				if err := s.admit(ctx, r.Verb); err != nil {
					return err
				}
				objects[i], errs[i] = s.send(ctx, r)
				return nil
			})
		}
		if group.Wait() != nil {
			return false
		}
		for i, r := range batch {
			_ = m.Answer(r, objects[i], errs[i]) // fails only for an unknown request
		}
	}
	return true
}

// admit waits until the limit admits a request. It returns an error if the controller stops before.
func (s sender) admit(ctx context.Context, verb machine.Verb) error {
	switch verb {
	case machine.GetJob, machine.ListPods, machine.GetPod:
		return ctx.Err()
	}
	return cmp.Or(s.api().limit.Wait(ctx), ctx.Err())
}

// send sends one request, and returns the object and the error of the client.
func (s sender) send(ctx context.Context, r machine.Request) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	pods := s.api().CoreV1().Pods(r.Namespace)
	switch r.Verb {
	case machine.GetJob:
		return s.get(ctx, r.Namespace, r.Name)
	case machine.ListPods:
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil {
			me := s.controller(Options{})
			list.Items = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return ofOthers(me, &pod) })
		}
		return list, err
	case machine.GetPod:
		return pods.Get(ctx, r.Name, metav1.GetOptions{})
	case machine.CreatePod:
		return pods.Create(ctx, r.Pod, metav1.CreateOptions{})
	case machine.PatchPod:
		return pods.Patch(ctx, r.Name, types.StrategicMergePatchType, r.Patch, metav1.PatchOptions{})
	case machine.DeletePod:
		return nil, pods.Delete(ctx, r.Name, r.Options)
	case machine.PatchStatus:
		return s.putStatus(ctx, r)
	}
	return nil, fmt.Errorf("unknown request: %s", r.Verb)
}
