package kueue_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueue "sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/webhooks"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/adopters"
)

// reserve returns the Workload of a Job, with a quota for as many pods as it has at once.
func reserve(t *rapid.T, job *batchv1.Job) *v1beta2.Workload {
	sets, err := (*kueue.Job)(job).PodSets(quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	wl := &v1beta2.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "wl",
		Annotations: map[string]string{workloadslicing.EnabledAnnotationKey: workloadslicing.EnabledAnnotationValue}}}
	wl.Spec.PodSets = sets
	wl.Status.Conditions = []metav1.Condition{{Type: v1beta2.WorkloadQuotaReserved, Status: metav1.ConditionTrue}}
	wl.Status.Admission = &v1beta2.Admission{PodSetAssignments: []v1beta2.PodSetAssignment{{Name: sets[0].Name, Count: new(sets[0].Count)}}}
	return wl
}

// report stores what is reclaimable as the reconciler of Kueue does, before it looks at evictions or starts the Job:
// if its webhook refuses the update, neither happens.
func report(t *rapid.T, wl *v1beta2.Workload, count int32) {
	var reclaimable []v1beta2.ReclaimablePod
	if count > 0 {
		reclaimable = []v1beta2.ReclaimablePod{{Name: v1beta2.DefaultPodSetName, Count: count}}
	}
	reclaimable = workload.LimitReclaimablePodsToPodSetSizes(wl, reclaimable)
	if workload.ReclaimablePodsAreEqual(reclaimable, wl.Status.ReclaimablePods) {
		return
	}
	old := wl.DeepCopy()
	wl.Status.ReclaimablePods = reclaimable
	for _, err := range webhooks.ValidateWorkloadUpdate(wl, old) {
		if strings.HasPrefix(err.Field, "status.reclaimablePods") {
			t.Fatalf("the webhook refuses %v after %v: %v", reclaimable, old.Status.ReclaimablePods, err)
		}
	}
}

// Along simulated lives, in which pods are evicted and users suspend, resume and scale the Job, Kueue's webhook accepts
// each count, a Job of which nothing has finished keeps its whole quota, and the quota that is kept suffices for the
// pods that are active at the next write of its status.
func TestReclaimable(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.ElasticJobsViaWorkloadSlices, true)
	reclaimed, scaledDown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var wl *v1beta2.Workload
		var last *batchv1.Job
		kept := int32(0)
		for _, job := range adopters.Lives().Draw(t, "life") {
			if jobstatus.OutcomeOf(job).Terminal() {
				return // Kueue asks Finished first
			}
			next := reserve(t, job)
			size := next.Spec.PodSets[0].Count
			switch {
			case wl == nil || size > wl.Spec.PodSets[0].Count:
				wl = next // a new one, without what was reported
			case size < wl.Spec.PodSets[0].Count:
				scaledDown++
				wl.Spec.PodSets[0].Count = size
			case last.Generation == job.Generation && job.Status.Active > max(kept, last.Status.Active):
				t.Fatalf("%d pods are active, and quota was kept for %d", job.Status.Active, kept)
			}
			count := jobstatus.Reclaimable(job)
			if finished := job.Status.Succeeded > 0 || job.Status.FailedIndexes != nil; count != 0 && !finished {
				t.Fatalf("nothing has finished, and %d pods are reclaimable", count)
			}
			report(t, wl, count)
			kept, last = size-count, job
			if count > 0 {
				reclaimed++
			}
		}
	})
	t.Logf("%d counts of reclaimable pods, %d Jobs scaled down", reclaimed, scaledDown)
	if reclaimed == 0 || scaledDown == 0 {
		t.Error("the lives lack one of these")
	}
}
