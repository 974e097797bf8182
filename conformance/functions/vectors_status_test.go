package functions

import (
	"maps"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/vectors"
)

var aboutStatus = []subject{
	{name: "readStatus", aimed: statusesToRead(), shrinks: true, draw: func(d draw) any { return vectors.OneJob{Job: d.started()} }},
	{name: "equalStatus", oracle: "equality.Semantic.DeepEqual", aimed: pairsOfStatuses(),
		kubernetes: asks(func(in vectors.TwoStatuses, out *vectors.Same) {
			out.Equal = equality.Semantic.DeepEqual(withLists(in.A), withLists(in.B))
		})},
	{name: "statusPatch", aimed: statusesToPatch()},
	{name: "demand", draw: func(d draw) any { return d.jobAndPods() }, shrinks: true, cases: 900},
	{name: "count", draw: func(d draw) any { return d.jobAndPods() }, shrinks: true, cases: 500, aimed: podsToCount()},
	{name: "enterTracking", shrinks: true, cases: 250, aimed: podsToTrack(), draw: func(d draw) any {
		in := d.jobAndPods()
		if d.percent(95) {
			in.Job.Status.UncountedTerminatedPods = nil
		}
		for _, p := range in.Pods {
			if d.percent(60) {
				p.Finalizers = nil
			}
		}
		return in
	}},
	{name: "leaveTracking", shrinks: true, cases: 30, draw: func(d draw) any {
		in := d.jobAndPods()
		in.Job.Annotations = pick(d, nil, map[string]string{batchv1.JobTrackingFinalizer: ""}, map[string]string{"a": "b"})
		return in
	}},
	{name: "gauge", aimed: podsToGauge()},
}

// spec draws a spec with any of the fields that bound the number of pods.
func (d draw) spec(s *batchv1.JobSpec, indexed bool) {
	s.Parallelism = pick(d, nil, new(int32(0)), new(int32(1)), new(int32(d.upTo(6))), new(int32(d.upTo(6))))
	if indexed {
		s.CompletionMode, s.Completions = new(batchv1.IndexedCompletion), new(int32(d.upTo(8)))
	} else if d.percent(60) {
		s.Completions = new(int32(d.upTo(8)))
	}
	s.BackoffLimit = pick(d, nil, new(int32(0)), new(int32(d.upTo(4))), new(int32(math.MaxInt32)))
	if indexed && d.percent(60) {
		s.BackoffLimitPerIndex = new(int32(d.IntN(4)))
		s.MaxFailedIndexes = pick(d, nil, new(int32(d.IntN(4))))
	}
	if d.percent(35) {
		s.PodFailurePolicy = d.failurePolicy()
	}
	if indexed && d.percent(35) {
		rule := batchv1.SuccessPolicyRule{SucceededCount: new(int32(d.IntN(5)))}
		if d.percent(60) {
			rule.SucceededIndexes = new(d.indexes(*s.Completions).String())
		}
		if d.percent(20) && rule.SucceededIndexes != nil {
			rule.SucceededCount = nil
		}
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
	}
	s.PodReplacementPolicy = pick(d, nil, new(batchv1.Failed), new(batchv1.TerminatingOrFailed))
	s.Suspend = pick(d, nil, nil, nil, new(false), new(true))
	s.ActiveDeadlineSeconds = pick(d, nil, nil, new(int64(60)))
	s.TTLSecondsAfterFinished = pick(d, nil, new(int32(0)), new(int32(90)))
	s.Template.Spec.RestartPolicy = pick(d, corev1.RestartPolicyNever, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
}

// started draws a Job with a status.
func (d draw) started() *batchv1.Job {
	indexed := d.percent(60)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid", ResourceVersion: "7", Generation: int64(d.IntN(3))}}
	d.spec(&job.Spec, indexed)
	if d.percent(10) {
		job.DeletionTimestamp = new(metav1.NewTime(noon))
	}
	st := &job.Status
	if d.percent(70) {
		st.Active, st.Succeeded, st.Failed = int32(d.IntN(4)), int32(d.IntN(3)), int32(d.IntN(3))
		st.Terminating = pick(d, nil, new(int32(d.IntN(3))))
		st.Ready = pick(d, nil, new(int32(d.IntN(3))))
	}
	if indexed && d.percent(60) {
		completed := d.indexes(*job.Spec.Completions)
		st.CompletedIndexes, st.Succeeded = completed.String(), int32(completed.Len())
		if job.Spec.BackoffLimitPerIndex != nil {
			st.FailedIndexes = new(d.indexes(*job.Spec.Completions).String())
		}
	}
	if d.percent(50) {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for i := range d.IntN(3) {
			list := pick(d, &st.UncountedTerminatedPods.Succeeded, &st.UncountedTerminatedPods.Failed)
			*list = append(*list, types.UID("uid-0"+strconv.Itoa(i)))
		}
	}
	if d.percent(25) {
		for range 1 + d.IntN(2) {
			st.Conditions = append(st.Conditions, batchv1.JobCondition{
				Type:   pick(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobSuspended),
				Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse), Reason: "Reason", LastTransitionTime: metav1.NewTime(noon),
			})
		}
	}
	return job
}

