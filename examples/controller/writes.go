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
	// A request that is not answered within this time counts as lost. It is
	// shorter than the grace period of the controller's own pod.
	requestTimeout = 20 * time.Second
	// atATime is how many requests of one turn are under way at the same time.
	// More would only wait for the client's rate limit, before those of others.
	atATime = 16
	// creationTries is how often a creation is sent whose answer is lost.
	creationTries = 3
)

var (
	errStale   = errors.New("the cache does not show the Job as it is")
	errLeaving = errors.New("the Job is gone or is being deleted, and adopts no pods")
)

// lost reports whether an error leaves open whether the write was carried out.
func lost(err error) bool {
	if err == nil || utilnet.IsConnectionRefused(err) {
		return false
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true // there was none
	}
	code := answer.Status().Code
	return code < 400 || code >= 500 || code == 408
}

// begin returns the context for one write. A write that has begun is finished
// even when the controller is to stop; no other begins then.
func begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	return ctx, cancel, nil
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
		patched, err := c.patchPod(ctx, claim.Pod, claim.Patch())
		// An orphan that is gone was not adopted, and must not be counted.
		if err != nil && (adopts || !apierrors.IsNotFound(err)) {
			return fmt.Errorf("pod %s is %s: %w", claim.Pod.Name, claim.Relation, err)
		}
		if !adopts {
			m.strippedPod(claim.Pod, patched)
		}
	}
	return nil
}

// act deletes or creates pods, and tells of it.
func (c *controller) act(ctx context.Context, job *batchv1.Job, d jobfate.Decision, m *memory) (done jobfate.Done, err error) {
	done.NotDeleted, err = c.delete(ctx, job, d.Delete, m)
	created, failed := c.create(ctx, job, d.Create, m)
	done.NotCreated, done.Untried = created.NotCreated, created.Untried
	return done, errors.Join(err, failed)
}

func (c *controller) delete(ctx context.Context, job *batchv1.Job, deletions []jobfate.Deletion, m *memory) (left []types.UID, failed error) {
	stripped, errs := make([]*corev1.Pod, len(deletions)), make([]error, len(deletions))
	together(len(deletions), func(i int) {
		pod := deletions[i].Pod
		if patch := deletions[i].Patch(); patch != nil {
			if stripped[i], errs[i] = c.patchPod(ctx, pod, patch); errs[i] != nil {
				return
			}
		}
		ctx, cancel, err := begin(ctx)
		if err == nil {
			defer cancel()
			err = c.writer.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, deletions[i].Options())
		}
		errs[i] = err
	})
	for i, err := range errs {
		pod := deletions[i].Pod
		if stripped[i] != nil {
			m.strippedPod(pod, stripped[i])
		}
		if apierrors.IsNotFound(err) {
			err = nil
		}
		c.record(job, deletions[i].Event(err))
		if err != nil {
			left, failed = append(left, pod.UID), fmt.Errorf("deleting pod %s: %w", pod.Name, err)
			continue
		}
		m.deleted = append(m.deleted, write{pod: pod.Name, uid: pod.UID})
	}
	return left, failed
}

func (c *controller) create(ctx context.Context, job *batchv1.Job, creations []jobfate.Creation, m *memory) (done jobfate.Done, failed error) {
	pods := make([]*corev1.Pod, len(creations))
	errs := slowly(len(creations), func(i int) (err error) {
		pods[i], err = c.createPod(ctx, job, creations[i].Pod)
		return err
	})
	now := c.now()
	for i, err := range errs {
		name := creations[i].Pod.Name
		c.record(job, creations[i].Event(name, err))
		switch {
		case err == nil:
			m.created = append(m.created, write{pod: name, uid: pods[i].UID, ask: now.Add(miss)})
			continue
		case lost(err):
			m.created = append(m.created, write{pod: name, ask: now.Add(doubt)})
		}
		done.NotCreated++
		failed = fmt.Errorf("creating a pod: %w", err)
	}
	done.Untried = len(creations) - len(errs)
	done.NotCreated += done.Untried
	return done, failed
}

// createPod creates a pod under a name that is made up here and not by the
// server. So a creation whose answer is lost can be repeated: there is no second
// pod of the name, and the first is known when it turns up.
func (c *controller) createPod(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	pods := c.writer.CoreV1().Pods(pod.Namespace)
	pod.Name = podName(pod.GenerateName)
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	for try := 1; lost(err) && try < creationTries; try++ {
		created, err = pods.Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			there, getErr := pods.Get(ctx, pod.Name, metav1.GetOptions{})
			if getErr == nil && metav1.IsControlledBy(there, job) {
				return there, nil
			}
			if getErr != nil {
				err = fmt.Errorf("pod %s may have been created: %w", pod.Name, getErr)
			}
		}
	}
	return created, err
}

