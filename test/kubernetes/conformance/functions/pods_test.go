package functions

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine/route"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

// job draws a started Job.
func (d draw) job(indexed bool) *batchv1.Job {
	labels := map[string]string{batchv1.ControllerUidLabel: "uid"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid"}}
	spec := &job.Spec
	spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	spec.Template.Labels = labels
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Template.Spec.Containers = []corev1.Container{{Name: "c0"}}
	spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	spec.Parallelism = new(int32(d.upTo(8)))
	spec.BackoffLimit = new(int32(1000))
	spec.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
	spec.Suspend = new(false)
	if indexed {
		spec.CompletionMode = new(batchv1.IndexedCompletion)
		spec.Completions = new(int32(1 + d.upTo(9)))
	}
	job.Status.StartTime = new(metav1.NewTime(noon))
	return job
}

// own makes the Job the controller of a pod.
func own(job *batchv1.Job, p *corev1.Pod, n int) {
	p.Name, p.UID = fmt.Sprintf("pod-%02d", n), types.UID(fmt.Sprintf("uid-%02d", n))
	p.Labels = job.Spec.Template.Labels
	p.Finalizers = []string{batchv1.JobTrackingFinalizer}
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
}

// jobfate and the Job controller delete the same surplus pods, in the same order. The
// controller's sort is stable up to twelve pods.
func TestActivePodsForRemoval(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		indexed := d.percent(60)
		job := d.job(indexed)
		var pods []*corev1.Pod
		for n := range d.upTo(12) {
			p := d.pod("")
			own(job, p, n)
			p.DeletionTimestamp = nil
			p.Status.Phase = pick(d, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodUnknown)
			p.Spec.NodeName = pick(d, "", "node", "node", "other")
			if indexed && d.percent(95) {
				p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(d.upTo(9))}
			}
			pods = append(pods, p)
		}
		pods = fixture.InOrder(job, pods) // which the real controller gets too
		want := *job.Spec.Parallelism
		if indexed {
			want = min(want, *job.Spec.Completions)
		}
		tooMany := max(0, len(pods)-int(want))
		var theirs, ours []string
		for _, p := range real.ActivePodsForRemoval(job, pods, tooMany) {
			theirs = append(theirs, p.Name)
		}
		decision, err := decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon, Backoff: backoff.Record{Job: job.UID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, del := range decision.Delete {
			ours = append(ours, del.Pod.Name)
			reached(string(del.Cause))
		}
		if !slices.Equal(ours, theirs) {
			t.Errorf("%d too many; jobfate %v, Kubernetes %v\nspec %s\npods %s", tooMany, ours, theirs, text(job.Spec), text(pods))
		}
		reached(fmt.Sprintf("indexed: %t, any: %t", indexed, len(theirs) > 0))
	})
}

// jobfate and the Job controller create pods for the same indexes. There are no failed pods
// here, because the controller checks delays later.
func TestFirstPendingIndexes(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		job := d.job(true)
		n := *job.Spec.Completions
		if d.percent(10) {
			n = 100_000
			job.Spec.Completions = &n
		}
		completed := d.indexes(n)
		failed := d.indexes(n).Difference(completed)
		job.Status.CompletedIndexes, job.Status.Succeeded = completed.String(), int32(completed.Len())
		var theirFailed *real.Intervals
		if d.percent(50) {
			job.Spec.BackoffLimitPerIndex, job.Status.FailedIndexes = new(int32(2)), new(failed.String())
			theirFailed = new(intervals(failed))
			if completed.Len()+failed.Len() >= int(n) {
				return // the Job ends
			}
		}
		if d.percent(50) {
			job.Spec.PodReplacementPolicy = new(batchv1.Failed)
		}
		var pods []*corev1.Pod
		active, terminating := 0, 0
		used := map[int]bool{}
		for i := range d.upTo(6) {
			index := d.upTo(9)
			if int32(index) >= n || used[index] || completed.Contains(int32(index)) {
				continue
			}
			used[index] = true
			p := d.pod("")
			own(job, p, i)
			p.DeletionTimestamp, p.Status.Phase = nil, pick(d, corev1.PodRunning, corev1.PodPending)
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
			active++
			if d.percent(30) {
				p.DeletionTimestamp = new(metav1.NewTime(noon))
				p.Finalizers = nil // or else it fails
				active--
				terminating++
			}
			pods = append(pods, p)
		}
		pods = fixture.InOrder(job, pods) // which the real controller gets too
		count := int(min(*job.Spec.Parallelism, n-int32(completed.Len()))) - active
		if *job.Spec.PodReplacementPolicy == batchv1.Failed {
			count -= terminating
		}
		var theirs, ours []int
		if count > 0 {
			theirs = real.FirstPendingIndexes(job, pods, intervals(completed), theirFailed, count)
		}
		decision, err := decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon, Backoff: backoff.Record{Job: job.UID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range decision.Create {
			ours = append(ours, int(c.Index))
		}
		if len(decision.Delete) == 0 && !slices.Equal(ours, theirs) {
			t.Errorf("%d missing; jobfate %v, Kubernetes %v\nspec %s\nstatus %s\npods %s", count, ours, theirs, text(job.Spec), text(job.Status), text(pods))
		}
		reached(fmt.Sprintf("created: %d", min(len(theirs), 4)))
	})
}

