package controller

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestRuleNames(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		rules      int
		want       []string
		wrong      string // in the error
	}{
		"one of two":                   {`{"1": "DatabaseDown"}`, 2, []string{"", "DatabaseDown"}, ""},
		"none":                         {`{}`, 2, []string{"", ""}, ""},
		"a name that is its own index": {`{"1": "1"}`, 2, []string{"", "1"}, ""},
		"no object":                    {`["a"]`, 2, nil, "cannot unmarshal"},
		"no rule of that index":        {`{"2": "a"}`, 2, nil, `"2" is not the index of one of the 2 rules`},
		"an index with a sign":         {`{"+1": "a"}`, 2, nil, `"+1" is not the index`},
		"below zero":                   {`{"-1": "a"}`, 2, nil, `"-1" is not the index`},
		"no policy":                    {`{"0": "a"}`, 0, nil, "of the 0 rules"},
		"one name twice":               {`{"0": "a", "1": "a"}`, 2, nil, "Duplicate"},
		"the index of another":         {`{"0": "1"}`, 2, nil, "must not be the index of another rule"},
		"no valid reason":              {`{"0": "a b"}`, 2, nil, "valid reason"},
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob(func(job *batchv1.Job) {
				job.Annotations = map[string]string{namesAnnotation: tc.annotation}
				if tc.rules > 0 {
					job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: make([]batchv1.PodFailurePolicyRule, tc.rules)}
				}
			})
			got, named, err := ruleNames(job)
			Same(t, "there is an annotation", named, true)
			Same(t, "the names", got, tc.want)
			if tc.wrong == "" && err != nil || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
				t.Errorf("error: got %v, want %q", err, tc.wrong)
			}
		})
	}
	_, named, err := ruleNames(newJob())
	NoError(t, err)
	Same(t, "named without an annotation", named, false)
}

func TestPodName(t *testing.T) {
	long := "a-name-of-a-job-that-is-far-too-long-for-the-name-of-a-pod-in-any-cluster-"
	for _, prefix := range []string{"job-", long} {
		got := podName(prefix)
		if len(got) > 63 || got[:len(got)-5] != prefix[:len(got)-5] || got == podName(prefix) {
			t.Errorf("podName(%q) = %q", prefix, got)
		}
	}
}
