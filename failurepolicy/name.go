package failurepolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// conditionReason is the syntax of the reason of a condition in the Kubernetes API.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonLength is the longest reason with a name that KEP-4443 allows.
const maxReasonLength = 128

// controllerReasons are the reasons that the Job controller of 1.36.3 sets in the conditions
// of a Job.
//
// None of them has the prefix PodFailurePolicy_, so no name conflicts with them. A conflict
// can only arise if a later release sets a reason with the prefix. Add such a reason to this
// list. CheckNames detects conflicts between rules: a rule without a name is identified by
// its index, so a name must not be the index of another rule.
var controllerReasons = []string{
	batchv1.JobReasonPodFailurePolicy,
	batchv1.JobReasonBackoffLimitExceeded,
	batchv1.JobReasonDeadlineExceeded,
	batchv1.JobReasonMaxFailedIndexesExceeded,
	batchv1.JobReasonFailedIndexes,
	batchv1.JobReasonSuccessPolicy,
	"CompletionsReached", // its constant is younger than the oldest supported k8s.io/api
	"JobSuspended",
	"JobResumed",
}

// CheckName checks the name of a rule by itself, and returns texts for people that say
// what is wrong, none if the name is valid. The reason made from it,
// PodFailurePolicy_{name}, must have the syntax of a reason, at most 128 characters, and
// must not be a reason of the Job controller. The empty name means no name and is valid.
//
// KEP-4443 also asks for CamelCase. Kubernetes does not enforce that for reasons, and
// PodFailurePolicy_{name} contains an underscore, so it is not CamelCase anyway. CheckName
// therefore accepts any name with valid syntax.
func CheckName(name string) []string {
	return checkName(name, controllerReasons)
}

func checkName(name string, taken []string) (wrong []string) {
	if name == "" {
		return nil
	}
	reason := prefix + name
	if !conditionReason.MatchString(reason) {
		wrong = append(wrong, "must make a valid reason of a condition: '"+reason+
			"' must consist of alphanumeric characters, '_', ',' or ':', and must end with an alphanumeric character or '_'")
	}
	if len(reason) > maxReasonLength {
		wrong = append(wrong, fmt.Sprintf("must be no more than %d bytes", maxReasonLength-len(prefix)))
	}
	if slices.Contains(taken, reason) {
		wrong = append(wrong, "must not make a reason that the Job controller gives: "+reason)
	}
	return wrong
}

// CheckNames returns errors for the names of the rules: the errors of [CheckName], a name
// that an earlier rule has, and a name that is the index of another rule. path returns the
// path to the name of a rule.
func (s *Spec) CheckNames(path func(rule int) *field.Path) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	seen := make(map[string]bool, len(s.Rules))
	for i := range s.Rules {
		name := s.Rules[i].Name
		if name == "" {
			continue
		}
		if seen[name] {
			errs = append(errs, field.Duplicate(path(i), name))
		}
		seen[name] = true
		if n, err := strconv.Atoi(name); err == nil && n != i && n >= 0 && n < len(s.Rules) {
			errs = append(errs, field.Invalid(path(i), name, "must not be the index of another rule"))
		}
		for _, msg := range CheckName(name) {
			errs = append(errs, field.Invalid(path(i), name, msg))
		}
	}
	return errs
}
