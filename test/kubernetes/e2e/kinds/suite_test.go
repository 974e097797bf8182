package kinds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// The cluster role has all permissions that the controller needs, and no others. A shard fails
// once, and the controller is killed meanwhile.
func TestSuite(t *testing.T) {
	t.Parallel()
	p := world.Proxy(t, api)
	controller := world.Run(t, api.Suites, server.Options{Via: p.Config})
	namespace, err := api.Namespace(t.Context(), "suite")
	must(t, err)
	k := kubelet.Start(t.Context(), api.Client, namespace, func(p kubelet.Pod) kubelet.Life {
		if p.Index == 0 && p.Attempt == 0 {
			return kubelet.Fail(1)
		}
		return kubelet.Run()
	})
	suites := api.Dynamic().Resource(schema.GroupVersionResource{Group: "jobfate.dev", Version: "v1alpha1", Resource: "suites"}).Namespace(namespace)
	_, err = suites.Create(t.Context(), read(t, "suite/deploy/samples/suite.yaml"), metav1.CreateOptions{})
	must(t, err)

	running := func(s batchv1.JobStatus) bool { return s.Ready != nil && *s.Ready == 2 }
	until(t, suites, "shard 0 has failed, and two shards run", func(s batchv1.JobStatus) bool { return s.Failed == 1 && running(s) })
	controller.Kill()
	pods, err := api.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for i := range pods.Items {
		k.Become(kubelet.Succeed(), &pods.Items[i])
	}
	must(t, controller.Start())
	until(t, suites, "two shards have passed, and two more run", func(s batchv1.JobStatus) bool { return s.Succeeded == 2 && running(s) })

	patch := []byte(`{"spec": {"paused": true}}`)
	_, err = suites.Patch(t.Context(), "nightly", "application/merge-patch+json", patch, metav1.PatchOptions{})
	must(t, err)
	status := until(t, suites, "the suite is paused", func(s batchv1.JobStatus) bool { return s.Active == 0 && *s.Terminating == 0 })
	if got := jobstatus.OutcomeOf(&batchv1.Job{Status: status}).Phase; got != jobstatus.Suspended || status.UncountedTerminatedPods == nil {
		t.Errorf("got the phase %s of %+v, want it suspended", got, status)
	}

	_, err = suites.Patch(t.Context(), "nightly", "application/merge-patch+json", []byte(`{"spec": {"shards": 6}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "the number of shards cannot change") {
		t.Errorf("another number of shards: got %v, want it refused", err)
	}

	// These permissions are for other API servers, which check owner references or cannot fill
	// a cache by a watch, and for creations and status writes without an answer.
	used := p.Counts()
	unused, err := used.Unused("../../../../examples/suite/deploy/rbac.yaml",
		"update suites/finalizers", "list suites", "get suites", "get pods", "patch events")
	if err != nil || unused != "" {
		t.Errorf("permissions are not used: %v\n%s; used are: %v", err, unused, used)
	}
}

// until waits until the status of the suite matches.
func until(t *testing.T, suites dynamic.ResourceInterface, what string, holds func(batchv1.JobStatus) bool) (status batchv1.JobStatus) {
	t.Helper()
	observe.Await(t, time.Minute, what, func() string {
		status = statusOf(t, suites, "nightly")
		if !holds(status) {
			return fmt.Sprintf("the status is %+v", status)
		}
		return ""
	})
	return status
}

// statusOf reads the status of a suite.
func statusOf(t *testing.T, suites dynamic.ResourceInterface, name string) (status batchv1.JobStatus) {
	t.Helper()
	suite, err := suites.Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	job, _, err := unstructured.NestedMap(suite.Object, "status", "job")
	must(t, err)
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(job, &status))
	return status
}

const imports = `package main

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

`

// The code of the page runs a Suite to its end. With the resource version of the View, the second
// status write of a sync would be refused.
func TestPage(t *testing.T) {
	t.Parallel()
	_, err := api.Apply(t.Context(), "", "e2e/kinds/testdata/crd.yaml")
	must(t, err)
	_, section, _ := strings.Cut(string(Must(os.ReadFile("../../../../docs/adopting.md"))), "\n## A kind of your own\n")
	_, code, _ := strings.Cut(section, "```go\n")
	code, _, ok := strings.Cut(code, "```\n")
	const version = "ResourceVersion: r.ResourceVersion"
	if !ok || strings.Count(code, version) != 1 {
		t.Fatalf("the section has no block of Go with %s in it:\n%s", version, code)
	}
	status, output := runSuite(t, "page", code)
	if output != "" || status.Succeeded != 2 || jobstatus.OutcomeOf(&batchv1.Job{Status: status}).Phase != jobstatus.Complete {
		t.Errorf("the code of the page: %s\nthe status is %+v, want the end after 2 pods", output, status)
	}
	status, output = runSuite(t, "view", strings.Replace(code, version, "ResourceVersion: viewed", 1))
	if !strings.Contains(output, "Operation cannot be fulfilled") || status.Succeeded != 0 {
		t.Errorf("with the version of the View: %s\nthe status is %+v, want a conflict and no pod counted", output, status)
	}
}

// runSuite runs a Suite of two pods with the code of the page, and returns its last status and what
// the program prints.
func runSuite(t *testing.T, name, code string) (batchv1.JobStatus, string) {
	t.Helper()
	file, overlay := filepath.Join(t.TempDir(), "page.go"), filepath.Join(t.TempDir(), "overlay.json")
	must(t, os.WriteFile(file, []byte(imports+code), 0o644))
	dir := Must(filepath.Abs("testdata/page"))
	text := ToJSON(map[string]any{"Replace": map[string]string{filepath.Join(dir, "page.go"): file}})
	must(t, os.WriteFile(overlay, []byte(text), 0o644))
	program, err := server.BuildMain(t.Context(), dir, "-overlay", overlay)
	must(t, err)

	namespace, err := api.Namespace(t.Context(), name)
	must(t, err)
	kubelet.Start(t.Context(), api.Client, namespace, kubelet.Always(kubelet.Succeed()))
	suites := api.Dynamic().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "suites"}).Namespace(namespace)
	suite := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Suite", "metadata": map[string]any{"name": "suite"},
		"spec": map[string]any{"job": map[string]any{"completions": int64(2), "parallelism": int64(2), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "image"}},
		}}}},
	}}
	_, err = suites.Create(t.Context(), suite, metav1.CreateOptions{})
	must(t, err)

	cmd, config := exec.CommandContext(t.Context(), program), api.Config()
	cmd.Env = append(os.Environ(), "HOST="+config.Host, "TOKEN="+config.BearerToken, "CA="+config.CAFile, "NAMESPACE="+namespace)
	output, _ := cmd.CombinedOutput() // it prints its error
	return statusOf(t, suites, "suite"), string(output)
}
