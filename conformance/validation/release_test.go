package validation_test

import (
	"flag"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
)

// The package suites also compares the validation of statuses and creations in other releases, and sets
// this flag.
var release = flag.String("release", "1.36.3", "the release of Kubernetes that is compared")

// startTimeError is the divergence start-time-error of docs/compatibility.md.
const startTimeError = "startTime cannot be removed for unsuspended job"

// asPinned replaces the text of errors about a status with that of 1.36.3.
func asPinned(errs field.ErrorList, j *batch.Job) field.ErrorList {
	if *release != "1.34.4" && *release != "1.35.4" {
		return errs
	}
	for i, err := range errs {
		if err.Field == "status.startTime" && err.Detail == startTimeError {
			errs[i] = field.Invalid(field.NewPath("status", "startTime"), j.Status.StartTime, "field is immutable for unsuspended job once set")
		}
	}
	return errs
}

// words are the words of 1.34 in messages about labels, each before that of 1.36.3: the divergence
// label-words of docs/compatibility.md.
var words = strings.NewReplacer("characters", "bytes", "a qualified name must", "a valid label key must")

// pinnedWords returns a message in the words of 1.36.3.
func pinnedWords(message string) string {
	if !strings.HasPrefix(*release, "1.34.") {
		return message
	}
	return words.Replace(message)
}

// inRelease returns the errors in a new Job that the release returns. It omits those that are equal to
// another one if the release does: the divergence errors-once of docs/compatibility.md.
func inRelease(errs []line) []line {
	if !strings.HasPrefix(*release, "1.37.") {
		return errs
	}
	var once []line
	for _, err := range errs {
		if !slices.Contains(once, err) {
			once = append(once, err)
		}
	}
	return once
}
