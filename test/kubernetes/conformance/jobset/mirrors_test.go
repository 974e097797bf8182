package jobset

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The structs of link.go have the fields of JobSet's, in the same order.
func TestMirrors(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "sigs.k8s.io/jobset/pkg/controllers", "sigs.k8s.io/jobset/pkg/webhooks").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, dir := range strings.Fields(string(out)) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				structs(t, file, want)
			}
		}
	}
	got := map[string]string{}
	structs(t, "link.go", got)
	if len(got) != 4 {
		t.Errorf("link.go declares %d structs, want 4", len(got))
	}
	for name, fields := range got {
		if fields != want[name] {
			t.Errorf("%s has the fields\n%swant\n%s", name, fields, want[name])
		}
	}
}

// structs adds the fields of each struct that a file declares, one per line.
func structs(t *testing.T, name string, to map[string]string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if st, ok := spec.Type.(*ast.StructType); ok {
				var fields bytes.Buffer
				for _, f := range st.Fields.List {
					for _, name := range f.Names {
						fields.WriteString(name.Name + " ")
					}
					if err := format.Node(&fields, fset, f.Type); err != nil {
						t.Fatal(err)
					}
					fields.WriteByte('\n')
				}
				to[spec.Name.Name] = fields.String()
			}
		}
		return true
	})
}
