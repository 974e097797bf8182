package counting_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/tracking/counting"
)

// names holds the keys of Kubernetes.
var names tracking.Keys

func uncounted(succeeded, failed []types.UID) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.UncountedTerminatedPods = Lists(succeeded, failed) }
}

// line returns the fields of a status about counting in one line.
func line(st *batchv1.JobStatus) string {
	if st == nil {
		return "no status"
	}
	text := fmt.Sprintf("+%d +%d", st.Succeeded, st.Failed)
	if u := st.UncountedTerminatedPods; u != nil {
		text += fmt.Sprint(" ", u.Succeeded, u.Failed)
	}
	if st.CompletedIndexes != "" {
		text += " completed " + st.CompletedIndexes
	}
	if st.FailedIndexes != nil {
		text += " failed " + *st.FailedIndexes
	}
	return text
}

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		job     []func(*batchv1.Job)
		pods    []*corev1.Pod
		want    string
		strip   string
		settled string // the status once all pods in strip have lost their finalizer
	}{
		{"nothing has finished", nil, []*corev1.Pod{Pod("r")}, "+0 +0 [] []", "", "+0 +0 [] []"},
		{"KEP-2307: adds Pod UIDs to the lists if the Pod: has the finalizer, and the Pod is on Succeeded or Failed phase, respectively", nil, []*corev1.Pod{Pod("s", Succeeded), Pod("f", Failed), Pod("r")},
			"+0 +0 [s] [f]", "f s", "+1 +1 [] []"},
		{"KEP-2307: counts the Pods in the lists that: have no finalizer, or were removed from the system", []func(*batchv1.Job){uncounted([]types.UID{"gone"}, []types.UID{"f"})}, []*corev1.Pod{Pod("f", Failed)},
			"+1 +0 [] [f]", "f", "+1 +1 [] []"},
		{"pods of other owners and pods without the finalizer do not count", nil,
			[]*corev1.Pod{Pod("other", ControlledBy("other"), Failed), Pod("none", Ownerless, Failed), Pod("free", Released, Succeeded), nil, Pod("", Failed)},
			"+0 +0 [] []", "", "+0 +0 [] []"},
		{"a pod that is passed twice counts once", nil, []*corev1.Pod{Pod("f", Failed), Pod("f", Failed)}, "+0 +0 [] [f]", "f", "+0 +1 [] []"},
		{"KEP-2307: can use .status.completedIndexes in place of .status.uncountedTerminatedPods.succeeded in step 2", []func(*batchv1.Job){Indexed(3)}, []*corev1.Pod{Pod("a", Succeeded, Index("1")), Pod("b", Failed, Index("0"))},
			"+1 +0 [] [b] completed 1", "b a", "+1 +1 [] [] completed 1"},
		{"indexes beyond completions do not count", []func(*batchv1.Job){Indexed(3)}, []*corev1.Pod{Pod("a", Succeeded, Index("3"))},
			"+0 +0 [] []", "a", "+0 +0 [] []"},
		{"completions without a default are one", []func(*batchv1.Job){Indexed(1), func(j *batchv1.Job) { j.Spec.Completions = nil }}, []*corev1.Pod{Pod("a", Succeeded, Index("0"))},
			"+1 +0 [] [] completed 0", "a", "+1 +0 [] [] completed 0"},
		{"a failed pod waits for its replacement", []func(*batchv1.Job){Indexed(3), PerIndex(1)}, []*corev1.Pod{Pod("a", Failed, Index("0"), Failures("0"))},
			"+0 +0 [] [] failed ", "", "+0 +0 [] [] failed "},
		{"a failed pod counts once its replacement exists", []func(*batchv1.Job){Indexed(3), PerIndex(1)}, []*corev1.Pod{Pod("a", Failed, Index("0"), Failures("0")), Pod("b", Index("0"), Failures("1"))},
			"+0 +0 [] [a] failed ", "a", "+0 +1 [] [] failed "},
		{"a failed pod counts if its index has failed", []func(*batchv1.Job){Indexed(3), PerIndex(1)}, []*corev1.Pod{Pod("a", Failed, Index("0"), Failures("1"))},
			"+0 +0 [] [a] failed 0", "a", "+0 +1 [] [] failed 0"},
		{"an ignored failure is not counted", []func(*batchv1.Job){ExitRule(batchv1.PodFailurePolicyActionIgnore, 1)}, []*corev1.Pod{Pod("f", Failed)},
			"+0 +0 [] []", "f", "+0 +0 [] []"},
		{"a pod with a FailJob verdict that the status lacks is kept", []func(*batchv1.Job){ExitRule(batchv1.PodFailurePolicyActionFailJob, 1)}, []*corev1.Pod{Pod("f", Failed), Pod("g", Exit(7, After(0)))},
			"+0 +0 [] [g]", "g", "+0 +1 [] []"},
		{"a pod with a FailJob verdict that the status has is counted", []func(*batchv1.Job){ExitRule(batchv1.PodFailurePolicyActionFailJob, 1), Has(batchv1.JobFailureTarget)}, []*corev1.Pod{Pod("f", Failed), Pod("r")},
			"+0 +0 [] [f r]", "f r", "+0 +2 [] []"},
		{"a pod with a FailJob verdict of a Job that is being deleted is counted", []func(*batchv1.Job){ExitRule(batchv1.PodFailurePolicyActionFailJob, 1), func(j *batchv1.Job) { j.DeletionTimestamp = new(After(0)) }},
			[]*corev1.Pod{Pod("f", Failed), Pod("r")}, "+0 +0 [] [f]", "f r", "+0 +1 [] []"},
		{"a Job that succeeds strips its running pods uncounted", []func(*batchv1.Job){Has(batchv1.JobSuccessCriteriaMet)}, []*corev1.Pod{Pod("s", Succeeded), Pod("r")},
			"+0 +0 [s] []", "r s", "+1 +0 [] []"},
		{"KEP-2307: a user or another controller removes a Pod: the Job controller already counts them as such", nil, []*corev1.Pod{Pod("d", Deleted)}, "+0 +0 [] [d]", "d", "+0 +1 [] []"},
		{"a deleted pod does not count before it has terminated, if only failed pods are replaced", []func(*batchv1.Job){func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.Failed) }}, []*corev1.Pod{Pod("d", Deleted)},
			"+0 +0 [] []", "", "+0 +0 [] []"},
		{"a Job that has ended strips all pods and keeps its status", []func(*batchv1.Job){Has(batchv1.JobFailed), uncounted(nil, []types.UID{"f"})}, []*corev1.Pod{Pod("f", Failed), Pod("r"), Pod("free", Released)},
			"+0 +0 [] [f]", "f r", "+0 +0 [] [f]"},
		{"counters do not wrap around", []func(*batchv1.Job){func(j *batchv1.Job) { j.Status.Failed = math.MaxInt32 }, uncounted(nil, []types.UID{"gone"})}, nil,
			fmt.Sprintf("+0 +%d [] []", math.MaxInt32), "", fmt.Sprintf("+0 +%d [] []", math.MaxInt32)},
		{"a counter above the indexes stays", []func(*batchv1.Job){Indexed(3), func(j *batchv1.Job) { j.Status.Succeeded = 3 }}, []*corev1.Pod{Pod("a", Succeeded, Index("1"))},
			"+3 +0 [] [] completed 1", "a", "+3 +0 [] [] completed 1"},
		{"a pod of another owner does not hide those after it", nil, []*corev1.Pod{Pod("other", ControlledBy("other"), Failed), Pod("f", Failed)},
			"+0 +0 [] [f]", "f", "+0 +1 [] []"},
		{"a Job that has ended strips a pod that is passed twice once", []func(*batchv1.Job){Has(batchv1.JobFailed)}, []*corev1.Pod{Pod("f", Failed), Pod("f", Failed)},
			"+0 +0", "f", "+0 +0"},
		{"failed indexes stay when their pods are gone", []func(*batchv1.Job){Indexed(3), PerIndex(1), func(j *batchv1.Job) { j.Status.FailedIndexes = new("2") }}, nil,
			"+0 +0 [] [] failed 2", "", "+0 +0 [] [] failed 2"},
		{"the indexes of an Indexed Job are its counter, whatever its lists say", []func(*batchv1.Job){Indexed(3), uncounted([]types.UID{"gone"}, nil), func(j *batchv1.Job) { j.Status.CompletedIndexes, j.Status.Succeeded = "1", 1 }}, nil,
			"+1 +0 [] [] completed 1", "", "+1 +0 [] [] completed 1"},
		{"a NonIndexed Job keeps indexes that a user wrote", []func(*batchv1.Job){func(j *batchv1.Job) { j.Status.CompletedIndexes = "7" }}, nil,
			"+0 +0 [] [] completed 7", "", "+0 +0 [] [] completed 7"},
	} {
		job := NewJob()
		for _, edit := range tc.job {
			edit(job)
		}
		before := job.DeepCopy()
		counted := counting.Count(job, tc.pods, names)
		uids := UIDsOf(counted.Strip)
		Same(t, tc.reason+": status", line(counted.Status), tc.want)
		Same(t, tc.reason+": strip", strings.Trim(fmt.Sprint(uids), "[]"), tc.strip)
		Same(t, fmt.Sprintf("%s: settled with %v: status", tc.reason, uids), line(counted.Settle(uids...)), tc.settled)
		Same(t, tc.reason+": settled with none", line(counted.Settle()), tc.want)
		Same(t, tc.reason+": the Job", job, before)
	}
}

