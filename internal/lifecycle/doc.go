// Package lifecycle decides whether a Job is suspended and how it ends, and updates the
// conditions of its status.
//
// A Job ends in two steps. First an interim condition, SuccessCriteriaMet or FailureTarget,
// records the decision. The terminal condition, Complete or Failed, follows when no pod is
// active or terminating and every pod is counted. It has the same reason and message. If a
// Job can end in several ways at once, one ordered table decides.
//
// A condition counts only if its status is True.
//
// The package works with numbers of pods and with conditions, not with pods.
package lifecycle
