package kinds

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

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
	page, err := os.ReadFile("../../../../docs/adopting.md")
	must(t, err)
	_, section, _ := strings.Cut(string(page), "\n## A kind of your own\n")
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
	dir, err := filepath.Abs("testdata/page")
	must(t, err)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "page.go"): file}})
	must(t, err)
	must(t, os.WriteFile(overlay, text, 0o644))
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
	suite, err = suites.Get(t.Context(), "suite", metav1.GetOptions{})
	must(t, err)
	job, _, err := unstructured.NestedMap(suite.Object, "status", "job")
	must(t, err)
	var status batchv1.JobStatus
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(job, &status))
	return status, string(output)
}
