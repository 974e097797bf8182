package failurepolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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

// CheckName returns what is wrong with the name of a rule by itself: nothing, or texts
// for people. The reason that it makes, PodFailurePolicy_{name}, must have the syntax of
// a reason and at most 128 characters, and must be none that the Job controller gives by
// itself. The empty name is no name, and always right.
//
// KEP-4443 asks for CamelCase as well. Nothing of Kubernetes enforces that of a reason,
// and with its underscore PodFailurePolicy_{name} is not CamelCase anyway, so any name
// of the right syntax passes.
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

// CheckNames returns what is wrong with the names of the rules: what [CheckName] says
// of each, a name that an earlier rule has, and one that is the index of another rule.
// path returns the path to the name of a rule.
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
