package validation

import (
	"regexp"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// generatedRule is a rule that the API server has twice: handwritten, and generated from a comment of the API
// types (KEP-5073, declarative validation). From 1.38 on the second one's error replaces that of the first.
type generatedRule struct {
	fields  *regexp.Regexp
	err     field.Error                      // what replaces an error of this type, but for the field
	applies func(job, old *batchv1.Job) bool // in an update: whether it has changed; nil: it always has
}

// generatedRules lists the rules in the order in which they are reported, after all handwritten ones.
var generatedRules = []generatedRule{
	{
		fields: regexp.MustCompile(`^metadata\.(uid|deletionTimestamp|deletionGracePeriodSeconds)$`),
		err:    field.Error{Type: field.ErrorTypeInvalid, Detail: "field is immutable"},
	},
	{
		fields: regexp.MustCompile(`^metadata\.ownerReferences\[\d+\]\.(apiVersion|kind|name|uid)$`),
		err:    field.Error{Type: field.ErrorTypeRequired, BadValue: ""},
		applies: func(job, old *batchv1.Job) bool {
			return !equality.Semantic.DeepEqual(job.OwnerReferences, old.OwnerReferences)
		},
	},
	{
		fields: regexp.MustCompile(`^spec\.backoffLimitPerIndex$`),
		err: field.Error{Type: field.ErrorTypeRequired, BadValue: "",
			Detail: "must be set when maxFailedIndexes is set"},
		applies: func(job, old *batchv1.Job) bool {
			now, was := &job.Spec, &old.Spec
			return (now.BackoffLimitPerIndex == nil) != (was.BackoffLimitPerIndex == nil) ||
				(now.MaxFailedIndexes == nil) != (was.MaxFailedIndexes == nil)
		},
	},
}

// withGenerated moves the errors that generated rules replace to the end. old is nil for a new Job.
func withGenerated(errs field.ErrorList, job, old *batchv1.Job) field.ErrorList {
	for _, rule := range generatedRules {
		if old != nil && rule.applies != nil && !rule.applies(job, old) {
			continue
		}
		var others, replaced field.ErrorList
		for _, err := range errs {
			if err.Type == rule.err.Type && rule.fields.MatchString(err.Field) {
				other := rule.err
				other.Field = err.Field
				replaced = append(replaced, &other)
			} else {
				others = append(others, err)
			}
		}
		errs = append(others, replaced...)
	}
	return errs
}
