package explain

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/validation"
)

// What is unexpected in the snapshot.
const (
	// NoteForeignPods: pods of other owners were ignored.
	NoteForeignPods Code = "ForeignPodsIgnored"
	// NoteSelectorShared: the Job's own selector matches pods of another Job.
	NoteSelectorShared Code = "SelectorShared"
	// NoteStatusRepaired: a part of the status is damaged and was read as far as
	// possible.
	NoteStatusRepaired Code = "StatusRepaired"
	// NoteMemoryDropped: the backoff record belongs to an earlier Job of this name and was ignored.
	NoteMemoryDropped Code = "MemoryDropped"
	// NoteIndexConflict: the label and the annotation of a pod have different
	// indexes; the annotation was used.
	NoteIndexConflict Code = "IndexConflict"
	// NoteStatusPutOff: the throttle delays the status write.
	NoteStatusPutOff Code = "StatusPutOff"
	// NoteNotCounted: a pod of the Job cannot be counted, because it has no tracking finalizer, or has finished
	// without a valid index.
	NoteNotCounted Code = "NotCounted"
	// NoteCountedOtherwise: an option overrules the phase of a pod (FailLostPods, SucceedOnExitZero).
	NoteCountedOtherwise Code = "CountedOtherwise"
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
	f := e.facts
	if f == nil {
		return nil
	}
	var notes []Reason
	for _, text := range f.Repairs.Status {
		notes = append(notes, Reason{Code: NoteStatusRepaired, Text: text})
	}
	notes = append(notes, when(f.Repairs.RecordDropped, NoteMemoryDropped,
		"the backoff record belongs to an earlier Job of this name"))
	for _, name := range newerFields(&f.Job.Spec) {
		notes = append(notes, Reason{Code: NoteUnknownField,
			Text: "spec." + name + " is newer than this version of jobfate and was ignored"})
	}
	notes = append(notes,
		when(len(f.others) > 0, NoteForeignPods, count(len(f.others), "pod")+" of other owners "+
			either(len(f.others) == 1, "was", "were")+" given, and ignored"),
		when(f.Plan.PutOff, NoteStatusPutOff, "the status write is delayed: the last write is recent, and this "+
			"one changes little"))
	notes = append(notes, f.selectorShared())
	notes = append(notes, f.uncounted()...)
	for _, text := range validation.StatusAdvice(f.Status) {
		notes = append(notes, Reason{Code: NoteIndexesLarge, Text: text})
	}
	if names := f.Spec.Keys; f.Indexed() {
		for _, r := range f.pods {
			notes = append(notes, ofAnnotations(r.Pod, names)...)
		}
	}
	return thatApply(notes...)
}

// ofAnnotations returns notes about the annotations of a pod that are wrong.
func ofAnnotations(pod *corev1.Pod, names tracking.Keys) []Reason {
	index := names.IndexOf(pod)
	notes := []Reason{when(names.IndexConflict(pod), NoteIndexConflict,
		fmt.Sprintf("pod %s: the annotation %s is %q, the label %q; %s",
			pod.Name, names.Index, pod.Annotations[names.Index], pod.Labels[names.Index], inPlace(index)))}
	for _, a := range [...]struct {
		key  string
		used int32
	}{{names.Index, index}, {names.FailureCount, 0}, {names.IgnoredFailureCount, 0}} {
		text, ok := pod.Annotations[a.key]
		n, err := strconv.ParseInt(text, 10, 32)
		notes = append(notes, when(ok && (err != nil || n < 0), NoteBadAnnotation,
			fmt.Sprintf("pod %s: the annotation %s is %q; %s", pod.Name, a.key, text, inPlace(a.used))))
	}
	return notes
}

// inPlace says which number was used in place of a wrong one.
func inPlace(used int32) string {
	return either(used == tracking.NoIndex, "the pod was treated as one without an index",
		fmt.Sprintf("%d was used", used))
}

