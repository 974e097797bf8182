package census_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// The change of the backoff record is that of the finish times of the pods that no status has recorded: of all
// pods, of those without a FailJob verdict, or of some pods. backoff.Record.With says the same of lists of times.
func TestRandom_backoffChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := NewJob()
		job.Spec.PodFailurePolicy = ExitCodePolicy()
		lists := Lists(nil, nil)
		job.Status.UncountedTerminatedPods = lists
		before := backoff.Record{Job: job.UID, Failures: int32(rapid.IntRange(-1, 2).Draw(t, "failures before")), LastFailure: Noon()}
		var pods, some []*corev1.Pod
		times := map[string][]time.Time{} // by who is asked for, and how it ended
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			at := After(rapid.IntRange(1, 5).Draw(t, "second"))
			code := rapid.SampledFrom([]int32{0, 0, ExitPlain, ExitPlain, ExitFailJob}).Draw(t, "code")
			pod := Pod(fmt.Sprint("pod-", i), Exit(code, at))
			pods = append(pods, pod)
			wanted := rapid.Bool().Draw(t, "among some")
			if wanted {
				some = append(some, pod)
			}
			switch state := rapid.SampledFrom([]string{"new", "new", "new", "listed", "released"}).Draw(t, "state"); {
			case state == "released":
				Released(pod)
				continue
			case state == "listed" && code == 0:
				lists.Succeeded = append(lists.Succeeded, pod.UID)
				continue
			case state == "listed":
				lists.Failed = append(lists.Failed, pod.UID)
				continue
			}
			end := map[bool]string{true: "succeeded", false: "failed"}[code == 0]
			times["all "+end] = append(times["all "+end], at.Time)
			if code != ExitFailJob {
				times["kept "+end] = append(times["kept "+end], at.Time)
			}
			if wanted {
				times["some "+end] = append(times["some "+end], at.Time)
			}
		}
		c := take(classifierOf(job), pods...)
		for who, got := range map[string]backoff.Record{
			"all":  c.BackoffChange(false).With(before),
			"kept": c.BackoffChange(true).With(before),
			"some": c.BackoffChangeOf(some).With(before),
		} {
			r := before
			r.Failures = max(r.Failures, 0)
			want := r.With(times[who+" succeeded"], times[who+" failed"])
			if len(times[who+" succeeded"])+len(times[who+" failed"]) == 0 {
				want = before
			}
			if got.Failures != want.Failures || !got.LastFailure.Equal(want.LastFailure) || got.Job != want.Job {
				t.Errorf("%s: got %+v, want %+v", who, got, want)
			}
		}
	})
}

// After a restart, the counted pods that still exist make the record. A pod that is being deleted without the
// finalizer is one failure at most, and none if it says no time; a listed one is a failure as any other.
func TestRebuilt(t *testing.T) {
	timeless := func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Reset()
		pod.DeletionTimestamp.Time, pod.CreationTimestamp.Time = time.Time{}, time.Time{}
	}
	failed := func(uid string, second int, edits ...Edit) *corev1.Pod {
		return Pod(uid, append([]Edit{Exit(ExitPlain, After(second))}, edits...)...)
	}
	for _, test := range []struct {
		name     string
		pods     []*corev1.Pod
		failed   []types.UID
		failures int32
		last     int
	}{
		{"nothing is counted", []*corev1.Pod{failed("a", 1)}, nil, 0, 0},
		{"two counted at one time", []*corev1.Pod{failed("a", 1, Released), failed("b", 1, Released)}, nil, 2, 1},
		{"two counted at two times", []*corev1.Pod{failed("a", 2, Released), failed("b", 1, Released)}, nil, 2, 2},
		{"two are being deleted", []*corev1.Pod{failed("a", 1, Released, Deleted), failed("b", 2, Released, Deleted)}, nil, 1, 2},
		{"two are listed and being deleted", []*corev1.Pod{failed("a", 1, Deleted), failed("b", 2, Deleted)},
			[]types.UID{"a", "b"}, 2, 2},
		{"being deleted, at no time", []*corev1.Pod{failed("a", 1, Released, Deleted, timeless)}, nil, 0, 0},
		{"a success is not counted yet", []*corev1.Pod{failed("a", 1, Released), Pod("b", Exit(0, After(2)))}, nil, 1, 1},
		{"a success before a deletion", []*corev1.Pod{failed("a", 5, Released, Deleted), Pod("b", Exit(0, After(3)), Released)}, nil, 1, 5},
		{"a success after a deletion", []*corev1.Pod{failed("a", 5, Released, Deleted), Pod("b", Exit(0, After(9)), Released)}, nil, 0, 0},
		{"a later success is counted", []*corev1.Pod{failed("a", 1, Released), Pod("b", Exit(0, After(2)), Released)}, nil, 0, 0},
	} {
		job := NewJob()
		job.Status.UncountedTerminatedPods = Lists(nil, test.failed)
		want := backoff.Record{Job: "job", Failures: test.failures}
		if test.failures > 0 {
			want.LastFailure = After(test.last).Time
		}
		Same(t, test.name, take(classifierOf(job), test.pods...).Rebuilt("job"), want)
	}
}

// Of several successes the last one counts, in whatever order the pods are given.
func TestBackoffChangeOf_severalSuccesses(t *testing.T) {
	pods := []*corev1.Pod{Pod("a", Exit(0, After(1))), Pod("b", Exit(ExitPlain, After(2))), Pod("c", Exit(0, After(3)))}
	c := take(classifierOf(NewJob()), pods...)
	for range 2 {
		r := c.BackoffChangeOf(pods).With(backoff.Record{Failures: 4, LastFailure: Noon()})
		Same(t, "the record", r, backoff.Record{})
		slices.Reverse(pods)
	}
}
