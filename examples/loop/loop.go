package loop

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/inflight"
	"github.com/jobfate/jobfate/tracking"
)

// API is what the loop asks of an API server, for one Job. An adapter for a
// client library needs a line or two for each method.
type API interface {
	// GetJob reads the Job live, past all caches; nil when there is none.
	GetJob() (*batchv1.Job, error)
	// PatchStatus sends a JSON merge patch to the status of the Job.
	PatchStatus(patch []byte) (*batchv1.Job, error)
	CreatePod(pod *corev1.Pod) (*corev1.Pod, error)
	// PatchPod sends a strategic merge patch.
	PatchPod(pod *corev1.Pod, patch []byte) (*corev1.Pod, error)
	DeletePod(pod *corev1.Pod, options metav1.DeleteOptions) error
}

// Loop carries out what is decided for one Job. One Sync ends before the next
// begins.
type Loop struct {
	Options []jobfate.Option
	// Tell is told of events, if it is set.
	Tell func(jobfate.Event)

	memory inflight.Memory
}

var (
	errJobGone = errors.New("the Job is gone, or is being deleted")
	errAgain   = errors.New("some writes failed: look again soon")
)

// Sync looks at the Job once and writes what is due. The Job is to be looked at
// again after the time that it returns, if that is not zero, and soon after an
// error. The numbers are the steps of the protocol.
func (l *Loop) Sync(api API, v inflight.View) (time.Duration, error) {
	s := l.memory.Snapshot(v)                 // 1
	d, err := jobfate.Decide(s, l.Options...) // 2
	if err != nil {
		return 0, err
	}
	if err := l.claim(api, d.Claim, v.Job); err != nil { // 3
		return 0, err
	}
	done, failed := l.act(api, d) // 4
	if failed {
		d = d.Revise(done) // 5
	}
	version := v.Job.ResourceVersion
	if d.Status != nil { // 6
		if version, err = l.store(api, d.StatusPatch(version), v.Now); err != nil {
			return d.Requeue, err
		}
	}
	l.memory.Backoff = d.Backoff // 7
	l.tell(d.Events...)
	gone := l.strip(api, d.Strip) // 8
	settled := d.Settle(gone...)  // 9
	if settled.Status != nil {
		if _, err = l.store(api, settled.StatusPatch(version), v.Now); err != nil {
			return d.Requeue, err
		}
	}
	l.tell(settled.Events...)
	if failed || len(gone) < len(d.Strip) {
		return d.Requeue, errAgain
	}
	return d.Requeue, nil // 10
}

// claim adopts, releases and frees pods. An orphan that is gone was not adopted,
// and so the decision, which takes it for granted, is void.
func (l *Loop) claim(api API, claims []jobfate.Claim, seen *batchv1.Job) error {
	asked := false
	for _, claim := range claims {
		adopts := claim.Relation == tracking.Adoptable
		if adopts && !asked {
			job, err := api.GetJob()
			if err != nil {
				return err
			}
			if job == nil || job.UID != seen.UID || job.DeletionTimestamp != nil {
				return errJobGone
			}
			asked = true
		}
		if _, err := api.PatchPod(claim.Pod, claim.Patch()); adopts && err != nil || failed(err) {
			return err
		}
		if !adopts {
			l.memory.Strip(claim.Pod.UID)
		}
	}
	return nil
}

// act deletes pods or creates them. Creations come in growing batches, and stop
// after a batch in which one has failed: a quota that refuses one refuses all.
func (l *Loop) act(api API, d jobfate.Decision) (done jobfate.Done, anyFailed bool) {
	for _, deletion := range d.Delete {
		if err := l.delete(api, deletion); failed(err) {
			done.NotDeleted, anyFailed = append(done.NotDeleted, deletion.Pod.UID), true
			l.tell(deletion.Event(err))
			continue
		}
		l.memory.Delete(deletion.Pod.UID)
		l.tell(deletion.Event(nil))
	}
	left := d.Create
	for batch := 1; len(left) > 0 && !anyFailed; batch *= 2 {
		n := min(batch, len(left))
		for _, creation := range left[:n] {
			pod, err := api.CreatePod(creation.Pod())
			if err != nil {
				done.NotCreated, anyFailed = done.NotCreated+1, true
				l.tell(creation.Event("", err))
				continue
			}
			l.memory.Create(pod.UID)
			l.tell(creation.Event(pod.Name, nil))
		}
		left = left[n:]
	}
	done.NotCreated, done.Untried = done.NotCreated+len(left), len(left)
	return done, anyFailed
}

func (l *Loop) delete(api API, d jobfate.Deletion) error {
	if d.StripFirst {
		if _, err := api.PatchPod(d.Pod, d.Patch()); err != nil {
			return err
		}
		l.memory.Strip(d.Pod.UID)
	}
	return api.DeletePod(d.Pod, d.Options())
}

// store stores a status and returns the resource version that it got. After an
// error it may have been stored all the same.
func (l *Loop) store(api API, patch []byte, now time.Time) (version string, err error) {
	l.memory.Doubt()
	job, err := api.PatchStatus(patch)
	if err != nil {
		return "", err
	}
	l.memory.Store(job, now)
	return job.ResourceVersion, nil
}

// strip removes finalizers and returns the pods that have lost theirs.
func (l *Loop) strip(api API, pods []*corev1.Pod) (gone []*corev1.Pod) {
	for _, pod := range pods {
		if _, err := api.PatchPod(pod, tracking.Keys{}.StripPatch(pod)); failed(err) {
			continue
		}
		l.memory.Strip(pod.UID)
		gone = append(gone, pod)
	}
	return gone
}

// failed reports whether a write about a pod has failed. A pod that is gone has
// lost its finalizer, and is deleted.
func failed(err error) bool { return err != nil && !apierrors.IsNotFound(err) }

func (l *Loop) tell(events ...jobfate.Event) {
	if l.Tell == nil {
		return
	}
	for _, e := range events {
		l.Tell(e)
	}
}