func TestCount_noJob(t *testing.T) {
	counted := counting.Count(nil, []*corev1.Pod{Pod("a", Failed)}, names)
	Same(t, "settled", counted.Settle("a"), nil)
	Same(t, "strip", len(counted.Strip), 0)
	job := NewJob()
	job.UID = "" // owns nothing
	Same(t, "a Job without a UID", len(counting.Count(job, []*corev1.Pod{Pod("a", Failed, ControlledBy(""))}, names).Strip), 0)
}

// KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for the index".
// The pod with that count waits for its replacement.
func TestKEP3850_oneFailedPodWaits(t *testing.T) {
	at := func(seconds int) Edit { return Exit(ExitPlain, After(seconds)) }
	job := NewJob()
	Indexed(2)(job)
	PerIndex(9)(job)
	for _, tc := range []struct {
		reason string
		pods   []*corev1.Pod
		strip  []types.UID
	}{
		{"the highest count", []*corev1.Pod{Pod("a", at(0), Index("0"), Failures("2")), Pod("b", at(9), Index("0"), Failures("1"))}, UIDs("b")},
		{"ignored failures count as well", []*corev1.Pod{Pod("a", at(0), Index("0"), Annotation(batchv1.JobIndexIgnoredFailureCountAnnotation, "2")), Pod("b", at(9), Index("0"), Failures("1"))}, UIDs("b")},
		{"then the latest", []*corev1.Pod{Pod("a", at(9), Index("0")), Pod("b", at(0), Index("0"))}, UIDs("b")},
		{"then the highest UID", []*corev1.Pod{Pod("b", at(0), Index("0")), Pod("a", at(0), Index("0"))}, UIDs("a")},
		{"one of each index", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("b", at(0), Index("1"))}, nil},
		{"a pod with no valid index does not wait", []*corev1.Pod{Pod("a", at(0), Index("2")), Pod("b", at(0))}, UIDs("b", "a")},
		{"a pod without the finalizer does not wait", []*corev1.Pod{Pod("a", at(9), Index("0"), Released), Pod("b", at(0), Index("0"))}, nil},
		{"the index has succeeded", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("s", Succeeded, Index("0"))}, UIDs("a", "s")},
		{"the index has failed", []*corev1.Pod{Pod("a", at(0), Index("0"), Failures("9"))}, UIDs("a")},
		{"the replacement exists", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("r", Index("0"))}, UIDs("a")},
		{"another index has an active pod", []*corev1.Pod{Pod("a", at(0), Index("0")), Pod("r", Index("1"))}, nil},
	} {
		Same(t, tc.reason, UIDsOf(counting.Count(job, tc.pods, names).Strip), tc.strip)
	}
	job.Spec.BackoffLimitPerIndex = nil
	Same(t, "without a limit per index", UIDsOf(counting.Count(job, []*corev1.Pod{Pod("a", at(0), Index("0"))}, names).Strip), UIDs("a"))
}

