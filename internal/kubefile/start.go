package kubefile

import "fmt"

// ReadStart reads a Job from which a simulation starts: one that was just written,
// or one that exists, with its status and pods.
func ReadStart(sources ...Source) (*Input, error) {
	return read(sources, "a Job", func(in *Input, o object) error {
		if o.typeOf() == typeJob {
			if len(in.Jobs) > 0 {
				return fmt.Errorf("%s is a second Job; the first is %s", o.at, in.Jobs[0].At)
			}
			o.Spec, o.Status = true, true // what is missing is refused where it is needed
		}
		return in.add(o)
	})
}
