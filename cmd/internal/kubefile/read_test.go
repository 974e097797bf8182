package kubefile_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	. "github.com/jobfate/jobfate/internal/podtest"
)

const (
	jobYAML  = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {completions: 3}\nstatus: {}\n"
	podYAML  = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {}\nstatus: {phase: Running}\n"
	jobJSON  = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"completions":3},"status":{}}`
	podJSON  = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{},"status":{"phase":"Running"}}`
	listJSON = `{"apiVersion":"v1","kind":"List","items":[%s]}`
)

func read(texts ...string) (*kubefile.Input, error) {
	var sources []kubefile.Source
	for i, text := range texts {
		sources = append(sources, kubefile.Source{Name: fmt.Sprintf("f%d", i+1), Reader: strings.NewReader(text)})
	}
	return kubefile.Read(sources...)
}

func pod(format, name string) string { return fmt.Sprintf(format, name) }

// TestRead reads the files in testdata. A directive has files with a line === between them, or each of them as a Go
// string. That of manifests has one file, and that of document one thing.
func TestRead(t *testing.T) {
	datadriven.RunTest(t, "testdata/read.txt", func(t *testing.T, d *datadriven.TestData) string {
		files := strings.Split(d.Input+"\n", "===\n")
		if d.Cmd == "quoted" {
			for i, line := range strings.Split(d.Input, "\n") {
				text, err := strconv.Unquote(line)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				files = append(files[:i], text)
			}
		}
		source := kubefile.Source{Name: "f1", Reader: strings.NewReader(d.Input + "\n")}
		switch d.Cmd {
		case "manifests":
			return told(kubefile.ReadManifests(source))
		case "document":
			at, err := kubefile.ReadDocument(source, "a thing", func(text []byte) error { return utiljson.Unmarshal(text, &thing{}) })
			if err != nil {
				text, _, _ := strings.Cut(err.Error(), " into kubefile_test.") // releases of Go name types in different forms
				return fmt.Sprintf("error: %s\n", text)
			}
			return fmt.Sprintf("name at %s\n", at.At("name"))
		}
		return told(read(files...))
	})
}

// thing is the content of a document.
type (
	thing struct {
		Name string `json:"name"`
		Of   things `json:"of"`
		List items  `json:"list"`
	}
	things map[string]thing
	items  []struct {
		M int `json:"m"`
	}
)

