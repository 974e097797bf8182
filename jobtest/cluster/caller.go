package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/inflight"
	"github.com/jobfate/jobfate/tracking"
)

// Caller carries the decisions of jobfate out, by the protocol of its doc.go.
// The numbers in its code are those of the steps.
type Caller struct {
	// Options are handed to each decision.
	Options []jobfate.Option
	// As is who the caller is, for pods whose Job is gone: what the options ManagedBy
	// and OwnerKind say, once more.
	As tracking.Controller
	// Decided is told of each decision, as it is before anything is carried out.
	Decided func(jobfate.Snapshot, jobfate.Decision)
	// Revised is told of what is left of a decision of which something failed.
	Revised func(jobfate.Decision)
	// Amend may change each decision before it is carried out, to put in what a
	// controller may get wrong.
	Amend func(jobfate.Snapshot, *jobfate.Decision)
	// Heard and Counted are told of events and metrics.
	Heard   func(jobfate.Event)
	Counted func(jobfate.Metric)

	memory inflight.Memory
}

var (
	errDeleted  = errors.New("the Job is being deleted")
	errNotShown = errors.New("the Job is not to be seen yet")
	errAgain    = errors.New("something failed")
	errSnapshot = errors.New("the Job cannot be decided")
)

// NewCaller returns a caller that remembers nothing.
func NewCaller(options ...jobfate.Option) *Caller { return &Caller{Options: options} }

// Snapshot returns the snapshot on which the caller would decide, were it to look
// at this view now.
func (c *Caller) Snapshot(v View) jobfate.Snapshot {
	memory := c.memory
	return memory.Snapshot(seen(v))
}

func seen(v View) inflight.View {
	return inflight.View{Job: v.Job, Pods: v.Pods, Now: v.Now, Certain: v.Complete}
}

// Sync carries one decision out.
func (c *Caller) Sync(client *Client) (time.Duration, error) {
	job := client.Job
	if err := c.free(client); err != nil {
		return 0, err
	}
	s := c.memory.Snapshot(seen(client.View)) // 1
	if job == nil {
		return 0, nil
	}
	d, err := jobfate.Decide(s, c.Options...) // 2
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	if c.Amend != nil {
		c.Amend(s, &d)
	}
	if c.Decided != nil {
		c.Decided(s, d)
	}
	if err := c.claim(client, d); err != nil { // 3
		return 0, err
	}
	done, failed := c.act(client, d) // 4
	if failed {                      // 5
		d = d.Revise(done)
		if c.Revised != nil {
			c.Revised(d)
		}
	}
	version := job.ResourceVersion
	if patch := d.StatusPatch(version); patch != nil { // 6
		if version, err = c.store(client, patch); err != nil {
			return d.Requeue, err
		}
	}
	c.memory.Backoff = d.Backoff // 7
	c.tell(d.Events, d.Metrics)
	gone := c.strip(client, d.Strip) // 8
	failed = failed || len(gone) < len(d.Strip)
	settled := d.Settle(gone...) // 9
	if patch := settled.StatusPatch(version); patch != nil {
		if _, err = c.store(client, patch); err != nil {
			return d.Requeue, err
		}
	}
	c.tell(settled.Events, settled.Metrics)
	if failed { // 10
		return d.Requeue, errAgain
	}
	return d.Requeue, nil
}

func (c *Caller) claim(client *Client, d jobfate.Decision) error {
	for i, claim := range d.Claim {
		adopts := claim.Relation == tracking.Adoptable
		if adopts && !slices.ContainsFunc(d.Claim[:i], func(o jobfate.Claim) bool { return o.Relation == tracking.Adoptable }) {
			fresh, err := client.GetJob()
			switch {
			case err != nil:
				return err
			case fresh == nil || fresh.UID != client.Job.UID || fresh.DeletionTimestamp != nil:
				return errDeleted
			}
		}
		_, err := client.PatchPod(claim.Pod, claim.Patch())
		// An orphan that is gone was not adopted, and must not be counted.
		if err != nil && (adopts || !apierrors.IsNotFound(err)) {
			return err
		}
		if err == nil && !adopts {
			c.memory.Strip(claim.Pod.UID)
		}
	}
	return nil
}

func (c *Caller) act(client *Client, d jobfate.Decision) (done jobfate.Done, failed bool) {
	for _, del := range d.Delete {
		err := c.delete(client, del)
		if err != nil && !apierrors.IsNotFound(err) {
			failed = true
			done.NotDeleted = append(done.NotDeleted, del.Pod.UID)
		} else {
			err = nil
			c.memory.Delete(del.Pod.UID)
		}
		c.hear(del.Event(err))
	}
	left := d.Create
	for batch := 1; len(left) > 0 && !failed; batch *= 2 {
		n := min(batch, len(left))
		for _, creation := range left[:n] {
			pod, err := client.CreatePod(creation.Pod())
			if err != nil {
				failed = true
				done.NotCreated++
				c.hear(creation.Event("", err))
				continue
			}
			c.memory.Create(pod.UID)
			c.hear(creation.Event(pod.Name, nil))
		}
		left = left[n:]
	}
	done.NotCreated += len(left)
	done.Untried = len(left)
	return done, failed
}

func (c *Caller) delete(client *Client, d jobfate.Deletion) error {
	if patch := d.Patch(); patch != nil {
		if _, err := client.PatchPod(d.Pod, patch); err != nil {
			return err
		}
		c.memory.Strip(d.Pod.UID)
	}
	return client.DeletePod(d.Pod, d.Options())
}

// store stores a status and returns the resource version that it got.
func (c *Caller) store(client *Client, patch []byte) (string, error) {
	job, err := client.PatchStatus(patch)
	if err != nil {
		if !isRefusal(err) {
			c.memory.Doubt()
		}
		return "", err
	}
	c.memory.Store(job, client.Now)
	return job.ResourceVersion, nil
}

// isRefusal reports whether an error says for sure that nothing was written.
func isRefusal(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) ||
		apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsTooManyRequests(err)
}

func (c *Caller) strip(client *Client, pods []*corev1.Pod) (gone []*corev1.Pod) {
	for _, pod := range pods {
		_, err := client.PatchPod(pod, tracking.StripPatch(pod))
		if err == nil || apierrors.IsNotFound(err) {
			gone = append(gone, pod)
			c.memory.Strip(pod.UID)
		}
	}
	return gone
}

// free takes the finalizer off the pods whose Job is gone, and those that no
// Job is left to adopt. That the cache does not show a Job does not say that it
// is gone, so a live read comes first.
func (c *Caller) free(client *Client) error {
	var fresh *batchv1.Job
	asked := false
	for _, pod := range client.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if job := client.Job; job != nil && (owner == nil || owner.UID == job.UID) || !c.As.Frees(pod, nil) {
			continue
		}
		if !asked {
			var err error
			if fresh, err = client.GetJob(); err != nil {
				return err
			}
			asked = true
		}
		if fresh != nil && (owner == nil || owner.UID == fresh.UID) {
			return errNotShown
		}
		if _, err := client.PatchPod(pod, tracking.StripPatch(pod)); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (c *Caller) tell(events []jobfate.Event, metrics []jobfate.Metric) {
	for _, e := range events {
		c.hear(e)
	}
	if c.Counted != nil {
		for _, m := range metrics {
			c.Counted(m)
		}
	}
}

func (c *Caller) hear(e jobfate.Event) {
	if c.Heard != nil {
		c.Heard(e)
	}
}
