package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// failure returns the answer for an API error.
func failure(err apierrors.APIStatus) answer {
	status := err.Status()
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return answer{code: int(status.Code), body: statusJSON(status)}
}

func statusJSON(status metav1.Status) []byte {
	status.Kind, status.APIVersion = "Status", "v1"
	text, _ := json.Marshal(status) // strings and numbers
	return text
}

// success returns the answer to the deletion of an object.
func success(k *kind, name string, uid types.UID) answer {
	gr := k.groupResource()
	return answer{code: http.StatusOK, body: statusJSON(metav1.Status{
		Status:  metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: name, Group: gr.Group, Kind: gr.Resource, UID: uid},
	})}
}

func (k *kind) notFound(name string) error { return apierrors.NewNotFound(k.groupResource(), name) }

func (k *kind) invalid(name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(k.GroupVersionKind.GroupKind(), name, errs)
}

func (k *kind) conflict(name, format string, args ...any) error {
	return apierrors.NewConflict(k.groupResource(), name, fmt.Errorf(format, args...))
}

// preconditionFailed returns the error of an update whose UID is that of another object
// with the same name.
func (k *kind) preconditionFailed(obj Object, what, wanted, has string) error {
	return k.conflict(obj.GetName(), "StorageError: invalid object, Code: 4, Key: /registry/%s/%s, "+
		"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s in precondition: %s, %[3]s in "+
		"object meta: %[5]s",
		k.Resource, strings.TrimPrefix(keyOf(obj), "/"), what, wanted, has)
}

func gone(text string) error { return apierrors.NewResourceExpired(text) }

// tooLargeVersion returns the error of a request for a future resource version. The API
// server returns it after three seconds.
func tooLargeVersion(wanted, has int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, has), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// generic returns an error that is not about an object. The code decides about the reason and
// whether the client sees the message.
func generic(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}

func noResource() error { return generic(http.StatusNotFound, "") }

func noMethod() error { return generic(http.StatusMethodNotAllowed, "") }

// internal returns an error whose message the API server passes on unchanged.
func internal(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}