// jobAndPods draws a started Job and its pods.
func (d draw) jobAndPods() vectors.JobAndPods {
	in := vectors.JobAndPods{Job: d.started()}
	for n := range d.upTo(6) {
		p := d.pod("")
		own(in.Job, p, n)
		p.Annotations = map[string]string{}
		if d.percent(80) {
			p.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(d.IntN(8))
		}
		if d.percent(50) {
			p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(d.IntN(4))
		}
		switch d.IntN(12) {
		case 0:
			p.OwnerReferences = nil
		case 1, 2:
			p.Finalizers = nil
		case 3:
			p.OwnerReferences[0].UID = "other"
		}
		in.Pods = append(in.Pods, p)
	}
	if d.percent(3) && len(in.Pods) > 0 {
		in.Pods = append(in.Pods, in.Pods[0])
	}
	return in
}

// podsToCount returns pods that look like pods of the Job but must not be counted: they have
// no UID, are twice in the list, have no controller, or their Job has no UID. In further
// cases a failed pod matches a FailJob rule, while the Job runs or ends in one of several
// ways.
func podsToCount() (all []any) {
	failsJob := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}}}}
	add := func(change func(*batchv1.Job, *corev1.Pod)) {
		for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning} {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid"}}
			pods := []*corev1.Pod{{}, {}}
			for i, p := range pods {
				own(job, p, i)
				p.Status.Phase = phase
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c0"}}
				if phase == corev1.PodFailed {
					p.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(42 + i)}
				}
			}
			change(job, pods[0])
			all = append(all, vectors.JobAndPods{Job: job, Pods: pods})
		}
	}
	add(func(*batchv1.Job, *corev1.Pod) {})
	add(func(_ *batchv1.Job, p *corev1.Pod) { p.UID = "" })
	add(func(_ *batchv1.Job, p *corev1.Pod) { p.UID = "uid-1" })
	add(func(_ *batchv1.Job, p *corev1.Pod) { p.OwnerReferences = nil })
	add(func(j *batchv1.Job, p *corev1.Pod) { j.UID, p.OwnerReferences[0].UID = "", "" })
	for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobComplete} {
			add(func(j *batchv1.Job, p *corev1.Pod) {
				j.Spec.PodFailurePolicy = failsJob
				j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: status}}
			})
		}
	}
	add(func(j *batchv1.Job, p *corev1.Pod) {
		j.Spec.PodFailurePolicy, j.DeletionTimestamp = failsJob, new(metav1.NewTime(noon))
	})
	add(func(j *batchv1.Job, p *corev1.Pod) {
		j.Status.Failed, j.Status.Succeeded = math.MaxInt32-1, math.MaxInt32
	})
	// A counter above the number of indexes, and damaged lists of indexes.
	add(func(j *batchv1.Job, p *corev1.Pod) {
		j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(5))
		j.Status.Succeeded, j.Status.CompletedIndexes, j.Status.FailedIndexes = 4, "1,x,3-9", new("2,y")
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "2"}
	})
	add(func(j *batchv1.Job, p *corev1.Pod) {
		j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(int32(5)), new(int32(0))
		j.Status.CompletedIndexes, j.Status.FailedIndexes = "1,x,3", new("0,y")
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "2"}
	})
	return all
}

// podsToTrack returns pods that get no finalizer, or do not count, when tracking begins.
func podsToTrack() (all []any) {
	for _, indexed := range []bool{false, true} {
		for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning} {
			for _, change := range []func(*batchv1.Job, *corev1.Pod){
				func(*batchv1.Job, *corev1.Pod) {},
				func(_ *batchv1.Job, p *corev1.Pod) { p.Finalizers = []string{batchv1.JobTrackingFinalizer} },
				func(_ *batchv1.Job, p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon)) },
				func(_ *batchv1.Job, p *corev1.Pod) { p.Annotations = nil },
				func(_ *batchv1.Job, p *corev1.Pod) { p.Annotations[batchv1.JobCompletionIndexAnnotation] = "3" },
				func(j *batchv1.Job, _ *corev1.Pod) {
					j.Status.Failed, j.Status.Succeeded, j.Status.CompletedIndexes = 3, 2, "0,2"
				},
				func(j *batchv1.Job, _ *corev1.Pod) {
					j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
						OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}}
				},
				func(j *batchv1.Job, _ *corev1.Pod) {
					j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
				},
				func(j *batchv1.Job, _ *corev1.Pod) {
					j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
				},
			} {
				job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid", ResourceVersion: "7"}}
				p := &corev1.Pod{}
				own(job, p, 0)
				p.Finalizers, p.ResourceVersion, p.Status.Phase = nil, "8", phase
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
				if p.Annotations = map[string]string{}; indexed {
					job.Spec.CompletionMode, job.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(3))
					p.Annotations[batchv1.JobCompletionIndexAnnotation] = "1"
				}
				change(job, p)
				all = append(all, vectors.JobAndPods{Job: job, Pods: []*corev1.Pod{p}})
			}
		}
	}
	return all
}

