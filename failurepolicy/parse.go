package failurepolicy

import (
	"regexp"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MatchOf reads the match that failed a Job from the reason and the message of its condition. It
// returns false if the reason is not that of a pod failure policy. It is the inverse of
// [Match.Message] with [Reason], and of the messages of the Job controller (matchPodFailurePolicy,
// Kubernetes 1.37).
//
// Whatever the text does not say, or says in another form, is empty; the position of the rule is
// then -1. The name is the text after the prefix of a granular reason, as in [Ref]: the position of a
// rule without a name.
func MatchOf(reason, message string) (Match, bool) {
	ref, ok := RuleOf(reason, message)
	if !ok {
		return Match{}, false
	}
	m := Match{Rule: ref.Index, Name: ref.Name, Action: batchv1.PodFailurePolicyActionFailJob}
	evidence, position := cutRule(message)
	if position >= 0 {
		m.Rule = position
	}
	readEvidence(evidence, &m)
	return m, true
}

// The messages of the Job controller and of [Match.Message] before the position of the rule: what
// matched, and the pod. The names of containers, pods and conditions have no spaces.
var (
	onExitCode  = regexp.MustCompile(`^Container ([^ ]*) for pod ([^ ]*) failed with exit code (-?[1-9][0-9]*)$`)
	onCondition = regexp.MustCompile(`^Pod ([^ ]*) has condition ([^ ]*)$`)
	onDetail    = regexp.MustCompile(`(?s)^Pod ([^ ]*) failed(?: with (.*))?$`)
)

func readEvidence(text string, out *Match) {
	if m := onExitCode.FindStringSubmatch(text); m != nil {
		if code, err := strconv.ParseInt(m[3], 10, 32); err == nil {
			out.Container, out.ExitCode, out.Pod = m[1], int32(code), podNamed(m[2])
		}
	} else if m := onCondition.FindStringSubmatch(text); m != nil {
		out.Condition, out.Pod = corev1.PodConditionType(m[2]), podNamed(m[1])
	} else if m := onDetail.FindStringSubmatch(text); m != nil {
		out.Detail, out.Pod = m[2], podNamed(m[1])
	}
}

// podNamed splits "namespace/name".
func podNamed(text string) types.NamespacedName {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}
