package explain_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// input is a case of testdata/causes. Its objects are shortened: complete adds what all of them have.
type input struct {
	file, title string
	want        string // code and attention of the first cause
	whole       string // the text of the first cause
	text        []string
	advice      []string
	not         []string // codes that must not be among the causes and notes: the input is a near miss
	also        []string // texts of notes and waits, lines of the timeline, of indexes and of totals
	objects     []map[string]any
}

// readInputs reads the cases of testdata/causes. A case begins with a line "=== title". Lines of the form
// "want: Code Attention", "whole: the text", "text: a part", "advice: a part", "also: a line" and "not: Code" follow, and comments. Then
// come objects, each after a line "---".
func readInputs(t *testing.T) (all []input) {
	t.Helper()
	files, err := filepath.Glob("testdata/causes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n=== ")[1:] {
			docs := strings.Split(part, "\n---\n")
			head := strings.Split(docs[0], "\n")
			in := input{file: file, title: head[0]}
			for _, line := range head[1:] {
				name, value, _ := strings.Cut(line, ": ")
				switch {
				case line == "" || line[0] == '#':
				case name == "want":
					in.want = value
				case name == "whole":
					in.whole = value
				case name == "text":
					in.text = append(in.text, value)
				case name == "advice":
					in.advice = append(in.advice, value)
				case name == "also":
					in.also = append(in.also, value)
				case name == "not":
					in.not = append(in.not, value)
				default:
					t.Fatalf("%s: %s: %q", file, in.title, line)
				}
			}
			for _, doc := range docs[1:] {
				var o map[string]any
				if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
					t.Fatalf("%s: %s: %v in\n%s", file, in.title, err, doc)
				}
				in.objects = append(in.objects, o)
			}
			all = append(all, in)
		}
	}
	return all
}

// merge adds to a map what another one has.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for name, value := range b {
		was, isMap := out[name].(map[string]any)
		is, both := value.(map[string]any)
		if isMap && both {
			value = merge(was, is)
		}
		out[name] = value
	}
	return out
}

func fromYAML(text string) (o map[string]any) {
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	return o
}

// podStates holds the pod that each value of "is" stands for.
var podStates = map[string]string{
	"running": strings.TrimPrefix(running, "---\n"),
	"on a node": `{spec: {nodeName: worker-1}, status: {phase: Pending, conditions: [` + scheduled + `],
  containerStatuses: [{name: main, ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]}}`,
	"without a node": `{status: {phase: Pending}}`,
	"failed":         `{spec: {nodeName: worker-1}, status: {phase: Failed, conditions: [` + scheduled + `]}}`,
}

// writeStatus adds what a kubelet writes in the status of every container.
func writeStatus(pod map[string]any) {
	status, _ := pod["status"].(map[string]any)
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _ := status[list].([]any)
		for i, c := range all {
			c := c.(map[string]any)
			_, runs := c["state"].(map[string]any)["running"]
			all[i] = merge(map[string]any{"image": "registry.example/train:v2", "imageID": "", "ready": runs, "restartCount": 0,
				"started": runs, "lastState": map[string]any{}}, c)
		}
	}
}

// complete returns an object as kubectl prints it, except for parts that no cause depends on.
func complete(o map[string]any) string {
	kind := fmt.Sprint(o["kind"])
	switch {
	case kind == "Job" && o["apiVersion"] == nil:
		job := fromYAML(theJob("", "", ""))
		if spec, _ := o["spec"].(map[string]any); spec["suspend"] == true { // pkg/controller/job/job_controller.go syncJob
			job["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "True",
				"reason": "JobSuspended", "message": "Job suspended", "lastTransitionTime": "2026-05-01T12:00:00Z"}}}
		}
		o = merge(job, o)
	case kind == "Pod":
		name := fmt.Sprint(o["metadata"].(map[string]any)["name"])
		var n int
		_, _ = fmt.Sscanf(name, "train-%d", &n)
		base := fromYAML(aPod(n, ""))
		if is, ok := o["is"]; ok {
			base = merge(base, fromYAML(podStates[is.(string)]))
			delete(o, "is")
		}
		o = merge(base, o)
		writeStatus(o)
	case kind == "Event" && o["apiVersion"] == nil:
		about := map[string]any{"kind": "Job", "namespace": "ml", "name": "train", "uid": "job-uid"}
		if text, ok := o["about"].(string); ok && text != "job" {
			kind, name, _ := strings.Cut(text, "/")
			about["kind"], about["name"], about["uid"] = kind, name, "uid-of-"+name
			if kind == "Pod" {
				about["uid"] = "pod-" + name[len(name)-1:]
			}
		}
		if field, ok := o["container"]; ok {
			about["fieldPath"] = field
		}
		base := map[string]any{"apiVersion": "v1", "type": "Warning", "involvedObject": about,
			"metadata": map[string]any{"name": "e", "namespace": "ml"}}
		at := "2026-05-01T" + fmt.Sprint(o["at"]) + "Z"
		for _, name := range []string{"at", "about", "container"} {
			delete(o, name)
		}
		o = merge(base, o)
		writeEvent(o, at)
	default:
		o = merge(map[string]any{"metadata": map[string]any{"namespace": "ml"}}, o)
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// documents returns the objects of an input as kubectl prints them, the Job first: a later one has fields that
// the types of the API may lack.
func (in input) documents() (all []string) {
	isJob := func(o map[string]any) bool { return o["kind"] == "Job" && o["apiVersion"] == nil }
	for _, o := range in.objects {
		if isJob(o) {
			all = append(all, complete(maps.Clone(o)))
		}
	}
	if all == nil {
		all = append(all, plainJob())
	}
	for _, o := range in.objects {
		if !isJob(o) {
			all = append(all, complete(maps.Clone(o)))
		}
	}
	return all
}

