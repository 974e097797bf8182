package kubefile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
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
		{"a List with something else that is wrong", []string{strings.Replace(fmt.Sprintf(listJSON, p+","+jobJSON), `"items"`, `"metadata":{"creationTimestamp":"x"},"items"`, 1)}, "f1: document 1, item 2",
			[]string{"p f1: document 1, item 1"}},
		{"the outputs of kubectl one behind the other", []string{jobYAML + pod(podYAML, "p") + pod(podYAML, "q")}, "f1: document 1",
			[]string{"p f1: document 2", "q f1: document 3"}},
		{"a key that overrides a merged one", []string{"x: &x {completions: 1}\n" + strings.Replace(jobYAML, "{c", "{<<: *x, c", 1)}, "f1: document 1", nil},
		{"a pod with a field of lists", []string{jobJSON + strings.Replace(p, `"spec"`, `"items":5,"spec"`, 1)}, "f1: document 1", []string{"p f1: document 2"}},
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
			if in.Jobs[0].Job.Name != "a" || in.Jobs[0].Job.Spec.Completions == nil || *in.Jobs[0].Job.Spec.Completions != 3 {
				t.Errorf("got Job %q with %v, want a with 3 completions", in.Jobs[0].Job.Name, in.Jobs[0].Job.Spec)
			}
			if got := in.Jobs[0].At.String(); got != tc.job {
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
		{"no sources", nil, "the input has no Job"},
		{"an empty file", []string{jobYAML, ""}, "f2: the input is empty; want a Job and its pods"},
		{"a file with comments only", []string{"# nothing\n---\n"}, "f1: the input is empty"},
		{"no Job", []string{pod(podYAML, "p"), pod(podYAML, "q")}, "f1, f2: the input has no Job, only Pod (2); want a Job and its pods"},
		{"only other kinds", []string{"apiVersion: apps/v1\nkind: Deployment\n---\nkind: ConfigMap\n---\nkind: ConfigMap\n"},
			"f1: the input has no Job, only ConfigMap (2), Deployment; want a Job and its pods"},
		{"a List whose items are none", []string{jobJSON + `{"apiVersion":"v1","kind":"List","items":{}}`}, "f1: document 2: the items of the List are not a list"},
		{"the same in YAML", []string{jobYAML + "---\napiVersion: v1\nkind: List\nitems: {}\n"}, "f1: document 2: the items of the List are not a list"},
		{"a list in a list", []string{fmt.Sprintf(listJSON, fmt.Sprintf(listJSON, jobJSON))}, "f1: document 1, item 1 is a List; want"},
		{"a Job of an old version", []string{strings.Replace(jobYAML, "batch/v1", "batch/v1beta1", 1)},
			`f1: document 1 is a Job of apiVersion "batch/v1beta1"; want batch/v1`},
		{"a kind in the wrong case", []string{jobYAML + "---\n" + strings.Replace(jobYAML, "Job", "job", 1)}, `f1: document 2 is a job of apiVersion "batch/v1"; want the kind Job`},
		{"the same without a version", []string{"kind: cronjob\n"}, `f1: document 1 is a cronjob of apiVersion ""; want the kind CronJob`},
		{"a kind that the API group does not have", []string{"apiVersion: batch/v1\nkind: Task\n"}, `f1: document 1 is a Task of apiVersion "batch/v1"; want a Job or a CronJob`},
		{"a message of kubectl", []string{`Error from server (NotFound): jobs.batch "x" not found`},
			`f1: document 1 is a message of kubectl, "Error from server (NotFound): jobs.batch \"x\" not found"; want the output of kubectl get -o yaml`},
		{"a message that is no YAML", []string{jobYAML + "---\nerror: a: b\n"}, `f1: document 2 is a message of kubectl, "error: a: b"; want`},
		{"no objects of kubectl", []string{jobYAML, "No resources found in default namespace.\n"}, `f2: document 1 is a message of kubectl, "No resources found in default namespace."; want`},
		{"a kind without a version", []string{"kind: Job\nspec: {}\nstatus: {}\n"}, `f1: document 1 is a Job of apiVersion ""`},
		{"a table of kubectl", []string{"NAME   READY\nx      1/1\n"}, `f1: document 1 is a table of kubectl, "NAME   READY"; want the output of kubectl get -o yaml`},
		{"a table of all namespaces", []string{"NAMESPACE   NAME   COMPLETIONS   DURATION   AGE\na           b      0/1           3s         3s\n"}, "f1: document 1 is a table of kubectl, "},
		{"the output of kubectl describe", []string{"Name:             a\nLabels:           <none>\nNotes:  a: b\n"}, `f1: document 1 is the output of kubectl describe, "Name:             a"; want`},
		{"a list of YAML", []string{"- 1\n- 2\n"}, "f1: document 1 is not an object"},
		{"null among the items", []string{fmt.Sprintf(listJSON, jobJSON+",null")}, "f1: document 1, item 2 is not an object"},
		{"a header of the wrong type", []string{"kind: [Job]\n"}, "f1: document 1 has no kind"},
		{"half a Job: the status is missing", []string{strings.Replace(jobYAML, "status: {}\n", "", 1)},
			"f1: document 1: the Job has no status; is the input truncated, or not from kubectl get?"},
		{"half a Job: the status has no value", []string{strings.Replace(jobYAML, "status: {}\n", "status:\n", 1)}, "f1: document 1: the Job has no status"},
		{"half a Job: the spec is missing", []string{strings.Replace(jobYAML, "spec: {completions: 3}\n", "", 1)}, "f1: document 1: the Job has no spec"},
		{"half a pod", []string{jobYAML + "---\napiVersion: v1\nkind: Pod\nspec: {}\n"}, "f1: document 2: the Pod has no status"},
		{"half a JSON", []string{jobJSON + "\n" + pod(podJSON, "p")[:40]}, "f1: document 2: line 2: unexpected end of JSON input"},
		{"a field of the wrong type, in the Job", []string{strings.Replace(jobYAML, "3", "three", 1)}, "f1:4: spec.completions: cannot unmarshal string into int32"},
		{"a field of the wrong type, in a pod", []string{jobYAML + "---\n" + strings.Replace(pod(podYAML, "p"), "Running", "[1]", 1)}, "f1:11: status.phase: cannot unmarshal array into v1.PodPhase"},
		{"a field that is wrong before the kind", []string{`{"metadata":{"creationTimestamp":"x"},"kind":"Job","apiVersion":"batch/v1","spec":{},"status":{}}`}, "f1:1: metadata.creationTimestamp: parsing time"},
		{"a rule's name of the wrong type", []string{strings.Replace(jobYAML, "{completions: 3}", "{podFailurePolicy: {rules: [{name: 5}]}}", 1)}, "f1:4: spec.podFailurePolicy.rules[0].name: cannot unmarshal number"},
		{"a JSON key twice", []string{strings.Replace(jobJSON, `"spec":`, `"spec":{},"spec":`, 1)}, `f1:1: spec: the field occurs twice`},
		{"broken YAML", []string{jobYAML + "---\nkind: Pod\n  name: [\n"}, "f1: document 2: line 8: mapping values are not allowed in this context"},
		{"broken JSON", []string{"\n\n{\n\"kind\" \"Job\"}"}, "f1: document 1: line 4: invalid character '\"' after object key"},
		{"two documents without a separator, and not as kubectl prints them", []string{"kind: Pod\n" + jobYAML},
			`f1: document 1: line 3: key "kind" already set in map (separate documents with a line ---)`},
		{"a key twice beside a merged one", []string{"x: &x {completions: 1}\n" + strings.Replace(jobYAML, "{c", "{<<: *x, completions: 2, c", 1)}, `f1: document 1: line 5: key "completions" already set in map`},
		{"binary", []string{"\x7fELF\x02\x01\x01\x00\x00"}, "f1: this is binary data; want UTF-8 text"},
		{"a control character", []string{"kind: \"\x07\"\n"}, "f1: document 1: control characters are not allowed"},
		{"text that is not UTF-8", []string{"# a\nkind: \xfc\n"}, "f1: line 2, column 7: this is not UTF-8 text"},
		{"half a character of UTF-16", []string{"\xFF\xFEa"}, "f1: the UTF-16 text has half of a character"},
		{"an alias that repeats itself", []string{"kind: Job\na: &a [*a]\n"}, "f1: document 1: anchor 'a' value contains itself"},
		{"aliases that repeat too much", []string{nestedAliases(12)}, "f1: document 1: document contains excessive aliasing"},
		{"aliases that repeat too much, in an item of a list", []string{"apiVersion: v1\nkind: List\nitems:\n  - kind: A\n  - " + strings.ReplaceAll(nestedAliases(12), "\n", "\n    ") + "\n"}, "f1: document 1: document contains excessive aliasing"},
		{"objects nested too deep", []string{strings.Repeat(`{"a":`, 140_000)}, "exceeded max depth"},
		{"lists nested too deep", []string{"a: " + strings.Repeat("[", 20_000)}, "f1: document 1: exceeded max depth of 10000"},
		{"a separator behind an end of line that only YAML knows", []string{strings.ReplaceAll(jobYAML+"---\n"+pod(podYAML, "p"), "\n---", "\u0085---")}, "f1: document 1: line 7: could not find expected ':'"},
		{"another", []string{strings.ReplaceAll(jobYAML+"---\n"+pod(podYAML, "p"), "\n", "\u2028")}, "f1: document 1: line 7: could not find expected ':'"},
		{"less indented text behind the object", []string{"  " + strings.ReplaceAll(jobYAML, "\n", "\n  ") + "\nx: y\n"}, "f1: document 1: line 6: did not find expected '-' indicator"},
		{"JSON behind a comment", []string{"# a\n" + jobJSON + "\n" + jobJSON}, "f1: document 1: line 2: did not find expected '-' indicator"},
		{"a directive within a document", []string{jobYAML + "%YAML 1.1\na: b\n"}, "f1: document 1: line 6: "},
		{"HTML", []string{"<html>\n<body class=\"x\">\n</html>\n"}, "f1: document 1 is not an object"},
		{"something after a separator", []string{jobYAML + "--- text\n"}, "f1: document 2 is not an object"},
		{"a key on the line of a separator", []string{jobYAML + "--- " + pod(podYAML, "p")}, "f1: document 2: line 6: did not find expected '-' indicator"},
		{"more dashes than a separator has", []string{jobYAML + "----\n"}, "f1: document 1: line "},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			in, err := read(tc.files...)
			if err == nil {
				err = in.Err()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want a single line", err)
			}
		})
	}
}

