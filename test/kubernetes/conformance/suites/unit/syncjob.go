//go:build ignore

// This file replaces (*Controller).syncJob in Kubernetes' package pkg/controller/job, so that the
// unit tests of that package test jobfate. It is compiled as part of that package, without the
// line above: see the package suites.
//
// It uses the expectations, the backoff store and the queue of the controller, because the tests
// set and read them.
package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/job/metrics"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

// jobSync is one sync of a Job.
type jobSync struct {
	*Controller
	ctx      context.Context
	logger   klog.Logger
	key      string
	job      *batch.Job
	pods     []*v1.Pod
	decision decide.Decision
}

// made holds all expectations created so far. Each controller has one, so its address identifies the
// controller. The address stays unique because made keeps the object alive.
var made sync.Map

// newUIDTrackingExpectations prints a mark for the test that creates the controller.
func newUIDTrackingExpectations() *uidTrackingExpectations {
	expectations := newUIDTrackingExpectationsOfKubernetes()
	made.Store(expectations, true)
	mark("made", expectations)
	return expectations
}

// mark prints a mark for the package suites, which explains the marks.
func mark(what string, controller *uidTrackingExpectations) {
	fmt.Fprintf(os.Stdout, "jobfate: %s %p\n", what, controller)
}

// translated marks a test whose input or result this package has changed.
func (l *jobSync) translated(what string) { mark(what, l.finalizerExpectations) }

func (jm *Controller) syncJob(ctx context.Context, key string) error {
	mark("sync", jm.finalizerExpectations)
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	if err := jm.observed(types.NamespacedName{Namespace: namespace, Name: name}); err != nil {
		return err
	}
	job, err := jm.jobLister.Jobs(namespace).Get(name)
	l := &jobSync{Controller: jm, ctx: ctx, logger: klog.FromContext(ctx), key: key, job: job}
	switch {
	case apierrors.IsNotFound(err):
		l.expectations.DeleteExpectations(l.logger, l.key)
		l.finalizerExpectations.deleteExpectations(l.logger, l.key)
		return l.podBackoffStore.removeBackoffRecord(l.key)
	case err != nil:
		return err
	}
	return l.run()
}

func (l *jobSync) run() error {
	in, err := l.read()
	if err != nil {
		return err
	}
	l.decision, err = decide.Job(in, options()...)
	switch {
	case errors.Is(err, decide.ErrNotManaged):
		return nil
	case err != nil:
		return err
	case l.decision.Action == "":
		return l.wait()
	}
	if err := l.claim(); err != nil {
		return err
	}
	undone, failed := l.act()
	l.decision = l.decision.Revise(undone)
	l.requeue()
	if l.decision.Status != nil {
		if err := l.store(*l.decision.Status); err != nil {
			return fmt.Errorf("storing the status: %w", err)
		}
	}
	must(l.podBackoffStore.updateBackoffRecord(l.record(l.decision.Backoff)))
	gone, left := l.strip()
	settled := l.decision.Settle(gone...)
	l.endAtOnce(&settled, gone)
	if settled.Status != nil {
		if err := l.store(*settled.Status); err != nil {
			return fmt.Errorf("storing the status: %w", err)
		}
	}
	if settled.Finished {
		l.finishedJobExpectations.Store(l.job.UID, struct{}{})
	}
	for _, e := range slices.Concat(l.decision.Events, settled.Events) {
		l.recorder.Event(l.job, e.Type, e.Reason, e.Message)
	}
	for _, m := range slices.Concat(l.decision.Metrics, settled.Metrics) {
		if counter := counters[m.Name]; counter != nil {
			counter.With(m.Labels).Add(float64(m.Add))
		}
	}
	return errors.Join(failed, left)
}

// counters holds the counters that the tests read after a sync.
var counters = map[string]*componentmetrics.CounterVec{
	"job_finished_indexes_total": metrics.JobFinishedIndexesTotal,
	"job_pods_creation_total":    metrics.JobPodsCreationTotal,
	"job_pods_finished_total":    metrics.JobPodsFinished,
	"jobs_finished_total":        metrics.JobFinishedNum,
}

// wait ends a sync without a decision: the Job has ended, or is older than its last status write.
func (l *jobSync) wait() error {
	l.requeue()
	if !l.decision.Facts().InFlight.Status {
		return l.podBackoffStore.removeBackoffRecord(l.key)
	}
	return nil
}

func (l *jobSync) requeue() {
	if l.decision.Requeue > 0 {
		l.queue.AddAfter(l.key, l.decision.Requeue)
	}
}

// read returns the input of the decision. It reads the expectations before the pods. Otherwise a pod
// that is observed in between would be missing from both.
func (l *jobSync) read() (in decide.Snapshot, err error) {
	in.Now = l.clock.Now()
	if !l.expectations.SatisfiedExpectations(l.logger, l.key) {
		in.InFlight.Creations = 1 // deletions have the same effect
	}
	_, in.InFlight.Status = l.finishedJobExpectations.Load(l.job.UID)
	in.InFlight.Stripped = l.finalizerExpectations.getExpectedUIDs(l.key).UnsortedList()
	record := l.podBackoffStore.newBackoffRecord(l.key, nil, nil)
	in.Backoff.Failures = record.failuresAfterLastSuccess
	if record.lastFailureTime != nil {
		in.Backoff.LastFailure = *record.lastFailureTime
	}
	if l.pods, err = controller.FilterPodsByOwner(l.podIndexer, &l.job.ObjectMeta, "Job", true); err != nil {
		return in, err
	}
	l.translateInput()
	in.Job, in.Pods = l.job, l.pods
	return in, nil
}

