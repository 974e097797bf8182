package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
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
	batching = 1 * time.Second // from a change to the sync: KEP-3850, "delay (1s for pod events)"
)

// timeline advances the clock second by second until the Job has ended. Pods start, work and exit.
// The controller syncs at the requested time, and one batching period after each change. Within
// a second, pods change before the sync.
func (w *world) timeline(t *testing.T, exits func(index int32) (time.Duration, int32)) (lines []string) {
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
		if due.Equal(w.Now) || w.next.Equal(w.Now) {
			due = time.Time{}
			from := w.made
			if w.sync() { // its writes are changes too
				due = w.Now.Add(batching)
			}
			lines = append(lines, w.created(from, begin)...)
			if jobstatus.Finished(w.Job()) != nil {
				return append(lines, fmt.Sprintf("%2d s: the Job ends", int(w.Now.Sub(begin).Seconds())))
			}
		}
		w.advance(time.Second)
	}
	t.Fatalf("the Job does not end:\n%s", w.Story())
	return nil
}

// created lists the created pods with the times of their creation.
func (w *world) created(from int, begin time.Time) (lines []string) {
	for n := from + 1; n <= w.made; n++ {
		pod := w.Pod(types.UID(fmt.Sprintf("pod-%d", n)))
		lines = append(lines, fmt.Sprintf("%2d s: index %d", int(w.Now.Sub(begin).Seconds()), builtin.IndexOf(pod)))
	}
	return lines
}

// These rules decide when each pod is created. A pod starts 3 s after its creation. Indexes 1
// and 2 exit with 1 at once, the others with 0 a second later. The controller syncs 1 s after a
// change, including its own. The delay after a failure that may be retried is 10 s.
//
// By default the controller picks the lowest pending indexes before it checks their delays:
//
//	 0 s  0 and 1 are the lowest two, and get a pod.
//	 4 s  1 failed at 3 s and backs off until 13 s. 0 has succeeded. The lowest two
//	      are 1 and 2, of which 2 gets a pod.
//	 8 s  2 failed at 7 s and backs off until 17 s. The lowest two are 1 and 2:
//	      no pod is created, and none runs.
//	13 s  1 gets a pod again. 2 takes the other place, and backs off.
//	17 s  1 failed permanently at 16 s. The lowest two are 2 and 3, and the delay of 2 is
//	      over. Both get a pod.
//	21 s  2 failed permanently at 20 s, and 3 succeeded at 21 s: 4 and 5 get a pod.
//	25 s  4 and 5 have succeeded: 6 and 7 get a pod.
//	29 s  6 and 7 have succeeded, and all indexes are finished.
//
// With FillFreeSlots, indexes that back off take no place:
//
//	 4 s  1 backs off until 13 s: 2 and 3 get a pod.
//	 8 s  2 failed at 7 s and backs off until 17 s. 3 has succeeded: 4 and 5 get a pod.
//	12 s  6 and 7 get a pod. At 13 s there is no place for 1.
//	16 s  6 and 7 have succeeded: 1 gets a pod again.
//	17 s  2 gets a pod again.
//	20 s  1 failed permanently at 19 s, and 2 at 20 s.
func TestBlog_indexesExecuteDespiteFailures(t *testing.T) {
	for _, test := range []struct {
		name string
		opts []decide.Option
		want []string
	}{
		{"as Kubernetes does", nil, []string{
			" 0 s: index 0", " 0 s: index 1", " 4 s: index 2", "13 s: index 1", "17 s: index 2", "17 s: index 3",
			"21 s: index 4", "21 s: index 5", "25 s: index 6", "25 s: index 7", "29 s: the Job ends",
		}},
		{"with FillFreeSlots", []decide.Option{decide.FillFreeSlots()}, []string{
			" 0 s: index 0", " 0 s: index 1", " 4 s: index 2", " 4 s: index 3", " 8 s: index 4", " 8 s: index 5",
			"12 s: index 6", "12 s: index 7", "16 s: index 1", "17 s: index 2", "20 s: the Job ends",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorldOf(t, executeAll, test.opts...)
			got := w.timeline(t, func(index int32) (time.Duration, int32) {
				if index == 1 || index == 2 {
					return 0, 1
				}
				return working, 0
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("the pods are created at\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"), w.Story())
			}
			// "The output ends with a status similar to: ..."
			want := []string{"startTime: 12:00:00", "active: 0", "ready: 0", "terminating: 0", "succeeded: 6", "failed: 4",
				`completedIndexes: "0,3-7"`, `failedIndexes: "1,2"`,
				`FailureTarget: True FailedIndexes "Job has failed indexes"`, `Failed: True FailedIndexes "Job has failed indexes"`}
			if diff := cmp.Diff(want, showStatus(&w.Job().Status)); diff != "" {
				t.Errorf("the status (-want +got):\n%s", diff)
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
