package kubefile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/effort"
)

// measured is the environment variable with the name of a file. A separate process reads the
// file and prints how much memory that took.
const measured = "KUBEFILE_TEST_READS"

func TestMain(m *testing.M) {
	name := os.Getenv(measured)
	if name == "" {
		os.Exit(m.Run())
	}
	file := Must(os.Open(name))
	in, err := kubefile.Read(kubefile.Source{Name: "f", Reader: file, Size: int(Must(file.Stat()).Size())})
	if err == nil {
		err = in.Err()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats) // Sys never decreases
	fmt.Println(stats.Sys, err)
}

var everyInput = effort.Flag("every", "measure one of this number of inputs", 5, 1)

// TestMemory checks the memory bound of an input: ten times its size as JSON, 25 times as
// YAML, or 100 MB, on two cores: each core parses an object. The bound also holds for nested and short
// values of YAML.
func TestMemory(t *testing.T) {
	const mb = 1_000_000
	const deep = 9000 // levels; the parsers accept 10,000
	pod, podYAML := largePod(t)
	item := "- " + strings.TrimSuffix(strings.ReplaceAll(podYAML, "\n", "\n  "), "  ")
	nested := strings.Repeat(`{"a":`, deep) + "0" + strings.Repeat("}", deep)
	objects := `{"kind":"A","a":` + nested + "}\n"
	lists := `{"kind":"A","a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}\n"
	times := func(size int, text string) string { return strings.Repeat(text, size/len(text)) }
	dense := func(size int, text string) string { // in one document of YAML
		return jobYAML + "---\nkind: A\na: [" + times(size, text+",") + "a]\n"
	}
	lines := func(text string) string { return jobYAML + "---\nkind: A\na:\n" + text }
	const read, tooMuch = "<nil>", "f: document 2: about "
	for i, tc := range []struct {
		reason, input string
		times         int
		want          string // the beginning of the error
	}{
		{"JSON: a List of pods", jobJSON + fmt.Sprintf(listJSON, times(12*mb, pod+",")+pod), 10, read},
		{"JSON: pods one after the other", jobJSON + times(12*mb, pod), 10, read},
		{"JSON: deep objects", jobJSON + times(12*mb, objects), 10, read},
		{"JSON: deep lists", jobJSON + times(12*mb, lists), 10, read},
		{"JSON: a deep Job that is wrong", strings.Replace(jobJSON, `{"completions":3`, `{"a":`+nested+`,"completions":"a"`, 1), 10, "f:1: spec.completions: cannot unmarshal"},
		{"YAML: a List of pods", lines("") + "---\napiVersion: v1\nitems:\n" + times(6*mb, item) + "kind: List\n", 25, read},
		{"YAML: a List of pods, as yq prints it", lines("") + "---\napiVersion: v1\nkind: List\nitems:\n" + times(6*mb, "  "+strings.TrimSuffix(strings.ReplaceAll(item, "\n", "\n  "), "  ")), 25, read},
		{"YAML: pods one after the other", jobYAML + times(4*mb, "---\n"+podYAML), 25, read},
		{"YAML: deep objects", jobYAML + times(2*mb, "--- !!map\n"+objects), 25, read},
		{"YAML: deep lists", jobYAML + times(2*mb, "--- !!map\n"+lists), 25, read},
		{"YAML: a list unlike those of kubectl", jobYAML + "---\napiVersion: v1\nitems: \n" + times(6*mb, item) + "kind: List\n", 25, tooMuch},
		{"YAML: numbers", dense(mb/6, "1"), 25, read},
		{"YAML: more numbers", dense(mb, "1"), 25, tooMuch},
		{"YAML: objects", dense(mb/6, "{a}"), 25, read},
		{"YAML: more objects", dense(4*mb, "{a}"), 25, tooMuch},
		{"YAML: pairs", dense(mb/6, "{a: 1,b: 1}"), 25, read},
		{"YAML: lists", dense(mb/8, strings.Repeat("[", deep/2)+strings.Repeat("]", deep/2)), 25, read},
		{"YAML: lines", lines(times(mb/6, "-\n")), 25, read},
		{"YAML: more lines", lines(times(mb, "-\n")), 25, tooMuch},
		{"YAML: lists on a line", lines(times(mb/6, strings.Repeat("- ", deep/2)+"a\n")), 25, read},
		{"YAML: more lists on a line", lines(times(mb, strings.Repeat("- ", deep/2)+"a\n")), 25, tooMuch},
		{"YAML: keys on a line", lines(times(mb/6, strings.Repeat("? ", deep/2)+"a\n")), 25, "f: document 2: "},
		{"YAML: aliases", lines(" &a [" + times(8000, "a,") + "a]\nb: [" + times(90, "*a,") + "*a]\n"), 25, read},
		{"YAML: aliases in many documents", jobYAML + times(2*mb, "---\nkind: A\na: &a ["+times(16_000, "a,")+"a]\nb: ["+times(60, "*a,")+"*a]\n"), 25, "f: document 9: the aliases of this file repeat too much"},
		{"YAML: aliases in many items", jobYAML + "---\nkind: List\nitems:\n" + times(2*mb, "- kind: A\n  a: &a ["+times(16_000, "a,")+"a]\n  b: ["+times(60, "*a,")+"*a]\n"), 25, "f: document 2, item 8: the aliases of this file repeat too much"},
		{"JSON: a place in a long Job", strings.Replace(jobJSON, `{"completions":3`, `{"a":[`+times(7*mb/10, `{"a":1},`)+`1],"completions":"a"`, 1), 10, "f:1: spec.completions: cannot unmarshal"},
		{"JSON: a place in a longer Job", strings.Replace(jobJSON, `{"completions":3`, `{"a":[`+times(4*mb, `{"a":1},`)+`1],"completions":"a"`, 1), 10, "f:1: spec.completions: cannot unmarshal"},
	} {
		if i%everyInput() != 0 {
			continue
		}
		t.Run(tc.reason, func(t *testing.T) {
			took, err := memoryOf(t, tc.input)
			if !strings.HasPrefix(err, tc.want) {
				t.Errorf("got error %.200s, want %s", err, tc.want)
			}
			if most := max(100*mb, tc.times*len(tc.input)); took > most {
				t.Errorf("%d bytes take %d, more than %d", len(tc.input), took, most)
			}
			t.Logf("%d bytes take %d MB, %d times as much", len(tc.input), took/mb, took/len(tc.input))
		})
	}
}

// memoryOf returns the number of bytes of memory that a process needs to read an input, and
// the error.
func memoryOf(t *testing.T, input string) (memory int, wrong string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	NoError(t, os.WriteFile(file, []byte(input), 0o600))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), measured+"="+file, "GOMAXPROCS=2", "GOGC=100", "GOMEMLIMIT=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	taken, wrong, _ := strings.Cut(string(out), " ")
	if memory, err = strconv.Atoi(taken); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return memory, wrong
}

// largePod returns a pod of about 10 kB.
func largePod(t testing.TB) (asJSON, asYAML string) {
	var env []string
	for i := range 100 {
		env = append(env, fmt.Sprintf(`{"name":"VARIABLE_%d","value":"a value as long as values of variables often are, or longer, %d"}`, i, i))
	}
	container := `{"name":"a","image":"registry.example/a:1","env":[` + strings.Join(env, ",") + `],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}`
	asJSON = strings.Replace(pod(podJSON, "p"), `"spec":{}`, `"spec":{"containers":[`+container+`]}`, 1)
	converted := Must(yaml.JSONToYAML([]byte(asJSON)))
	return asJSON, string(converted)
}

// BenchmarkRead reads a List of 10,000 pods of 10 kB.
func BenchmarkRead(b *testing.B) {
	pod, podYAML := largePod(b)
	item := "- " + strings.TrimSuffix(strings.ReplaceAll(podYAML, "\n", "\n  "), "  ")
	for format, text := range map[string]string{
		"JSON": fmt.Sprintf(listJSON, jobJSON+strings.Repeat(","+pod, 10_000)),
		"YAML": jobYAML + "---\napiVersion: v1\nitems:\n" + strings.Repeat(item, 10_000) + "kind: List\n",
	} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				in, err := kubefile.Read(kubefile.Source{Name: "f", Reader: strings.NewReader(text), Size: len(text)})
				if err != nil || len(in.Pods) != 10_000 {
					b.Fatalf("got %v, want 10,000 pods", err)
				}
			}
		})
	}
}
