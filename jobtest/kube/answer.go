package kube

import (
	"errors"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer answers a request for objects that are not stored in the server.
type Answer struct {
	// Objects has the object of the request, or none after a deletion. For a list it has all
	// objects, and the selectors of the request choose from them. The objects have the Go
	// types of k8s.io/api, and are not changed.
	Objects []Object
	// Version is the resource version of a list.
	Version string
}

// reply returns the answer to the client.
func (r *Request) reply(to *Answer) (answer, error) {
	if len(to.Objects) == 0 && r.Verb == "delete" {
		return success(r.kind, r.Name, ""), nil
	}
	if r.Verb != "list" {
		if len(to.Objects) == 0 {
			return answer{}, r.kind.notFound(r.Name)
		}
		v, err := versionOf(to.Objects[0])
		return r.kind.s.show(http.StatusOK, r, v, err)
	}
	sel, err := r.selection()
	if err != nil {
		return answer{}, err
	}
	var found []*version
	for _, obj := range to.Objects {
		v, err := versionOf(obj)
		if err != nil {
			return answer{}, err
		}
		if sel.has(v) {
			found = append(found, v)
		}
	}
	text, err := r.renderList(metav1.ListMeta{ResourceVersion: to.Version}, found)
	return answer{code: http.StatusOK, body: text}, err
}

// versionOf returns an object in the form in which the server stores it.
func versionOf(obj Object) (*version, error) {
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	bare := copied.Interface().(Object)
	bare.SetResourceVersion("")
	body, errBody := encode(bare)
	revision, errRevision := parseRevision(obj.GetResourceVersion())
	return &version{obj: obj, body: body, revision: revision}, errors.Join(errBody, errRevision)
}

// Decode returns the object in the body of a request that creates or updates it.
func (r *Request) Decode() (Object, error) {
	obj, err := r.kind.decode(r)
	if err == nil && r.Name != "" {
		err = r.checkName(obj)
	}
	if err == nil {
		err = ensureNamespace(r.kind, r.Namespace, obj)
	}
	return obj, err
}

// Patched returns what the patch in the body makes of an object, before any check.
func (r *Request) Patched(old Object) (Object, error) {
	if err := r.kind.checkPatch(r.ContentType); err != nil {
		return nil, err
	}
	v, err := versionOf(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return r.patched(v)
}
