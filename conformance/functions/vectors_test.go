package functions

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobfate/jobfate/internal/vectors"
)

var makeVectors = flag.Bool("vectors", false, "write the files of the folder vectors/functions anew")

const (
	vectorsDir  = "../../vectors/functions"
	perFunction = 150 // cases that are drawn
)

// subject is a function of which there are cases.
type subject struct {
	name  string
	draw  func(draw) any
	aimed []any // further inputs
	// oracle is the function of Kubernetes that kubernetes runs: on an input, with what
	// jobfate returns for it, of which it replaces what the oracle returns too. It returns
	// nil for an input that the oracle does not take.
	oracle     string
	kubernetes func(in, ours []byte) any
	// divergence says why the two differ: a heading of docs/divergences.md. It is nil if
	// they never do.
	divergence func(in []byte) string
}

// subjects are those of each file.
var subjects = map[string][]subject{"backoff": aboutBackoff, "indexes": aboutIndexes, "policies": aboutPolicies, "pods": aboutPods}

// asks returns a function that takes the input and the output of jobfate as JSON.
func asks[In, Out any](f func(in In, out *Out)) func(in, ours []byte) any {
	return func(in, ours []byte) any {
		var i In
		var o Out
		if err := json.Unmarshal(in, &i); err != nil {
			panic(err) // jobfate has read it
		}
		if err := json.Unmarshal(ours, &o); err != nil {
			panic(err) // it was made of it
		}
		f(i, &o)
		return o
	}
}

// always is the one reason why the two differ.
func always(name string) func([]byte) string { return func([]byte) string { return name } }

// call makes a case of an input.
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

// TestMakeVectors writes the files of the folder vectors/functions, if it is asked to.
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
			for seed := uint64(0); s.draw != nil && len(seen) < perFunction; seed++ {
				add(s.draw(draw{rand.New(rand.NewPCG(1, seed)), min(10*len(seen)/perFunction, 9)}))
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
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for file, list := range subjects {
		named := map[string]*subject{}
		for i := range list {
			named[list[i].name] = &list[i]
		}
		found := map[string]int{}
		data, err := os.ReadFile(filepath.Join(vectorsDir, file+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
			if err == nil {
				err = schema.Validate(value)
			}
			var c vectors.Call
			if err == nil {
				err = json.Unmarshal(lines.Bytes(), &c)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, lines.Bytes())
			}
			s := named[c.Function]
			if s == nil {
				t.Fatalf("%s.jsonl has a case of %s", file, c.Function)
			}
			found[c.Function]++
			if diff := cmp.Diff(lines.Text(), text(s.call(t, c.In))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
		for name := range named {
			if found[name] == 0 {
				t.Errorf("%s.jsonl has no case of %s", file, name)
			}
		}
	}
}