// explain explains the objects; it reports whether a decision can be made.
func (g given) explain() (explain.Explanation, error) {
	var options []decide.Option
	if manager := g.Job.Spec.ManagedBy; manager != nil {
		options = append(options, decide.ManagedBy(*manager))
	}
	d, err := decide.Job(g.Snapshot, options...)
	return explain.Of(d, g.Evidence), err
}

// Each input of testdata/causes has its cause first; a near miss does not have the cause that it resembles.
func TestInputs(t *testing.T) {
	for _, in := range readInputs(t) {
		t.Run(filepath.Base(in.file)+"/"+in.title, func(t *testing.T) {
			g := read(t, in.documents()...)
			e, err := g.explain()
			must(t, err)
			all := e.Causes()
			first := all[0]
			if got := string(first.Code) + " " + first.Attention.String(); got != in.want {
				t.Errorf("got %s: %s\nwant %s", got, first.Text, in.want)
			}
			if in.whole != "" && first.Text != in.whole {
				t.Errorf("got the text %q\nwant         %q", first.Text, in.whole)
			}
			for _, part := range in.text {
				if !strings.Contains(first.Text, part) {
					t.Errorf("got the text %q, want %q in it", first.Text, part)
				}
			}
			for _, part := range in.advice {
				if !strings.Contains(first.Advice, part) {
					t.Errorf("got the advice %q, want %q in it", first.Advice, part)
				}
			}
			lines := []string{e.Totals().String()}
			for _, n := range e.Notes() {
				all, lines = append(all, explain.Cause{Reason: n}), append(lines, n.Text)
			}
			for _, w := range e.Waits() {
				lines = append(lines, w.Text)
			}
			for _, m := range e.Timeline(8) {
				lines = append(lines, fmt.Sprintf("%s %s, %d times at %d", m.Object, m.Reason, m.Count, m.Pods))
			}
			for i := range e.Indexes() {
				lines = append(lines, i.String())
			}
			for _, line := range in.also {
				if !slices.Contains(lines, line) {
					t.Errorf("got the lines %q\nwant %q", lines, line)
				}
			}
			for _, c := range all {
				if slices.Contains(in.not, string(c.Code)) {
					t.Errorf("got %s: %s, for which this is a near miss", c.Code, c.Text)
				}
			}
			if first.Attention == explain.AttentionStuck && first.Advice == "" {
				t.Error("the Job is stuck, and there is no advice")
			}
			g.NextRun = nil
			if e, _ := g.explain(); strings.Contains(e.Cause().Advice, ", due ") {
				t.Errorf("got the advice %q without NextRun", e.Cause().Advice)
			}
		})
	}
}

// Each row of the table is the first cause of an input, and some input is a near miss for each code.
func TestInputs_eachRow(t *testing.T) {
	inputs, missed := readInputs(t), map[string]bool{}
	all := make([]given, len(inputs))
	for i, in := range inputs {
		all[i] = read(t, in.documents()...)
		for _, code := range in.not {
			missed[code] = true
		}
		if len(in.not) > 4 {
			t.Errorf("%s: no input is near to %d causes", in.title, len(in.not))
		}
	}
	for i, row := range explain.Rows() {
		// What depends on a caller's memory is in TestCause_own (jobtest/explanations), what needs no decision in
		// TestUnmanaged.
		if slices.Contains([]explain.Code{explain.JobStale, explain.JobInFlight, explain.CauseMultiKueue,
			explain.CauseManagedElsewhere}, row.Code) {
			continue
		}
		restore := explain.ChangeRow(i)
		if shown := slices.IndexFunc(all, func(g given) bool {
			e, _ := g.explain()
			return e.Cause().Attention == explain.ChangedAttention
		}); shown < 0 {
			t.Errorf("no input shows %s: %s", row.Code, row.Means)
		}
		restore()
		if !missed[string(row.Code)] {
			t.Errorf("no input is a near miss for %s", row.Code)
		}
	}
}

// A pod above completions has a note once it has finished.
func TestNotes_scaledDown(t *testing.T) {
	job := theJob("", "completionMode: Indexed\ncompletions: 1\nparallelism: 1", "active: 1")
	for phase, want := range map[string]bool{"Running": false, "Succeeded": true} {
		pod := aPod(1, "deletionTimestamp: \"2026-05-01T12:30:20Z\"\n"+strings.Replace(running, "phase: Running", "phase: "+phase, 1))
		notes := explained(t, job, aPod(0, running), pod).Notes()
		got := slices.ContainsFunc(notes, func(n explain.Reason) bool { return n.Code == explain.NoteNotCounted })
		if got != want {
			t.Errorf("%s: got %v, want a note: %t", phase, notes, want)
		}
	}
}

// A selector that matches the pods of another Job has a note, and its own alone has none.
func TestNotes_selectorShared(t *testing.T) {
	other := strings.ReplaceAll(aPod(0, running), "name: train, uid: job-uid", "name: other, uid: other-uid")
	for spec, want := range map[string]bool{"manualSelector: true": true, "": false} {
		notes := explained(t, theJob("", spec, ""), other).Notes()
		got := slices.ContainsFunc(notes, func(n explain.Reason) bool { return n.Code == explain.NoteSelectorShared })
		if got != want {
			t.Errorf("%q: got %v, want a note: %t", spec, notes, want)
		}
	}
}