// jobfate and the Job controller read the same completion index, up to the largest one of an API object.
func TestIndexOf(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		mark := d.number(pick(d, d.Int64N(20), math.MaxInt32-1+d.Int64N(4), d.Int64()))
		switch d.IntN(6) {
		case 0:
			mark = pick(d, "", "x", " 1", "1.0", "1e3", "0x1", "1_0", "9223372036854775808")
		case 1:
			mark = "-" + mark
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: mark}}}
		want := min(real.CompletionIndex(p.Annotations), math.MaxInt32)
		if got := builtin.IndexOf(p); int(got) != want {
			t.Errorf("%q: jobfate %d, Kubernetes %d", mark, got, want)
		}
		reached(fmt.Sprintf("an index: %t", want >= 0))
	})
}

// orphan changes what decides whether a pod of a Job is an orphan. It returns the Job, or nil if it is gone.
func (d draw) orphan(p *corev1.Pod, job *batchv1.Job) *batchv1.Job {
	switch d.IntN(8) {
	case 0:
		p.OwnerReferences = nil
	case 1:
		p.OwnerReferences[0].Kind = "ReplicaSet"
	case 2:
		p.OwnerReferences[0].APIVersion = pick(d, "batch/v2", "example.com/v1")
	case 3:
		p.OwnerReferences[0].Controller = nil
	case 4:
		p.OwnerReferences[0].UID = "other"
	}
	if d.percent(15) {
		p.Finalizers = pick(d, nil, []string{"example.com/other"})
	}
	if d.percent(25) {
		job.Spec.ManagedBy = new(pick(d, batchv1.JobControllerName, "example.com/other"))
	}
	for range d.IntN(3) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type:   pick(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget),
			Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
		})
	}
	if d.percent(25) {
		return nil
	}
	return job
}

// jobfate and the Job controller remove the finalizer from the same orphans.
func TestOrphans(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		job := d.job(false)
		p := d.pod("")
		own(job, p, 0)
		job = d.orphan(p, job)
		got, want := tracking.Controller{}.Frees(p, job), real.StripsOrphan(p, job)
		if got != want {
			t.Errorf("jobfate %t, Kubernetes %t\npod %s\njob %s", got, want, text(p), text(job))
		}
		reached(fmt.Sprintf("freed: %t, Job: %t", want, job != nil))
	})
}

// A pod whose Job the controller does not manage, or that only such a Job selects, is freed as in Kubernetes.
func TestOrphansIn_besideAnotherController(t *testing.T) {
	each(t, 20, func(t *testing.T, d draw, reached func(string)) {
		job := d.job(false)
		p := d.pod("")
		own(job, p, 0)
		d.orphan(p, job)
		job.Spec.ManagedBy = new("example.com/other")
		got, want := len(route.OrphansIn([]*corev1.Pod{p}, []*batchv1.Job{job})) > 0, real.StripsOrphan(p, job)
		if got != want {
			t.Errorf("jobfate %t, Kubernetes %t\npod %s\njob %s", got, want, text(p), text(job))
		}
		reached(fmt.Sprintf("freed: %t, controller: %t", want, metav1.GetControllerOf(p) != nil))
	})
}
