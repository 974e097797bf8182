package kubefile

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// Manifest is a Job as somebody wrote it, or as the API server printed it.
type Manifest struct {
	Job *batchv1.Job
	At  Place
	// RuleNames and Unknown are as in Input.
	RuleNames []string
	Unknown   []string
}

// ReadJobs reads the Jobs of the sources, at least one. They need no status.
func ReadJobs(sources ...Source) ([]*Manifest, error) {
	const want = "a Job"
	var out []*Manifest
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
		err := each(s, want, func(o object) error {
			if err := o.check(want, typeJob); err != nil {
				return err
			}
			m, err := o.job()
			if err == nil {
				out = append(out, m)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there is no Job in it", strings.Join(names, ", "))
	}
	return out, nil
}
