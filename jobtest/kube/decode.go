package kube

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// decode reads the object in the body of a request.
func (k *kind) decode(r *Request) (Object, error) {
	switch r.ContentType {
	case runtime.ContentTypeJSON, "", "*/*":
		return k.decodeJSON(r.Body, r.Query.Get("fieldValidation") == metav1.FieldValidationStrict)
	case runtime.ContentTypeYAML:
		text, err := yaml.YAMLToJSON(r.Body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return k.decodeJSON(text, r.Query.Get("fieldValidation") == metav1.FieldValidationStrict)
	case runtime.ContentTypeProtobuf:
		if k.custom {
			break
		}
		obj := k.fresh()
		found, gvk, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(r.Body, &k.GroupVersionKind, obj)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if err := k.checkType(*gvk, obj.GetName()); err != nil {
			return nil, err
		}
		if found != runtime.Object(obj) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is not a %s", k.GroupVersionKind.Kind))
		}
		return k.toStore(obj), nil
	}
	return nil,
		unsupportedMediaType([]string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf})
}

func unsupportedMediaType(supported []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join(supported, ", "),
	}}
}

func (k *kind) decodeJSON(text []byte, strict bool) (Object, error) {
	obj := k.fresh()
	var err error
	var unknown []error
	into := any(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		into = &u.Object
	}
	if strict {
		unknown, err = kjson.UnmarshalStrict(text, into)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, into)
	}
	if err == nil && len(unknown) > 0 {
		err = runtime.NewStrictDecodingError(unknown)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			k.GroupVersionKind.Kind, k.GroupVersionKind.Version, k.GroupVersionKind.Kind, err))
	}
	if err := k.checkType(obj.GetObjectKind().GroupVersionKind(), obj.GetName()); err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return k.toStore(obj), nil
	}
	if err := repairMetadata(u); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return obj, nil
}

// toStore converts an object of a Go type to the stored form.
func (k *kind) toStore(obj Object) Object {
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if k.stored != nil {
		return k.stored(obj)
	}
	return obj
}

// repairMetadata converts the metadata of a custom resource to the right types, because the
// accessors of unstructured objects ignore values of other types.
func repairMetadata(u *unstructured.Unstructured) error {
	metadata, _ := u.Object["metadata"].(map[string]any)
	if metadata == nil {
		if u.Object["metadata"] != nil {
			return fmt.Errorf("metadata is not an object")
		}
		metadata = map[string]any{}
	}
	var typed metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &typed); err != nil {
		return err
	}
	clean, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		return err
	}
	u.Object["metadata"] = clean
	return nil
}

// checkType compares kind and version of a body with those of the path. A body of a
// built-in kind may omit them.
func (k *kind) checkType(got schema.GroupVersionKind, name string) error {
	want := k.GroupVersionKind
	switch {
	case got == want || got.Empty() && !k.custom:
		return nil
	case got.Kind == "":
		return apierrors.NewBadRequest("Object 'Kind' is missing in the body of the request")
	case got.GroupVersion() != want.GroupVersion():
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)",
			got.GroupVersion(), want.GroupVersion()))
	case k.custom:
		return apierrors.NewInvalid(got.GroupKind(), name,
			field.ErrorList{field.Invalid(field.NewPath("kind"), got.Kind, "must be "+want.Kind)})
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", got.Kind,
			got.Version, want.Kind))
	}
}
