package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// crdTypes is a kind with every type of the library that is meant for a CRD.
const crdTypes = `// +kubebuilder:object:generate=true
// +groupName=example.com
// +versionName=v1

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/indexset"
)

// +kubebuilder:object:root=true
type All struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Policy  group.Policy       ` + "`json:\"policy\"`" + `
	State   *group.State       ` + "`json:\"state\"`" + `
	Rules   failurepolicy.Spec ` + "`json:\"rules\"`" + `
	Backoff *backoff.Policy    ` + "`json:\"backoff\"`" + `
	Record  backoff.Record     ` + "`json:\"record\"`" + `
	Done    []indexset.Text    ` + "`json:\"done\"`" + `
}

func main() {}
`

// The code that controller-gen makes of the types compiles, and their schemas have all fields: none
// is an object whose content would be pruned, and none preserves unknown fields.
func TestTypesFitIntoACRD(t *testing.T) {
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// The module has the requirements of examples/jobgroup.
	mod := read(filepath.Join(root, "examples/jobgroup/go.mod"))
	write("go.mod", strings.ReplaceAll(strings.ReplaceAll(mod, "=> ../../", "=> "+top+"/"), "=> ../..\n", "=> "+top+"\n"))
	write("go.sum", read(filepath.Join(root, "examples/jobgroup/go.sum")))
	write("types.go", crdTypes)
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	tool := filepath.Join(dir, "controller-gen")
	build := exec.Command("go", "build", "-o", tool, "sigs.k8s.io/controller-tools/cmd/controller-gen")
	build.Dir = filepath.Join(top, "tools")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	generate := exec.Command(tool, "object", "crd", "paths=.", "output:crd:dir=.")
	generate.Dir, generate.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen: %v\n%s", err, out)
	}
	run("build", "-o", os.DevNull, ".")
	crds, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(crds) != 1 {
		t.Fatalf("the CRDs are %v", crds)
	}
	schema := read(crds[0])
	for _, field := range []string{"budgets", "charges", "onMessagePatterns", "notBefore", "used", "onStatus", "onPodConditions", "base", "factor", "lastFailure", "done"} {
		if !strings.Contains(schema, " "+field+":\n") {
			t.Errorf("the schema has no field %s", field)
		}
	}
	if strings.Contains(schema, "preserve-unknown-fields") {
		t.Error("the schema accepts unknown fields")
	}
	// controller-gen does not know omitzero.
	for _, field := range []string{"group", "lastFailure"} {
		if strings.Contains(schema, "- "+field+"\n") {
			t.Errorf("the field %s is required", field)
		}
	}
	_, last, _ := strings.Cut(schema, "lastFailure:\n")
	if last, _, _ = strings.Cut(last, "version:\n"); !strings.Contains(last, "format: date-time\n") || !strings.Contains(last, "type: string\n") {
		t.Errorf("lastFailure is no time:\n%s", last)
	}
}
