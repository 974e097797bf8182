package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// "requires both delegation annotations to be set to non-empty values once either is present" "On update, a pair
// that is unchanged from oldMeta is allowed so existing objects stay updatable." (1.38, pkg/apis/batch/validation)
func TestDelegationAnnotations(t *testing.T) {
	missing := func(keys ...string) (want []string) {
		for _, key := range keys {
			want = append(want, "metadata.annotations["+key+"]: Required value: "+
				"must be set to a non-empty value when scheduling.k8s.io/workload-name or scheduling.k8s.io/group-template-name is set")
		}
		return want
	}
	type pair = map[string]string
	both, first, second := pair{workloadName: "w", groupTemplateName: "t"}, pair{workloadName: "w"}, pair{groupTemplateName: "t"}
	for _, c := range []struct {
		name     string
		was, now pair // was is for the update
		want     []string
		update   []string
	}{
		{name: "none", now: pair{"k": "v"}},
		{name: "both", now: both},
		{name: "the workload alone", now: first, want: missing(groupTemplateName), update: missing(groupTemplateName)},
		{name: "the template alone", now: second, want: missing(workloadName), update: missing(workloadName)},
		{name: "both empty", now: pair{workloadName: "", groupTemplateName: ""},
			want: missing(workloadName, groupTemplateName), update: missing(workloadName, groupTemplateName)},
		{name: "as it was", was: first, now: pair{workloadName: "w", "k": "v"}, want: missing(groupTemplateName)},
		{name: "another value", was: first, now: pair{workloadName: "x"}, want: missing(groupTemplateName), update: missing(groupTemplateName)},
		{name: "the other, empty", was: first, now: pair{workloadName: "w", groupTemplateName: ""},
			want: missing(groupTemplateName), update: missing(groupTemplateName)},
		{name: "one removed", was: both, now: second, want: missing(workloadName), update: missing(workloadName)},
		{name: "both removed", was: both},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := prepared(func(j *batchv1.Job) { j.ResourceVersion, j.Annotations = "1", c.was })
			job := old.DeepCopy()
			job.Annotations = c.now
			wantErrors(t, Create(job, Release(38)), c.want...)
			wantErrors(t, Update(job, old, Release(38)), c.update...)
			wantErrors(t, StatusUpdate(job, old, Release(38)))
			for _, older := range []Option{Release(37), Release(36)} {
				wantErrors(t, Create(job, older))
				wantErrors(t, Update(job, old, older))
			}
		})
	}
}

// The error comes after those about the spec and before that about host names.
func TestDelegationAnnotations_order(t *testing.T) {
	job := prepared(indexedJob(1), func(j *batchv1.Job) {
		j.Annotations = map[string]string{workloadName: "w"}
		j.Name, j.Spec.ManualSelector, j.Spec.Selector = "a.b", new(true), nil
	})
	var got []string
	for _, err := range Create(job, Release(38)) {
		got = append(got, err.Field)
	}
	annotation := "metadata.annotations[" + groupTemplateName + "]"
	Same(t, "fields", got, []string{"spec.selector", "spec.template.metadata.labels", annotation, "metadata.name"})
}
