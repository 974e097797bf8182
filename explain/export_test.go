package explain

import "slices"

// NewerFields is newerFields.
func NewerFields(spec any) []string { return newerFields(spec) }

// Known reports whether a field of a Job's spec is known.
func Known(field string) bool { return slices.Contains(known, field) }
