// Package classify says what each pod of a Job is: whose it is, whether it is active or has failed, which rule its
// failure matches, and whether it is counted.
//
// A [Classifier] makes a [PodRecord] of each pod. [Classifier.Account] says which of the pods to record in the status,
// and which may then lose their finalizer.
package classify
