package stories

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
)

// TestLessons checks defects that the Job controller and projects derived from it have had. kN
// is issue or pull request N of kubernetes/kubernetes. "seen" was observed with the controller
// of 1.37. The comment of each function describes the defect first. More are in testdata/lessons.txt and explain.txt.
func TestLessons(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		// Statuses that the API server rejects (below).
		"seen_an_index_is_never_both_completed_and_failed":        indexesAreDisjoint,
		"k125410_k111646_first_classification_sticks":             firstClassificationSticks,
		"k134521_resume_resets_the_start_time_with_the_condition": suspendAndResume,
		"k125909_a_False_condition_is_ignored":                    falseConditions,
		// Counting (lessons_counting_test.go).
		"k105200_a_stale_pod_is_not_counted_again":                stalePods,
		"k104666_no_UID_is_dropped_above_500":                     above500,
		"k109485_k119160_no_end_before_all_pods_are_observed":     noEndBeforeAllPodsAreObserved,
		"k108645_k109429_k141329_a_removal_is_retried":            removalIsRetried,
		"k124798_pods_of_other_controllers_are_left_alone":        podsOfOthers,
		"k104130_inputs_stay_as_they_are":                         inputsStay,
		"k130333_k137210_a_stale_Job_is_waited_for":               staleJob,
		"k131917_k142142_a_Job_of_the_same_name_inherits_nothing": sameName,
		"k140839_an_edited_index_is_reported":                     editedIndex,
		"k99865_k115349_duplicates_and_out_of_range":              duplicatesAndOutOfRange,
		"k121147_k122235_k121011_no_panic":                        noPanic,
		"k118085_k118420_size_of_completedIndexes":                sizeOfIndexes,
		"seen_metrics_do_not_fall":                                metricsDoNotFall,
		"seen_damaged_intervals":                                  damagedIntervals,
		// Backoff, policy, deadline (lessons_backoff_test.go).
		"seen_the_least_delay_is_always_returned":        leastDelay,
		"edited_annotations":                             editedAnnotations,
		"k70251_k92245_k60735_requeues_are_not_failures": requeuesAreNotFailures,
		"k70251_per_index_requeues_are_not_failures":     requeuesAreNotFailuresPerIndex,
		"k114650_a_restart_keeps_the_backoff":            restartKeepsBackoff,
		"k118413_the_finish_time_does_not_move":          finishTime,
		"k54870_k67859_k95438_OnFailure":                 onFailure,
		"k115688_failed_though_all_containers_exited_0":  failedWithExit0,
		"k110239_k107226_one_timer":                      oneTimer,
		"precedence_of_ends":                             precedenceOfEnds,
		// Requests of users (lessons_asks_test.go).
		"k122972_enhancements4479_jobset1027_which_rule": whichRule,
		"jobset1091_armada4713_matchers":                 matchers,
		"k94012_k114651_k88718_enhancements3922_delays":  otherDelays,
		"k109131_unfinished_indexes":                     unfinishedIndexes,
		"jobset928_decided_versus_terminal":              decidedVersusTerminal,
		"kueue13163_kueue12670_pods_held":                podsHeld,
		"karmada6964_karmada7844_outcome":                outcome,
	} {
		t.Run(name, test)
	}
}

// An index with a succeeded pod and a failed pod that had used up the limit was added to both
// completedIndexes and failedIndexes. The API server rejected every such status, and a Job of 2
// indexes ended although index 1 had never run.
func indexesAreDisjoint(t *testing.T) {
	job := specJob(t, "completions: 2\nparallelism: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	won, lost := podIn(job, 1, corev1.PodSucceeded), podIn(job, 1, corev1.PodFailed)
	lost.Name, lost.UID = "job-0-lost", "uid-lost"
	for name, failed := range map[string]*string{"nothing known": nil, "known as failed": ptrTo("0")} {
		job := job.DeepCopy()
		job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, FailedIndexes: failed}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{won, lost}, Now: job.CreationTimestamp.Time})
		st := d.Status
		if st.CompletedIndexes != "0" || *st.FailedIndexes != "" || len(st.Conditions) != 0 || len(d.Create) != 1 || d.Create[0].Index != 1 {
			t.Errorf("%s: completed %q, failed %q, conditions %v, %d pods; want 0, none, none, and a pod for index 1",
				name, st.CompletedIndexes, *st.FailedIndexes, st.Conditions, len(d.Create))
		}
	}
}

