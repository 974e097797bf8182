package explain

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/validation"
)

// What in a snapshot was not as it should be.
const (
	// NoteForeignPods: pods of other owners were ignored.
	NoteForeignPods Code = "ForeignPodsIgnored"
	// NoteStatusRepaired: a damaged part of the status was read as well as it
	// could be.
	NoteStatusRepaired Code = decide.NoteStatusRepaired
	// NoteMemoryDropped: what the caller remembers was of another Job.
	NoteMemoryDropped Code = decide.NoteMemoryDropped
	// NoteIndexConflict: the index in a pod's label is not that in its
	// annotation; the annotation was taken.
	NoteIndexConflict Code = "IndexConflict"
	// NoteStatusPutOff: the throttle puts the status off.
	NoteStatusPutOff Code = "StatusPutOff"
	// NoteNotCounted: a pod of the Job has finished and cannot be counted, because it
	// has no tracking finalizer or no valid index.
	NoteNotCounted Code = "NotCounted"
	// NoteBadAnnotation: an annotation that holds a number cannot be read as
	// one.
	NoteBadAnnotation Code = "BadAnnotation"
	// NoteIndexesLarge: the lists of indexes in the status come near the room that they
	// may take.
	NoteIndexesLarge Code = "IndexesLarge"
	// NoteUnknownField: a field of the Job's spec is set that this version does not
	// know, because it is newer; it was ignored.
	NoteUnknownField Code = "UnknownField"
)

// Notes returns what in the snapshot was not as it should be, and what was made of it.
func (e Explanation) Notes() []Reason {
	o := e.about
	if o.Outcome == nil {
		return nil
	}
	var notes []Reason
	for _, n := range o.View.Notes {
		notes = append(notes, Reason{Code: Code(n.Code), Text: n.Text})
	}
	for _, name := range newerFields(&o.View.Job.Spec) {
		notes = append(notes, Reason{Code: NoteUnknownField, Text: "spec." + name + " is newer than this version, and was ignored"})
	}
	if o.View.Foreign > 0 {
		are := " in the snapshot are not the Job's"
		if o.View.Foreign == 1 {
			are = " in the snapshot is not the Job's"
		}
		notes = append(notes, Reason{Code: NoteForeignPods, Text: pods(o.View.Foreign) + are})
	}
	if o.PutOff {
		notes = append(notes, Reason{Code: NoteStatusPutOff, Text: "the last status was stored too recently, and this one records too little"})
	}
	notes = append(notes, o.uncounted()...)
	status := &o.View.Job.Status
	if o.Planned() {
		status = &o.Status
	}
	for _, text := range validation.StatusAdvice(status) {
		notes = append(notes, Reason{Code: NoteIndexesLarge, Text: text})
	}
	if !o.View.Spec.Indexed {
		return notes
	}
	names := o.View.Keys()
	for _, r := range o.View.Census.AllInOrder() {
		notes = append(notes, notesOf(r.Pod, names)...)
	}
	return notes
}

func notesOf(pod *corev1.Pod, names keys.Keys) (notes []Reason) {
	if names.IndexConflict(pod) {
		notes = append(notes, Reason{Code: NoteIndexConflict, Text: fmt.Sprintf("pod %s: the annotation %s is %q, the label %q",
			pod.Name, names.Index, pod.Annotations[names.Index], pod.Labels[names.Index])})
	}
	for _, key := range [...]string{names.Index, names.FailureCount, names.IgnoredFailureCount} {
		text, ok := pod.Annotations[key]
		if n, err := strconv.Atoi(text); ok && (err != nil || n < 0 || n > 1<<31-1) {
			notes = append(notes, Reason{Code: NoteBadAnnotation, Text: fmt.Sprintf("pod %s: the annotation %s is %q", pod.Name, key, text)})
		}
	}
	return notes
}
