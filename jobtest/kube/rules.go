package kube

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

var jobRules = rules{
	defaults: func(o Object) {
		job := o.(*batchv1.Job)
		*job = *defaulting.Job(job)
		defaultPodSpec(&job.Spec.Template.Spec)
	},
	// The defaults come last, because the source of the labels depends on which labels were
	// set.
	create: func(o Object) {
		job := o.(*batchv1.Job)
		*job = *defaulting.Prepared(job)
	},
	validate: func(o Object) field.ErrorList {
		job := o.(*batchv1.Job)
		return append(validation.Create(job), podSpecErrors(&job.Spec.Template.Spec,
			field.NewPath("spec", "template", "spec"))...)
	},
	update: func(o, was Object) {
		job, old := o.(*batchv1.Job), was.(*batchv1.Job)
		job.Status = old.Status
		bump(o, was, !equality.Semantic.DeepEqual(job.Spec, old.Spec))
	},
	validateUpdate: func(o, was Object) field.ErrorList {
		return validation.Update(o.(*batchv1.Job), was.(*batchv1.Job))
	},
	updateStatus: func(o, was Object) {
		job := o.(*batchv1.Job)
		job.Spec = was.(*batchv1.Job).Spec
		if len(job.Labels) == 0 { // also a default
			job.Labels = maps.Clone(job.Spec.Template.Labels)
		}
	},
	validateStatus: func(o, was Object) field.ErrorList {
		return validation.StatusUpdate(o.(*batchv1.Job), was.(*batchv1.Job))
	},
	orphans: true,
	fields: func(o Object) fields.Set {
		return fields.Set{"status.successful": strconv.Itoa(int(o.(*batchv1.Job).Status.Succeeded))}
	},
}

var podRules = rules{
	defaults: func(o Object) { defaultPod(o.(*corev1.Pod)) },
	create: func(o Object) {
		pod := o.(*corev1.Pod)
		defaultPod(pod)
		pod.Generation = 1
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(&pod.Spec)}
		admitPod(pod)
	},
	validate: func(o Object) field.ErrorList {
		return podSpecErrors(&o.(*corev1.Pod).Spec, field.NewPath("spec"))
	},
	update: func(o, was Object) {
		pod, old := o.(*corev1.Pod), was.(*corev1.Pod)
		pod.Status = old.Status
		bump(o, was, !equality.Semantic.DeepEqual(pod.Spec, old.Spec))
	},
	validateUpdate: func(o, was Object) field.ErrorList {
		return changedPodSpec(&o.(*corev1.Pod).Spec, &was.(*corev1.Pod).Spec)
	},
	updateStatus: func(o, was Object) {
		pod, old := o.(*corev1.Pod), was.(*corev1.Pod)
		pod.Spec, pod.OwnerReferences, pod.DeletionTimestamp = old.Spec, old.OwnerReferences, old.DeletionTimestamp
		if pod.Status.QOSClass == "" {
			pod.Status.QOSClass = old.Status.QOSClass
		}
	},
	returnsDeleted: true,
	grace: func(o Object, asked *int64) int64 {
		pod := o.(*corev1.Pod)
		seconds := int64(0)
		switch {
		case pod.Spec.NodeName == "" || cluster.HasEnded(pod):
		case asked != nil:
			seconds = *asked
		case pod.Spec.TerminationGracePeriodSeconds != nil:
			seconds = *pod.Spec.TerminationGracePeriodSeconds
		}
		if seconds < 0 {
			return 1
		}
		return seconds
	},
	fields: func(o Object) fields.Set {
		pod := o.(*corev1.Pod)
		return fields.Set{
			"spec.nodeName":            pod.Spec.NodeName,
			"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
			"spec.schedulerName":       pod.Spec.SchedulerName,
			"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
			"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
			"status.phase":             string(pod.Status.Phase),
			"status.podIP":             pod.Status.PodIP,
			"status.nominatedNodeName": pod.Status.NominatedNodeName,
		}
	},
}

