package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

const (
	// A write that is not answered within this time is lost. It is shorter than
	// the time that the controller has to stop.
	writeTimeout = 20 * time.Second
	// atATime is how many writes of one turn are under way at the same time. More
	// would only wait for the client's limit, and before those of other Jobs.
	atATime = 16
	// creationTries is how often a creation is sent whose answer is lost.
	creationTries = 3
	// eventsPerTurn is how many creations or deletions that went well a turn tells of.
	// client-go sends no more about one object in a short time, and to make up those
	// that it drops costs a tenth of the CPU.
	eventsPerTurn = 25
)

var (
	errStale   = errors.New("the cache does not show the Job as it is")
	errLeaving = errors.New("the Job is gone or is being deleted, and adopts no pods")
)

// lost reports whether an error leaves open whether the write was carried out.
func lost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || utilnet.IsConnectionRefused(err) {
		return false
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true // there was none
	}
	code := answer.Status().Code
	return code < 400 || code >= 500
}

// write makes one write. Once it has begun it is finished even when the
// controller is to stop; no other begins then.
func (c *controller) write(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return do(ctx)
}

// claim adopts, releases and frees pods.
func (c *controller) claim(ctx context.Context, job *batchv1.Job, claims []jobfate.Claim, m *memory) error {
	asked := false
	for _, claim := range claims {
		adopts := claim.Relation == tracking.Adoptable
		if adopts && !asked {
			live, err := c.liveJob(ctx, job.Namespace, job.Name)
			if err != nil {
				return err
			}
			if live == nil || live.UID != job.UID || live.DeletionTimestamp != nil {
				return errLeaving
			}
			asked = true
		}
		left, err := c.patchPod(ctx, claim.Pod, claim.Patch())
		// An orphan that is gone was not adopted, and must not be counted.
		if err != nil && (adopts || !apierrors.IsNotFound(err)) {
			return fmt.Errorf("pod %s is %s: %w", claim.Pod.Name, claim.Relation, err)
		}
		if !adopts {
			m.rememberStripped(claim.Pod, left)
		}
	}
	return nil
}

// act deletes or creates pods, and tells of it.
func (c *controller) act(ctx context.Context, job *batchv1.Job, d jobfate.Decision, m *memory) (jobfate.Done, error) {
	if len(d.Delete) > 0 {
		left, err := c.deletePods(ctx, job, d.Delete, m)
		return jobfate.Done{NotDeleted: left}, err
	}
	return c.createPods(ctx, job, d.Create, m)
}

// deletePods returns the pods that are still there.
func (c *controller) deletePods(ctx context.Context, job *batchv1.Job, deletions []jobfate.Deletion, m *memory) (left []types.UID, failed error) {
	stripped, errs := make([]*corev1.Pod, len(deletions)), make([]error, len(deletions))
	together(len(deletions), func(i int) {
		pod := deletions[i].Pod
		if patch := deletions[i].Patch(); patch != nil {
			if stripped[i], errs[i] = c.patchPod(ctx, pod, patch); errs[i] != nil {
				return
			}
		}
		errs[i] = c.write(ctx, func(ctx context.Context) error {
			return c.writer.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, deletions[i].Options())
		})
	})
	for i, err := range errs {
		pod := deletions[i].Pod
		if stripped[i] != nil {
			m.rememberStripped(pod, stripped[i])
		}
		if apierrors.IsNotFound(err) {
			err = nil
		}
		if err != nil || i < eventsPerTurn {
			c.recordUnlessStopped(job, deletions[i].Event(err), err)
		}
		if err != nil {
			left, failed = append(left, pod.UID), fmt.Errorf("deleting pod %s: %w", pod.Name, err)
			continue
		}
		m.deleted = append(m.deleted, write{pod: pod.Name, uid: pod.UID})
	}
	return left, failed
}

func (c *controller) createPods(ctx context.Context, job *batchv1.Job, creations []jobfate.Creation, m *memory) (done jobfate.Done, failed error) {
	created := make([]write, len(creations))
	errs := slowly(len(creations), func(i int) (err error) {
		pod := creations[i].Pod()
		pod.Name = podName(pod.GenerateName)
		created[i].pod = pod.Name
		created[i].uid, err = c.createPod(ctx, job, pod)
		return err
	})
	now := c.now()
	for i, err := range errs {
		if err != nil || i < eventsPerTurn {
			c.recordUnlessStopped(job, creations[i].Event(created[i].pod, err), err)
		}
		if err == nil {
			created[i].ask = now.Add(miss)
			m.created = append(m.created, created[i])
			continue
		}
		if lost(err) {
			m.created = append(m.created, write{pod: created[i].pod, ask: now.Add(doubt)})
		}
		done.NotCreated++
		failed = fmt.Errorf("creating a pod: %w", err)
	}
	done.Untried = len(creations) - len(errs)
	done.NotCreated += done.Untried
	return done, failed
}

