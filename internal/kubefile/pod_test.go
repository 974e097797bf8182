package kubefile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
)

// ordinary reads what is kept of a pod with the ordinary decoder.
func ordinary(input string) (*corev1.Pod, error) {
	r := &stream{in: bufio.NewReader(strings.NewReader(input)), line: 1}
	value, _, err := r.itemValue()
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	err = utiljson.Unmarshal(value, pod)
	return pod, err
}

// checkAlike fails unless the reader gives up on a text, or reads of it what the
// ordinary decoder does. It reports whether it read it.
func checkAlike(t testing.TB, input string) bool {
	t.Helper()
	var r podReader
	got, n := r.read([]byte(input))
	if got == nil {
		return false
	}
	if n > len(input) || input[n-1] != '}' {
		t.Fatalf("it took %d bytes of %d, want the object", n, len(input))
	}
	want, err := ordinary(input)
	if err != nil {
		t.Fatalf("it read what the decoder refuses: %v in\n%s", err, input)
	}
	if diff := cmp.Diff(kept(t, want), kept(t, got)); diff != "" {
		t.Fatalf("-decoder +reader:\n%s\nof\n%s", diff, input)
	}
	return true
}

// TestPodReaderIsDecoder reads pods, whole and with a part replaced.
func TestPodReaderIsDecoder(t *testing.T) {
	parts := []string{"", "null", "{}", "[]", `""`, `"x"`, "1", "-0", "01", "1e3", "1.0", "99999999999", `"\u0041"`, `"ü"`, "true", "tru", " ", "\n", ",", ":", "}", "]", "\x00",
		`"name":"b",`, `"metadata":null,`, `"labels":{"a":"b"},`, `"status":{"phase":"Failed"},`, `"conditions":[{"type":"A"}],`, `"2026-01-01T12:00:00.5+02:00"`}
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(rt, "snapshot")
		for _, pod := range s.Pods {
			pod.APIVersion, pod.Kind = "v1", "Pod"
			pod.Spec.Containers = []corev1.Container{{Name: "main", Command: []string{"\"[{\\", "\\"}}}
			text, err := json.Marshal(pod)
			if err != nil {
				rt.Fatal(err)
			}
			input := string(text)
			if !checkAlike(t, input) {
				rt.Fatalf("it gave up on\n%s", input)
			}
			read++
			from := rapid.IntRange(0, len(input)).Draw(rt, "from")
			if near := strings.IndexAny(input[from:], `",:[]{}`); near >= 0 && rapid.Bool().Draw(rt, "near a token") {
				from += near
			}
			to := min(from+rapid.IntRange(0, 20).Draw(rt, "bytes"), len(input))
			checkAlike(t, input[:from]+rapid.SampledFrom(parts).Draw(rt, "part")+input[to:])
		}
	})
	if read == 0 {
		t.Error("no pod was read")
	}
}

// TestPodReaderGivesUp names what is left to the decoder.
func TestPodReaderGivesUp(t *testing.T) {
	for _, tc := range []struct {
		reason, metadata, status string
		want                     bool
	}{
		{"nothing unusual", `"name":"a","labels":{"b":"c"},"deletionGracePeriodSeconds":30`, `"phase":"Failed"`, true},
		{"nulls", `"name":null,"labels":null,"creationTimestamp":null,"deletionTimestamp":null,"finalizers":null`, `"conditions":null`, true},
		{"empty ones", `"labels":{},"finalizers":[ ]`, `"conditions":[{}],"phase":""`, true},
		{"what is not kept", `"managedFields":[{"a":"\"]}\\"},-1.5e+3,true,null]`, `"message":"\\"`, true},
		{"an escape", `"name":"\u0041"`, ``, false},
		{"what is not ASCII", `"name":"ü"`, ``, false},
		{"a member twice", `"name":"a","name":"b"`, ``, false},
		{"a list twice", `"finalizers":["a"],"finalizers":null`, ``, false},
		{"a number with an exponent", `"deletionGracePeriodSeconds":1e1`, ``, false},
		{"a number with a zero ahead", `"deletionGracePeriodSeconds":01`, ``, false},
		{"no number", `"deletionGracePeriodSeconds":-`, ``, false},
		{"a number that is too large", ``, `"containerStatuses":[{"restartCount":3000000000}]`, false},
		{"a text for a number", `"deletionGracePeriodSeconds":"1"`, ``, false},
		{"a number for a text", `"name":1`, ``, false},
		{"a time that is none", `"creationTimestamp":"noon"`, ``, false},
		{"a truth value that is none", `"ownerReferences":[{"controller":1}]`, ``, false},
		{"no value in an owner", `"ownerReferences":[{"other":A}]`, ``, false},
		{"a list that is none", `"finalizers":{}`, ``, false},
		{"no comma", `"finalizers":["a" "b"]`, ``, false},
		{"no comma between members", `"name":"a" "uid":"b"`, ``, false},
		{"no value", `"other":,"uid":"b"`, ``, false},
		{"no name", `"name":"a",`, ``, false},
		{"a word that is no value, not kept", ``, `"x":_____kkkY`, false},
		{"no end", `"name":"a`, ``, false},
		{"a text over two lines", `"name":"a` + "\n" + `b"`, ``, false},
		{"a text over two lines, not kept", `"other":["a` + "\n" + `b"]`, ``, false},
		{"a text over two lines, not kept, with an escape", `"other":["\\a` + "\n" + `b"]`, ``, false},
		{"no end of what is not kept", `"other":[{"a`, ``, false},
		{"no status", `"name":"a"}}`, ``, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			input := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{%s},"spec":{},"status":{%s}}`, tc.metadata, tc.status)
			if got := checkAlike(t, input); got != tc.want {
				t.Errorf("it read it: %t, want %t", got, tc.want)
			}
		})
	}
}

// What stands beside metadata, spec and status is read by the ordinary decoder.
func TestPodReaderLeavesOtherMembers(t *testing.T) {
	for _, member := range []string{`"other":1`, `"other":{"a":"b"}`, `"ec":{on":"}`} {
		if checkAlike(t, `{"apiVersion":"v1",`+member+`,"kind":"Pod","spec":{},"status":{}}`) {
			t.Errorf("it read %s", member)
		}
	}
}

// FuzzPodReader looks for a text of which the reader makes something else.
func FuzzPodReader(f *testing.F) {
	f.Add(wholePod)
	f.Add(`{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":"b"},"ownerReferences":[{"controller":true}]},"spec":{"initContainers":[{"name":"i"}]},` +
		`"status":{"containerStatuses":[{"name":"c","restartCount":2,"state":{"terminated":{"exitCode":-1,"finishedAt":"2026-01-01T12:00:00Z"}}}]}}`)
	f.Fuzz(func(t *testing.T, input string) { checkAlike(t, input) })
}

// TestWordsAreBounded checks that a file cannot make the reader hold ever more.
func TestWordsAreBounded(t *testing.T) {
	var r podReader
	for i := range 2 * mostWords {
		name := fmt.Sprint("pod-", i)
		pod, _ := r.read([]byte(strings.Replace(wholePod, `"p"`, `"`+name+`"`, 1)))
		if pod == nil || pod.Name != name {
			t.Fatalf("got %v, want %s", pod, name)
		}
	}
	if len(r.words) != mostWords {
		t.Errorf("got %d texts, want %d", len(r.words), mostWords)
	}
}
