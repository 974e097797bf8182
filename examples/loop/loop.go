package loop

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// API is the part of a client library that the loop needs: one switch over the verbs.
type API interface {
	// Send sends a request, and returns the object and the error of the client.
	Send(ctx context.Context, r machine.Request) (runtime.Object, error)
}

// Sync runs one sync of a Job. Call it again after the time that it returns, unless that is zero.
// After an error, call it again soon, unless the error is a decide.InputError or
// decide.ErrNotManaged.
func Sync(ctx context.Context, api API, m *machine.Machine, v machine.View) (time.Duration, error) {
	if err := m.Begin(v); err != nil {
		return 0, err
	}
	err := carryOut(ctx, api, m)
	result := m.Result()
	return result.Requeue, errors.Join(err, result.Err)
}

// Free removes the finalizer from orphans. [route.Of] says when there may be some.
func Free(ctx context.Context, api API, pods []*corev1.Pod, jobs []*batchv1.Job, opts ...decide.Option) error {
	var errs []error
	for _, orphans := range route.OrphansIn(pods, jobs, opts...) {
		errs = append(errs, carryOut(ctx, api, orphans), orphans.Result().Err)
	}
	return errors.Join(errs...)
}

// carryOut sends requests until the Machine has none left. It may stop at any request.
func carryOut(ctx context.Context, api API, m *machine.Machine) error {
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			object, err := api.Send(ctx, r)
			if err := m.Answer(r, object, err); err != nil {
				return err
			}
		}
	}
	return nil
}
