package kubefile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
)

// readWith reads an input, of any size, either as a small file or as a large
// one, and with a buffer as short as it may be: no pod is in sight.
func readWith(isLarge bool, input string) (*Input, error) {
	if isLarge {
		return readAhead(deepest, input)
	}
	in := &Input{}
	s := Source{Name: "f", Reader: strings.NewReader(input)}
	return in, eachSmall(s, s, "a Job and its pods", in.add)
}

// readAhead reads an input as a large file with a buffer of some size.
func readAhead(size int, input string) (*Input, error) {
	in := &Input{}
	s := Source{Name: "f", Reader: strings.NewReader(input)}
	return in, eachLarge(s, bufio.NewReaderSize(s, size), "a Job and its pods", in.add)
}

// kept returns a pod with only the fields that are read of a large file.
func kept(t testing.TB, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(pruned(value, keepOfPod))
	if err != nil {
		t.Fatal(err)
	}
	out := &corev1.Pod{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func pruned(value any, k keep) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i], k)
		}
	case map[string]any:
		for name := range v {
			sub, ok := k[name]
			switch {
			case k == nil:
			case !ok:
				delete(v, name)
			default:
				v[name] = pruned(v[name], sub)
			}
		}
	}
	return value
}

// prints returns ways in which an input is printed.
func prints(t testing.TB, job *batchv1.Job, pods []*corev1.Pod) map[string]string {
	t.Helper()
	job = job.DeepCopy()
	job.APIVersion, job.Kind = "batch/v1", "Job"
	podList := corev1.List{}
	podList.APIVersion, podList.Kind = "v1", "List"
	for _, pod := range pods {
		pod.APIVersion, pod.Kind = "v1", "Pod"
		podList.Items = append(podList.Items, runtime.RawExtension{Object: pod})
	}
	both := podList
	both.Items = append([]runtime.RawExtension{{Object: job}}, podList.Items...)
	printer := func(options serializer.SerializerOptions) func(runtime.Object) string {
		s := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, nil, options)
		return func(o runtime.Object) string {
			var b strings.Builder
			if err := s.Encode(o, &b); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
	}
	yaml, pretty := printer(serializer.SerializerOptions{Yaml: true}), printer(serializer.SerializerOptions{Pretty: true})
	short := printer(serializer.SerializerOptions{})
	return map[string]string{
		"YAML":            yaml(job) + "---\n" + yaml(&podList),
		"YAML, one List":  yaml(&both),
		"JSON":            pretty(job) + "\n---\n" + pretty(&podList),
		"JSON, one List":  pretty(&both),
		"JSON, one line":  short(job) + short(&podList),
		"JSON, no kinds":  short(job) + strings.ReplaceAll(strings.ReplaceAll(short(&podList), `"kind":"Pod","apiVersion":"v1",`, ""), `"kind":"List"`, `"kind":"PodList"`),
		"indented items":  yaml(job) + "---\n" + indented(yaml(&podList)) + "...\n",
		"comments, blank": "# first\n---\n\n" + yaml(job) + "---\n" + strings.Replace(yaml(&podList), "items:\n", "items:\n# second\n\n", 1),
	}
}

// indented moves the items of a list to the right.
func indented(list string) string {
	lines := strings.SplitAfter(list, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "")
}

