package validation

import (
	"regexp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
)

// conditionReason is the syntax of reasons of conditions in the Kubernetes API.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonLength is what KEP-4443 allows for the reason that a name makes.
const maxReasonLength = 128

// controllerReasons are the reasons that the Job controller of 1.36.3 gives the
// conditions of a Job.
//
// The prefix PodFailurePolicy_ keeps every name apart from them: none of them
// has it. A conflict can only arise if a later release gives a reason with the
// prefix, which then belongs in this list. Conflicts among the rules are another
// matter: without a name a rule is known by its index, so a name that is the
// index of another rule would tell the wrong one.
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

// RuleNames returns what is wrong with the names of the rules of a pod failure
// policy, which path leads to. KEP-4443 (Design Details, Validation) wants of a
// name that
//
//   - no other rule has it;
//   - it is no integer that is the index of another rule;
//   - the reason that it makes, PodFailurePolicy_{name}, is a valid reason of a
//     condition of at most 128 characters;
//   - that reason is none that the Job controller gives by itself.
//
// A rule without a name is known by its index and always right.
func RuleNames(spec *failurepolicy.Spec, path *field.Path) field.ErrorList {
	if spec == nil {
		return nil
	}
	return ruleNames(spec.Rules, path.Child("rules"), controllerReasons)
}

// ruleNames checks the names against each other and against the reasons that are
// taken.
func ruleNames(rules []failurepolicy.Rule, path *field.Path, taken []string) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool, len(rules))
	for i := range rules {
		name := rules[i].Name
		if name == "" {
			continue
		}
		path := path.Index(i).Child("name")
		if seen[name] {
			errs = append(errs, field.Duplicate(path, name))
		}
		seen[name] = true
		if n, err := strconv.Atoi(name); err == nil && n != i && n >= 0 && n < len(rules) {
			errs = append(errs, field.Invalid(path, name, "must not be the index of another rule"))
		}
		errs = append(errs, ruleReason(name, failurepolicy.Reason(i, name), path, taken)...)
	}
	return errs
}

// ruleReason checks the reason that a name makes.
func ruleReason(name, reason string, path *field.Path, taken []string) field.ErrorList {
	var errs field.ErrorList
	if !conditionReason.MatchString(reason) {
		errs = append(errs, field.Invalid(path, name, "must make a valid reason of a condition: '"+reason+
			"' must consist of alphanumeric characters, '_', ',' or ':', and must end with an alphanumeric character or '_'"))
	}
	if len(reason) > maxReasonLength {
		room := maxReasonLength - (len(reason) - len(name))
		errs = append(errs, tooLong(path, room))
	}
	if slices.Contains(taken, reason) {
		errs = append(errs, field.Invalid(path, name, "must not make a reason that the Job controller gives: "+reason))
	}
	return errs
}