// recordUnlessStopped tells of a write, but not of one that was not begun because
// the controller is to stop.
func (c *controller) recordUnlessStopped(job *batchv1.Job, e jobfate.Event, err error) {
	if !errors.Is(err, context.Canceled) {
		c.record(job, e)
	}
}

// createPod creates a pod under a name that was made up here and not by the
// server. So a creation whose answer is lost can be sent again without making a
// second pod, and the pod is known when it turns up.
func (c *controller) createPod(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (uid types.UID, err error) {
	pods := c.writer.CoreV1().Pods(pod.Namespace)
	err = c.write(ctx, func(ctx context.Context) error {
		var unanswered error
		for range creationTries {
			created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
			if unanswered != nil && apierrors.IsAlreadyExists(err) {
				created, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
			}
			switch {
			case err == nil && !metav1.IsControlledBy(created, job):
				return apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name)
			case err == nil:
				uid = created.UID
				return nil
			case lost(err):
				unanswered = err
			case unanswered != nil: // and still is: a quota may be used up by the first
				return unanswered
			default:
				return err
			}
		}
		return unanswered
	})
	return uid, err
}

// podName makes up a name as the server does.
func podName(prefix string) string {
	const random = 5
	return prefix[:min(len(prefix), validation.DNS1123LabelMaxLength-random)] + rand.String(random)
}

// storeStatus stores a status and returns the resource version that it got.
func (c *controller) storeStatus(ctx context.Context, job *batchv1.Job, patch []byte, m *memory) (version string, err error) {
	err = c.write(ctx, func(ctx context.Context) error {
		stored, err := c.writer.BatchV1().Jobs(job.Namespace).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			m.sure = m.sure && !lost(err)
			return fmt.Errorf("storing the status: %w", err)
		}
		m.sure, m.stored = true, stored.ResourceVersion
		m.fresh = m.fresh || untouched(job)
		return nil
	})
	return m.stored, err
}

// strip removes the finalizers of pods and returns those that have lost it.
func (c *controller) strip(ctx context.Context, pods []*corev1.Pod, m *memory) (gone []*corev1.Pod, failed error) {
	left, errs := make([]*corev1.Pod, len(pods)), make([]error, len(pods))
	together(len(pods), func(i int) { left[i], errs[i] = c.patchPod(ctx, pods[i], c.me.Keys.StripPatch(pods[i])) })
	for i, err := range errs {
		if err != nil && !apierrors.IsNotFound(err) {
			failed = fmt.Errorf("removing the finalizer of pod %s: %w", pods[i].Name, err)
			continue
		}
		gone = append(gone, pods[i])
		m.rememberStripped(pods[i], left[i])
	}
	return gone, failed
}

// patchPod returns what the patch has left of a pod.
func (c *controller) patchPod(ctx context.Context, pod *corev1.Pod, patch []byte) (left *corev1.Pod, err error) {
	err = c.write(ctx, func(ctx context.Context) error {
		patched, err := c.writer.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if err == nil {
			left = patched
		}
		return err
	})
	return left, err
}

// together does something n times, some of them at the same time.
func together(n int, do func(i int)) {
	var wait sync.WaitGroup
	places := make(chan struct{}, atATime)
	for i := range n {
		places <- struct{}{}
		wait.Go(func() {
			do(i)
			<-places
		})
	}
	wait.Wait()
}

// slowly does something up to n times, in batches of 1, 2, 4 and so on, and no
// further once one has failed. It returns the errors of those that were tried.
func slowly(n int, do func(i int) error) []error {
	errs := make([]error, n)
	failed, tried := false, 0
	// Batches beyond that gain nothing, and are costly when a quota is used up.
	for batch := 1; tried < n && !failed; batch = min(2*batch, 4*atATime) {
		size := min(batch, n-tried)
		together(size, func(i int) { errs[tried+i] = do(tried + i) })
		failed = slices.ContainsFunc(errs[tried:tried+size], func(err error) bool { return err != nil })
		tried += size
	}
	return errs[:tried]
}
