package functions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/conformance/schema"
	"github.com/jobfate/jobfate/conformance/shrink"
	"github.com/jobfate/jobfate/vectors"
)

var makeVectors = flag.Bool("vectors", false, "rewrite the files of the folder vectors/functions")

const (
	vectorsDir  = "../../vectors/functions"
	perFunction = 150 // the number of drawn cases
)

// subject is a function with cases.
type subject struct {
	name  string
	draw  func(draw) any
	aimed []any // further inputs
	// shrinks says that drawn inputs are large. They are shrunk as long as the function
	// returns the same.
	shrinks bool
	cases   int // the number of drawn cases; 0: perFunction
	// oracle is the name of the function of Kubernetes that kubernetes runs. kubernetes gets
	// the input and the output of jobfate, and returns that output with the values of the
	// oracle in it, or nil if the oracle does not accept the input.
	oracle     string
	kubernetes func(in, ours []byte) any
	// divergence returns the heading in docs/divergences.md under which the two differ. It
	// is nil if they never differ.
	divergence func(in []byte) string
}

// subjects lists the subjects of each file.
var subjects = map[string][]subject{"backoff": aboutBackoff, "indexes": aboutIndexes, "policies": aboutPolicies, "pods": aboutPods, "validation": aboutValidation, "status": aboutStatus}

// asks returns a function that takes the input and the output of jobfate as JSON.
func asks[In, Out any](f func(in In, out *Out)) func(in, ours []byte) any {
	return func(in, ours []byte) any {
		out := decoded[Out](ours)
		f(decoded[In](in), &out)
		return out
	}
}

// decoded decodes JSON that jobfate has read, or that was written here.
func decoded[T any](data []byte) (v T) {
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	return v
}

// always returns a divergence that does not depend on the input.
func always(name string) func([]byte) string { return func([]byte) string { return name } }

// call returns the case of an input.
func (s *subject) call(t *testing.T, in json.RawMessage) *vectors.Call {
	t.Helper()
	c := &vectors.Call{Function: s.name, In: in, Oracle: s.oracle}
	var err error
	if c.Jobfate, err = c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, in)
	}
	if s.kubernetes == nil {
		return c
	}
	answer := s.kubernetes(in, c.Jobfate)
	if answer == nil {
		c.Oracle = ""
		return c
	}
	theirs := json.RawMessage(text(answer))
	if bytes.Equal(c.Jobfate, theirs) {
		return c
	}
	if s.divergence == nil {
		t.Fatalf("%s: %s\njobfate    %s\nKubernetes %s", s.name, in, c.Jobfate, theirs)
	}
	c.Kubernetes, c.Divergences = theirs, []string{s.divergence(in)}
	return c
}

// shrink removes parts of an input as long as the function returns the same.
func (s *subject) shrink(in any) any {
	tree := decoded[map[string]any]([]byte(text(in)))
	returns := func() string {
		out, err := vectors.Functions[s.name]([]byte(text(tree)))
		if err != nil {
			return ""
		}
		return text(out)
	}
	same := returns()
	shrinker := shrink.Shrinker{
		Read:      func() (string, bool) { return text(tree), true },
		Keeps:     func() bool { return returns() == same },
		Essential: []string{"job", "name", "uid"},
	}
	shrinker.Until(func() {
		shrinker.Object(tree)
		shrinker.Object(tree["job"].(map[string]any))
	})
	return tree
}

// TestMakeVectors writes the files of the folder vectors/functions. It needs the flag -vectors.
func TestMakeVectors(t *testing.T) {
	if !*makeVectors {
		t.Skip("only with -vectors")
	}
	for file, list := range subjects {
		var out bytes.Buffer
		for _, s := range list {
			seen := map[string]bool{}
			add := func(in any) {
				if in := text(in); !seen[in] {
					seen[in] = true
					out.WriteString(text(s.call(t, json.RawMessage(in))) + "\n")
				}
			}
			want := cmp.Or(s.cases, perFunction)
			for seed := uint64(0); s.draw != nil && len(seen) < want; seed++ {
				d := draw{rand.New(rand.NewPCG(1, seed)), min(10*len(seen)/want, 9)}
				if !s.shrinks {
					add(s.draw(d))
					continue
				}
				d.size = 9
				add(s.shrink(s.draw(d)))
			}
			for _, in := range s.aimed {
				add(in)
			}
		}
		if err := os.WriteFile(filepath.Join(vectorsDir, file+".jsonl"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVectors checks every case of the folder vectors/functions against the schema there,
// against jobfate and against the functions of Kubernetes.
func TestVectors(t *testing.T) {
	found := map[*subject]int{}
	for line := range schema.Lines[vectors.Call](t, vectorsDir) {
		list := subjects[strings.TrimSuffix(filepath.Base(line.File), ".jsonl")]
		at := slices.IndexFunc(list, func(s subject) bool { return s.name == line.Case.Function })
		if at < 0 {
			t.Fatalf("%s has a case of the unknown function %s", line.File, line.Case.Function)
		}
		found[&list[at]]++
		if diff := gocmp.Diff(string(line.Text), text(list[at].call(t, line.Case.In))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line.File, diff)
		}
	}
	for file, list := range subjects {
		for i := range list {
			if found[&list[i]] == 0 {
				t.Errorf("%s.jsonl has no case of %s", file, list[i].name)
			}
		}
	}
}
