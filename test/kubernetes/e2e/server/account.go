package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// kinds lists the kinds of manifests in the order in which they are applied: namespaces and custom
// resource definitions come before their objects.
var kinds = []string{"Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole",
	"ClusterRoleBinding", "Role", "RoleBinding"}

// tokenSeconds is the lifetime of a token, longer than any test.
const tokenSeconds = 24 * 60 * 60

// Account returns the configuration of a client that is a service account. It creates the
// account if needed.
func (s *Server) Account(ctx context.Context, namespace, name string) (*rest.Config, error) {
	accounts := s.Client.CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("making the service account %s: %w", name, err)
	}
	seconds := int64(tokenSeconds)
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("a token for the service account %s: %w", name, err)
	}
	config := s.anonymous()
	config.BearerToken = token.Status.Token
	return config, nil
}

// Apply applies the objects of YAML files and of folders with a kustomization, whose paths are
// absolute or relative to this module. Objects
// that need a namespace and name none get the given one. It returns the stored objects in the
// order of their kinds, then of the files.
func (s *Server) Apply(ctx context.Context, namespace string, files ...string) ([]*unstructured.Unstructured, error) {
	objects, err := readManifests(files)
	if err != nil {
		return nil, err
	}
	// The kinds of the server are read again, because a manifest may have added some.
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Client.Discovery()))
	client := s.Dynamic()
	for i, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("%s %s of %s: %w", kind.Kind, object.GetName(), files, err)
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		objects[i], err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
		if err != nil {
			return nil, fmt.Errorf("applying %s %s of %s: %w", kind.Kind, object.GetName(), files, err)
		}
		if kind.Kind == "CustomResourceDefinition" {
			if err := served(ctx, client, objects[i]); err != nil {
				return nil, fmt.Errorf("the API server does not serve the kind %s: %w", object.GetName(), err)
			}
		}
	}
	return objects, nil
}

// Dynamic returns a client with all permissions for custom resources, which have no protobuf encoding.
func (s *Server) Dynamic() *dynamic.DynamicClient {
	config := s.Config()
	config.ContentType = ""
	return dynamic.NewForConfigOrDie(config)
}

// served waits until the API server serves a new kind, which is a moment after it has stored the definition.
func served(ctx context.Context, client dynamic.Interface, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	resource, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		kind := schema.GroupVersionResource{Group: group, Version: fmt.Sprint(version["name"]), Resource: resource}
		var err error
		listed := func(ctx context.Context) (bool, error) {
			_, err = client.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		}
		if late := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, listed); late != nil {
			return errors.Join(late, err)
		}
	}
	return nil
}

func readManifests(files []string) (objects []*unstructured.Unstructured, err error) {
	for _, file := range files {
		path, err := absolute(file)
		if err != nil {
			return nil, err
		}
		read := resource.FilenameOptions{Filenames: []string{path}}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			read = resource.FilenameOptions{Kustomize: path} // as kubectl apply -k
		}
		found, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &read).Flatten().Do().Infos()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, info := range found {
			objects = append(objects, info.Object.(*unstructured.Unstructured))
		}
	}
	rank := func(object *unstructured.Unstructured) int {
		if i := slices.Index(kinds, object.GetKind()); i >= 0 {
			return i
		}
		return len(kinds)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects, nil
}
