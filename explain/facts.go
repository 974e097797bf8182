package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// facts holds a decision, prepared for the answers of an Explanation.
type facts struct {
	*decide.Facts
	decision  decide.Decision
	pods      []*record              // of the Job, by index and UID
	others    []*corev1.Pod          // the pods of other owners
	reason    Reason                 // for the state of the Job
	deleted   map[types.UID]string   // the pods that the decision deletes
	podStates map[types.UID]PodState // see With
}

// record is how the decision reads a pod of the Job.
type record = decide.PodFacts

// newFacts returns the facts of a decision; nil for the zero Decision.
func newFacts(d decide.Decision) *facts {
	from := d.Facts()
	if from == nil {
		return nil
	}
	f := &facts{Facts: from, decision: d, pods: from.Pods(), others: from.Others(),
		deleted: make(map[types.UID]string, len(d.Delete))}
	f.reason = f.decided()
	for _, gone := range d.Delete {
		f.deleted[gone.Pod.UID] = gone.Cause
	}
	return f
}

func (f *facts) suspended() bool { return *cmp.Or(f.Job.Spec.Suspend, new(bool)) }

// parallelism returns the parallelism of the Job; the API server sets 1 if there is none.
func (f *facts) parallelism() int32 { return *cmp.Or(f.Job.Spec.Parallelism, new(int32(1))) }

// retry is when the next pod that is backing off may be created; zero if none is.
func (f *facts) retry() time.Time {
	return either(f.Plan.Wait > 0, f.Now.Add(f.Plan.Wait), time.Time{})
}

// goesOn reports whether the Job has not ended, and is not about to.
func (f *facts) goesOn() bool {
	return jobstatus.Finished(f.Job) == nil && f.Job.DeletionTimestamp == nil && f.End.Condition.Type == ""
}

// ends returns one of two words, by the way in which the Job ends.
func (f *facts) ends(succeeds, fails string) string {
	return either(f.End.Condition.Type == batchv1.JobSuccessCriteriaMet, succeeds, fails)
}

// named returns the name of a pod, with its index.
func named(r *record) string {
	return "pod " + r.Pod.Name + textIf(r.Index >= 0, " (index "+strconv.Itoa(int(r.Index))+")")
}

// clock renders a time in UTC, as RFC 3339 does, without the date if it is today's.
func (f *facts) clock(t time.Time) string {
	const day = 24 * time.Hour
	return t.UTC().Format(either(t.Truncate(day).Equal(f.Now.Truncate(day)), "15:04:05Z07:00", time.RFC3339))
}

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" }), separator)
}

// goneAt returns when a Job that has ended is deleted; zero if it is kept, or has not ended.
func (f *facts) goneAt() (at time.Time) {
	ttl := f.Job.Spec.TTLSecondsAfterFinished
	end := jobstatus.Finished(f.Job)
	if ttl != nil && end != nil && !end.LastTransitionTime.IsZero() {
		at = end.LastTransitionTime.Add(time.Duration(*ttl) * time.Second)
	}
	return at
}