// statusesToRead returns the statuses of the validation cases, and Jobs with a TTL.
func statusesToRead() (all []any) {
	seen := map[string]bool{}
	for _, job := range jobsWithStatus()[:6] {
		for _, f := range statusFields() {
			for _, value := range f.values {
				in := vectors.OneJob{Job: jobOf(with(job, setting{f.path, value}))}
				if answer := answerOf("readStatus", in); !seen[answer] {
					seen[answer] = true
					all = append(all, in)
				}
			}
		}
	}
	ended := func(kind batchv1.JobConditionType, status string, ttl any, more ...setting) {
		condition := object{"type": kind, "status": status, "reason": "R", "message": "M", "lastTransitionTime": clock(30)}
		job := object{"spec": object{"ttlSecondsAfterFinished": ttl}, "status": object{"conditions": []object{condition}}}
		all = append(all, vectors.OneJob{Job: jobOf(with(job, more...))})
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobSuspended} {
		ended(kind, "True", 60)
		ended(kind, "True", nil)
		ended(kind, "False", 60)
	}
	ended(batchv1.JobComplete, "True", 0)
	ended(batchv1.JobComplete, "True", 60, setting{"metadata.deletionTimestamp", clock(40)})
	ended(batchv1.JobComplete, "True", 60, setting{"status.conditions", conditions(batchv1.JobComplete)})
	ended(batchv1.JobComplete, "True", 60, setting{"status.active", math.MaxInt32}, setting{"status.terminating", math.MaxInt32})
	ended(batchv1.JobComplete, "True", 60, setting{"status.succeeded", 3}, setting{"spec.completions", -1})
	return all
}

// pairsOfStatuses returns pairs of statuses that differ in one field.
func pairsOfStatuses() (all []any) {
	status := func(o object) *batchv1.JobStatus { return &jobOf(o).Status }
	base := with(jobsWithStatus()[3], setting{"status.conditions", conditions(batchv1.JobSuspended)}, setting{"status.uncountedTerminatedPods", object{"succeeded": []string{"a"}, "failed": []string{"b"}}},
		setting{"status.failedIndexes", "1"}, setting{"status.completionTime", clock(20)})
	all = append(all, vectors.TwoStatuses{}, vectors.TwoStatuses{A: status(base)}, vectors.TwoStatuses{B: status(base)}, vectors.TwoStatuses{A: status(base), B: status(base)})
	condition := object{"type": "Suspended", "status": "True", "reason": "R", "message": "M", "lastProbeTime": clock(1), "lastTransitionTime": clock(2)}
	one := with(base, setting{"status.conditions", []object{condition}})
	for _, key := range slices.Sorted(maps.Keys(condition)) {
		all = append(all, vectors.TwoStatuses{A: status(one), B: status(with(base, setting{"status.conditions", []object{with(condition, setting{key, nil})}}))})
	}
	later := with(condition, setting{"lastTransitionTime", clock(3)})
	all = append(all, vectors.TwoStatuses{A: status(one), B: status(with(base, setting{"status.conditions", []object{later}}))})
	for _, job := range []object{base, jobsWithStatus()[0]} {
		for _, f := range statusFields() {
			for _, value := range append(f.values[:min(6, len(f.values))], nil) {
				all = append(all, vectors.TwoStatuses{A: status(job), B: status(with(job, setting{f.path, value}))})
			}
		}
	}
	return append(all,
		vectors.TwoStatuses{A: &batchv1.JobStatus{Ready: new(int32(0))}, B: &batchv1.JobStatus{}}, vectors.TwoStatuses{A: &batchv1.JobStatus{FailedIndexes: new("")}, B: &batchv1.JobStatus{}},
		vectors.TwoStatuses{A: &batchv1.JobStatus{Conditions: []batchv1.JobCondition{}}, B: &batchv1.JobStatus{}})
}

// withLists returns a status with non-nil lists of uncounted pods. Nil and empty lists mean the
// same, but equality.Semantic distinguishes them.
func withLists(status *batchv1.JobStatus) *batchv1.JobStatus {
	status = status.DeepCopy()
	if status != nil && status.UncountedTerminatedPods == nil {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return status
}

// statusesToPatch returns statuses in which only one field is set.
func statusesToPatch() (all []any) {
	all = append(all, vectors.StatusOf{UID: "uid", ResourceVersion: "7"})
	for _, f := range statusFields() {
		for _, value := range f.values[:min(3, len(f.values))] {
			all = append(all, vectors.StatusOf{UID: "uid", ResourceVersion: "7", Status: &jobOf(with(object{}, setting{f.path, value})).Status})
		}
	}
	return all
}

func podsToGauge() (all []any) {
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodRunning, corev1.PodPending} {
		for _, finalizers := range [][]string{nil, {"example.com/other"}, {batchv1.JobTrackingFinalizer}, {"example.com/other", batchv1.JobTrackingFinalizer}} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}
			p.Status.Phase = phase
			all = append(all, vectors.OnePod{Pod: p})
		}
	}
	return append(all, vectors.OnePod{})
}
