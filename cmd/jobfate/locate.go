package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/internal/kubefile"
)

// locate says on which lines of the input the fields stand that an error names.
func locate(err error, in *kubefile.Input) error {
	var all utilerrors.Aggregate
	if !errors.As(err, &all) {
		return fmt.Errorf("%s: %w", in.JobAt.At(fieldIn(err)), err)
	}
	var located []error
	for _, err := range all.Errors() {
		located = append(located, locateOne(err, in))
	}
	return errors.Join(located...)
}

var podField = regexp.MustCompile(`^pods\[(\d+)\]\.(.+)$`)

func locateOne(err error, in *kubefile.Input) error {
	var e *field.Error
	if errors.As(err, &e) {
		if m := podField.FindStringSubmatch(e.Field); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(in.PodsAt) {
				return fmt.Errorf("%s: pod %s: %s: %s", in.PodsAt[i].At(m[2]), in.Pods[i].Name, m[2], e.ErrorBody())
			}
		}
	}
	return fmt.Errorf("%s: %w", in.JobAt.At(fieldIn(err)), err)
}

// fieldIn returns the field that the text of an error begins with.
func fieldIn(err error) string {
	field, _, _ := strings.Cut(err.Error(), ": ")
	return field
}
