package kubefile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"pgregory.net/rapid"
)

func TestLineOf(t *testing.T) {
	const yaml = `# a comment
apiVersion: batch/v1
metadata:
  labels:
    "example.com/a": b # another
    'c d':   e
  annotations: {x: 1, "y": [2,
    3], z: {w: 4}}
spec:
  script: |
    name: not a field
    - nor: this

  text: "spans
    name: two lines"
  plain: spans
    two lines
  list:
  - name: first
    args:
    - -c
    -   - nested
        - twice
  -
    name: second
  - third
  deep:
    - a: 1

    - b: 2
  empty:
status: {}
`
	for field, want := range map[string]int{
		"apiVersion": 2, "metadata": 3, "metadata.labels": 4,
		"metadata.labels[example.com/a]": 5, "metadata.labels.example.com/a": 5, "metadata.labels[c d]": 6,
		"metadata.annotations.x": 7, "metadata.annotations[y]": 7, "metadata.annotations.y[1]": 8, "metadata.annotations.z.w": 8,
		"spec.script": 10, "spec.script.name": 10, "spec.name": 9, "spec.text": 14, "spec.plain": 16,
		"spec.list[0].name": 19, "spec.list[0].args[0]": 21, "spec.list[0].args[1][1]": 23, "spec.list[1].name": 25, "spec.list[2]": 26,
		"spec.list[3]": 18, "spec.deep[0].a": 28, "spec.deep[1].b": 30, "spec.empty": 31, "spec.empty.more": 31, "status": 32,
		"nothing": 2, "": 2,
	} {
		if got := (&text{bytes: []byte(yaml), line: 1}).lineOf(field); got != want {
			t.Errorf("%s: got line %d, want %d", field, got, want)
		}
	}
	if got := (Place{line: 7}).Line("spec"); got != 7 {
		t.Errorf("without a text: got line %d, want 7", got)
	}
}

// TestLinesOfAnything prints values with marks in YAML and in JSON, and looks
// each mark up by its path.
func TestLinesOfAnything(t *testing.T) {
	yaml := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, nil, serializer.SerializerOptions{Yaml: true})
	rapid.Check(t, func(t *rapid.T) {
		marks := map[string]string{} // by path
		var value func(depth int, path string) any
		value = func(depth int, path string) any {
			switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case kind <= 1 && depth > 0:
				list := []any{}
				for i := range rapid.IntRange(0, 3).Draw(t, "length") {
					list = append(list, value(depth-1, fmt.Sprintf("%s[%d]", path, i)))
				}
				return list
			case kind <= 3 && depth > 0:
				m := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "size") {
					key := rapid.SampledFrom([]string{"a", "bc", "example.com/x", "with space", "123", "true", "a: b"}).Draw(t, "key")
					if _, ok := m[key]; !ok {
						m[key] = value(depth-1, path+"."+key)
					}
				}
				return m
			}
			mark := fmt.Sprintf("mark-%d-", len(marks))
			marks[path] = mark
			return mark + rapid.SampledFrom([]string{"", ": x", " - y", " # z", "{", "\n  a: 1\n", strings.Repeat("long ", 40)}).Draw(t, "tail")
		}
		object := map[string]any{"kind": "Test", "apiVersion": "v1", "spec": value(4, "spec")}
		var asYAML strings.Builder
		if err := yaml.Encode(&unstructured.Unstructured{Object: object}, &asYAML); err != nil {
			t.Fatal(err)
		}
		indented, _ := json.MarshalIndent(object, "", "  ")
		for _, printed := range []string{asYAML.String(), string(indented)} {
			lines := strings.Split(printed, "\n")
			x := &text{bytes: []byte(printed)}
			for path, mark := range marks {
				n := x.lineOf(path)
				near := strings.Join(lines[n:min(n+2, len(lines))], "\n") // a long or multi-line text may begin below its key
				if !strings.Contains(near, mark) {
					t.Fatalf("%s: got line %d, %q, want one with %s in\n%s", path, n, lines[n], mark, printed)
				}
			}
		}
	})
}

// FuzzLines checks that whatever the text is, finding lines ends and stays
// within it.
func FuzzLines(f *testing.F) {
	f.Add("a: {b: [c, \"d\n\"]}\n- - e: 'f\n", "a.b[1]")
	f.Fuzz(func(t *testing.T, doc, field string) {
		if n := (&text{bytes: []byte(doc)}).lineOf(field); n < 0 || n > strings.Count(doc, "\n") {
			t.Fatalf("got line %d of %q", n, doc)
		}
	})
}
