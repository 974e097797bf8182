package validation

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// The name is the value of two labels of the pods. The Kubernetes documentation, Labels and
// Selectors, says of a value that it "must be 63 characters or less (can be empty)". Object
// Names and IDs says of a name that it must "contain no more than 253 characters".
func TestCreateNameIsALabel(t *testing.T) {
	const inTemplate = "spec.template.labels: Invalid value: must be no more than 63 bytes"
	// The words depend on the release of apimachinery.
	inJob := "metadata.labels: Invalid value: " + validation.IsValidLabelValue(strings.Repeat("a", 64))[0]
	for _, c := range []struct {
		name   string
		length int
		edit   func(*batchv1.Job)
		want   []string
	}{
		{name: "the longest value", length: 63},
		{name: "too long for a value", length: 64, want: []string{inTemplate}},
		{name: "the longest name", length: 253, want: []string{inTemplate}},
		{
			name: "a Job with the labels of its template", length: 64,
			edit: func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"app": "x"} },
			want: []string{inJob, inTemplate},
		},
		{
			name: "without generated labels", length: 253,
			edit: func(j *batchv1.Job) {
				j.Spec.ManualSelector, j.Spec.Template.Labels = new(true), map[string]string{"app": "x"}
				j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
			},
		},
		{name: "Indexed", length: 61, edit: Indexed(10)},
		{
			name: "Indexed, too long for a host name", length: 62, edit: Indexed(10),
			want: []string{"metadata.name: Invalid value: will not able to create pod with invalid DNS label: " + strings.Repeat("a", 62) + "-9"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := written()
			job.Name = strings.Repeat("a", c.length)
			if c.edit != nil {
				c.edit(job)
			}
			wantErrors(t, Create(defaulting.Prepared(job)), c.want...)
			repeated := c.want
			if slices.Contains(c.want, inTemplate) {
				repeated = slices.Repeat(c.want, 2) // both labels have the name
				slices.Sort(repeated)
			}
			wantErrors(t, Create(defaulting.Prepared(job), Release(36), Option{}), repeated...)
		})
	}
}

func TestCreateGenerateName(t *testing.T) {
	for _, c := range []struct {
		name   string
		length int
		edit   func(*batchv1.Job)
		want   string // the start of the only error
	}{
		{name: "a prefix that is cut", length: 249},
		{name: "the longest prefix", length: 253},
		{name: "a longer prefix", length: 254, want: "metadata.generateName: Invalid value: "},
		{name: "Indexed, with the longest host name", length: 56, edit: Indexed(10)},
		{name: "Indexed", length: 57, edit: Indexed(10), want: "metadata.name: Invalid value: will not able to create pod"},
		{name: "Indexed, with a prefix that is cut", length: 253, edit: Indexed(1), want: "metadata.name: Invalid value: will not able to create pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := written()
			job.Name, job.GenerateName = "", strings.Repeat("a", c.length)
			if c.edit != nil {
				c.edit(job)
			}
			got := said(Create(defaulting.Prepared(job)))
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