// nestedAliases returns aliases of aliases, each ten times as long as the one before.
func nestedAliases(n int) string {
	text := "a0: &a0 [x]\n"
	for i := range n {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text
}

func TestOtherKinds(t *testing.T) {
	in, err := read(fmt.Sprintf(listJSON, jobJSON+`,{"apiVersion":"v1","kind":"Event","reason":"FailedCreate"},{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}},`+
		`{"apiVersion":"v1","kind":"Service"},{"apiVersion":"apps/v1","kind":"ReplicaSet"},{"apiVersion":"v1","kind":"Service"},`+strings.Replace(jobJSON, `"a"`, `"b"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Jobs) != 2 || in.Jobs[1].Job.Name != "b" || in.Jobs[1].At.String() != "f1: document 1, item 7" {
		t.Errorf("got Jobs %v, want a and b", in.Jobs)
	}
	if len(in.Events) != 1 || in.Events[0].Reason != "FailedCreate" || len(in.Nodes) != 1 || in.Nodes[0].Name != "n" {
		t.Errorf("got events %v and nodes %v, want one of each", in.Events, in.Nodes)
	}
	if got, want := in.Skipped.String(), "ReplicaSet, Service (2)"; got != want {
		t.Errorf("skipped: got %s, want %s", got, want)
	}
}

// TestOtherGroups checks that kinds of other API groups are counted, though they have the names
// of kinds that are read.
func TestOtherGroups(t *testing.T) {
	const volcano = `{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"v"},"spec":{"tasks":[{"replicas":1}],"completions":"three"}}`
	texts := []string{
		jobJSON,
		volcano,
		fmt.Sprintf(listJSON, volcano+","+pod(podJSON, "p")+`,{"apiVersion":"example.com/v1","kind":"Pod","spec":5}`),
		`{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"JobList","items":[{"metadata":{"name":"w"}}]}`,
		`{"apiVersion":"events.k8s.io/v1","kind":"Event","regarding":{}}`,
		`{"apiVersion":"batch/v1beta1","kind":"CronJob"}`,
		"apiVersion: example.com/v1\nkind: AllowList\nspec: {hosts: [a]}\n---\nkind: Widget\nmetadata: 5\n",
		fmt.Sprintf(listJSON, `{"apiVersion":"example.com/v1","kind":"AllowList","metadata":{"name":"l"}}`),
	}
	in, err := read(texts...)
	if err != nil || len(in.Unreadable) > 0 {
		t.Fatalf("got %v and %v, want no error", err, in)
	}
	if len(in.Jobs) != 1 || len(in.Pods) != 1 || len(in.Events) != 0 {
		t.Errorf("got %d Jobs, %d pods and %d events, want 1, 1 and 0", len(in.Jobs), len(in.Pods), len(in.Events))
	}
	if got, want := in.Skipped.String(), "AllowList (2), CronJob, Event.events.k8s.io, Job.batch.volcano.sh (3), Pod.example.com, Widget"; got != want {
		t.Errorf("skipped: got %s, want %s", got, want)
	}
	_, err = read(volcano)
	if want := "f1: the input has no Job, only Job.batch.volcano.sh; want a Job and its pods"; err == nil || err.Error() != want {
		t.Errorf("no other Job: got %v, want %s", err, want)
	}
	in, err = kubefile.ReadManifests(kubefile.Source{Name: "f", Reader: strings.NewReader(jobJSON + volcano)})
	if err != nil || len(in.Jobs) != 1 || in.Skipped.String() != "Job.batch.volcano.sh" {
		t.Errorf("manifests: got %v, %v, want one Job", in, err)
	}
}

// TestUnreadable reads documents and files of which some cannot be read. The others are read.
func TestUnreadable(t *testing.T) {
	in, err := read(
		jobYAML+"---\nkind: [\n---\n"+pod(podYAML, "p"),
		"\x7fELF\x00",
		fmt.Sprintf(listJSON, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},"spec":{},"status":{"phase":5}},`+pod(podJSON, "r")),
		jobJSON[:40],
		pod(podJSON, "s")+strings.NewReplacer(`"a"`, `"b"`, "3", `"three"`).Replace(jobJSON)+pod(podJSON, "t")+"{",
	)
	if err != nil {
		t.Fatal(err)
	}
	var pods, wrong []string
	for _, p := range in.Pods {
		pods = append(pods, p.Name)
	}
	if diff := cmp.Diff([]string{"p", "r", "s", "t"}, pods); diff != "" || len(in.Jobs) != 1 {
		t.Errorf("got %d Jobs, want 1; pods (-want +got):\n%s", len(in.Jobs), diff)
	}
	for _, err := range in.Unreadable {
		wrong = append(wrong, err.Error())
	}
	if diff := cmp.Diff([]string{
		"f1: document 2: line 7: did not find expected node content",
		"f2: this is binary data; want UTF-8 text, or UTF-16 with a byte order mark",
		"f3:1: status.phase: cannot unmarshal number into v1.PodPhase",
		"f4: document 1: line 1: unexpected end of JSON input",
		"f5: document 4: line 1: unexpected end of JSON input",
		"f5:1: spec.completions: cannot unmarshal string into int32",
	}, wrong); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
}

// TestManyErrors checks that a few errors stand for many.
func TestManyErrors(t *testing.T) {
	in, err := read(jobYAML + strings.Repeat("---\nkind: [\n", 15))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(in.Err().Error(), "\n")
	if len(in.Unreadable) != 15 || len(lines) != 11 || lines[10] != "5 more parts of the input cannot be read" {
		t.Errorf("got %d errors and %q, want 15, and the first 10", len(in.Unreadable), lines)
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
		in, err := read(fmt.Sprintf(listJSON, both(jobJSON)+","+both(pod(podJSON, "p"))+","+object(pod(podJSON, "q"), "v", "1", "")+","+
			both(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)+","+both(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		if len(in.Jobs) != 1 || len(in.Pods) != 2 || len(in.PodsAt) != 2 || len(in.Events) != 1 || len(in.Nodes) != 1 {
			t.Fatalf("%s: got %+v, want one Job, event and node, and two pods", tc.reason, in)
		}
		i := slices.IndexFunc(in.Pods, func(p *corev1.Pod) bool { return p.Name == "p" })
		got := []string{in.Jobs[0].Job.Labels["copy"], in.Pods[i].Labels["copy"], in.Events[0].Labels["copy"], in.Nodes[0].Labels["copy"], in.PodsAt[i].String()}
		place := map[string]string{"first": "f1: document 1, item 3", "second": "f1: document 1, item 4"}[tc.want]
		if diff := cmp.Diff([]string{tc.want, tc.want, tc.want, tc.want, place}, got); diff != "" {
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

func TestUnknownFields(t *testing.T) {
	for _, tc := range []struct {
		reason, job string
		want        []string
	}{
		{"misspelt, or from another release", strings.NewReplacer(
			"{completions: 3}", "{completions: 3, backOffLimit: 1, template: {spec: {novelty: 1}}, podFailurePolicy: {rules: [{action: Ignore, name: x, nam: y}]}}",
			"status: {}", "status: {activ: 1}").Replace(jobYAML),
			[]string{"spec.backOffLimit", "spec.podFailurePolicy.rules[0].nam", "spec.podFailurePolicy.rules[0].name", "spec.template.spec.novelty", "status.activ"}},
		// Keys are case-sensitive, as for kubectl.
		{"a key that differs from a field of the API only in case", strings.Replace(jobJSON, `"metadata"`, `"Kind":"JobList","Items":[],"metadata"`, 1),
			[]string{"Kind", "Items"}},
	} {
		in, err := read(tc.job)
		if err != nil {
			t.Fatalf("%s: %v", tc.reason, err)
		}
		if diff := cmp.Diff(tc.want, in.Jobs[0].Unknown); diff != "" {
			t.Errorf("%s: unknown fields (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// TestUnknownBesideWrong checks that unknown fields are reported and the rest of the Job is
// read, even if a field has the wrong type.
func TestUnknownBesideWrong(t *testing.T) {
	text := strings.Replace(jobYAML, "{completions: 3}", "{completions: three, backOffLimit: 1, parallelism: 2}", 1)
	in, err := kubefile.ReadManifests(kubefile.Source{Name: "f", Reader: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	m := in.Jobs[0]
	if len(m.Problems) != 1 || m.Problems[0].Field != "spec.completions" {
		t.Errorf("got problems %v, want one with spec.completions", m.Problems)
	}
	if diff := cmp.Diff([]string{"spec.backOffLimit"}, m.Unknown); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
	if m.Job.Spec.Parallelism == nil || *m.Job.Spec.Parallelism != 2 {
		t.Errorf("got %v, want the parallelism", m.Job.Spec)
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
		if diff := cmp.Diff(tc.want, in.Jobs[0].RuleNames); diff != "" {
			t.Errorf("%s: names (-want +got):\n%s", tc.rules, diff)
		}
	}
}

// The names in the spec win over those in the annotation of the module controller.
func TestRuleNames_besideAnnotation(t *testing.T) {
	job := strings.Replace(jobYAML, "{completions: 3}", "{podFailurePolicy: {rules: [{action: FailJob, name: Broken}]}}", 1)
	job = strings.Replace(job, "metadata: {", `metadata: {annotations: {jobfate.dev/failure-rule-names: '{"0": "Other"}'}, `, 1)
	in, err := read(job)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Jobs[0].Job.Annotations) != 1 {
		t.Fatalf("the Job has the annotations %v, want one", in.Jobs[0].Job.Annotations)
	}
	if diff := cmp.Diff([]string{"Broken"}, in.Jobs[0].RuleNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
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
		if err == nil {
			err = in.Err()
		}
		if err != nil {
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