// podName makes up a name as the server does.
func podName(prefix string) string {
	const random = 5
	if longest := validation.DNS1123LabelMaxLength - random; len(prefix) > longest {
		prefix = prefix[:longest]
	}
	return prefix + rand.String(random)
}

// storeStatus stores a status and returns the resource version that it got.
func (c *controller) storeStatus(ctx context.Context, job *batchv1.Job, patch []byte, m *memory) (string, error) {
	ctx, cancel, err := begin(ctx)
	if err != nil {
		return "", err
	}
	defer cancel()
	stored, err := c.writer.BatchV1().Jobs(job.Namespace).Patch(ctx, job.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		m.sure = m.sure && !lost(err)
		return "", fmt.Errorf("storing the status: %w", err)
	}
	m.sure, m.stored = true, stored.ResourceVersion
	return stored.ResourceVersion, nil
}

// strip removes the finalizers of pods and returns those that have lost it.
func (c *controller) strip(ctx context.Context, pods []*corev1.Pod, m *memory) (gone []*corev1.Pod, failed error) {
	patched, errs := make([]*corev1.Pod, len(pods)), make([]error, len(pods))
	together(len(pods), func(i int) {
		patched[i], errs[i] = c.patchPod(ctx, pods[i], tracking.StripPatch(pods[i]))
	})
	for i, err := range errs {
		if err != nil && !apierrors.IsNotFound(err) {
			failed = fmt.Errorf("removing the finalizer of pod %s: %w", pods[i].Name, err)
			continue
		}
		gone = append(gone, pods[i])
		m.strippedPod(pods[i], patched[i])
	}
	return gone, failed
}

// strippedPod remembers that a pod has lost its finalizer; patched is nil when it
// is gone altogether.
func (m *memory) strippedPod(pod, patched *corev1.Pod) {
	w := write{pod: pod.Name, uid: pod.UID}
	if patched != nil {
		w.version = patched.ResourceVersion
	}
	m.stripped = append(m.stripped, w)
}

func (c *controller) patchPod(ctx context.Context, pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	ctx, cancel, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	patched, err := c.writer.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	return patched, nil
}

// free takes the finalizer off the pods under a key whose Job is gone, and those
// that no Job is left to adopt. That the cache does not show a Job does not say
// that it is gone, so a live read comes first.
func (c *controller) free(ctx context.Context, key types.NamespacedName, job *batchv1.Job) error {
	var orphans []*corev1.Pod
	for _, pod := range c.store.appendPods(nil, key) {
		if (job == nil || !metav1.IsControlledBy(pod, job)) && c.me.Frees(pod, nil) {
			orphans = append(orphans, pod)
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	var live *batchv1.Job
	if key.Name != "" {
		var err error
		if live, err = c.liveJob(ctx, key.Namespace, key.Name); err != nil {
			return err
		}
	}
	for _, pod := range orphans {
		switch {
		case live != nil && metav1.IsControlledBy(pod, live):
			return errStale
		case key.Name == "" && len(c.store.selecting(pod)) > 0:
			continue // it may be adopted
		}
		if _, err := c.patchPod(ctx, pod, tracking.StripPatch(pod)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("freeing pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// liveJob reads a Job past the cache; nil when there is none.
func (c *controller) liveJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	job, err := c.reader.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the Job: %w", err)
	}
	return job, nil
}

// together does something n times, some of them at the same time.
func together(n int, do func(i int)) {
	var wait sync.WaitGroup
	free := make(chan struct{}, atATime)
	for i := range n {
		free <- struct{}{}
		wait.Go(func() {
			do(i)
			<-free
		})
	}
	wait.Wait()
}

// slowly does something up to n times, in batches of 1, 2, 4 and so on, and no
// further once one has failed. It returns the errors of those that were tried.
func slowly(n int, do func(i int) error) []error {
	errs := make([]error, n)
	failed := false
	tried := 0
	// A large batch would gain nothing, and cost much when a quota is used up.
	for batch := 1; tried < n && !failed; batch = min(2*batch, 2*atATime) {
		size := min(batch, n-tried)
		together(size, func(i int) { errs[tried+i] = do(tried + i) })
		failed = slices.ContainsFunc(errs[tried:tried+size], func(err error) bool { return err != nil })
		tried += size
	}
	return errs[:tried]
}
