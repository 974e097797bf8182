package classify_test

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestSelector(t *testing.T) {
	values := []string{"", "x", "job-uid", "X.y-z_0", "-x", "x-", "a--b", "a b", "é", "0123456789012345678901234567890123456789012345678901234567890123"}
	labelKeys := []string{"app", "app.kubernetes.io/name", "batch.kubernetes.io/controller-uid", "A/b", "a/b/c", "/x", "x/", "", "-a", "a..b", "a_b",
		"0123456789012345678901234567890123456789012345678901234567890123", "a.b./c"}
	for _, key := range labelKeys {
		for _, value := range values {
			job := NewJob()
			job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
			want, wantErr := metav1.LabelSelectorAsSelector(job.Spec.Selector)
			got, err := classify.Of(job, names, classify.Options{})
			Same(t, fmt.Sprintf("%q=%q: there is an error", key, value), err != nil, wantErr != nil)
			if err != nil || wantErr != nil {
				continue
			}
			for _, set := range []labels.Set{nil, {key: value}, {key: value + "x"}, {key: ""}, {key + "x": value}} {
				Same(t, fmt.Sprintf("%q=%q selects %v", key, value, set), got.Selects(set), want.Matches(set))
			}
		}
	}
}

// A selector matches as the API's own implementation does, whatever its number of labels.
func TestSelector_ofManyLabels(t *testing.T) {
	some := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g.h/i"})
	drawn := rapid.MapOfN(some, rapid.SampledFrom([]string{"x", "y", ""}), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		job := NewJob()
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: drawn.Draw(t, "selector")}
		want := Must(metav1.LabelSelectorAsSelector(job.Spec.Selector))
		got := classifierOf(job)
		set := drawn.Draw(t, "labels")
		if rapid.Bool().Draw(t, "those of the selector too") {
			maps.Copy(set, job.Spec.Selector.MatchLabels)
		}
		Same(t, fmt.Sprintf("%v selects %v", job.Spec.Selector.MatchLabels, set), got.Selects(set), want.Matches(labels.Set(set)))
	})
}