// A pod listed as succeeded was later observed as Failed, or the reverse. Its UID was then in
// both lists and was counted twice.
func firstClassificationSticks(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3")
	uid := []types.UID{"pod-1"}
	for _, test := range []struct {
		parked            batchv1.UncountedTerminatedPods
		seen              corev1.PodPhase
		succeeded, failed int32
	}{
		{batchv1.UncountedTerminatedPods{Succeeded: uid}, corev1.PodFailed, 1, 0},
		{batchv1.UncountedTerminatedPods{Failed: uid}, corev1.PodSucceeded, 0, 1},
		{batchv1.UncountedTerminatedPods{Succeeded: uid, Failed: uid}, corev1.PodFailed, 0, 1},
		{batchv1.UncountedTerminatedPods{Succeeded: uid}, corev1.PodRunning, 1, 0},
		{batchv1.UncountedTerminatedPods{Failed: uid}, corev1.PodRunning, 0, 1},
	} {
		w := newWorld(t, "completions: 3\nparallelism: 3")
		w.SetStatus(batchv1.JobStatus{StartTime: &job.CreationTimestamp, UncountedTerminatedPods: &test.parked})
		w.Add(podIn(job, 1, ""))
		w.Edit("pod-1", func(pod *corev1.Pod) { *pod = *podIn(job, 1, test.seen) })
		w.settle()
		if test.seen == corev1.PodRunning { // it counts by its list when it ends
			if st := w.Job().Status; st.Succeeded+st.Failed != 0 || !builtin.HasFinalizer(w.Pods()[0]) {
				t.Errorf("parked %+v, seen %s: counted before it ends: %s", test.parked, test.seen, toJSON(st))
			}
			w.End("pod-1", test.succeeded) // 0 if it is to count as failed
			w.settle()
		}
		if st := w.Job().Status; st.Succeeded != test.succeeded || st.Failed != test.failed || len(st.UncountedTerminatedPods.Succeeded)+len(st.UncountedTerminatedPods.Failed) != 0 {
			t.Errorf("parked %+v, seen %s: %d succeeded, %d failed, %+v; want %d, %d, nothing",
				test.parked, test.seen, st.Succeeded, st.Failed, st.UncountedTerminatedPods, test.succeeded, test.failed)
		}
	}
}

// A resumed Job got a new start time, which the API server allows only together
// with the condition.
func suspendAndResume(t *testing.T) {
	w := newWorld(t, "completions: 2\nparallelism: 2\nactiveDeadlineSeconds: 100")
	for round := range 3 {
		w.settle()
		if started := w.Job().Status.StartTime; !started.Time.Equal(w.Now) || !w.next.Equal(w.Now.Add(100*time.Second)) {
			t.Errorf("round %d: started %v at %s, next sync at %s; want now and 100 s later", round, started, clock(w.Now), clock(w.next))
		}
		w.advance(40 * time.Second)
		w.edit("suspend: true")
		w.settle()
		if st := w.Job().Status; st.StartTime != nil || st.Active != 0 {
			t.Errorf("round %d: suspended with %d active, started %v", round, st.Active, st.StartTime)
		}
		w.advance(time.Hour)
		w.edit("suspend: false")
	}
	// If no condition recorded the suspension, resuming does not change the start time.
	w = newWorld(t, "completions: 2\nparallelism: 2")
	w.settle()
	started := w.Job().Status.StartTime
	st := w.Job().Status
	st.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "Other"}}
	w.SetStatus(st)
	w.advance(time.Minute)
	w.settle()
	if st := w.Job().Status; !st.StartTime.Equal(started) || st.Conditions[0].Reason != "JobResumed" {
		t.Errorf("started %v with %v, want unchanged %v with JobResumed", st.StartTime, st.Conditions, started)
	}
}

// FailureTarget=False ended the Job.
func falseConditions(t *testing.T) {
	for _, c := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, batchv1.JobFailed} {
		for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, ""} {
			w := newWorld(t, "completions: 1\nparallelism: 1")
			w.SetStatus(batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: c, Status: status}}})
			w.settle()
			if w.made != 1 || jobstatus.OutcomeOf(w.Job()).Phase != jobstatus.Running {
				t.Errorf("%s=%s: %d pods, %s; want 1 pod, Running", c, status, w.made, jobstatus.OutcomeOf(w.Job()).Phase)
			}
		}
	}
}
