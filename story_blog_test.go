package jobfate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
)

// The example of the blog "Kubernetes 1.28: Improved failure handling for Jobs".
// Its container "returns an error, and fails, when it is run as the second or
// third index in any Job (even after a retry)".
const executeAll = `
kind: Job
metadata:
  name: job-backoff-limit-per-index-execute-all
spec:
  completions: 8
  parallelism: 2
  completionMode: Indexed
  backoffLimitPerIndex: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: example
        image: python
`

const (
	starting = 3 * time.Second // from the creation of a pod to its start
	working  = 1 * time.Second // time.sleep(1)
	batching = 1 * time.Second // from a change to the look at it: KEP-3850, "delay (1s for pod events)"
)

// live lets time pass second by second until the Job has ended: pods start, work
// and exit, and the controller looks when it wanted to and one batching period
// after a change. What happens in a second comes before the look in it.
func (w *world) live(t *testing.T, exits func(index int32) (time.Duration, int32)) (timeline []string) {
	t.Helper()
	begin, due := w.Now, w.Now
	for w.Now.Sub(begin) < time.Minute {
		changed := false
		for _, pod := range w.Pods() {
			after, code := exits(builtin.IndexOf(pod))
			switch w.Now.Sub(pod.CreationTimestamp.Time) {
			case starting + after:
				w.End(pod.UID, code)
				changed = true
			case starting:
				w.Start(pod.UID)
				changed = true
			}
		}
		if changed && due.IsZero() {
			due = w.Now.Add(batching)
		}
		if due.Equal(w.Now) || w.look.Equal(w.Now) {
			due = time.Time{}
			from := w.made
			if w.sync() { // its writes are changes
				due = w.Now.Add(batching)
			}
			timeline = append(timeline, w.born(from, begin)...)
			if jobstatus.Finished(w.Job()) != nil {
				return append(timeline, fmt.Sprintf("%2d s: the Job ends", int(w.Now.Sub(begin).Seconds())))
			}
		}
		w.advance(time.Second)
	}
	t.Fatalf("no end:\n%s", strings.Join(w.log, "\n"))
	return nil
}

// born tells which pods have been made, and when.
func (w *world) born(from int, begin time.Time) (lines []string) {
	for n := from + 1; n <= w.made; n++ {
		pod := w.Pod(types.UID(fmt.Sprintf("pod-%d", n)))
		lines = append(lines, fmt.Sprintf("%2d s: index %d", int(w.Now.Sub(begin).Seconds()), builtin.IndexOf(pod)))
	}
	return lines
}

// When each pod is made follows from these rules. A pod starts 3 s after it was
// made; indexes 1 and 2 then exit with 1, the others with 0 a second later. The
// controller looks 1 s after a change, its own included. A failure that may be
// retried is waited after for 10 s.
//
// By default it takes the lowest pending indexes and then looks at their delays:
//
//	 0 s  0 and 1 are the lowest two.
//	 4 s  1 failed at 3 s and waits until 13 s. 0 has succeeded. The lowest two
//	      are 1 and 2, of which 2 is made.
//	 8 s  2 failed at 7 s and waits until 17 s. The lowest two are 1 and 2:
//	      nothing is made, and nothing runs.
//	13 s  1 is made again. 2 has the other place, and waits.
//	17 s  1 failed for good at 16 s. The lowest two are 2 and 3; the delay of 2 is
//	      over.
//	21 s  2 failed for good at 20 s, and 3 succeeded at 21 s: 4 and 5.
//	25 s  These have succeeded: 6 and 7.
//	29 s  These too, and all indexes are finished.
//
// With FillFreeSlots what waits takes no place:
//
//	 4 s  1 waits until 13 s: 2 and 3.
//	 8 s  2 failed at 7 s and waits until 17 s, 3 has succeeded: 4 and 5.
//	12 s  6 and 7. At 13 s there is no place for 1.
//	16 s  6 and 7 have succeeded: 1 is made again.
//	17 s  So is 2.
//	20 s  1 failed for good at 19 s, and 2 at 20 s.
func TestBlog_indexesExecuteDespiteFailures(t *testing.T) {
	for _, test := range []struct {
		name string
		opts []jobfate.Option
		want []string
	}{
		{"as Kubernetes does", nil, []string{
			" 0 s: index 0", " 0 s: index 1", " 4 s: index 2", "13 s: index 1", "17 s: index 2", "17 s: index 3",
			"21 s: index 4", "21 s: index 5", "25 s: index 6", "25 s: index 7", "29 s: the Job ends",
		}},
		{"with FillFreeSlots", []jobfate.Option{jobfate.FillFreeSlots()}, []string{
			" 0 s: index 0", " 0 s: index 1", " 4 s: index 2", " 4 s: index 3", " 8 s: index 4", " 8 s: index 5",
			"12 s: index 6", "12 s: index 7", "16 s: index 1", "17 s: index 2", "20 s: the Job ends",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, executeAll, test.opts...)
			got := w.live(t, func(index int32) (time.Duration, int32) {
				if index == 1 || index == 2 {
					return 0, 1
				}
				return working, 0
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("the pods are made at\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"), strings.Join(w.log, "\n"))
			}
			// "The output ends with a status similar to: ..."
			want := `active=0 ready=0 terminating=0 succeeded=6 failed=4 completedIndexes="0,3-7" failedIndexes="1,2" uncounted=0 Failed=True:FailedIndexes FailureTarget=True:FailedIndexes`
			if got := shape(&w.Job().Status); got != want {
				t.Errorf("the status is\n%s\nwant\n%s", got, want)
			}
			if o := jobstatus.OutcomeOf(w.Job()); o.Phase != jobstatus.Failed || o.Reason != "FailedIndexes" || o.Message != "Job has failed indexes" {
				t.Errorf("the outcome is %+v", o)
			}
			// "kubectl get pods" lists ten, six of them Completed and four with Error.
			phases := map[corev1.PodPhase]int{}
			for _, pod := range w.Pods() {
				phases[pod.Status.Phase]++
			}
			if phases[corev1.PodSucceeded] != 6 || phases[corev1.PodFailed] != 4 || len(w.Pods()) != 10 {
				t.Errorf("the pods are %v", phases)
			}
		})
	}
}

// "if the per-index backoff was disabled, then the buggy indexes would retry until
// the global backoffLimit was exceeded, and then the entire Job would be marked
// failed, before some of the higher indexes are started."
func TestBlog_withoutPerIndexBackoff(t *testing.T) {
	w := newWorld(t, "completions: 8\nparallelism: 2\ncompletionMode: Indexed\nbackoffLimit: 2")
	for range 3 {
		w.runAll()
		for _, pod := range w.alive() {
			code := int32(0)
			if i := builtin.IndexOf(pod); i == 1 || i == 2 {
				code = 1
			}
			w.End(pod.UID, code)
		}
		w.pass()
	}
	w.pass()
	if o := jobstatus.OutcomeOf(w.Job()); o.Reason != "BackoffLimitExceeded" || strings.Contains(w.Job().Status.CompletedIndexes, "7") {
		t.Errorf("the outcome is %s, completed %q; want BackoffLimitExceeded before index 7", o.Reason, w.Job().Status.CompletedIndexes)
	}
}
