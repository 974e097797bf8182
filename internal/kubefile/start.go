package kubefile

import "fmt"

// ReadStart reads a Job from which a simulation starts: one that was just written,
// or one that exists, with its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	const want = "a Job"
	in := &Input{Skipped: Kinds{}}
	for _, s := range sources {
		err := each(s, want, func(o object) error {
			if o.typeOf() == typeJob && len(in.Jobs) > 0 {
				return fmt.Errorf("%s is a second Job; the first is %s", o.at, in.Jobs[0].At)
			}
			if o.typeOf() == typeJob {
				o.Spec, o.Status = true, true // what is missing is refused where it is needed
			}
			return in.add(o, want)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(in.Jobs) == 0 {
		return nil, noJob(sources, in.Skipped, want)
	}
	return in, nil
}
