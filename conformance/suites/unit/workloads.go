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

// podGroup is the PodGroup of a Job, as its pods refer to it; nil without one.
type podGroup metav1.OwnerReference

// podGroup makes the Workload and the PodGroup of a Job with Kubernetes' own code, if
// the gate WorkloadWithJob is on: jobfate makes none.
func (l *look) podGroup() (*podGroup, error) {
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

// join puts a new pod into the group.
func (g *podGroup) join(pod *v1.Pod) {
	if g != nil {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &g.Name}
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference(*g))
	}
}
