package kubefile

import (
	"fmt"
	"strings"
)

// ReadStart reads a Job from which a simulation starts: one that was just written,
// or one that exists, with its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	const want = "a Job"
	in := &Input{}
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
		err := each(s, want, func(o object) error {
			if err := o.check(want, typeJob, typePod); err != nil {
				return err
			}
			if o.typeOf() == typeJob && o.Status == nil {
				o.Status = []byte("{}") // the API server has not taken it yet
			}
			if o.typeOf() == typeJob && o.Spec == nil {
				o.Spec = []byte("{}") // which is refused where it is needed
			}
			return in.add(o)
		})
		if err != nil {
			return nil, err
		}
	}
	if in.Job == nil {
		return nil, fmt.Errorf("%s: there is no Job in it; want %s", strings.Join(names, ", "), want)
	}
	return in, nil
}