// "The caller owns it": a Status that Count or Settle has returned is no part of the Job, nor of the next one.
func TestCount_statusIsTheCallers(t *testing.T) {
	for name, edit := range map[string]func(*batchv1.Job){
		"running": func(*batchv1.Job) {}, "finished": Has(batchv1.JobComplete),
	} {
		job := NewJob()
		job.Status = *FullStatus()
		edit(job)
		before := job.DeepCopy()
		counted := counting.Count(job, []*corev1.Pod{Pod("s", Succeeded), Pod("f", Failed)}, names)
		spoil := func(st *batchv1.JobStatus) {
			st.Conditions[0].Reason, st.StartTime.Time, *st.Ready = "spoilt", Noon(), 99
			st.Failed = 99
		}
		settled := counted.Settle()
		want := settled.DeepCopy()
		spoil(settled)
		Same(t, name+": settled again", counted.Settle(), want)
		spoil(counted.Status)
		Same(t, name+": the Job", job, before)
	}
}

// An index that completes with this status is not failed, although the status did not know it.
func TestCount_failedIndexThatCompletes(t *testing.T) {
	job := NewJob()
	Indexed(5)(job)
	PerIndex(1)(job)
	job.Status.FailedIndexes = new("1,2")
	st := counting.Count(job, []*corev1.Pod{Pod("a", Succeeded, Index("2"))}, names).Status
	Same(t, "completed; failed", st.CompletedIndexes+"; "+*st.FailedIndexes, "2; 1")
}

