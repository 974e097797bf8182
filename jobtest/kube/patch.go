package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

func (s *Server) servePatch(r *Request) (answer, error) {
	if err := r.kind.checkPatch(r.ContentType); err != nil {
		return answer{}, err
	}
	old := r.kind.objects[key(r.Namespace, r.Name)]
	if old == nil {
		return answer{}, r.kind.notFound(r.Name)
	}
	next, err := r.patched(old)
	if err != nil {
		return answer{}, err
	}
	if err := ensureNamespace(r.kind, r.Namespace, next); err != nil {
		return answer{}, err
	}
	if err := r.checkName(next); err != nil {
		return answer{}, err
	}
	v, err := s.update(r.kind, old, next, r)
	return s.show(http.StatusOK, r, v, err)
}

// checkPatch returns an error for a type of patch that is not supported.
func (k *kind) checkPatch(contentType string) error {
	switch patch := types.PatchType(contentType); {
	case patch == types.JSONPatchType, patch == types.MergePatchType:
		return nil
	case k.custom:
		return unsupportedMediaType([]string{string(types.JSONPatchType), string(types.MergePatchType)})
	case patch == types.StrategicMergePatchType:
		return nil
	}
	return routeError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"415: Unsupported Media Type")
}

// patched returns the object after the patch.
func (r *Request) patched(old *version) (Object, error) {
	if !r.kind.custom && r.kind.stored == nil && r.ContentType == string(types.MergePatchType) {
		if next, ok := r.mergeParts(old); ok {
			return next, nil
		}
	}
	text, err := r.patch(r.kind.appendJSON(nil, old, false))
	if err != nil {
		return nil, err
	}
	next, err := r.kind.decodeJSON(text, false)
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(text), err.Error())})
	}
	return next, nil
}

// mergeParts applies a merge patch only to the parts that it names: metadata, spec and
// status. This is faster, because most patches are small and most objects are not. It
// reports false for patches that need the general code.
func (r *Request) mergeParts(old *version) (Object, bool) {
	var patch map[string]json.RawMessage
	if json.Unmarshal(r.Body, &patch) != nil {
		return nil, false
	}
	next := old.obj.DeepCopyObject().(Object)
	for name, change := range patch {
		part := reflect.ValueOf(next).Elem().FieldByName(parts[name])
		if !part.IsValid() {
			return nil, false
		}
		now, err := json.Marshal(part.Addr().Interface())
		if err != nil {
			return nil, false
		}
		merged, err := jsonpatch.MergePatch(now, change)
		if err != nil {
			return nil, false
		}
		part.SetZero()
		if kjson.UnmarshalCaseSensitivePreserveInts(merged, part.Addr().Interface()) != nil {
			return nil, false
		}
	}
	return next, true
}

// parts lists the fields of Go types that mergeParts can patch separately.
var parts = map[string]string{"metadata": "ObjectMeta", "spec": "Spec", "status": "Status"}

// patch applies the patch in the body to the JSON of an object.
func (r *Request) patch(text []byte) ([]byte, error) {
	kind := types.PatchType(r.ContentType)
	if kind != types.JSONPatchType && !json.Valid(r.Body) {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	switch kind {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		patched, err := patch.Apply(text)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "",
				schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return patched, nil
	case types.MergePatchType:
		if err := isObject(r.Body); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		patched, err := jsonpatch.MergePatch(text, r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	default:
		if err := isObject(r.Body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		patched, err := strategicpatch.StrategicMergePatch(text, r.Body, r.kind.fresh())
		switch {
		case err == nil:
			return patched, nil
		case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
			errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys),
			errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
			errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
			return nil, apierrors.NewBadRequest(err.Error())
		default:
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "",
				schema.GroupResource{}, "", err.Error(), 0, false)
		}
	}
}

func isObject(text []byte) error {
	var object map[string]any
	return json.Unmarshal(text, &object)
}