func (l *jobSync) record(r backoff.Record) backoffRecord {
	record := backoffRecord{key: l.key, failuresAfterLastSuccess: r.Failures}
	if !r.LastFailure.IsZero() {
		record.lastFailureTime = &r.LastFailure
	}
	return record
}

func (l *jobSync) owner() metav1.OwnerReference {
	return tracking.Controller{}.Reference(l.job)
}

func (l *jobSync) claim() error {
	for _, claim := range l.decision.Claim {
		patch := tracking.Keys{}.StripPatchAt(claim.Pod)
		switch claim.Action {
		case decide.ClaimAdopt:
			live, err := l.kubeClient.BatchV1().Jobs(l.job.Namespace).Get(l.ctx, l.job.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if live.UID != l.job.UID || live.DeletionTimestamp != nil {
				return fmt.Errorf("Job %s adopts no pods any more", l.key)
			}
			patch = tracking.Keys{}.AdoptPatch(claim.Pod, l.owner())
		case decide.ClaimRelease:
			patch = tracking.Keys{}.ReleasePatch(claim.Pod, l.job.UID)
		}
		if err := l.podControl.PatchPod(l.ctx, claim.Pod.Namespace, claim.Pod.Name, patch); err != nil {
			return err
		}
	}
	return nil
}

// act deletes or creates pods.
func (l *jobSync) act() (decide.Undone, error) {
	if deletions := l.decision.Delete; len(deletions) > 0 {
		left, err := l.deletePods(deletions)
		return decide.Undone{Deletions: left}, err
	}
	if creations := l.decision.Create; len(creations) > 0 {
		return l.createPods(creations)
	}
	return decide.Undone{}, nil
}

func (l *jobSync) deletePods(deletions []decide.Deletion) (left []types.UID, failed error) {
	must(l.expectations.ExpectDeletions(l.logger, l.key, len(deletions)))
	for i, err := range together(len(deletions), func(i int) error {
		pod := deletions[i].Pod
		if deletions[i].StripFirst {
			patch := tracking.Keys{}.StripPatchAt(pod)
			if err := l.podControl.PatchPod(l.ctx, pod.Namespace, pod.Name, patch); err != nil {
				return err
			}
		}
		return l.podControl.DeletePod(l.ctx, pod.Namespace, pod.Name, l.job)
	}) {
		if err != nil {
			l.expectations.DeletionObserved(l.logger, l.key)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			left, failed = append(left, deletions[i].Pod.UID), err
		}
	}
	return left, failed
}

// createPods creates pods in batches of 1, 2, 4 and so on, and stops after a batch in
// which a creation failed.
func (l *jobSync) createPods(creations []decide.Creation) (undone decide.Undone, failed error) {
	owner := l.owner()
	group, err := l.podGroup()
	if err != nil {
		return decide.Undone{Creations: len(creations), Untried: len(creations)}, err
	}
	must(l.expectations.ExpectCreations(l.logger, l.key, len(creations)))
	for at, size := 0, controller.SlowStartInitialBatchSize; at < len(creations) && failed == nil; size *= 2 {
		batch := creations[at:min(at+size, len(creations))]
		at += len(batch)
		for _, err := range together(len(batch), func(i int) error {
			pod, prefix := batch[i].Pod(), ""
			if batch[i].Index != tracking.NoIndex {
				prefix = pod.GenerateName // otherwise the pod control generates the prefix
			}
			pod.OwnerReferences = nil // the pod control adds the owner
			group.join(pod)
			template := &v1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
			return l.podControl.CreatePodsWithGenerateName(l.ctx, l.job.Namespace, template, l.job, &owner, prefix)
		}) {
			if err != nil {
				undone.Creations, failed = undone.Creations+1, err
			}
		}
		if failed != nil {
			undone.Untried = len(creations) - at
		}
	}
	undone.Creations += undone.Untried
	for range undone.Creations {
		l.expectations.CreationObserved(l.logger, l.key)
	}
	return undone, failed
}

func (l *jobSync) store(status batch.JobStatus) error {
	job := l.job.DeepCopy()
	job.Status = l.translateStatus(status)
	_, err := l.updateStatusHandler(l.ctx, job)
	return err
}

// strip removes finalizers, and returns the pods that have lost theirs.
func (l *jobSync) strip() (gone []types.UID, failed error) {
	pods := l.decision.Strip
	uids := make([]types.UID, len(pods))
	for i, pod := range pods {
		uids[i] = pod.UID
	}
	must(l.finalizerExpectations.expectFinalizersRemoved(l.logger, l.key, uids))
	for i, err := range together(len(pods), func(i int) error {
		return l.podControl.PatchPod(l.ctx, pods[i].Namespace, pods[i].Name, tracking.Keys{}.StripPatch(pods[i]))
	}) {
		if err != nil {
			l.finalizerExpectations.finalizerRemovalObserved(l.logger, l.key, uids[i])
		}
		if err != nil && !apierrors.IsNotFound(err) {
			failed = err
			continue
		}
		gone = append(gone, uids[i])
	}
	return gone, failed
}

// together calls a function n times concurrently.
func together(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	return errs
}

// must panics on an error of the controller's stores, which are in memory and return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
