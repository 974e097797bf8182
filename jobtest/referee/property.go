package referee

import "regexp"

// meanings describes the properties. docs/reliability.md has the details.
var meanings = map[string]string{
	"S1":    "each pod is counted once",
	"S2":    "a finalizer is removed only after a stored status records the pod",
	"S3":    "counters do not fall, and sets of indexes lose no index",
	"S4":    "an index completes or fails only if its pods did, and never both",
	"S5":    "no pod is created that the Job does not need",
	"S6":    "there are at most as many pods as parallelism, and one for each index",
	"S7":    "no pod is created for a Job that has a verdict, is suspended or is being deleted",
	"S8":    "the end of a Job is final, and each end has its interim condition",
	"S9":    "a Job ends only if no pod is active, terminating or uncounted",
	"S10":   "the counts in the status are those of the existing pods",
	"S11":   "the API server accepts every status",
	"S12":   "a replacement waits for the backoff delay",
	"S13":   "a replacement takes over the failure count of its predecessor",
	"S14":   "the first matching failure policy rule decides",
	"S15":   "each write names the UID, and no write concerns pods of other owners",
	"S16":   "no input causes a panic",
	"S17":   "a Job gets its verdict when it is due, and not before",
	"S18":   "a FailJob verdict is stored before the finalizer of its pod is removed",
	"S19":   "no pod is still running after its Job has ended",
	"S20":   "a suspended Job has no start time",
	"S21":   "a status leaves out no pod that the controller has created, deleted or observed",
	"S22":   "a verdict is stored before a pod is deleted for it, and stands",
	"L1":    "once faults stop, the Job reaches its desired state and no more requests are sent",
	"L2":    "once faults stop and all pods terminate, the Job ends",
	"L3":    "a Job that has ended or is gone leaves no finalizer on its pods, nor on those without a controller",
	"L4":    "a rejected write is not sent again unchanged",
	"L5":    "if the Job waits only for a time, the controller syncs when it has come",
	"C1":    "each Job is created once",
	"C2":    "the controller writes only to its object and to objects that it controls",
	"C3":    "the end is the same as without faults",
	"C4":    "once faults stop, everything ends and no more writes are sent",
	"chaos": "the test kit supports the requests of the controller",
	"own":   "a condition of the test itself",
	"Job":   "the Job under test is valid",
}

// Meaning returns a description of the property.
func (v *Violation) Meaning() string { return meanings[v.Property] }

// different matches the parts of a text that differ between two cases of the same bug:
// names, counts, times, sets of indexes, statuses.
var different = regexp.MustCompile(`\{.*\}|(pod-|job-)?[0-9][0-9A-Za-z.:+,µ-]*`)

// Same reports whether two violations are probably cases of the same bug: their texts are
// equal except for pods, counts and times.
func (v *Violation) Same(o *Violation) bool {
	return v.Property == o.Property && different.ReplaceAllString(v.Text,
		"#") == different.ReplaceAllString(o.Text, "#")
}
