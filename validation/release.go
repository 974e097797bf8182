package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// Option changes how [Create] and [Update] validate. Without options they validate as the newest
// supported release of Kubernetes, 1.37. The zero Option changes nothing.
type Option struct{ set func(*release) }

// Release136 validates as Kubernetes 1.36: an error that is found several times is returned as often, and an
// update checks the labels and the selector that the API server generates.
func Release136() Option {
	return Option{func(r *release) { r.is136 = true }}
}

type release struct{ is136 bool }

func releaseOf(opts []Option) (r release) {
	for _, opt := range opts {
		if opt.set != nil {
			opt.set(&r)
		}
	}
	return r
}

// reported returns the errors that the release reports of those that it finds.
func (r release) reported(found field.ErrorList) field.ErrorList {
	if r.is136 {
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