// TestLargeIsSmall checks that a file is understood alike whether it is read
// whole or piece by piece, but for the fields that are not kept.
func TestLargeIsSmall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(rt, "snapshot")
		odd := rapid.SampledFrom([]string{"plain", "yes", "12", "1e3", "~", "a: b", "it's", "\"q\" \\", "line\nline", " x", "ü", "- a", "0x1f", "null", "2023-08-21", ""})
		for _, pod := range s.Pods {
			pod.Labels = map[string]string{"odd": odd.Draw(rt, "label"), odd.Draw(rt, "key"): "b"}
			pod.Status.Reason = odd.Draw(rt, "reason")
			pod.Spec.NodeName = odd.Draw(rt, "node")
			pod.Spec.Containers = []corev1.Container{{Name: "main", Command: []string{"sh", "-c", odd.Draw(rt, "command"), "[\"{\\\"}]"}}}
		}
		all := prints(t, s.Job, s.Pods)
		for _, name := range []string{"YAML", rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(rt, "print")} {
			input := all[name]
			want, err := readWith(false, input)
			if err != nil {
				rt.Fatalf("%s: %v in\n%s", name, err, input)
			}
			got, err := readAhead(rapid.SampledFrom([]int{deepest, 3000, large}).Draw(rt, "buffer"), input)
			if err != nil {
				rt.Fatalf("%s, large: %v in\n%s", name, err, input)
			}
			for i := range want.Pods {
				want.Pods[i] = kept(t, want.Pods[i])
			}
			for i := range got.Pods { // what is kept beyond need is no harm
				got.Pods[i] = kept(t, got.Pods[i])
			}
			if diff := cmp.Diff(want.Job, got.Job); diff != "" {
				rt.Fatalf("%s: the Job (-small +large):\n%s", name, diff)
			}
			if diff := cmp.Diff(want.Pods, got.Pods); diff != "" {
				rt.Fatalf("%s: the pods (-small +large):\n%s\nof\n%s", name, diff, input)
			}
			for i := range want.PodsAt {
				if got, want := got.PodsAt[i].String(), want.PodsAt[i].String(); got != want {
					rt.Fatalf("%s: pod %d is at %s, want %s", name, i, got, want)
				}
				small, big := want.PodsAt[i].Line(""), got.PodsAt[i].Line("")
				if line := strings.Split(input, "\n")[big-1]; name == "YAML" && !strings.HasPrefix(line, "- ") {
					rt.Fatalf("%s: pod %d is on line %d, %q, want its first (small: %d)", name, i, big, line, small)
				}
			}
			if got, want := got.JobAt.Line("spec.completions"), want.JobAt.Line("spec.completions"); got != want {
				rt.Fatalf("%s: completions are on line %d, want %d, in\n%s", name, got, want, input)
			}
		}
	})
}