func active(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

// Pods of indexes that the status already holds need no record, so they do not fill the lists.
func TestCount_completedIndexesFillNoList(t *testing.T) {
	const pods = classify.DefaultCap + 100
	job := NewJob()
	Indexed(pods)(job)
	job.Status.CompletedIndexes, job.Status.Succeeded = fmt.Sprintf("0-%d", pods-1), pods
	var all []*corev1.Pod
	for i := range pods {
		all = append(all, Pod(fmt.Sprintf("p%d", i), Succeeded, Index(strconv.Itoa(i))))
	}
	counted := counting.Count(job, all, names)
	Same(t, "pods to strip, full", Pair(len(counted.Strip), counted.Full), Pair(pods, false))
}

// KEP-2307 § Algorithm: "The algorithm assumes that the Job controller could be stopped
// at any point and executed again from the first step without losing information." No pod
// is counted twice and none is lost, whichever writes succeed.
func countIsStopped(t *rapid.T) {
	job := NewJob()
	n := rapid.IntRange(1, 6).Draw(t, "pods")
	if rapid.Bool().Draw(t, "indexed") {
		Indexed(int32(n))(job)
	}
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, Pod(fmt.Sprintf("uid-%d", i), Index(fmt.Sprint(i))))
	}
	sync := func(faults bool) {
		stops := func(where string) bool { return faults && OneIn(t, 5, where) }
		counted := counting.Count(job, pods, names)
		if stops("stopped before the first write") {
			return
		}
		job.Status = *counted.Status
		var gone []types.UID
		for _, pod := range counted.Strip {
			if stops("stopped before a removal") {
				return
			}
			if stops("a removal fails") {
				continue
			}
			Released(pod)
			gone = append(gone, pod.UID)
		}
		if !stops("stopped before the second write") {
			job.Status = *counted.Settle(gone...)
		}
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		if pod := pods[rapid.IntRange(0, n-1).Draw(t, "pod")]; active(pod) {
			rapid.SampledFrom([]Edit{Succeeded, Failed, Deleted}).Draw(t, "end")(pod)
		}
		sync(true)
	}
	for range 3 {
		sync(false)
	}
	wasSuccess := func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }
	wantSucceeded := len(slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !wasSuccess(pod) }))
	wantFailed := len(slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return wasSuccess(pod) || active(pod)
	}))
	Same(t, "succeeded", int(job.Status.Succeeded), wantSucceeded)
	Same(t, "failed", int(job.Status.Failed), wantFailed)
	Same(t, "left uncounted", job.Status.UncountedTerminatedPods, Lists(nil, nil))
}

func TestRandom_countStoppedAtAnyPoint(t *testing.T) { rapid.Check(t, countIsStopped) }
