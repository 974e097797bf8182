package stories

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// KEP-3850 § The Job object too big: "the size of both fields is capped at 0.572Mi
// for the limits in (1.) and 0.525Mi for the limits in (2.)". The Jobs of this test come as near
// to the caps as possible.
func TestLimits_sizeOfTheIndexFields(t *testing.T) {
	const mebi = 1 << 20
	for _, test := range []struct {
		name  string
		spec  string
		from  int                      // all indexes below it are completed
		what  func(i int) (index byte) // completed, failed or hanging
		count int
		most  float64
	}{
		// "In (1.), in the worst case scenario, every index is either present in
		// completedIndexes or failedIndexes, but not in both."
		{
			name: "1", spec: "completions: 100000\nparallelism: 100000\nmaxFailedIndexes: 100000",
			what: func(i int) byte { return "cf"[i%2] }, count: 100_000, most: 0.572,
		},
		// "In (2.) the worst case scenario for the completedIndexes field is when
		// every third index is not in the field, because it corresponds to either a
		// failed or a hanging indexes, so it is a gap."
		{
			name: "2", spec: fmt.Sprintf("completions: %d\nparallelism: 10000\nmaxFailedIndexes: 10000", math.MaxInt32),
			from: math.MaxInt32 - 60_000,
			what: func(i int) byte { return "ccfcch"[i%6] }, count: 60_000, most: 0.525,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			job := specJob(t, test.spec+"\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1")
			hanging := podIn(job, 1, corev1.PodRunning)
			var pods []*corev1.Pod
			var completed, failed []string
			for i := range test.count {
				index := fmt.Sprint(test.from + i)
				switch test.what(i) {
				case 'c':
					completed = append(completed, index)
				case 'f':
					failed = append(failed, index)
				case 'h':
					pod := *hanging
					pod.UID = types.UID("uid-" + index)
					pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
					pods = append(pods, &pod)
				}
			}
			job.Status = batchv1.JobStatus{
				StartTime: &job.CreationTimestamp, Succeeded: int32(len(completed)), FailedIndexes: new(strings.Join(failed, ",")),
				CompletedIndexes: strings.Join(completed, ","),
			}
			if test.from > 0 {
				job.Status.Succeeded += int32(test.from)
				job.Status.CompletedIndexes = fmt.Sprintf("0-%s,%s", completed[1], strings.Join(completed[2:], ","))
			}
			d := Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time}))
			if d.Status.CompletedIndexes != job.Status.CompletedIndexes || *d.Status.FailedIndexes != *job.Status.FailedIndexes || len(d.Create) != 0 {
				t.Fatal("the decision changes the indexes")
			}
			size := float64(len(d.Status.CompletedIndexes)+len(*d.Status.FailedIndexes)) / mebi
			if size > test.most || size < 0.9*test.most-0.05 {
				t.Errorf("the two fields take %.3f Mi, want near and not above %.3f", size, test.most)
			}
			if n := len(slices.Collect(explain.Of(d).Indexes())); n != len(failed)+len(pods) {
				t.Errorf("%d indexes are explained, want %d", n, len(failed)+len(pods))
			}
		})
	}
}

