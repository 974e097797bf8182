// Package failurepolicy decides what a failed pod means for its Job: whether the
// failure counts, and whether it ends the index or the Job.
//
// # Rules
//
// A [Spec] is a list of rules. The first rule that matches a pod decides; when
// none does, the failure counts. A rule has one requirement: on exit codes, on
// pod conditions, or a [Matcher], which is any function of the pod. When a rule
// has more than one, only the first of them in that order is looked at.
//
// [Compile] reads a Spec once, and [Policy.Match] then judges pods without
// allocating. A rule that cannot decide is passed over: its action or operator is
// unknown, or it has no requirement.
//
// # Names
//
// A rule may have a name (KEP-4443). The name, or else the position of the rule,
// becomes part of the reason of the Job's condition, see [Reason]. Software that
// reads a Job finds the rule again with [Spec.Find], also where the controller
// gives every rule the same reason, as the built-in one does: its message has the position.
package failurepolicy
