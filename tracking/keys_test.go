package tracking_test

import (
	"fmt"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// Like the Job controller, IndexOf reads decimal numbers only: no other base, no
// separators. Leading zeros are ignored.
func TestIndexOf_isDecimal(t *testing.T) {
	for text, want := range map[string]int32{
		"0": 0, "12": 12, "010": 10, "+1": 1, "2147483648": math.MaxInt32, "9223372036854775808": tracking.NoIndex,
		"": tracking.NoIndex, "-1": tracking.NoIndex, "0x1": tracking.NoIndex, "0b1": tracking.NoIndex, "0o1": tracking.NoIndex,
		"1_0": tracking.NoIndex, "1.0": tracking.NoIndex, "1e1": tracking.NoIndex, " 1": tracking.NoIndex,
	} {
		Same(t, fmt.Sprintf("%q", text), names.IndexOf(Pod("a", Index(text))), want)
	}
}

// The annotation has the index of a pod. A label with another index shows that one of the
// two was edited: in k#140839 index 0 ran twice, and index 1 never. Pods of old versions have no
// label and thus no conflict.
func TestIndexConflict(t *testing.T) {
	labelled := func(text string) Edit { return Label(batchv1.JobCompletionIndexAnnotation, text) }
	for name, tc := range map[string]struct {
		pod   *corev1.Pod
		want  bool
		index int32
	}{
		"the same":              {Pod("a", Index("1"), labelled("1")), false, 1},
		"the same, padded":      {Pod("a", Index("1"), labelled("01")), false, 1},
		"the same, the other":   {Pod("a", Index("01"), labelled("1")), false, 1},
		"another":               {Pod("a", Index("0"), labelled("1")), true, 0},
		"an invalid label":      {Pod("a", Index("1"), labelled("x")), true, 1},
		"an invalid annotation": {Pod("a", Index("x"), labelled("1")), true, tracking.NoIndex},
		"both are invalid":      {Pod("a", Index("-1"), labelled("-1")), false, tracking.NoIndex},
		"an empty label":        {Pod("a", Index("1"), labelled("")), true, 1},
		"an empty annotation":   {Pod("a", Index(""), labelled("1")), true, tracking.NoIndex},
		"only the label":        {Pod("a", labelled("1")), true, tracking.NoIndex},
		"only the annotation":   {Pod("a", Index("1")), false, 1},
		"neither":               {Pod("a"), false, tracking.NoIndex},
		"no pod":                {nil, false, tracking.NoIndex},
	} {
		Same(t, name, names.IndexConflict(tc.pod), tc.want)
		Same(t, name+": index", names.IndexOf(tc.pod), tc.index)
	}
}

// For each label that keeps its default name, the pods also get the label without the prefix.
func TestLabels_legacy(t *testing.T) {
	for keys, want := range map[tracking.Keys][]bool{
		{}: {true, true}, {ControllerUID: "example.com/uid"}: {false, true}, {JobName: "example.com/name"}: {true, false},
	} {
		labels := keys.Labels(NewJob())
		Same(t, "controller-uid and job-name", []bool{labels["controller-uid"] == "job-uid", labels["job-name"] == "job"}, want)
	}
}
