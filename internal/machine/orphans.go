package machine

import (
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/tracking"
)

// Orphans removes the finalizer from pods whose Job is gone, or from a pod that has no
// controller and that no Job selects. The finalizer would block their deletion.
type Orphans struct {
	as     tracking.Controller
	owner  *metav1.OwnerReference
	pods   []*corev1.Pod
	batch  []exchange
	read   bool
	lastID uint64
	result Result
}

var errJobExists = errors.New("the Job of the pods exists, but the cache does not show it yet")

// OrphansIn returns one Orphans for each controller that is not among the Jobs, and one for
// each pod without a controller that none of the Jobs selects.
func OrphansIn(as tracking.Controller, pods []*corev1.Pod, jobs []*batchv1.Job) (all []*Orphans) {
	at := map[types.UID]*Orphans{}
	for _, pod := range pods {
		owner := controllerOf(pod)
		switch {
		case !as.Frees(pod, nil):
		case owner == nil:
			if !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return Selects(job, pod) }) {
				all = append(all, &Orphans{as: as, pods: []*corev1.Pod{pod}})
			}
		case slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job.UID == owner.UID }):
		case at[owner.UID] == nil:
			at[owner.UID] = &Orphans{as: as, owner: owner, pods: []*corev1.Pod{pod}}
			all = append(all, at[owner.UID])
		default:
			at[owner.UID].pods = append(at[owner.UID].pods, pod)
		}
	}
	return all
}

// Next returns the requests to send next; none when all pods are freed.
func (o *Orphans) Next() []Request {
	batch := o.batch
	o.batch = nil
	switch {
	case len(batch) > 0 && batch[0].Verb == GetJob:
		if err := o.handleJob(&batch[0]); err != nil {
			o.result.Err, o.pods = err, nil
		}
	case len(batch) > 0:
		for i := range batch {
			if fate := batch[i].fate(); fate != done && fate != missing {
				o.fail(fmt.Errorf("freeing pod %s: %w", batch[i].Name, batch[i].failure()))
			}
		}
	}
	if len(o.pods) == 0 {
		return nil
	}
	if o.owner != nil && !o.read {
		// The cache may be stale, so read the Job live.
		o.read = true
		o.batch = []exchange{{Request: Request{Verb: GetJob, Namespace: o.pods[0].Namespace, Name: o.owner.Name, UID: o.owner.UID}}}
	} else {
		for _, pod := range o.pods {
			x := patchOf(pod)
			x.Namespace = pod.Namespace
			x.Patch = keys.Keys(o.as.Keys).StripPatchAt(pod) // fails if a Job has adopted the pod meanwhile
			o.batch = append(o.batch, x)
		}
		o.pods = nil
	}
	requests := make([]Request, len(o.batch))
	for i := range o.batch {
		o.lastID++
		o.batch[i].ID = o.lastID
		requests[i] = o.batch[i].Request
	}
	return requests
}

func (o *Orphans) handleJob(x *exchange) error {
	job := x.jobObject()
	switch fate := x.fate(); {
	case fate != done && fate != missing:
		return fmt.Errorf("reading the Job of orphans: %w", x.failure())
	case fate == done && job != nil && job.UID == o.owner.UID:
		return errJobExists
	}
	return nil
}

// Answer takes the object and the error that the client returned for a request.
func (o *Orphans) Answer(id uint64, object runtime.Object, err error) error {
	for i := range o.batch {
		if x := &o.batch[i]; x.ID == id && !x.answered {
			x.answered, x.object, x.err = true, object, err
			return nil
		}
	}
	return fmt.Errorf("no answer is expected to request %d", id)
}

// Result returns the errors so far.
func (o *Orphans) Result() Result { return o.result }

func (o *Orphans) fail(err error) {
	o.result.Err = errors.Join(o.result.Err, err)
	o.result.RetryAfter = max(o.result.RetryAfter, retryAfter(err))
}
