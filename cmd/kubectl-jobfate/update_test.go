package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// resize is a manifest as users write it: without what the API server adds.
const resize = `apiVersion: batch/v1
kind: Job
metadata:
  name: resize
spec:
  activeDeadlineSeconds: 600
  completions: 3
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example.com/resize:1
        ports: [{containerPort: 80}]
        livenessProbe: {httpGet: {port: 80}}
      volumes:
      - name: scratch
      - {name: config, configMap: {name: resize}}
`

// The manifest that a Job was created from updates it with kubectl apply. kubectl replace sends the
// manifest without the selector and the labels that the API server has generated.
func TestValidate_manifestOfTheJob(t *testing.T) {
	s := newStage(t)
	var job batchv1.Job
	if err := yaml.Unmarshal([]byte(resize), &job); err != nil {
		t.Fatal(err)
	}
	job.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": lastApplied(t, resize)}
	if _, err := s.client.BatchV1().Jobs("default").Create(context.Background(), &job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	for _, tc := range []struct {
		reason, from, to string
		status           int
		want             []string
	}{
		{"unchanged", "", "", 0, []string{
			"error: spec.selector: Required value [kubectl replace]\n",
			file + ":1: kubectl apply: Job resize accepted, 0 errors, 0 warnings",
			file + ":1: kubectl replace: Job resize rejected, 4 errors, 0 warnings",
		}},
		{"a mutable field", "parallelism: 3", "parallelism: 5", 0, []string{"kubectl apply: Job resize accepted, 0 errors, 0 warnings"}},
		{"a field less", "  activeDeadlineSeconds: 600\n", "", 0, []string{"kubectl apply: Job resize accepted, 0 errors, 0 warnings"}},
		{"the default written out", "image: registry.example.com/resize:1", "image: registry.example.com/resize:1\n        imagePullPolicy: IfNotPresent", 0,
			[]string{"kubectl apply: Job resize accepted, 0 errors, 0 warnings"}},
		{"completions", "completions: 3", "completions: 5", 3, []string{
			file + ":7:3: error: spec.completions: Invalid value: 5: field is immutable\n", // in both answers
			file + ":1: kubectl apply: Job resize rejected, 1 error, 0 warnings",
			file + ":1: kubectl replace: Job resize rejected, 5 errors, 0 warnings",
		}},
		{"the image", "resize:1", "resize:2", 3, []string{
			file + ":14:9: error: spec.template: Invalid value: field is immutable; the first difference is at spec.template.spec.containers[0].image [kubectl apply]\n",
		}},
		{"a removed volume", "      - name: scratch\n", "", 3, []string{"the first difference is at spec.template.spec.volumes [kubectl apply]\n"}},
		{"an old version", "name: resize\nspec", "name: resize\n  resourceVersion: '1'\nspec", 3, []string{
			file + ":5:3: error: metadata.resourceVersion: the object has been modified; please apply your changes to the latest version and try again\n",
		}},
		{"no name", "  name: resize\nspec", "  labels: {}\nspec", 3, []string{"error: metadata.name: Required value: kubectl apply needs a name [kubectl apply]\n"}},
	} {
		text := strings.Replace(resize, tc.from, tc.to, 1)
		if (text == resize) != (tc.from == tc.to) {
			t.Fatalf("%s: the manifest has no %q", tc.reason, tc.from)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Log(tc.reason)
		s.want(tc.status, []string{"validate", "resize", "-f", file}, tc.want...)
	}
}

// lastApplied returns the annotation that kubectl apply would write.
func lastApplied(t *testing.T, manifest string) string {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