// told says what was read, and where, one object a line.
func told(in *kubefile.Input, err error) string {
	var b strings.Builder
	for _, m := range in.Jobs {
		spec := m.Job.Spec
		fmt.Fprintf(&b, "Job %s, %s: completions %d, parallelism %d", m.Job.Name, m.At, valueOf(spec.Completions), valueOf(spec.Parallelism))
		if m.RuleNames != nil {
			fmt.Fprintf(&b, ", rules %q", m.RuleNames)
		}
		if m.Unknown != nil {
			fmt.Fprintf(&b, ", unknown %q", m.Unknown)
		}
		for _, p := range m.Problems {
			fmt.Fprintf(&b, ", %s: %s", p.Field, p.Message)
		}
		b.WriteString("\n")
	}
	for i, p := range in.Pods {
		fmt.Fprintf(&b, "Pod %s, %s\n", p.Name, in.PodsAt[i])
	}
	for _, e := range in.Events {
		fmt.Fprintf(&b, "Event %s\n", e.Reason)
	}
	for _, n := range in.Nodes {
		fmt.Fprintf(&b, "Node %s\n", n.Name)
	}
	if len(in.Skipped) > 0 {
		fmt.Fprintf(&b, "skipped: %s\n", in.Skipped)
	}
	if err = cmp.Or(err, in.Err()); err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

func valueOf(n *int32) int32 { return *cmp.Or(n, new(int32)) }

// TestRead_tooDeep checks that too many levels are an error, and so are no files.
func TestRead_tooDeep(t *testing.T) {
	for _, tc := range []struct {
		files []string
		want  string // a part of the error
	}{
		{nil, "the input has no Job"},
		{[]string{strings.Repeat(`{"a":`, 140_000)}, "exceeded max depth"},
		{[]string{"a: " + strings.Repeat("[", 20_000)}, "f1: document 1: exceeded max depth of 10000"},
	} {
		if _, err := read(tc.files...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got error %v, want one with %q", err, tc.want)
		}
	}
}

// TestManyAliases checks that a file is not read further once its aliases repeat too much.
func TestManyAliases(t *testing.T) {
	bomb := "---\nkind: A\na: &a [" + strings.Repeat("a,", 16_000) + "a]\nb: [" + strings.Repeat("*a,", 24) + "*a]\n"
	in, err := read(jobYAML + strings.Repeat(bomb, 6))
	if err != nil || len(in.Unreadable) != 1 || in.Unreadable[0].Error() != "f1: document 5: the aliases of this file repeat too much; the rest is not read" {
		t.Errorf("got %v, %v, want one error", err, in.Unreadable)
	}
}

// TestCopies reads objects twice. The copy with the higher resourceVersion counts, or else the later one.
func TestCopies(t *testing.T) {
	object := func(text, uid, version, label string) string {
		return strings.Replace(text, `"metadata":{`, fmt.Sprintf(`"metadata":{"uid":%q,"resourceVersion":%q,"labels":{"copy":%q},`, uid, version, label), 1)
	}
	for _, tc := range []struct {
		reason, first, second string // the versions
		want                  string // the copy that counts
	}{
		{"both equal", "5", "5", "second"},
		{"the first is newer", "10", "9", "first"},
		{"the second is newer", "9", "10", "second"},
		{"no numbers", "b", "a", "second"},
		{"no versions", "", "", "second"},
	} {
		both := func(text string) string {
			return object(text, "u", tc.first, "first") + "," + object(text, "u", tc.second, "second")
		}
		in := Must(read(fmt.Sprintf(listJSON, both(jobJSON)+","+both(pod(podJSON, "p"))+","+object(pod(podJSON, "q"), "v", "1", "")+","+
			both(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)+","+both(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`))))
		if len(in.Jobs) != 1 || len(in.Pods) != 2 || len(in.PodsAt) != 2 || len(in.Events) != 1 || len(in.Nodes) != 1 {
			t.Fatalf("%s: got %+v, want one Job, event and node, and two pods", tc.reason, in)
		}
		i := slices.IndexFunc(in.Pods, func(p *corev1.Pod) bool { return p.Name == "p" })
		got := []string{in.Jobs[0].Job.Labels["copy"], in.Pods[i].Labels["copy"], in.Events[0].Labels["copy"], in.Nodes[0].Labels["copy"], in.PodsAt[i].String()}
		place := map[string]string{"first": "f1: document 1, item 3", "second": "f1: document 1, item 4"}[tc.want]
		if diff := gocmp.Diff([]string{tc.want, tc.want, tc.want, tc.want, place}, got); diff != "" {
			t.Errorf("%s: copies (-want +got):\n%s", tc.reason, diff)
		}
	}
	// Without UIDs nothing says that objects are the same; with other UIDs they are not.
	in, err := read(fmt.Sprintf(listJSON, jobJSON+","+pod(podJSON, "p")+","+pod(podJSON, "p")+","+object(pod(podJSON, "p"), "u", "1", "")+","+object(pod(podJSON, "p"), "v", "1", "")))
	if err != nil || len(in.Pods) != 4 {
		t.Errorf("got %v, %v, want four pods", in, err)
	}
}

// TestListsOfOtherTools reads long Lists as yq and PyYAML print them. Each item has few values, but
// the whole List has more than a single document may have.
func TestListsOfOtherTools(t *testing.T) {
	const n = 3000
	lines := strings.Split(strings.TrimSpace("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  labels:\n    a: b\nspec:\n  containers:\n  - name: main\n    args:\n    - |\n      - a\n\n      b: c\n    env:"+
		strings.Repeat("\n    - name: a\n      value: b", 10)+"\nstatus: {phase: Running}"), "\n")
	items := func(indent string) string {
		return strings.Repeat(indent+"- "+strings.Join(lines, "\n"+indent+"  ")+"\n", n)
	}
	for tool, list := range map[string]string{
		"kubectl":                       "apiVersion: v1\nitems:\n" + items("") + "kind: List\nmetadata:\n  resourceVersion: \"\"\n",
		"yq":                            "apiVersion: v1\nitems:\n" + items("  ") + "kind: List\nmetadata:\n  resourceVersion: \"\"\n",
		"yq, from JSON":                 "apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: \"\"\nitems:\n" + items("  "),
		"yq, with an indentation of 4":  "apiVersion: v1\nkind: List\nitems:\n" + items("    ") + "metadata:\n    resourceVersion: \"\"\n",
		"PyYAML":                        "apiVersion: v1\nitems:\n" + items("") + "kind: List\nmetadata:\n  resourceVersion: ''\n",
		"PyYAML, with sort_keys=False":  "apiVersion: v1\nkind: List\nmetadata:\n  resourceVersion: ''\nitems:\n" + items(""),
		"ruamel.yaml, with all options": "# a comment\napiVersion: 'v1'\nkind: \"PodList\"\nmetadata: {resourceVersion: ''}\nitems:\n" + items("  "),
	} {
		in, err := read(jobYAML + "---\n" + list)
		if err != nil || len(in.Unreadable) > 0 || len(in.Pods) != n {
			t.Fatalf("%s: got %v, want %d pods; %v", tool, err, n, in)
		}
		last := in.PodsAt[n-1]
		line, column := last.Position("status.phase")
		whole := jobYAML + "---\n" + list
		want := strings.Count(whole[:strings.LastIndex(whole, "status:")], "\n") + 1
		if got := strings.Split(whole, "\n")[line-1]; line != want || !strings.HasPrefix(got[column-1:], "phase: Running") || last.String() != fmt.Sprintf("f1: document 2, item %d", n) {
			t.Errorf("%s: got %s at %d:%d, %q, want line %d", tool, last, line, column, got, want)
		}
	}
	wrong := jobYAML + "---\napiVersion: v1\nkind: List\nitems:\n" + items("  ") + "  - a: b: c\n"
	in, err := read(wrong)
	want := fmt.Sprintf("f1: document 2, item %d: line %d: mapping values are not allowed in this context", n+1, strings.Count(wrong, "\n"))
	if err != nil || len(in.Unreadable) != 1 || in.Unreadable[0].Error() != want {
		t.Errorf("a wrong item: got %v, %v, want %s", err, in.Unreadable, want)
	}
}

// FuzzRead checks that any text gives either a complete input or an error that names the
// source.
func FuzzRead(f *testing.F) {
	f.Add(jobYAML + "---\n" + pod(podYAML, "p"))
	f.Add(jobJSON + pod(podJSON, "p"))
	f.Add(fmt.Sprintf(listJSON, jobJSON+","+pod(podJSON, "p")))
	f.Add("---\n- &a [*a]\n")
	f.Add("apiVersion: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := read(text)
		if err = cmp.Or(err, in.Err()); err != nil {
			if !strings.HasPrefix(err.Error(), "f1:") {
				t.Fatalf("got error %q, want it to name f1", err)
			}
			return
		}
		if len(in.Jobs) == 0 || len(in.Pods) != len(in.PodsAt) {
			t.Fatalf("got %d Jobs, %d pods and %d places, want a Job and as many places as pods", len(in.Jobs), len(in.Pods), len(in.PodsAt))
		}
		for i, p := range in.Pods {
			if p == nil || !strings.HasPrefix(in.PodsAt[i].String(), "f1: document ") {
				t.Fatalf("pod %d: got %v at %v, want a pod at a place", i, p, in.PodsAt[i])
			}
		}
	})
}