const wholePod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"a":"\"}"}]},"status":{"phase":"Running"}}`

// TestLargeRefused checks that what is wrong with a large file is told, and where.
func TestLargeRefused(t *testing.T) {
	const yamlPod = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n  spec: {}\n  status: {}\n"
	for _, tc := range []struct{ reason, input, want string }{
		{"only comments", "# nothing\n---\n...\n", "f: it is empty; want a Job and its pods"},
		{"a Deployment", `{"kind":"Deployment","apiVersion":"apps/v1"}`, "f: document 1 is a Deployment"},
		{"a Deployment with items", `{"kind":"Deployment","items":[` + wholePod + `]}`, "f: document 1 is a Deployment"},
		{"cut short in an item", `{"kind":"List","items":[` + wholePod + ",\n" + wholePod[:90], "f: document 1: line 2: unexpected EOF"},
		{"cut short between items", `{"kind":"List","items":[` + wholePod + ",\n", "f: document 1: line 2: unexpected EOF"},
		{"cut short after items", `{"kind":"List","items":[` + wholePod + "]", "f: document 1: line 1: unexpected EOF"},
		{"cut short in a text", `{"kind":"Li`, "f: document 1: line 1: unexpected EOF"},
		{"cut short in what is skipped", `{"kind":"List","items":[` + wholePod[:105], "f: document 1: line 1: unexpected EOF"},
		{"no colon", "{\n\"kind\" \"Job\"}", "line 2: invalid character '\"' after object key"},
		{"no comma", `{"a":1 "b":2}`, "invalid character '\"' after object key:value pair"},
		{"no comma in a list", `{"a":[1 2]}`, "invalid character '2' after array element"},
		{"a key that is no text", `{a:1}`, "invalid character 'a' looking for the beginning of an object key"},
		{"no value", `{"a":}`, "invalid character '}' looking for the beginning of a value"},
		{"a text over two lines", "{\"a\":\"b\nc\"}", "in string literal"},
		{"a text over two lines, within what is not kept", "{\"a\":[\"b\nc\"]}", "in string literal"},
		{"something after the object", wholePod + "}", "f: document 2"},
		{"an item that is no object", `{"kind":"List","apiVersion":"v1","items":[1]}`, "item 1 is not an object"},
		{"half a pod", `{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","spec":{}}]}`, "item 1: the Pod has no status; has the input been cut short?"},
		{"a pod of another version", `{"kind":"List","apiVersion":"v1","items":[` + strings.Replace(wholePod, `"v1"`, `"v2"`, 1) + `]}`, `item 1 is a Pod of apiVersion "v2"`},
		{"items without a kind", `{"items":[{"spec":{}}],"kind":"List","apiVersion":"v1"}`, "item 1 has no kind"},
		{"a wrong type", `{"kind":"List","apiVersion":"v1","items":[` + strings.Replace(wholePod, `"Running"`, `[1]`, 1) + `]}`, "f:1: status.phase: cannot unmarshal array into v1.PodPhase"},
		{"broken YAML", "kind: Job\n  a: [\n", "f: document 1: line 2: mapping values are not allowed"},
		{"a broken item", "kind: List\napiVersion: v1\nitems:\n" + yamlPod + "- a: [\n", "f: document 1, item 2: line "},
		{"an item that is nothing", "kind: List\napiVersion: v1\nitems:\n-\n", "item 1 is not an object"},
		{"a list of another kind", "kind: Deployment\nitems:\n" + yamlPod, "f: document 1 is a Deployment"},
		{"half a pod in YAML", "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec: {}\n", "item 1: the Pod has no status"},
		{"a key twice", "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  kind: Pod\n", `key "kind" already set`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			for _, size := range []int{deepest, large} {
				in, err := readAhead(size, tc.input)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("buffer of %d: got %v and %d pods, want an error with %q", size, err, len(in.Pods), tc.want)
				}
			}
		})
	}
}

// FuzzLarge checks that a file is understood alike both ways, if it is at all.
func FuzzLarge(f *testing.F) {
	const job = `{"apiVersion":"batch/v1","kind":"Job","spec":{},"status":{}}`
	f.Add(job + `{"kind":"List","apiVersion":"v1","items":[` + wholePod + "]}")
	f.Add(job + "\n---\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec: {}\n  status:\n    phase: Running\nkind: List\napiVersion: v1\n")
	f.Fuzz(func(t *testing.T, input string) {
		small, smallErr := readWith(false, input)
		big, bigErr := readWith(true, input)
		if smallErr == nil && bigErr == nil && len(small.Pods) != len(big.Pods) {
			t.Fatalf("got %d pods as a large file, want %d, in %q", len(big.Pods), len(small.Pods), input)
		}
	})
}

// TestLargeFile reads one that is truly large.
func TestLargeFile(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {}\nstatus: {}\n"
	n := large/len(wholePod) + 2
	in, err := Read(Source{Name: "f", Reader: strings.NewReader("\uFEFF" + job + "---\n" + fmt.Sprintf(`{"kind":"List","apiVersion":"v1","items":[%s]}`, strings.Repeat(wholePod+",", n-1)+wholePod))})
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Pods) != n || in.Job.Name != "a" {
		t.Errorf("got %d pods of Job %q, want %d of a", len(in.Pods), in.Job.Name, n)
	}
	if in.Pods[0].Spec.Containers != nil || in.Pods[0].Name != "p" {
		t.Errorf("got pod %q with %v, want p without its containers", in.Pods[0].Name, in.Pods[0].Spec.Containers)
	}
}
