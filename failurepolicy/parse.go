package failurepolicy

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MatchOf reads the match that failed a Job from the reason and the message of its condition. It
// returns false if the reason is not that of a pod failure policy. It is the inverse of
// [Match.Message] with [Reason], and of the messages of the Job controller (matchPodFailurePolicy,
// Kubernetes 1.36).
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
	at := strings.LastIndex(message, ofRule)
	if at < 0 {
		return m, true
	}
	if position := readPosition(message[at+len(ofRule):]); position >= 0 {
		m.Rule = position
	}
	readEvidence(message[:at], &m)
	return m, true
}

// readEvidence reads the beginning of a message: what matched, and the pod. The names of
// containers, pods and conditions have no spaces.
func readEvidence(text string, out *Match) {
	if rest, ok := strings.CutPrefix(text, "Container "); ok {
		container, rest, _ := strings.Cut(rest, " ")
		rest, named := strings.CutPrefix(rest, "for pod ")
		pod, rest, _ := strings.Cut(rest, " ")
		code, exited := strings.CutPrefix(rest, "failed with exit code ")
		number, err := strconv.ParseInt(code, 10, 32)
		if named && exited && err == nil && number != 0 && strconv.FormatInt(number, 10) == code {
			out.Container, out.ExitCode, out.Pod = container, int32(number), podNamed(pod)
		}
		return
	}
	rest, ok := strings.CutPrefix(text, "Pod ")
	if !ok {
		return
	}
	pod, rest, _ := strings.Cut(rest, " ")
	if condition, ok := strings.CutPrefix(rest, "has condition "); ok && !strings.Contains(condition, " ") {
		out.Condition, out.Pod = corev1.PodConditionType(condition), podNamed(pod)
	} else if detail, ok := strings.CutPrefix(rest, "failed with "); ok {
		out.Detail, out.Pod = detail, podNamed(pod)
	} else if rest == "failed" {
		out.Pod = podNamed(pod)
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
