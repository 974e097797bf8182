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
	// The module has the requirements of the examples.
	mod := readPage(t, "examples/go.mod")
	write("go.mod", strings.ReplaceAll(mod, "=> ../", "=> "+top+"/"))
	write("go.sum", readPage(t, "examples/go.sum"))
	write("types.go", crdTypes)
	run := func(dir, mod, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod="+mod)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	tool := filepath.Join(dir, "controller-gen")
	run(filepath.Join(top, "tools"), "readonly", "go", "build", "-o", tool, "sigs.k8s.io/controller-tools/cmd/controller-gen")
	run(dir, "mod", tool, "object", "crd", "paths=.", "output:crd:dir=.")
	run(dir, "mod", "go", "build", "-o", os.DevNull, ".")
	crds, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if len(crds) != 1 {
		t.Fatalf("the CRDs are %v", crds)
	}
	text, err := os.ReadFile(crds[0])
	if err != nil {
		t.Fatal(err)
	}
	schema := string(text)
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
