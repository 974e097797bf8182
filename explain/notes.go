package explain

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/validation"
)

// What is unexpected in a snapshot.
const (
	// NoteForeignPods: pods of other owners were ignored.
	NoteForeignPods Code = "ForeignPodsIgnored"
	// NoteStatusRepaired: a part of the status is damaged and was read as far as
	// possible.
	NoteStatusRepaired Code = decide.NoteStatusRepaired
	// NoteMemoryDropped: the caller remembered state of an earlier Job of this name; it
	// was ignored.
	NoteMemoryDropped Code = decide.NoteMemoryDropped
	// NoteIndexConflict: the label and the annotation of a pod have different
	// indexes; the annotation was used.
	NoteIndexConflict Code = "IndexConflict"
	// NoteStatusPutOff: the throttle delays the status write.
	NoteStatusPutOff Code = "StatusPutOff"
	// NoteNotCounted: a pod of the Job has finished and cannot be counted, because it
	// has no tracking finalizer or no valid index.
	NoteNotCounted Code = "NotCounted"
	// NoteBadAnnotation: an annotation that should hold a number does not. The text says
	// what was used instead.
	NoteBadAnnotation Code = "BadAnnotation"
	// NoteIndexesLarge: the lists of indexes in the status come near their size limit.
	NoteIndexesLarge Code = "IndexesLarge"
	// NoteUnknownField: the spec sets a field that is newer than this version; it was
	// ignored.
	NoteUnknownField Code = "UnknownField"
)

// Notes returns what is unexpected in the snapshot, and how it was handled.
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
		notes = append(notes, Reason{Code: NoteUnknownField, Text: "spec." + name + " is newer than this version of jobfate and was ignored"})
	}
	if o.View.Foreign > 0 {
		belong := " in the snapshot do not belong to the Job"
		if o.View.Foreign == 1 {
			belong = " in the snapshot does not belong to the Job"
		}
		notes = append(notes, Reason{Code: NoteForeignPods, Text: pods(o.View.Foreign) + belong})
	}
	if o.PutOff {
		notes = append(notes, Reason{Code: NoteStatusPutOff, Text: "the status write is delayed: the last write is recent, and this one changes little"})
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
	index, counts := names.IndexOf(pod), names.CountsOf(pod.Annotations)
	if names.IndexConflict(pod) {
		notes = append(notes, Reason{Code: NoteIndexConflict, Text: fmt.Sprintf("pod %s: the annotation %s is %q, the label %q; %s",
			pod.Name, names.Index, pod.Annotations[names.Index], pod.Labels[names.Index], inPlace(index))})
	}
	for _, a := range [...]struct {
		key  string
		used int32
	}{{names.Index, index}, {names.FailureCount, counts.Failures}, {names.IgnoredFailureCount, counts.Ignored}} {
		text, ok := pod.Annotations[a.key]
		if n, err := strconv.Atoi(text); ok && (err != nil || n < 0 || n > 1<<31-1) {
			notes = append(notes, Reason{Code: NoteBadAnnotation, Text: fmt.Sprintf("pod %s: the annotation %s is %q; %s", pod.Name, a.key, text, inPlace(a.used))})
		}
	}
	return notes
}

// inPlace says which number was used in place of a wrong one.
func inPlace(used int32) string {
	if used == keys.NoIndex {
		return "the pod was treated as one without an index"
	}
	return fmt.Sprintf("%d was used", used)
}
