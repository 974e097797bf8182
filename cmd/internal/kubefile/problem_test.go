package kubefile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// TestReadDocument checks the errors about wrong documents.
func TestReadDocument(t *testing.T) {
	type thing struct {
		Name string           `json:"name"`
		Of   map[string]thing `json:"of"`
		List []struct {
			M int `json:"m"`
		} `json:"list"`
	}
	for _, tc := range []struct{ reason, input, want string }{
		{"right", "name: a\nlist: [{m: 1}]\n", ""},
		{"JSON", `{"name": "a"}`, ""},
		{"nothing", "", "f: the input is empty; want a thing"},
		{"two", "---\nname: a\n---\nname: b\n", "f:4: a second document; want a thing"},
		{"something of Kubernetes", "kind: Pod\n", "f: document 1 is a Pod; want a thing"},
		{"no object", "5\n", "f: document 1 is not an object; want a thing"},
		{"no YAML", "a: [\n", "f: document 1: line 1: "},
		{"no JSON", "{\n  \"a\": 1,}", "f: document 1: line 2: "},
		{"flow style", "{name: a, list: [{m: 1}]}\n", ""},
		{"deep within", "name: a\nof:\n  x: {}\n  u:\n    of:\n      z: {name: 5}\n", "f:6: of.u.of.z.name: cannot unmarshal number into string"},
		{"in a list", "list:\n- m: 1\n- m: 2\n- m: x\n", "f:4: list[2].m: cannot unmarshal string into int"},
		{"a list where an object is wanted", "of: [1]\n", "f:1: of: cannot unmarshal array into"},
		{"an object where a list is wanted", "list:\n  a: 1\n", "f:1: list: cannot unmarshal object into"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			at, err := ReadDocument(Source{Name: "f", Reader: strings.NewReader(tc.input)}, "a thing", func(text []byte) error {
				return utiljson.Unmarshal(text, &thing{})
			})
			if tc.want == "" {
				if err != nil || at.At("name") != "f:1" {
					t.Errorf("got %v, at %s, want no error, at f:1", err, at.At("name"))
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	broken := Source{Name: "f", Reader: iotest.ErrReader(errors.New("no more"))}
	if _, err := ReadDocument(broken, "a thing", nil); err == nil || err.Error() != "f: no more" {
		t.Errorf("got %v, want f: no more", err)
	}
	if _, err := ReadDocument(Source{Name: "f", Reader: strings.NewReader("a: 1\n")}, "a thing", func(text []byte) error {
		if string(text) == `{"a":1}` {
			return errors.New("only as a whole")
		}
		return nil
	}); err == nil || err.Error() != "f:1: a: only as a whole" {
		t.Errorf("got %v, want f:1: a: only as a whole", err)
	}
}

// TestOneLongLine looks up fields of JSON on a single line: the text is parsed once.
func TestOneLongLine(t *testing.T) {
	const owners = 25_000
	list := strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v1","kind":"A","name":"a","uid":"b","controller":true},`, owners), ",")
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","ownerReferences":[` + list + `]},"spec":{},"status":{}}`
	in, err := Read(Source{Name: "f", Reader: strings.NewReader(job)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range owners {
		line, column := in.Jobs[0].At.Position(fmt.Sprintf("metadata.ownerReferences[%d].uid", i))
		if want := strings.Index(job, `"uid"`) + 1 + i*(len(list)+1)/owners; line != 1 || column != want {
			t.Fatalf("owner %d: got line %d, column %d, want 1, %d", i, line, column, want)
		}
	}
	allocs := testing.AllocsPerRun(10, func() { in.Jobs[0].At.Position("metadata.ownerReferences[1].uid") })
	if allocs > 10 {
		t.Errorf("a lookup makes %v allocations, as if it parsed the text again", allocs)
	}
}
