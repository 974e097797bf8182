package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	return generic(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
}

// patched returns the object after the patch.
func (r *Request) patched(old *version) (Object, error) {
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
			return nil, generic(http.StatusUnprocessableEntity, err.Error())
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
			return nil, generic(http.StatusUnprocessableEntity, err.Error())
		}
	}
}

func isObject(text []byte) error {
	var object map[string]any
	return json.Unmarshal(text, &object)
}
