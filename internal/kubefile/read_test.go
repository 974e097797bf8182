package kubefile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/internal/kubefile"
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

func TestRead(t *testing.T) {
	p, q := pod(podJSON, "p"), pod(podJSON, "q")
	for _, tc := range []struct {
		reason string
		files  []string
		job    string   // where the Job is
		pods   []string // name and place of each pod
	}{
		{"a Job alone", []string{jobYAML}, "f1: document 1", nil},
		{"two files", []string{jobYAML, pod(podYAML, "p")}, "f1: document 1", []string{"p f2: document 1"}},
		{"the pods first", []string{pod(podYAML, "p"), jobYAML}, "f2: document 1", []string{"p f1: document 1"}},
		{"documents in one file", []string{jobYAML + "---\n" + pod(podYAML, "p") + "---\n" + pod(podYAML, "q")}, "f1: document 1",
			[]string{"p f1: document 2", "q f1: document 3"}},
		{"empty documents do not count", []string{"---\n# a comment\n---\n\n---\n" + jobYAML + "---\n"}, "f1: document 1", nil},
		{"separators with spaces, comments and carriage returns", []string{"---\t\r\n" + jobYAML + "--- # pods\n" + pod(podYAML, "p") + "---\r\n" + pod(podYAML, "q")},
			"f1: document 1", []string{"p f1: document 2", "q f1: document 3"}},
		{"a document on the line of its separator", []string{jobYAML + "--- " + p + "\n...\n"}, "f1: document 1", []string{"p f1: document 2"}},
		{"a separator without a newline at the end", []string{jobYAML + "---"}, "f1: document 1", nil},
		{"a file without a newline at the end", []string{strings.TrimSpace(jobYAML)}, "f1: document 1", nil},
		{"JSON values one after the other", []string{jobJSON + p + "\n" + q}, "f1: document 1", []string{"p f1: document 2", "q f1: document 3"}},
		{"JSON and YAML in one file", []string{jobJSON + "\n---\n" + pod(podYAML, "p") + "---\n  " + q}, "f1: document 1",
			[]string{"p f1: document 2", "q f1: document 3"}},
		{"a byte order mark", []string{"\uFEFF" + jobJSON}, "f1: document 1", nil},
		{"a List, as kubectl get job,pods prints it", []string{fmt.Sprintf(listJSON, p+","+jobJSON+","+q)}, "f1: document 1, item 2",
			[]string{"p f1: document 1, item 1", "q f1: document 1, item 3"}},
		{"an empty List", []string{jobJSON + fmt.Sprintf(listJSON, "")}, "f1: document 1", nil},
		{"typed lists, whose items need not say what they are", []string{
			`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"p"},"spec":{},"status":{}}]}`,
			`{"apiVersion":"batch/v1","kind":"JobList","items":[{"metadata":{"name":"a"},"spec":{"completions":3},"status":{}}]}`},
			"f2: document 1, item 1", []string{"p f1: document 1, item 1"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			in, err := read(tc.files...)
			if err != nil {
				t.Fatalf("got error %v, want none", err)
			}
			if in.Job.Name != "a" || in.Job.Spec.Completions == nil || *in.Job.Spec.Completions != 3 {
				t.Errorf("got Job %q with %v, want a with 3 completions", in.Job.Name, in.Job.Spec)
			}
			if got := in.JobAt.String(); got != tc.job {
				t.Errorf("got the Job at %q, want %q", got, tc.job)
			}
			var pods []string
			for i, p := range in.Pods {
				pods = append(pods, p.Name+" "+in.PodsAt[i].String())
			}
			if diff := cmp.Diff(tc.pods, pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		reason string
		files  []string
		want   string // a part of the error
	}{
		{"no sources", nil, "there is no Job in it"},
		{"an empty file", []string{jobYAML, ""}, "f2: it is empty; want a Job and its pods"},
		{"a file with comments only", []string{"# nothing\n---\n"}, "f1: it is empty"},
		{"no Job", []string{pod(podYAML, "p"), pod(podYAML, "q")}, "f1, f2: there is no Job in it; want a Job and its pods"},
		{"two Jobs", []string{jobYAML, pod(podYAML, "p") + "---\n" + jobYAML}, "f2: document 2 is a second Job; the first is f1: document 1"},
		{"a Deployment", []string{"apiVersion: apps/v1\nkind: Deployment\n"}, "f1: document 1 is a Deployment; want a Job and its pods"},
		{"a ConfigMap in a list", []string{fmt.Sprintf(listJSON, jobJSON+`,{"apiVersion":"v1","kind":"ConfigMap"}`)},
			"f1: document 1, item 2 is a ConfigMap; want a Job and its pods"},
		{"a list in a list", []string{fmt.Sprintf(listJSON, fmt.Sprintf(listJSON, jobJSON))}, "f1: document 1, item 1 is a List; want"},
		{"a Job of an old version", []string{strings.Replace(jobYAML, "batch/v1", "batch/v1beta1", 1)},
			`f1: document 1 is a Job of apiVersion "batch/v1beta1"; want batch/v1`},
		{"a message of kubectl", []string{`Error from server (NotFound): jobs.batch "x" not found`}, "f1: document 1 has no kind; want"},
		{"a kind without a version", []string{"kind: Job\nspec: {}\nstatus: {}\n"}, `f1: document 1 is a Job of apiVersion ""`},
		{"a table of kubectl", []string{"NAME   READY\nx      1/1\n"}, "f1: document 1 is not an object; want"},
		{"a list of YAML", []string{"- 1\n- 2\n"}, "f1: document 1 is not an object"},
		{"null among the items", []string{fmt.Sprintf(listJSON, jobJSON+",null")}, "f1: document 1, item 2 is not an object"},
		{"a header of the wrong type", []string{"kind: [Job]\n"}, "f1:1: kind: cannot unmarshal array into string"},
		{"half a Job: the status is missing", []string{strings.Replace(jobYAML, "status: {}\n", "", 1)},
			"f1: document 1: the Job has no status; has the input been cut short?"},
		{"half a Job: the status has no value", []string{strings.Replace(jobYAML, "status: {}\n", "status:\n", 1)}, "f1: document 1: the Job has no status"},
		{"half a Job: the spec is missing", []string{strings.Replace(jobYAML, "spec: {completions: 3}\n", "", 1)}, "f1: document 1: the Job has no spec"},
		{"half a pod", []string{jobYAML + "---\napiVersion: v1\nkind: Pod\nspec: {}\n"}, "f1: document 2: the Pod has no status"},
		{"half a JSON", []string{jobJSON + "\n" + pod(podJSON, "p")[:40]}, "f1: document 2: line 2: unexpected EOF"},
		{"a field of the wrong type, in the Job", []string{strings.Replace(jobYAML, "3", "three", 1)}, ":4: spec.completions: cannot unmarshal string into int32"},
		{"a field of the wrong type, in a pod", []string{jobYAML + "---\n" + strings.Replace(pod(podYAML, "p"), "Running", "[1]", 1)}, ":11: status.phase: cannot unmarshal array into v1.PodPhase"},
		{"a rule's name of the wrong type", []string{strings.Replace(jobYAML, "{completions: 3}", "{podFailurePolicy: {rules: [{name: 5}]}}", 1)}, ":4: spec.podFailurePolicy.rules.name: cannot unmarshal number"},
		{"a JSON key twice", []string{strings.Replace(jobJSON, `"spec":`, `"spec":{},"spec":`, 1)}, `document 1: duplicate field "spec"`},
		{"broken YAML", []string{jobYAML + "---\nkind: Pod\n  name: [\n"}, "f1: document 2: line 8: mapping values are not allowed in this context"},
		{"broken JSON", []string{"\n\n{\n\"kind\" \"Job\"}"}, "f1: document 1: line 4: invalid character '\"' after object key"},
		{"two documents without a separator", []string{jobYAML + pod(podYAML, "p")},
			`f1: document 1: line 6: key "apiVersion" already set in map (a line --- must stand between two documents)`},
		{"binary", []string{"\x7fELF\x02\x01\x01\x00\x00"}, "f1: document 1: control characters are not allowed"},
		{"HTML", []string{"<html>\n<body class=\"x\">\n</html>\n"}, "f1: document 1 is not an object"},
		{"something after a separator", []string{jobYAML + "--- text\n"}, "f1: document 2 is not an object"},
		{"more dashes than a separator has", []string{jobYAML + "----\n"}, "f1: document 1: line "},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			_, err := read(tc.files...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want a single line", err)
			}
		})
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("the disk is broken")
	_, err := kubefile.Read(kubefile.Source{Name: "f", Reader: iotest.ErrReader(broken)})
	if !errors.Is(err, broken) || err.Error() != "f: the disk is broken" {
		t.Errorf("got error %v, want it to name f", err)
	}
}

func TestUnknownFields(t *testing.T) {
	in, err := read(strings.NewReplacer(
		"{completions: 3}", "{completions: 3, backOffLimit: 1, template: {spec: {novelty: 1}}, podFailurePolicy: {rules: [{action: Ignore, name: x, nam: y}]}}",
		"status: {}", "status: {activ: 1}").Replace(jobYAML))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.backOffLimit", "spec.podFailurePolicy.rules[0].nam", "status.activ"}
	if diff := cmp.Diff(want, in.Unknown); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
}

func TestRuleNames(t *testing.T) {
	for _, tc := range []struct {
		rules string
		want  []string
	}{
		{"[{action: Ignore}, {action: FailJob, name: Broken}]", []string{"", "Broken"}},
		{"[{action: Ignore, name: \"\"}]", nil},
		{"[{action: Ignore}]", nil},
		{"[]", nil},
	} {
		in, err := read(strings.Replace(jobYAML, "{completions: 3}", "{podFailurePolicy: {rules: "+tc.rules+"}}", 1))
		if err != nil {
			t.Fatalf("%s: %v", tc.rules, err)
		}
		if diff := cmp.Diff(tc.want, in.RuleNames); diff != "" {
			t.Errorf("%s: names (-want +got):\n%s", tc.rules, diff)
		}
		if len(in.Unknown) > 0 {
			t.Errorf("%s: got unknown fields %v, want none", tc.rules, in.Unknown)
		}
	}
}

// TestLongInput reads lines and files that are longer than any buffer.
func TestLongInput(t *testing.T) {
	const n = 2000
	var pods []string
	for i := range n {
		pods = append(pods, pod(podJSON, strings.Repeat("p", 1000)+fmt.Sprint(i)))
	}
	in, err := read(jobYAML+"---\n"+fmt.Sprintf(listJSON, strings.Join(pods, ",")), fmt.Sprintf("# %s\n", strings.Repeat("x", 1<<20))+pod(podYAML, "last"))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(in.Pods); got != n+1 {
		t.Errorf("got %d pods, want %d", got, n+1)
	}
}

// FuzzRead checks that whatever is read, it is either a whole input or an error
// that names the source.
func FuzzRead(f *testing.F) {
	f.Add(jobYAML + "---\n" + pod(podYAML, "p"))
	f.Add(jobJSON + pod(podJSON, "p"))
	f.Add(fmt.Sprintf(listJSON, jobJSON+","+pod(podJSON, "p")))
	f.Add("---\n- &a [*a]\n")
	f.Add("apiVersion: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := read(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f1:") {
				t.Fatalf("got error %q, want it to name f1", err)
			}
			return
		}
		if in.Job == nil || len(in.Pods) != len(in.PodsAt) {
			t.Fatalf("got Job %v, %d pods and %d places, want a Job and as many places as pods", in.Job, len(in.Pods), len(in.PodsAt))
		}
		for i, p := range in.Pods {
			if p == nil || in.PodsAt[i].Document < 1 {
				t.Fatalf("pod %d: got %v at %v, want a pod at a place", i, p, in.PodsAt[i])
			}
		}
	})
}
