package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
)

// override is a new value of a field of a Job, from --set or --against-set.
type override struct {
	flag  string
	field string
	value any
	text  string
}

// String returns the argument.
func (o override) String() string { return o.flag + " " + o.text }

type overrides []override

// adder returns what adds FIELD=VALUE, where the value is YAML, from a flag.
func (o *overrides) adder(flag string) func(text string) error {
	return func(text string) error {
		field, value, ok := strings.Cut(text, "=")
		if !ok || !fieldPath.MatchString(field) {
			return errors.New("want FIELD=VALUE, as in spec.parallelism=50")
		}
		next := override{flag: flag, field: field, text: text}
		if err := yaml.Unmarshal([]byte(value), &next.value); err != nil {
			return errors.New("the value is not valid YAML")
		}
		*o = append(*o, next)
		return nil
	}
}

// patchFile is a file with a merge patch of a Job, from --with or --against-with.
type patchFile struct {
	flag, name string
	to         *overrides
}

// read adds the fields of the patch before the other overrides.
func (p patchFile) read(source kubefile.Source) error {
	var all overrides
	_, err := kubefile.ReadDocument(source, "a patch of a Job", func(text []byte) error {
		var value map[string]any
		err := json.Unmarshal(text, &value)
		return cmp.Or(err, all.merge(p.flag, p.name, "", value))
	})
	*p.to = slices.Concat(all, *p.to)
	return err
}

// merge adds the fields of a patch.
func (o *overrides) merge(flag, file, field string, value any) error {
	fields, is := value.(map[string]any)
	switch {
	case !is && !fieldPath.MatchString(field):
		return errors.New("want fields of the spec, as explain --advise prints them")
	case !is:
		*o = append(*o, override{flag, field, value, file})
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := o.merge(flag, file, strings.TrimPrefix(field+"."+name, "."), fields[name]); err != nil {
			return err
		}
	}
	return nil
}

var (
	fieldPath = regexp.MustCompile(`^(metadata|spec)(\.[A-Za-z]+|\[\d{1,4}\])+$`)
	fieldStep = regexp.MustCompile(`[A-Za-z]+|\d+`)
)

func (o overrides) String() string {
	return strings.Join(o.texts(), ", ")
}

// texts returns the arguments without their flags, a file once.
func (o overrides) texts() []string {
	return slices.Compact(mapped(o, func(o override) string { return o.text }))
}

// over returns the last override that sets the field, a parent or a part of it. Without one it returns all,
// and false.
func (o overrides) over(field string) (of overrides, found bool) {
	within := func(a, b string) bool { return strings.HasPrefix(a, b+".") || strings.HasPrefix(a, b+"[") }
	for i := len(o) - 1; i >= 0; i-- {
		if field == o[i].field || within(field, o[i].field) || within(o[i].field, field) {
			return o[i : i+1], true
		}
	}
	return o, false
}

// arguments returns the overrides as arguments.
func (o overrides) arguments() string { return strings.Join(mapped(o, override.String), " ") }

// apply returns a copy of the Job with the new values.
func (o overrides) apply(job *batchv1.Job) (*batchv1.Job, error) {
	for _, one := range o {
		next, err := one.apply(job)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one, err)
		}
		job = next
	}
	return job, nil
}

func (o override) apply(job *batchv1.Job) (*batchv1.Job, error) {
	job = job.DeepCopy()
	job.APIVersion, job.Kind = batchv1.SchemeGroupVersion.String(), "Job"
	object, err := o.within(apirules.Fields(job), fieldStep.FindAllString(o.field, -1))
	if err != nil {
		return nil, err
	}
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, runtime.NewScheme(),
		serializer.SerializerOptions{Strict: true})
	next := &batchv1.Job{}
	switch _, _, err := strict.Decode(encode(object), nil, next); {
	case runtime.IsStrictDecodingError(err):
		return nil, errors.New("a Job has no such field")
	case err != nil:
		return nil, errors.New("the value does not fit the field")
	}
	return next, nil
}

// within returns the value with the field at the end of the steps set. The index one past
// the end of a list appends to the list.
func (o override) within(value any, steps []string) (any, error) {
	if len(steps) == 0 {
		return o.value, nil
	}
	switch at, err := strconv.Atoi(steps[0]); {
	case err != nil: // the name of a field
		fields, ok := value.(map[string]any)
		if value != nil && !ok {
			return nil, fmt.Errorf("%s: its parent is not an object", steps[0])
		}
		if fields == nil {
			fields = map[string]any{}
		}
		inner, err := o.within(fields[steps[0]], steps[1:])
		if fields[steps[0]] = inner; inner == nil {
			delete(fields, steps[0])
		}
		return fields, err
	default:
		list, ok := value.([]any)
		if value != nil && !ok {
			return nil, fmt.Errorf("[%d]: its parent is not a list", at)
		}
		if at > len(list) {
			return nil, fmt.Errorf("[%d] is beyond the end of the list, which has length %d", at, len(list))
		}
		if at == len(list) {
			list = append(list, nil)
		}
		inner, err := o.within(list[at], steps[1:])
		list[at] = inner
		return list, err
	}
}
