package apirules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// row is a rule for the fields at a path: a|b stands for both fields, and [] for each item of a list. The
// objects on the way must exist; the field itself may be nil.
type row struct {
	path  string
	check check
}

// check checks a value as JSON has it.
type check func(path *field.Path, value any) field.ErrorList

// table applies the rows to an object in their order.
func table(object map[string]any, path *field.Path, rows []row) (errs field.ErrorList) {
	for _, r := range rows {
		each(object, path, strings.Split(r.path, "."), func(path *field.Path, value any) {
			errs = append(errs, r.check(path, value)...)
		})
	}
	return errs
}

func each(object any, path *field.Path, steps []string, visit func(*field.Path, any)) {
	if len(steps) == 0 {
		visit(path, object)
		return
	}
	parent, _ := object.(map[string]any)
	if parent == nil {
		return
	}
	names, list := strings.CutSuffix(steps[0], "[]")
	for _, name := range strings.Split(names, "|") {
		value, at := parent[name], path.Child(name)
		if !list {
			each(value, at, steps[1:], visit)
			continue
		}
		items, _ := value.([]any)
		for i, item := range items {
			each(item, at.Index(i), steps[1:], visit)
		}
	}
}

// Fields returns a part of an object as maps and lists.
func Fields(object any) map[string]any {
	out, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(object) // cannot fail for types of the API
	return out
}

func isZero(value any) bool { return value == nil || value == "" || value == int64(0) }

func required(path *field.Path, value any) field.ErrorList {
	if list, ok := value.([]any); isZero(value) || ok && len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

// both applies the second check to a value that passes the first one.
func both(first, second check) check {
	return func(path *field.Path, value any) field.ErrorList {
		if errs := first(path, value); errs != nil {
			return errs
		}
		return second(path, value)
	}
}

// text checks a text that is set.
func text(valid func(string) []string) check {
	return func(path *field.Path, value any) (errs field.ErrorList) {
		if s, _ := value.(string); s != "" {
			errs = invalid(path, value, valid(s))
		}
		return errs
	}
}

func invalid(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

func oneOf(values ...string) check {
	return func(path *field.Path, value any) field.ErrorList {
		if s, ok := value.(string); ok && s != "" && !slices.Contains(values, s) {
			return field.ErrorList{field.NotSupported(path, s, values)}
		}
		return nil
	}
}

// always is oneOf for a field that must be set.
func always(values ...string) check {
	return func(path *field.Path, value any) field.ErrorList {
		if isZero(value) {
			return field.ErrorList{field.NotSupported(path, "", values)}
		}
		return oneOf(values...)(path, value)
	}
}

// number checks the bounds of a number that is set, and not 0.
func number(least, most int64, message string) check {
	return func(path *field.Path, value any) field.ErrorList {
		if n, ok := value.(int64); ok && n != 0 && (n < least || n > most) {
			return field.ErrorList{field.Invalid(path, n, message)}
		}
		return nil
	}
}

var (
	label    = text(validation.IsDNS1123Label)
	domain   = text(validation.IsDNS1123Subdomain)
	named    = both(required, label)
	port     = number(1, 65535, validation.InclusiveRangeError(1, 65535))
	atLeast0 = number(0, math.MaxInt64, "must be greater than or equal to 0")
	one      = number(1, 1, "must be 1")
)

func forbidden(message string) check {
	return func(path *field.Path, value any) field.ErrorList {
		if value == nil {
			return nil
		}
		return field.ErrorList{field.Forbidden(path, message)}
	}
}

func atMost(n int) check {
	return func(path *field.Path, value any) field.ErrorList {
		if list, _ := value.([]any); len(list) > n {
			return field.ErrorList{field.TooMany(path, len(list), n)}
		}
		return nil
	}
}

// distinct checks that the items of a list have different values of a field, if it is set.
func distinct(name string, err func(*field.Path, any) *field.Error) check {
	return func(path *field.Path, value any) (errs field.ErrorList) {
		seen := map[string]bool{}
		list, _ := value.([]any)
		for i, item := range list {
			fields, _ := item.(map[string]any)
			key, found := fields[name].(string)
			if found && seen[key] {
				errs = append(errs, err(path.Index(i).Child(name), key))
			}
			seen[key] = true
		}
		return errs
	}
}

func notUnique(path *field.Path, value any) *field.Error {
	return field.Invalid(path, value, "must be unique")
}

// single checks that an object has one of several fields, and returns an error for each further one.
func single(what string, names ...string) check {
	return func(path *field.Path, value any) (errs field.ErrorList) {
		fields, _ := value.(map[string]any)
		found := false
		for _, name := range names {
			if fields[name] != nil && found {
				message := fmt.Sprintf("may not specify more than 1 %s type", what)
				errs = append(errs, field.Forbidden(path.Child(name), message))
			}
			found = found || fields[name] != nil
		}
		return errs
	}
}
