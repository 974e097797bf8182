package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/decide"
)

// locate adds to an error where its field is, or where each of its fields is. one does that for a field.
func locate(err error, one func(err error, name string) error) error {
	fields := fieldErrors(err)
	if fields == nil {
		return one(err, fieldIn(err))
	}
	return errors.Join(mapped(fields, func(e *field.Error) error { return one(e, e.Field) })...)
}

// fieldErrors returns the errors about single fields in an error of a decision or of the
// simulated API server.
func fieldErrors(err error) (fields []*field.Error) {
	var all interface{ Errors() []error }
	var input *decide.InputError
	switch {
	case errors.As(err, &input):
		fields = input.Fields
	case errors.As(err, &all):
		for _, err := range all.Errors() {
			if e, found := errors.AsType[*field.Error](err); found {
				fields = append(fields, e)
			}
		}
	}
	return fields
}

var (
	podField   = regexp.MustCompile(`^pods\[(\d+)\]\.(.+)$`)
	nameOfRule = regexp.MustCompile(`^RuleNames(\[\d+\])$`)
)

// locateOne adds the file and the line of a field of a Job or of one of its pods.
func locateOne(err error, name string, m *kubefile.Manifest, pods []*corev1.Pod, podsAt []kubefile.Place) error {
	e, found := errors.AsType[*field.Error](err)
	if !found {
		return fmt.Errorf("%s: %w", m.At.At(name), err)
	}
	if match := podField.FindStringSubmatch(e.Field); match != nil {
		if i, err := strconv.Atoi(match[1]); err == nil && i < len(podsAt) {
			return fmt.Errorf("%s: pod %s: %s: %s", podsAt[i].At(match[2]), pods[i].Name, match[2], e.ErrorBody())
		}
	}
	if match := nameOfRule.FindStringSubmatch(e.Field); match != nil {
		named := *e
		named.Field = "spec.podFailurePolicy.rules" + match[1] + ".name"
		e = &named
	}
	return fmt.Errorf("%s: %w", m.At.At(e.Field), e)
}

// fieldIn returns the field at the beginning of the text of an error.
func fieldIn(err error) string {
	field, _, _ := strings.Cut(err.Error(), ": ")
	return field
}
