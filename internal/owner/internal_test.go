package owner

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// compileLabels accepts a few valid labels, and leaves all others to the API's own rules.
func TestCompileLabels(t *testing.T) {
	generated := label{"generated", "not valid"}
	long := strings.Repeat("x", 63)
	for _, l := range []label{{"a", ""}, {"a.b-c", "z"}, {"z9/A.Z", "a.b-c"}, {long, long}, {long + "/" + long, "0"}, generated} {
		got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{l.key: l.value}}, generated)
		if !ok || got.labels[0] != l {
			t.Errorf("%v: got %v, %v", l, got, ok)
		}
	}
	for _, l := range []label{{"", "a"}, {"-a", "a"}, {"a/b/c", "a"}, {long + "x", "a"}, {"a", long + "x"}, {"a", "not valid"}, {"generated", "-"}} {
		if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{l.key: l.value}}, generated); ok {
			t.Errorf("%v: compiled, want it left to the API's rules", l)
		}
	}
	four := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four}, generated)
	if !ok {
		t.Errorf("four labels: got %v", ok)
	}
	for _, l := range got.labels {
		if four[l.key] != l.value {
			t.Errorf("four labels: got %v", got.labels)
		}
	}
	four["e"] = "5"
	if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four}, generated); ok {
		t.Error("five labels: compiled, want them left to the API's rules")
	}
}
