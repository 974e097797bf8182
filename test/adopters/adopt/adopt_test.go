package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// docs/replace.md shows the first function of our Kueue.
func TestDocument(t *testing.T) {
	var texts [2]string
	for i, path := range []string{"../../../docs/replace.md", "testdata/kueue/pkg/controller/jobs/job/job_controller.go"} {
		text, err := os.ReadFile(path)
		NoError(t, err)
		texts[i] = string(text)
	}
	_, rest, _ := strings.Cut(texts[1], "\n)\n")
	code, _, _ := strings.Cut(rest, "\n}\n")
	if !strings.Contains(texts[0], "```go"+code+"\n}\n```\n") {
		t.Errorf("docs/replace.md does not show %s", code)
	}
}

// Git, and the conventions of all projects, want a short subject, and in Kueue nothing that mentions an issue.
func TestMessages(t *testing.T) {
	for _, p := range projects {
		text, err := os.ReadFile("testdata/" + p.name + "/message")
		NoError(t, err)
		subject, body, _ := strings.Cut(string(text), "\n")
		if body != "" && body[0] != '\n' || strings.Contains(body, "#") || p.mends != "" && body == "" {
			t.Errorf("%s: the body of the message is %q", p.name, body)
		}
		for _, line := range append(strings.Split(body, "\n"), subject) {
			if len(line) > 72 {
				t.Errorf("%s: more than 72 characters: %s", p.name, line)
			}
		}
	}
}

func TestSplice(t *testing.T) {
	theirs := `package p

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"example.com/p/local"
)

// F prints.
func F() { fmt.Println(strings.ToUpper("f")) }

type T map[local.ID]batchv1.Job

func (t *T) F() { G() }

// G is used by no one else.
func G() { fmt.Println("g") }
`
	ours := `package p

import (
	"slices"

	"example.com/ours"
)

var list = []int{ours.One}

// F counts.
func (*T) F() { _ = slices.Max(list) }

func last() {}

func skipped() {}
`
	want := `package p

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ours"
	batchv1 "k8s.io/api/batch/v1"

	"example.com/p/local"
)

// F prints.
func F() { fmt.Println(strings.ToUpper("f")) }

type T map[local.ID]batchv1.Job

var list = []int{ours.One}

// F counts.
func (*T) F() { _ = slices.Max(list) }

func last() {}
`
	got, err := splice("p.go", []byte(theirs), []byte(ours), []string{"G"}, []string{"skipped"})
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestSpecs(t *testing.T) {
	got, err := specs([]byte(`[{"SpecReports": [
		{"LeafNodeType": "BeforeSuite", "State": "passed"},
		{"ContainerHierarchyTexts": ["JobSet", "with a"], "LeafNodeText": "runs", "LeafNodeType": "It", "State": "passed"},
		{"ContainerHierarchyTexts": ["JobSet", "with a"], "LeafNodeText": "runs", "LeafNodeType": "It", "State": "failed"}
	]}]`))
	want := results{"JobSet with a runs": "pass", "JobSet with a runs again": "fail"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestStay(t *testing.T) {
	before := map[string]string{"k8s.io/api": "v0.35.0", "gone": "v1"}
	for name, version := range map[string]string{"k8s.io/api": "v0.35.0", "pgregory.net/rapid": "v1", library + "/jobtest": ""} {
		if err := stay(before, map[string]string{name: version}); err != nil {
			t.Error(err)
		}
	}
	for name, version := range map[string]string{"k8s.io/api": "v0.36.0", "k8s.io/klog": "v1"} {
		if stay(before, map[string]string{name: version}) == nil {
			t.Errorf("%s may move to %s", name, version)
		}
	}
}

func TestExplain(t *testing.T) {
	before := results{"p.T": "pass", "p.T/a": "pass", "p.T/b": "pass", "p.U": "pass"}
	after := results{"p.T": "fail", "p.T/a": "fail", "p.T/b": "pass", "p.U": "pass"}
	for name, tc := range map[string]struct {
		reasons []reason
		mends   string
		want    string // a part of the error
	}{
		"a part and the whole": {[]reason{{"p.T/a", "known"}}, "p.U", ""},
		"mends nothing":        {[]reason{{"p.T/a", "known"}}, "p.T/a", `p.T/a: "fail" with jobfate`},
		"no reason":            {nil, "", `p.T/a: "pass" before, "fail" after, and no reason`},
		"a reason too many":    {[]reason{{"p.T/a", "known"}, {"p.U", "gone"}}, "", "p.U has a reason to differ, and does not: gone"},
	} {
		_, err := (&project{reasons: tc.reasons, mends: tc.mends}).explain(before, after)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if _, err := (&project{}).explain(before, results{"p.U": "pass"}); err == nil {
		t.Error("tests that are gone need no reason")
	}
}

// A new test differs from none, whatever its result.
func TestFails(t *testing.T) {
	p := project{mends: "p.New"}
	for result, want := range map[string]bool{"pass": false, "fail": true, "skip": false} {
		err := p.fails(results{"p.T": "pass"}, results{"p.T": "pass", "p.New": result})
		if (err == nil) != want {
			t.Errorf("the new test has the result %s: got %v", result, err)
		}
	}
}