// KEP-467 of JobSet (InPlaceRestart): "Forcing backoffLimit = 2147483647 (MaxInt32) so that Pod failures lead to
// individual Pod recreations, while the other Pods are restarted in-place". The Job grows with the pods that fail at
// the same time, not with all that have failed, and neither do the record and the metadata of pods.
func TestLimits_restartsInPlace(t *testing.T) {
	const failing, rounds, listed = 20, 100, len(`"pod-2000",`)
	const most, mostRecord = 300 + failing*listed, 100 // bytes; a list of all failed pods would take 22,000
	w := newWorldOf(t, fmt.Sprintf("completions: %d\nparallelism: %[1]d\ncompletionMode: Indexed\nbackoffLimit: %d\npodReplacementPolicy: Failed",
		failing+1, math.MaxInt32))
	created, largest, record, lists := len(toJSON(w.Job())), 0, 0, 0
	w.Watch = func(s cluster.Step) {
		w.watch(s)
		largest, record = max(largest, len(toJSON(w.Job()))), max(record, len(toJSON(w.last.Backoff)))
		if u := w.Job().Status.UncountedTerminatedPods; u != nil {
			lists = max(lists, len(u.Succeeded)+len(u.Failed))
		}
	}
	w.settle()
	pod := len(toJSON(w.alive()[failing].ObjectMeta))
	for range rounds {
		w.runAll()
		w.Edit(w.ofIndex(0), func(pod *corev1.Pod) { restartContainers(pod, w.Now, failing) })
		for i := range int32(failing) {
			w.End(w.ofIndex(i+1), 1)
		}
		w.settle()
		w.wait() // for the delay of the backoff
	}
	if s := w.Job().Status; s.Failed != failing*rounds || s.Active != failing+1 || len(s.Conditions) > 0 {
		t.Errorf("the Job has the status %v", toJSON(s))
	}
	if grown := largest - created; grown > most || lists != failing || record > mostRecord {
		t.Errorf("the Job grew by %d bytes and listed %d pods, the record took %d bytes; want at most %d, %d and %d",
			grown, lists, record, most, failing, mostRecord)
	}
	if newest := w.alive()[failing]; len(toJSON(newest.ObjectMeta)) > pod+8 {
		t.Errorf("the metadata of the last pod is larger than the %d bytes of the first one: %v", pod, toJSON(newest.ObjectMeta))
	}
}

// KEP-2307, Graduation Criteria: "Pod processing throughput per minute (mix of creating and counting
// finished Pods), assuming an average Job .spec.parallelism=10. Up to 2500 Pods (~3000 queries) for a
// 50 QPS client limit for the job controller. Up to 5000 (~6000 queries) Pods for a 100 QPS client
// limit". And its service level objective: "99% percentile over day for Job syncs is <= 15s for a
// client-side 50 QPS limit."
//
// Only requests count here: a decision takes microseconds. Reads are not limited, and events are not
// counted.
func TestThroughput_requestsOfASync(t *testing.T) {
	const completions, workers = 200, 5
	for _, tc := range []struct {
		name, spec string
		atOnce     int // how many pods end before each sync
		enough     bool
	}{
		{"all pods end at once", "", 10, true},
		{"six of ten", "", 6, true},
		{"one at a time, which the KEP does not assume", "", 1, false},
		{"all pods of an Indexed Job", "\ncompletionMode: Indexed", 10, true},
		{"five of ten of an Indexed Job", "\ncompletionMode: Indexed", 5, true},
	} {
		w := newWorldOf(t, "completions: 200\nparallelism: 10"+tc.spec)
		largest := 0 // the most requests of a sync
		for !jobstatus.OutcomeOf(w.Job()).Terminal() {
			before := w.writes
			w.sync()
			largest = max(largest, w.writes-before)
			for i, pod := range w.alive() {
				if i < tc.atOnce {
					w.Start(pod.UID)
					w.End(pod.UID, 0)
				}
			}
			w.advance(time.Second)
		}
		Same(t, tc.name+": pods", w.made, completions)
		for _, goal := range []struct{ qps, pods int }{{50, 2500}, {100, 5000}} {
			if pods := 60 * goal.qps * (w.made + completions) / w.writes; pods >= goal.pods != tc.enough {
				t.Errorf("%s: %d pods are created or counted in a minute at %d QPS, by %d requests; at least %d: want %t",
					tc.name, pods, goal.qps, w.writes, goal.pods, tc.enough)
			}
		}
		// All workers may carry out their largest sync at the same time.
		if took := time.Duration(workers*largest) * time.Second / 50; took > 15*time.Second {
			t.Errorf("%s: %d syncs of %d requests take %s at 50 QPS", tc.name, workers, largest, took)
		}
		t.Logf("%s: %d requests for %d pods, at most %d in a sync", tc.name, w.writes, w.made, largest)
	}
}
