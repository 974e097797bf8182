package real

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1beta1"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1beta1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/util/consistency"
)

// This file differs between releases of Kubernetes. The package suites changes it for other releases.
//
// With the gate WorkloadWithJob on, the controller looks up the Workload and the PodGroup of a Job, until 1.37
// with indexes and then by their names. It finds neither here, and creates both. It finds one Workload, that of the
// Job's own controller.

var (
	workloadLister   = slotOf[schedulinglisters.WorkloadLister]("workloadLister")
	podGroupLister   = slotOf[schedulinglisters.PodGroupLister]("podGroupLister")
	consistencyStore = slotOf[consistency.ConsistencyStore]("consistencyStore")
)

// setWorkloads sets fields that only newer releases have.
func setWorkloads(c *job.Controller, in *Input) {
	*workloadLister.in(c) = parents{job: in.Job}
	*podGroupLister.in(c) = noGroups{}
	for _, until37 := range []string{"workloadIndexer", "podGroupIndexer"} {
		if has(until37) {
			*slotOf[cache.Indexer](until37).in(c) = emptyCache{}
		}
	}
	*consistencyStore.in(c) = newConsistencyStore(in)
}

// newConsistencyStore returns the store of the gate StaleControllerConsistencyJob, with the writes of
// earlier syncs.
func newConsistencyStore(in *Input) consistency.ConsistencyStore {
	store := consistency.NewConsistencyStore(map[schema.GroupResource]consistency.LastSyncRVGetter{
		batchv1.Resource("jobs"): version(in.Cached.Jobs), corev1.Resource("pods"): version(in.Cached.Pods),
	})
	job := types.NamespacedName{Namespace: in.Job.Namespace, Name: in.Job.Name}
	for resource, wrote := range map[schema.GroupResource]string{batchv1.Resource("jobs"): in.Wrote.Jobs,
		corev1.Resource("pods"): in.Wrote.Pods} {
		if wrote != "" {
			store.WroteAt(job, in.Job.UID, resource, wrote)
		}
	}
	return store
}

// A version is a cache that is complete up to it.
type version string

func (v version) LastStoreSyncResourceVersion() string { return string(v) }

// isStale reports whether a sync was skipped because a cache is older than a write.
func isStale(err error) bool {
	var stale *consistency.ConsistencyError
	return errors.As(err, &stale)
}

func (c client) SchedulingV1beta1() schedulingclient.SchedulingV1beta1Interface {
	return schedulingV1beta1{s: c.s}
}

type schedulingV1beta1 struct {
	schedulingclient.SchedulingV1beta1Interface
	s *server
}

func (c schedulingV1beta1) Workloads(string) schedulingclient.WorkloadInterface {
	return workloads{s: c.s}
}

func (c schedulingV1beta1) PodGroups(string) schedulingclient.PodGroupInterface {
	return podGroups{s: c.s}
}

type workloads struct {
	schedulingclient.WorkloadInterface
	s *server
}

func (w workloads) Create(_ context.Context, workload *schedulingv1beta1.Workload,
	_ metav1.CreateOptions) (*schedulingv1beta1.Workload, error) {
	created := workload.DeepCopy()
	created.UID = types.UID(created.Name)
	return created, w.s.record(Call{Kind: CreateWorkload, Pod: created.Name}, 0)
}

type podGroups struct {
	schedulingclient.PodGroupInterface
	s *server
}

func (p podGroups) Create(_ context.Context, group *schedulingv1beta1.PodGroup,
	_ metav1.CreateOptions) (*schedulingv1beta1.PodGroup, error) {
	created := group.DeepCopy()
	created.UID = types.UID(created.Name)
	return created, p.s.record(Call{Kind: CreatePodGroup, Pod: created.Name}, 0)
}

// An emptyCache finds nothing.
type emptyCache struct{ cache.Indexer }

func (emptyCache) ByIndex(string, string) ([]any, error) { return nil, nil }

// noGroups finds no PodGroup.
type noGroups struct {
	schedulinglisters.PodGroupLister
	schedulinglisters.PodGroupNamespaceLister
}

func (n noGroups) PodGroups(string) schedulinglisters.PodGroupNamespaceLister { return n }

func (noGroups) List(apilabels.Selector) ([]*schedulingv1beta1.PodGroup, error) { return nil, nil }

func (noGroups) Get(name string) (*schedulingv1beta1.PodGroup, error) {
	return nil, apierrors.NewNotFound(schedulingv1beta1.Resource("podgroups"), name)
}

// parents finds one Workload, "parent", of the Job's own controller. It has the group "parent".
type parents struct {
	schedulinglisters.WorkloadLister
	schedulinglisters.WorkloadNamespaceLister
	job *batchv1.Job
}

func (p parents) Workloads(string) schedulinglisters.WorkloadNamespaceLister { return p }

func (p parents) List(apilabels.Selector) ([]*schedulingv1beta1.Workload, error) {
	owner := metav1.GetControllerOf(p.job)
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	w := &schedulingv1beta1.Workload{ObjectMeta: metav1.ObjectMeta{Name: "parent"}}
	w.Spec.ControllerRef = &schedulingv1beta1.TypedLocalObjectReference{
		APIGroup: kind.Group, Kind: kind.Kind, Name: owner.Name}
	w.Spec.PodGroupTemplates = []schedulingv1beta1.PodGroupTemplate{{Name: "parent"}}
	return []*schedulingv1beta1.Workload{w}, nil
}

func (p parents) Get(name string) (*schedulingv1beta1.Workload, error) {
	if name != "parent" {
		return nil, apierrors.NewNotFound(schedulingv1beta1.Resource("workloads"), name)
	}
	all, err := p.List(nil)
	return all[0], err
}
