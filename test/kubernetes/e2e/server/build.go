package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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

// The programs in Kubernetes' modules, as tool lines of go.mod.
const (
	etcd              = "go.etcd.io/etcd/server/v3"
	apiServer         = "k8s.io/kubernetes/cmd/kube-apiserver"
	controllerManager = "k8s.io/kubernetes/cmd/kube-controller-manager"
	kubectl           = "k8s.io/kubernetes/cmd/kubectl"
)

// programs holds the programs built so far, by their source. Many tests request the same one at
// once.
type programs struct{ built sync.Map }

func (p *programs) of(what string, build func() (string, error)) (path string, err error) {
	once, _ := p.built.LoadOrStore(what, sync.OnceValues(build))
	return once.(func() (string, error))()
}

// build builds the program of a tool line of the go.mod in a folder, or finds it in Go's build cache,
// and returns its path.
func build(ctx context.Context, dir, tool string) (string, error) {
	return goCommand(ctx, dir, "tool", "-n", tool)
}

// Kubectl builds kubectl, or finds it in Go's build cache, and returns its path.
func Kubectl(ctx context.Context) (string, error) { return build(ctx, ".", kubectl) }

// BuildMain does the same for the main package of a folder, also of another module; its path is
// absolute or relative to this module. It prints the path of the program that go run leaves in the
// build cache, instead of running it.
func BuildMain(ctx context.Context, dir string, flags ...string) (string, error) {
	run := func(exec string) (string, error) {
		return goCommand(ctx, dir, append(append([]string{"run", "-exec", exec}, flags...), ".")...)
	}
	// go run puts a program that is not in the cache yet into a folder that it removes.
	if _, err := run("true"); err != nil {
		return "", err
	}
	return run("echo")
}

// goCommand runs go in a folder, and returns its output. Test binaries take turns, so that none builds a program that
// another one is building.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	dir, err := absolute(dir)
	if err != nil {
		return "", err
	}
	turn, err := lock("e2e/server", unix.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer turn.Close()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if *release != "" {
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto") // it may need a newer Go
	}
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), cmd.Dir, err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// absolute makes a path relative to this module absolute.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	root, err := moduleRoot()
	return filepath.Join(root, path), err
}

// moduleRoot finds the folder of this module: tests run in the folder of their package.
func moduleRoot() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(string(mod)), err
}

// lock locks a folder of this module for this test binary alone (unix.LOCK_EX), or with others that share it
// (unix.LOCK_SH). It waits until that is possible. Closing the file unlocks.
func lock(folder string, how int) (*os.File, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), how); err != nil {
		dir.Close()
		return nil, fmt.Errorf("locking %s: %w", dir.Name(), err)
	}
	return dir, nil
}

// first lists the kinds of manifests that are applied before the others, the last one first.
var first = []string{"CustomResourceDefinition", "Namespace"}

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
	token, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("a token for the service account %s: %w", name, err)
	}
	config := s.anonymous()
	config.BearerToken = token.Status.Token
	return config, nil
}

// Apply applies the objects of YAML files and of folders with a kustomization, whose paths are
// absolute or relative to this module. Objects that need a namespace and name none get the given
// one. It returns the stored objects.
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
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return slices.Index(first, b.GetKind()) - slices.Index(first, a.GetKind())
	})
	return objects, nil
}
