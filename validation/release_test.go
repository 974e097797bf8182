package validation

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestReleaseOf(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []Option
		want release
	}{
		{"none", nil, defaultRelease},
		{"zero", []Option{{}}, defaultRelease},
		{"1.36", []Option{Release136()}, 36},
		{"older", []Option{Release(0)}, 36},
		{"newer", []Option{Release(99)}, 99},
		{"the last one counts", []Option{Release(38), Release136(), {}}, 36},
	} {
		Same(t, c.name, releaseOf(c.opts), c.want)
	}
}

// Without delegation annotations, 1.38 rejects what 1.37 rejects.
func TestRelease_sameFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, old := anyJob(t), anyJob(t)
		fields := func(opt Option) (all []string) {
			for _, err := range slices.Concat(Create(job, opt), Update(job, old, opt), StatusUpdate(job, old, opt)) {
				all = append(all, string(err.Type)+" "+err.Field)
			}
			slices.Sort(all)
			return slices.Compact(all)
		}
		Same(t, "what is rejected", fields(Release(38)), fields(Release(37)))
	})
}

// A Job that no rule rejects has no error in any release.
func TestRelease_accepts(t *testing.T) {
	job := prepared(perIndex(5), func(j *batchv1.Job) { j.ResourceVersion = "1" })
	for minor := range 50 {
		wantErrors(t, slices.Concat(Create(job, Release(minor)), Update(job, job, Release(minor)), StatusUpdate(job, job, Release(minor))))
	}
}
