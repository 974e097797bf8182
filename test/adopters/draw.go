package adopters

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

var noon = jobtest.Noon()

// Lives generates the Jobs that watchers observe while a controller runs a Job: one after each sync.
func Lives() *rapid.Generator[[]*batchv1.Job] {
	return rapid.Custom(func(t *rapid.T) (seen []*batchv1.Job) {
		c, err := cluster.New(jobtest.LivelyJobs().Draw(t, "job"), noon)
		if err != nil {
			t.Fatalf("the API server rejects a generated Job: %v", err)
		}
		caller, cache := jobtest.NewCaller(), c.NewCache(true)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			out := c.Run(caller, cache)
			if c.Job() == nil {
				break
			}
			seen = append(seen, c.Job())
			jobtest.Life{}.Happen(t, c, out.At)
		}
		return seen
	})
}

// die draws objects with fields that contradict each other.
type die struct{ *rand.Rand }

func pick[T any](d die, values ...T) T { return values[d.IntN(len(values))] }

var (
	kinds = []batchv1.JobConditionType{
		batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
		batchv1.JobSuspended,
	}
	reasons = []string{"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "PodFailurePolicy_ExitCode42"}
)

// job draws a Job with a status that may be contradictory.
func (d die) job() *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}}
	job.Spec = batchv1.JobSpec{
		Parallelism: new(d.Int32N(8)), Completions: new(d.Int32N(12)), BackoffLimit: new(d.Int32N(4)),
		CompletionMode: new(pick(d, batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)),
		Suspend:        new(d.IntN(4) == 0),
	}
	job.Status = batchv1.JobStatus{
		Active: d.Int32N(8), Succeeded: d.Int32N(12), Failed: d.Int32N(4),
		CompletedIndexes: d.indexes(), FailedIndexes: new(d.indexes()),
	}
	for range d.IntN(4) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: pick(d, kinds...),
			Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse,
				corev1.ConditionUnknown),
			Reason:             pick(d, reasons...),
			Message:            fmt.Sprint("message ", d.IntN(3)),
			LastTransitionTime: metav1.NewTime(noon.Add(time.Duration(d.IntN(100)) * time.Second)),
		})
	}
	return job
}

// damaged are parts of lists that the Job controller does not write.
var damaged = []string{"", "x", "-", "0-x", "5-3", "1-2-4", "99999999999999999999", " 4", "+4", "007", "2"}

// indexes draws a list of intervals. Most are in order.
func (d die) indexes() string {
	var intervals []string
	next := d.IntN(3)
	for range d.IntN(5) {
		last := next + d.IntN(4)
		switch text := fmt.Sprintf("%d-%d", next, last); {
		case d.IntN(20) == 0:
			intervals = append(intervals, pick(d, damaged...))
		case last == next:
			intervals = append(intervals, fmt.Sprint(next))
		default:
			intervals = append(intervals, text)
		}
		next = last + 2 + d.IntN(3)
	}
	if d.IntN(20) == 0 {
		d.Shuffle(len(intervals), func(i, j int) { intervals[i], intervals[j] = intervals[j], intervals[i] })
	}
	return strings.Join(intervals, ",")
}
