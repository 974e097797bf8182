package referee

import "regexp"

// meanings are the properties in words. docs/reliability.md says more.
var meanings = map[string]string{
	"S1":    "each pod is counted once",
	"S2":    "a finalizer is removed only after the pod was recorded in a stored status",
	"S3":    "counters and sets of indexes lose nothing",
	"S4":    "indexes complete and fail by pods that did, and none does both",
	"S5":    "no pod is created that the Job does not need",
	"S6":    "there are never more pods than parallelism, and one for each index",
	"S7":    "no pod is created for a Job that is decided, suspended or being deleted",
	"S8":    "the end of a Job is final, and each end has its interim condition",
	"S9":    "a Job ends with no pod active, terminating or uncounted",
	"S10":   "the status counts the pods that there are",
	"S11":   "the API server accepts every status",
	"S12":   "a replacement waits for the backoff delay",
	"S13":   "a replacement carries the failures of its predecessor",
	"S14":   "the first failure rule that matches decides",
	"S15":   "each write names the UID, and pods of others are not touched",
	"S16":   "nothing panics, whatever the input",
	"S17":   "a Job is decided when that is due, and not before",
	"S18":   "a FailJob verdict is stored before the pod that carries it is released",
	"S19":   "no pod runs on after its Job has ended",
	"S20":   "a suspended Job has no start time",
	"L1":    "once faults stop, the desired state is reached and nothing more is asked for",
	"L2":    "once faults stop and pods terminate, the Job ends",
	"L3":    "a Job that has ended or is gone leaves no finalizer on its pods",
	"L4":    "a write that was refused is not sent again unchanged",
	"L5":    "where only time must pass, the controller looks again in time",
	"C1":    "each Job is created once",
	"C2":    "the controller writes only to its object, and to what that object controls",
	"C3":    "faults do not change the end",
	"C4":    "once faults stop, everything ends, and nothing more is written",
	"crash": "a crash does not change how the Job ends",
	"chaos": "the test kit serves what the controller asks for",
	"own":   "what the test itself demands",
	"Job":   "the Job under test is valid",
}

// Meaning returns the property in words.
func (v *Violation) Meaning() string { return meanings[v.Property] }

// different matches what differs between two cases of the same bug: names, counts, times,
// sets of indexes, statuses.
var different = regexp.MustCompile(`\{.*\}|(pod-|job-)?[0-9][0-9A-Za-z.:+,µ-]*`)

// Same reports whether a violation is a case of the same bug, as far as its text says:
// the same sentence about other pods, counts and times.
func (v *Violation) Same(o *Violation) bool {
	return v.Property == o.Property && different.ReplaceAllString(v.Text, "#") == different.ReplaceAllString(o.Text, "#")
}