// uncounted returns notes about pods of the Job that do not count by their phase, and about pods that cannot be
// counted: a finished pod without the finalizer looks as if it had been counted, but the status does not count it.
func (f *facts) uncounted() []Reason {
	var misplaced, succeeded, failed, active []string
	var silent, zero string
	for _, r := range f.pods {
		name := r.Pod.Name
		switch {
		case r.Lost:
			silent = cmp.Or(silent, named(r)+" counts as failed: "+f.failure(r).Fault)
		case r.Succeeded && r.Pod.Status.Phase == corev1.PodFailed && !r.Listed:
			zero = cmp.Or(zero, named(r)+" has the phase Failed and is read as succeeded: its containers "+
				"exited with 0")
		}
		switch {
		case !r.Valid && (r.Succeeded || r.Failed) && !r.Terminating:
			misplaced = append(misplaced, name)
		case r.Finalized:
		case r.Succeeded && !f.Progress.Completed.Contains(r.Index):
			succeeded = append(succeeded, name)
		case r.Failed && !r.Ignored() && r.Pod.DeletionTimestamp == nil: // surplus pods lose it, and are deleted
			failed = append(failed, name)
		case r.Active && f.goesOn() && f.deleted[r.Pod.UID] == "":
			active = append(active, name)
		}
	}
	listed := cmp.Or(f.Job.Status.UncountedTerminatedPods, &batchv1.UncountedTerminatedPods{})
	return []Reason{
		when(silent != "", NoteCountedOtherwise, silent),
		when(zero != "", NoteCountedOtherwise, zero),
		when(len(misplaced) > 0, NoteNotCounted, count(len(misplaced), "pod")+
			" finished without an index below completions and cannot be counted, such as "+append(misplaced, "")[0]),
		f.unfinalized(succeeded, either(f.Indexed(), 0, int(f.Job.Status.Succeeded)+len(listed.Succeeded)), "pod",
			"%s succeeded without the finalizer %s and cannot be counted, such as %s"),
		f.unfinalized(failed, int(f.Job.Status.Failed)+len(listed.Failed), "pod",
			"%s failed without the finalizer %s and cannot be counted, such as %s"),
		f.unfinalized(active, 0, "active pod", "%s without the finalizer %s cannot be counted, such as %s: add the "+
			"finalizer, or delete the pod, so that it is replaced"),
	}
}

// unfinalized returns a note about pods without the finalizer, except for as many as the status has counted or lists. A
// status that is not observed yet may count the others.
func (f *facts) unfinalized(pods []string, counted int, noun, format string) Reason {
	n := len(pods) - max(0, counted)
	if n <= 0 || f.InFlight.Status {
		return Reason{}
	}
	return Reason{Code: NoteNotCounted,
		Text: fmt.Sprintf(format, count(n, noun), f.Spec.Keys.Finalizer, pods[len(pods)-1])}
}

// newerFields returns the names of the set fields of a spec that this version does not read. Such
// fields exist if the caller is built with a newer release of k8s.io/api.
func newerFields(spec any) (names []string) {
	value := reflect.ValueOf(spec).Elem()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !slices.Contains(known, field.Name) && !value.Field(i).IsZero() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// known lists the fields of a Job's spec up to Kubernetes 1.36.
var known = []string{
	"ActiveDeadlineSeconds", "BackoffLimit", "BackoffLimitPerIndex", "CompletionMode", "Completions",
	"ManagedBy", "ManualSelector", "MaxFailedIndexes", "Parallelism", "PodFailurePolicy", "PodReplacementPolicy",
	"Selector", "SuccessPolicy", "Suspend", "TTLSecondsAfterFinished", "Template",
}

// selectorShared finds pods of other Jobs that match a selector which the user has written.
func (f *facts) selectorShared() Reason {
	selector, err := metav1.LabelSelectorAsSelector(f.Job.Spec.Selector)
	if !*cmp.Or(f.Job.Spec.ManualSelector, new(bool)) || err != nil {
		return Reason{}
	}
	n, other := 0, ""
	for _, pod := range f.others {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref != nil && ref.Kind == "Job" && ref.UID != f.Job.UID && pod.Namespace == f.Job.Namespace &&
			selector.Matches(labels.Set(pod.Labels)) {
			n++
			other = ref.Name
		}
	}
	return when(n > 0, NoteSelectorShared, fmt.Sprintf(
		"spec.selector also matches %s of Job %s: give each Job a selector of its own", count(n, "pod"), other))
}
