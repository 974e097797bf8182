//go:build ignore

package job

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// For the releases from 1.36 on.

// observed returns an error while the caches are older than the controller's writes.
func (jm *Controller) observed(job types.NamespacedName) error {
	return jm.consistencyStore.EnsureReady(job)
}

// podGroup is the reference of the pods of a Job to its PodGroup, or nil without one.
type podGroup metav1.OwnerReference

// podGroup creates the Workload and the PodGroup of a Job with Kubernetes' own code, if the gate
// WorkloadWithJob is on. jobfate creates neither.
func (l *jobSync) podGroup() (*podGroup, error) {
	if !shouldManageWorkloadForJob(l.job) {
		return nil, nil
	}
	_, group, err := l.ensureWorkloadAndPodGroup(l.ctx, l.job, l.pods)
	if group == nil || err != nil {
		return nil, err
	}
	l.translated("podGroup")
	kinds, _, err := scheme.Scheme.ObjectKinds(runtime.Object(group))
	if err != nil {
		return nil, err
	}
	version, kind := kinds[0].ToAPIVersionAndKind()
	return &podGroup{APIVersion: version, Kind: kind, Name: group.Name, UID: group.UID}, nil
}

// join adds a new pod to the group.
func (g *podGroup) join(pod *v1.Pod) {
	if g != nil {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &g.Name}
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference(*g))
	}
}
