package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metaPatch is a strategic merge patch of the metadata of a pod. The cluster rejects
// patches of other fields, because Job controllers do not need them.
type metaPatch struct {
	Metadata struct {
		UID             types.UID
		ResourceVersion string
		Labels          map[string]*string
		Annotations     map[string]*string
		OwnerReferences []struct {
			metav1.OwnerReference
			Directive string `json:"$patch"`
		}
		Finalizers []string
		Remove     []string `json:"$deleteFromPrimitiveList/finalizers"`
		// Patch tools add these directives for the order of a list. The cluster ignores
		// them.
		OwnerOrder     []struct{ UID types.UID } `json:"$setElementOrder/ownerReferences"`
		FinalizerOrder []string                  `json:"$setElementOrder/finalizers"`
	}
}

// readPatch reads a patch of a pod's metadata.
func readPatch(data []byte) (*metaPatch, error) {
	if bytes.Contains(data, []byte("null")) {
		var names struct{ Metadata map[string]json.RawMessage }
		if err := json.Unmarshal(data, &names); err != nil {
			return nil, err
		}
		for name, raw := range names.Metadata {
			if string(raw) == "null" {
				return nil, fmt.Errorf("metadata.%s is null, which would remove all of it", name)
			}
		}
	}
	p := new(metaPatch)
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(p); err != nil {
		return nil, err
	}
	for _, texts := range []map[string]*string{p.Metadata.Labels, p.Metadata.Annotations} {
		for key := range texts {
			if strings.HasPrefix(key, "$") {
				return nil, fmt.Errorf("the directive %s is not supported", key)
			}
		}
	}
	for _, ref := range p.Metadata.OwnerReferences {
		if ref.Directive != "" && ref.Directive != "delete" {
			return nil, fmt.Errorf("the directive $patch: %s is not supported", ref.Directive)
		}
	}
	return p, nil
}

// PatchPod applies a strategic merge patch of the metadata to a pod. It returns nil if the
// patch removes the last finalizer of a deleted pod. Like the API server it rejects a patch
// with another UID or resource version, a second controller, and new finalizers for a pod
// that is being deleted.
func PatchPod(pod *corev1.Pod, data []byte) (*corev1.Pod, error) {
	p, err := readPatch(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%v in %s", err, data))
	}
	if err := preconditions(podResource, pod, p.Metadata.UID, p.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	// Pods are immutable, so the versions share the unchanged parts.
	same := *pod
	next := &same
	next.OwnerReferences, next.Finalizers = slices.Clone(pod.OwnerReferences), slices.Clone(pod.Finalizers)
	for _, ref := range p.Metadata.OwnerReferences {
		next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences,
			func(o metav1.OwnerReference) bool { return o.UID == ref.UID })
		if ref.Directive != "delete" {
			next.OwnerReferences = append(next.OwnerReferences, ref.OwnerReference)
		}
	}
	for _, f := range p.Metadata.Finalizers {
		if !slices.Contains(next.Finalizers, f) {
			next.Finalizers = append(next.Finalizers, f)
		}
	}
	next.Finalizers = slices.DeleteFunc(next.Finalizers,
		func(f string) bool { return slices.Contains(p.Metadata.Remove, f) })
	if errs := checkMeta(next, pod); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, pod.Name, errs)
	}
	next.Labels = mergeStrings(next.Labels, p.Metadata.Labels)
	next.Annotations = mergeStrings(next.Annotations, p.Metadata.Annotations)
	return nilIfGone(next), nil
}

// checkMeta returns the errors of the API server for the metadata of an updated pod.
func checkMeta(next, old *corev1.Pod) (errs field.ErrorList) {
	path := field.NewPath("metadata")
	controllers := 0
	for _, ref := range next.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			controllers++
		}
	}
	if controllers > 1 {
		errs = append(errs, field.Invalid(path.Child("ownerReferences"), controllers,
			"there is one controller at most"))
	}
	isNew := func(f string) bool { return !slices.Contains(old.Finalizers, f) }
	if old.DeletionTimestamp != nil && slices.ContainsFunc(next.Finalizers, isNew) {
		errs = append(errs, field.Forbidden(path.Child("finalizers"),
			"an object that is being deleted gets no new ones"))
	}
	return errs
}

func mergeStrings(to map[string]string, from map[string]*string) map[string]string {
	if len(from) > 0 {
		to = maps.Clone(to)
	}
	for key, value := range from {
		switch {
		case value == nil:
			delete(to, key)
		case to == nil:
			to = map[string]string{key: *value}
		default:
			to[key] = *value
		}
	}
	return to
}
