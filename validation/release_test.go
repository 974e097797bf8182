package validation

import (
	"slices"
	"testing"

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
		{"1.36", []Option{Release(36)}, 36},
		{"older", []Option{Release(0)}, 36},
		{"newer", []Option{Release(99)}, 99},
		{"the last one counts", []Option{Release(38), Release(36), {}}, 36},
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
