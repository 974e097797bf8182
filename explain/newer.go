package explain

import (
	"reflect"
	"strings"
)

// newerFields returns the names of the fields of a spec that are set and not known. Such
// fields exist if the caller is built with a newer release of k8s.io/api.
func newerFields(spec any) (names []string) {
	value := reflect.ValueOf(spec).Elem()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !known(field.Name) && !value.Field(i).IsZero() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// known reports whether a Job's spec has a field of that name up to Kubernetes 1.36.
func known(field string) bool {
	switch field {
	case "ActiveDeadlineSeconds", "BackoffLimit", "BackoffLimitPerIndex", "CompletionMode", "Completions",
		"ManagedBy", "ManualSelector", "MaxFailedIndexes", "Parallelism", "PodFailurePolicy", "PodReplacementPolicy",
		"Selector", "SuccessPolicy", "Suspend", "TTLSecondsAfterFinished", "Template":
		return true
	}
	return false
}
