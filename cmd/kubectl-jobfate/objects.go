package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mostObjects limits the objects that are read one by one.
const mostObjects = 100

// objects holds the objects that Jobs and their pods refer to, each read by its name: owners, Workloads of Kueue,
// and what pods without a node wait for.
type objects struct {
	all     []*unstructured.Unstructured
	refused []string // the kinds that may not be read
	refusal error
}

// ref names an object. Its labels select it in place of an unknown name.
type ref struct {
	schema.GroupKind
	namespace, name, labels string
}

var (
	volumeClaim   = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim").GroupKind()
	cronJobs      = batchv1.SchemeGroupVersion.WithKind("CronJob").GroupKind()
	quota         = corev1.SchemeGroupVersion.WithKind("ResourceQuota").GroupKind()
	deviceClaim   = schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}
	claimTemplate = schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}
	workload      = schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}
)

func podGroup(group string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: "PodGroup"} }

// read reads the objects again. A missing permission is not an error.
func (o *objects) read(ctx context.Context, c *cluster) error {
	*o = objects{}
	in := c.objects()
	var todo []ref
	for _, m := range in.Jobs {
		todo = append(todo, ofJob(m.Job)...)
	}
	for _, pod := range in.Pods {
		todo = append(todo, ofPod(pod)...)
	}
	for _, e := range in.Events {
		if m := exceeded.FindStringSubmatch(e.Message); m != nil && e.Reason == "FailedCreate" {
			todo = append(todo, ref{quota, e.Namespace, m[1], ""})
		}
	}
	done, denied := map[ref]bool{}, map[schema.GroupKind]bool{}
	for _, cron := range in.CronJobs {
		done[ref{cronJobs, cron.Namespace, cron.Name, ""}] = true
	}
	for len(todo) > 0 && len(done) < mostObjects {
		next := todo[0]
		if todo = todo[1:]; done[next] || denied[next.GroupKind] {
			continue
		}
		done[next] = true
		found, err := c.get(ctx, next)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			continue
		case refused(err):
			denied[next.GroupKind] = true
			o.refused, o.refusal = append(o.refused, next.Kind), cmp.Or(o.refusal, err)
			continue
		case err != nil:
			return err
		}
		for _, u := range found {
			o.all = append(o.all, u)
			todo = append(todo, owners(u)...)
		}
	}
	return nil
}

// resource returns the resource of a kind, in the version that the server prefers. The groups of the API of which
// there is one version need no discovery; for others it is that of kubectl, with its cache on disk.
func (c *cluster) resource(of schema.GroupKind) (schema.GroupVersionResource, error) {
	if of.Group == corev1.GroupName || of.Group == batchv1.GroupName {
		resource, _ := meta.UnsafeGuessKindToResource(of.WithVersion("v1"))
		return resource, nil
	}
	mapper, err := c.discover()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	mapping, err := mapper.RESTMapping(of)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}

// get reads what a reference names.
func (c *cluster) get(ctx context.Context, r ref) ([]*unstructured.Unstructured, error) {
	resource, err := c.resource(r.GroupKind)
	if err != nil {
		return nil, err
	}
	client := c.untyped.Resource(resource).Namespace(r.namespace)
	if r.name != "" {
		u, err := client.Get(ctx, r.name, metav1.GetOptions{})
		return []*unstructured.Unstructured{u}, err
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: r.labels})
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}

// owners returns the controller of an object.
func owners(o metav1.Object) []ref {
	of := metav1.GetControllerOfNoCopy(o)
	if of == nil {
		return nil
	}
	return []ref{{schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind(), o.GetNamespace(), of.Name, ""}}
}

// ofJob returns the owner of a Job and, if Kueue may hold it, its Workload.
func ofJob(job *batchv1.Job) []ref {
	all := owners(job)
	if *cmp.Or(job.Spec.Suspend, new(bool)) {
		if name := job.Labels["kueue.x-k8s.io/prebuilt-workload-name"]; name != "" {
			all = append(all, ref{workload, job.Namespace, name, ""})
		} else if job.Labels["kueue.x-k8s.io/queue-name"] != "" {
			all = append(all, ref{workload, job.Namespace, "", "kueue.x-k8s.io/job-uid=" + string(job.UID)})
		}
	}
	return all
}

// ofPod returns what a pod without a node may wait for.
func ofPod(pod *corev1.Pod) (all []ref) {
	if pod.Spec.NodeName != "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	named := func(kind schema.GroupKind, name string) {
		if name != "" {
			all = append(all, ref{kind, pod.Namespace, name, ""})
		}
	}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			named(volumeClaim, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			named(volumeClaim, pod.Name+"-"+v.Name)
		}
	}
	for _, claim := range pod.Spec.ResourceClaims {
		named(deviceClaim, *cmp.Or(claim.ResourceClaimName, new("")))
		named(claimTemplate, *cmp.Or(claim.ResourceClaimTemplateName, new("")))
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		named(deviceClaim, *cmp.Or(s.ResourceClaimName, new("")))
	}
	named(podGroup("scheduling.k8s.io"),
		*cmp.Or(cmp.Or(pod.Spec.SchedulingGroup, &corev1.PodSchedulingGroup{}).PodGroupName, new("")))
	named(podGroup("scheduling.x-k8s.io"), pod.Labels["scheduling.x-k8s.io/pod-group"])
	named(podGroup("scheduling.volcano.sh"), pod.Annotations["scheduling.k8s.io/group-name"])
	return slices.Compact(all)
}

// exceeded matches the name of the quota that refuses a pod.
var exceeded = regexp.MustCompile(`exceeded quota: ([^,]+),`)
