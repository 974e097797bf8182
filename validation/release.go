package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Option chooses the release of Kubernetes as which a function of this package validates. Without one it is
// 1.37. The zero Option changes nothing.
type Option struct{ release release }

// Release validates as a minor version of Kubernetes: Release(38) as 1.38.0-beta.0. Versions below 36 count as 36,
// and those above 38 as 38. 1.36 returns an error as often as it is found, and checks in an update the labels and the
// selector that the API server generates.
func Release(minor int) Option { return Option{release: max(oldest, release(minor))} }

// release is a minor version of Kubernetes.
type release int

const (
	oldest         release = 36
	defaultRelease release = 37
)

func releaseOf(opts []Option) release {
	chosen := defaultRelease
	for _, opt := range opts {
		if opt.release != 0 {
			chosen = opt.release
		}
	}
	return chosen
}

// jobRule is a rule for a Job. check returns nothing if the Job follows the rule, or if the rule does not
// apply to it. old is the Job that it replaces; nil for a new one.
type jobRule struct {
	name        string
	check       func(job, old *batchv1.Job) field.ErrorList
	from, until release // the first and the last release with the rule; zero: no limit
}

// check returns the errors of the rules that the release has.
func (r release) check(rules []jobRule, job, old *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range rules {
		if r >= rule.from && (rule.until == 0 || r <= rule.until) {
			errs = append(errs, rule.check(job, old)...)
		}
	}
	return errs
}

// reported returns the errors that the release reports of those that it finds: from 1.37 on each once, and from
// 1.38 on with those of generated rules. old is nil for a new Job.
func (r release) reported(found field.ErrorList, job, old *batchv1.Job) field.ErrorList {
	if r >= 38 {
		found = withGenerated(found, job, old)
	}
	if r <= 36 || len(found) < 2 {
		return found
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for _, err := range found {
		if text := err.Error(); !seen[text] {
			seen[text] = true
			errs = append(errs, err)
		}
	}
	return errs
}
