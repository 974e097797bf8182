// Package failurepolicy decides what a failed pod means for its Job: whether the failure
// counts, and whether it fails the index or the Job.
//
// It matches one pod at a time. Package backoff counts failures.
//
// # Rules
//
// A [Spec] is a list of rules. The first rule that matches a pod decides. If no rule
// matches, the failure counts. A rule has one requirement: on exit codes, on pod
// conditions, or a [Matcher], which is any function of the pod. Of several requirements only one is used; see [Rule].
//
// [Spec.Match] evaluates a pod. It skips a rule that cannot decide, because its action or
// operator is unknown, or because it has no requirement.
//
// # Names
//
// A rule may have a name (KEP-4443). The name, or the position of a rule without a name,
// becomes part of the reason of the Job's condition; see [Reason]. Programs that read a
// Job find the rule with [Spec.Find]. It also works for the built-in controller, which
// uses the same reason for all rules, because its message contains the position.
package failurepolicy
