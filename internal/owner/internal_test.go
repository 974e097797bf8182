package owner

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// compileLabels accepts a few plain labels, and leaves all others to the API's own rules.
func TestCompileLabels(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, key := range []string{"a", "z", "0", "9", "A", "Z", "a.b-c", "a/b", "z9/A.Z", long, long + "/" + long} {
		for _, value := range []string{"", "a", "z", "0", "9", "A", "Z", "a.b-c", long} {
			if got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{key: value}}); !ok || got.labels[0] != (label{key, value}) {
				t.Errorf("%s=%s: got %v, %v", key, value, got, ok)
			}
		}
	}
	for key, value := range map[string]string{
		"": "a", "-a": "a", "a-": "a", "a..b": "a", "a_b": "a", "/a": "a", "a/": "a", "A/b": "a", "a/b/c": "a",
		long + "x": "a", long + "x/a": "a", "a/" + long + "x": "a", "a": long + "x", "b": "-", "c": "a b",
	} {
		if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: map[string]string{key: value}}); ok {
			t.Errorf("%q=%q: compiled, want it left to the API's rules", key, value)
		}
	}
	four := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	got, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four})
	if !ok {
		t.Errorf("four labels: got %v", ok)
	}
	for _, l := range got.labels {
		if four[l.key] != l.value {
			t.Errorf("four labels: got %v", got.labels)
		}
	}
	four["e"] = "5"
	if _, ok := compileLabels(&metav1.LabelSelector{MatchLabels: four}); ok {
		t.Error("five labels: compiled, want them left to the API's rules")
	}
}