var namespaceRules = rules{
	defaults: func(o Object) {
		ns := o.(*corev1.Namespace)
		if ns.Name != "" {
			if ns.Labels == nil {
				ns.Labels = map[string]string{}
			}
			ns.Labels[corev1.LabelMetadataName] = ns.Name
		}
	},
	create: func(o Object) {
		ns := o.(*corev1.Namespace)
		ns.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
		ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	},
	validate: func(o Object) field.ErrorList {
		var errs field.ErrorList
		for _, msg := range apivalidation.ValidateNamespaceName(o.GetName(), false) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.GetName(), msg))
		}
		return errs
	},
	update: func(o, was Object) {
		ns, old := o.(*corev1.Namespace), was.(*corev1.Namespace)
		ns.Spec.Finalizers, ns.Status = old.Spec.Finalizers, old.Status
	},
	updateStatus:   func(o, was Object) { o.(*corev1.Namespace).Spec = was.(*corev1.Namespace).Spec },
	returnsDeleted: true,
	fields: func(o Object) fields.Set {
		return fields.Set{"status.phase": string(o.(*corev1.Namespace).Status.Phase), "name": o.GetName()}
	},
}

var secretRules = rules{
	defaults: func(o Object) {
		secret := o.(*corev1.Secret)
		secret.Type = cmp.Or(secret.Type, corev1.SecretTypeOpaque)
		for name, text := range secret.StringData {
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			secret.Data[name] = []byte(text)
		}
		secret.StringData = nil
	},
	fields: func(o Object) fields.Set { return fields.Set{"type": string(o.(*corev1.Secret).Type)} },
}

var eventRules = rules{
	createOnUpdate: true,
	fields: func(o Object) fields.Set {
		event := o.(*corev1.Event)
		about := event.InvolvedObject
		return fields.Set{
			"involvedObject.kind":            about.Kind,
			"involvedObject.namespace":       about.Namespace,
			"involvedObject.name":            about.Name,
			"involvedObject.uid":             string(about.UID),
			"involvedObject.apiVersion":      about.APIVersion,
			"involvedObject.resourceVersion": about.ResourceVersion,
			"involvedObject.fieldPath":       about.FieldPath,
			"reason":                         event.Reason,
			"reportingComponent":             event.ReportingController,
			"source":                         cmp.Or(event.Source.Component, event.ReportingController),
			"type":                           event.Type,
		}
	},
}

var nodeRules = rules{
	update:       func(o, was Object) { o.(*corev1.Node).Status = was.(*corev1.Node).Status },
	updateStatus: func(o, was Object) { o.(*corev1.Node).Spec = was.(*corev1.Node).Spec },
}

// bump increments the generation if the spec has changed.
func bump(next, old Object, changed bool) {
	if changed {
		next.SetGeneration(old.GetGeneration() + 1)
	}
}

func setOrDelete(to map[string]any, name string, from map[string]any) {
	if value, ok := from[name]; ok {
		to[name] = value
	} else {
		delete(to, name)
	}
}

// contentChanged compares everything except the metadata and, if there is a subresource for
// it, the status.
func contentChanged(next, old Object, statusApart bool) bool {
	content := func(o Object) map[string]any {
		part := map[string]any{}
		for name, value := range o.(*unstructured.Unstructured).Object {
			if name != "metadata" && !(statusApart && name == "status") {
				part[name] = value
			}
		}
		return part
	}
	return !equality.Semantic.DeepEqual(content(next), content(old))
}

// systemFields sets the metadata that every new object gets, with a UID that no object has had.
func (s *Server) systemFields(o Object) {
	s.made++
	o.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", s.made, s.made)))
	o.SetCreationTimestamp(s.stamp())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetSelfLink("")
	o.SetManagedFields(nil)
}

func metadataErrors(k *kind, o metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(o, !k.ClusterScoped, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
}
