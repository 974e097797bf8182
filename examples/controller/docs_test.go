package main

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// documentImports are what the Go of docs/adopting.md may use, by the names under
// which it does.
var documentImports = map[string]string{
	"apierrors":     "k8s.io/apimachinery/pkg/api/errors",
	"batchv1":       "k8s.io/api/batch/v1",
	"cache":         "k8s.io/client-go/tools/cache",
	"context":       "context",
	"corev1":        "k8s.io/api/core/v1",
	"errors":        "errors",
	"failurepolicy": "github.com/jobfate/jobfate/failurepolicy",
	"inflight":      "github.com/jobfate/jobfate/inflight",
	"informers":     "k8s.io/client-go/informers",
	"jobfate":       "github.com/jobfate/jobfate",
	"jobstatus":     "github.com/jobfate/jobfate/jobstatus",
	"kubernetes":    "k8s.io/client-go/kubernetes",
	"loop":          "github.com/jobfate/jobfate/examples/loop",
	"metav1":        "k8s.io/apimachinery/pkg/apis/meta/v1",
	"schema":        "k8s.io/apimachinery/pkg/runtime/schema",
	"sync":          "sync",
	"time":          "time",
	"tracking":      "github.com/jobfate/jobfate/tracking",
	"types":         "k8s.io/apimachinery/pkg/types",
	"workqueue":     "k8s.io/client-go/util/workqueue",
}

// TestAdopting puts the Go of docs/adopting.md into one file, as a reader may, and
// runs it: testdata/adopting has a test that leads a Job to its end with it. It has
// a link to the document as well, for go test looks only at files of the module when
// it asks whether a result from its cache is still good.
func TestAdopting(t *testing.T) {
	document, err := os.ReadFile("testdata/adopting/adopting.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks strings.Builder
	for _, part := range strings.Split(string(document), "```go\n")[1:] {
		block, _, ok := strings.Cut(part, "```\n")
		if !ok {
			t.Fatalf("a block has no end:\n%s", part)
		}
		formatted, err := format.Source([]byte(block))
		if err != nil {
			t.Fatalf("not Go: %v\n%s", err, block)
		}
		if string(formatted) != block {
			t.Errorf("gofmt would change this block:\n%s", block)
		}
		blocks.WriteString("\n" + block)
	}
	var program strings.Builder
	program.WriteString("package main\n\n")
	for name, path := range documentImports {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(blocks.String()) {
			program.WriteString("import " + name + ` "` + path + "\"\n")
		}
	}
	program.WriteString(blocks.String())

	dir := t.TempDir()
	test, err := os.ReadFile("testdata/adopting/adopting_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"adopting.go": []byte(program.String()), "adopting_test.go": test}
	args := []string{"test"}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Errorf("the Go of docs/adopting.md: %v\n%s", err, out)
	}
}

// TestPermissionsAreDocumented: docs/adopting.md gives a reason for each verb that
// the manifests allow.
func TestPermissionsAreDocumented(t *testing.T) {
	document, err := os.ReadFile("testdata/adopting/adopting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(document), "| resource | verbs | why |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]bool{} // resource and verb
	resource := ""
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			t.Fatalf("no row of a table: %s", row)
		}
		if _, name, ok := strings.Cut(cells[1], "`"); ok {
			resource, _, _ = strings.Cut(name, "`")
		}
		for _, verb := range regexp.MustCompile(`[a-z]+`).FindAllString(cells[2], -1) {
			told[resource+" "+verb] = true
		}
	}
	manifests, err := os.ReadFile("deploy/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, manifest := range strings.Split(string(manifests), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(manifest), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				if want := rule.Resources[0] + " " + verb; !told[want] {
					t.Errorf("docs/adopting.md does not say what %q is for", want)
				}
			}
		}
	}
}
