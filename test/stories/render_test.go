package stories

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

// Functions that format the world and its decisions as text. The n-th pod is called pn.

func shortName(pod *corev1.Pod) string {
	name := nameOfUID(pod.UID)
	if i := builtin.IndexOf(pod); i != tracking.NoIndex {
		return fmt.Sprintf("%s(%d)", name, i)
	}
	return name
}

func nameOfUID(uid types.UID) string {
	return "p" + strings.TrimPrefix(string(uid), "pod-")
}

func render(e decide.Event) string { return fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message) }

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// describeCreation describes a pod to create, with its failure counts.
func (w *world) describeCreation(c decide.Creation) string {
	text := fmt.Sprintf("p%d", w.made+1)
	if c.Index != tracking.NoIndex {
		text += fmt.Sprintf("(%d)", c.Index)
	}
	pod := c.Pod()
	if _, counts := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; counts {
		n := builtin.CountsOf(pod.Annotations)
		text += fmt.Sprintf(", count %d", n.Failures)
		if n.Ignored > 0 {
			text += fmt.Sprintf(", ignored %d", n.Ignored)
		}
	}
	if c.Replaces != nil {
		text += ", for " + shortName(c.Replaces)
	}
	return text
}

// statusFields returns the fields of a status as text, in the order of the API.
func statusFields(st *batchv1.JobStatus) [][2]string {
	number := func(n *int32) string {
		if n == nil {
			return "none"
		}
		return fmt.Sprint(*n)
	}
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%q", *s)
	}
	at := func(t *metav1.Time) string {
		if t == nil {
			return "none"
		}
		return clock(t.Time)
	}
	var u batchv1.UncountedTerminatedPods
	if st.UncountedTerminatedPods != nil {
		u = *st.UncountedTerminatedPods
	}
	fields := [][2]string{
		{"startTime", at(st.StartTime)}, {"completionTime", at(st.CompletionTime)},
		{"active", fmt.Sprint(st.Active)}, {"ready", number(st.Ready)}, {"terminating", number(st.Terminating)},
		{"succeeded", fmt.Sprint(st.Succeeded)}, {"failed", fmt.Sprint(st.Failed)},
		{"completedIndexes", text(&st.CompletedIndexes)}, {"failedIndexes", text(st.FailedIndexes)},
		{"uncounted.succeeded", shortNames(u.Succeeded)}, {"uncounted.failed", shortNames(u.Failed)},
	}
	for _, c := range st.Conditions {
		fields = append(fields, [2]string{string(c.Type), fmt.Sprintf("%s %s %q", c.Status, c.Reason, c.Message)})
	}
	return fields
}

func shortNames(uids []types.UID) string {
	names := make([]string, len(uids))
	for i, uid := range uids {
		names[i] = nameOfUID(uid)
	}
	return "[" + strings.Join(names, " ") + "]"
}

// diffStatus lists the changes from one status to the next.
func diffStatus(old, next *batchv1.JobStatus) string {
	before := map[string]string{}
	for _, f := range statusFields(old) {
		before[f[0]] = f[1]
	}
	var changes []string
	for _, f := range statusFields(next) {
		switch was, known := before[f[0]]; {
		case !known:
			changes = append(changes, fmt.Sprintf("+%s %s", f[0], f[1]))
		case was != f[1]:
			changes = append(changes, fmt.Sprintf("%s %s→%s", f[0], was, f[1]))
		}
	}
	return strings.Join(changes, ", ")
}

// showStatus lists the fields of a status that are not empty.
func showStatus(st *batchv1.JobStatus) (lines []string) {
	for _, f := range statusFields(st) {
		if f[1] != "none" && f[1] != "[]" && !(f[0] == "completedIndexes" && f[1] == `""`) {
			lines = append(lines, f[0]+": "+f[1])
		}
	}
	return lines
}

func showPods(pods []*corev1.Pod) (lines []string) {
	for _, pod := range pods {
		line := shortName(pod) + " " + string(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			line += ", terminating"
		}
		if !builtin.HasFinalizer(pod) {
			line += ", no finalizer"
		}
		lines = append(lines, line)
	}
	return lines
}
