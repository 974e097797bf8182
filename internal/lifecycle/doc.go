// Package lifecycle decides how a Job ends, and moves its status there: suspended and
// resumed, the interim condition, the terminal one.
//
// A Job ends in two steps. First an interim condition says what has been decided:
// SuccessCriteriaMet or FailureTarget. Only when no pod is active or terminating and
// every pod is counted does the terminal condition follow, Complete or Failed, with the
// same reason and message. Whether a Job can end in several ways at once is settled by
// one ordered table; [Ends] returns its rows.
//
// A condition counts only when its status is True.
//
// The package knows no pods: only numbers of them, and conditions.
package lifecycle
