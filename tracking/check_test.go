package tracking_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// Check rejects keys that the API server would reject on the first pod.
func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		keys tracking.Keys
		want []string
	}{
		"the zero Keys":        {tracking.Keys{}, nil},
		"the defaults in full": {tracking.Keys{}.WithDefaults(), nil},
		"all keys set": {tracking.Keys{Finalizer: "example.com/f", Index: "example.com/i", IndexVariable: "I", FailureCount: "example.com/c",
			IgnoredFailureCount: "example.com/g", ControllerUID: "example.com/u", JobName: "example.com/n"}, nil},
		"labels without a prefix":                       {tracking.Keys{ControllerUID: "controller-uid", JobName: "job-name"}, nil},
		"a finalizer without a domain":                  {tracking.Keys{Finalizer: "counted"}, []string{"Keys.Finalizer"}},
		"invalid names":                                 {tracking.Keys{Finalizer: "a b/c", Index: "a/b/c", FailureCount: "é", JobName: "-"}, []string{"Keys.Finalizer", "Keys.Index", "Keys.FailureCount", "Keys.JobName"}},
		"an invalid variable":                           {tracking.Keys{IndexVariable: "A=B"}, []string{"Keys.IndexVariable"}},
		"two counts with the same name":                 {tracking.Keys{FailureCount: "a/n", IgnoredFailureCount: "a/n"}, []string{"Keys.IgnoredFailureCount"}},
		"a count with the index's name":                 {tracking.Keys{FailureCount: "batch.kubernetes.io/job-completion-index"}, []string{"Keys.FailureCount"}},
		"a label with the index's name":                 {tracking.Keys{JobName: "a/i", Index: "a/i"}, []string{"Keys.Index"}},
		"the label that Kubernetes sets beside its own": {tracking.Keys{ControllerUID: "job-name"}, []string{"Keys.JobName"}},
		"the other one":                                 {tracking.Keys{JobName: "controller-uid"}, []string{"Keys.ControllerUID"}},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "fields with errors", Fields(tc.keys.Check(field.NewPath("Keys"))), tc.want)
		})
	}
}
