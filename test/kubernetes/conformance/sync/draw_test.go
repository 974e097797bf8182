package sync

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var chance = fixture.Chance

// drawTrial draws a snapshot with jobtest, adds features that are rare there, and draws limits,
// switched-off features and faults.
func drawTrial(t *rapid.T) *trial {
	mix := jobtest.Usual()
	switch {
	case chance(t, 25, "wild"):
		mix = jobtest.Wild()
	case chance(t, 25, "edited"): // only pods are tampered with
		mix.Edited = 20
	}
	c := &trial{snapshot: decidetest.Inputs(mix).Draw(t, "snapshot")}
	s := &c.snapshot
	// Both sides get the pod template with its defaults, to compare whole pods.
	gates.RLock()
	s.Job.Spec.Template = apiserver.Default(s.Job).Spec.Template
	gates.RUnlock()
	s.Pods = rapid.Permutation(s.Pods).Draw(t, "order")
	if chance(t, 45, "goes on") {
		avoidEnd(t, s)
	}
	drawUndefaulted(t, &s.Job.Spec)
	drawNames(t, s)
	drawTimes(t, s)
	drawConditions(t, s)
	drawRareStatus(t, s)
	s.InFlight.Status = chance(t, 1, "end unseen")
	drawSettings(t, c)
	if chance(t, 35, "faults") {
		drawFaults(t, c)
	}
	if chance(t, 1, "impossible") {
		drawImpossible(t, c)
	}
	return c
}

// avoidEnd changes a snapshot so that the Job is more likely to continue. Most drawn Jobs have a reason
// to end, and then create no pod.
func avoidEnd(t *rapid.T, s *decide.Snapshot) {
	spec, st := &s.Job.Spec, &s.Job.Status
	spec.BackoffLimit, spec.ActiveDeadlineSeconds, spec.Suspend = new(int32(100)), nil, new(false)
	spec.Parallelism = new(int32(rapid.IntRange(3, 9).Draw(t, "parallelism")))
	if spec.Completions != nil && *spec.Completions < 100 {
		*spec.Completions += 4
	}
	if spec.BackoffLimitPerIndex != nil {
		spec.BackoffLimitPerIndex = new(int32(5))
		spec.MaxFailedIndexes = nil
	}
	s.Job.DeletionTimestamp, st.Conditions = nil, nil
	s.InFlight.Creations, s.InFlight.Deletions = 0, 0
	if chance(t, 60, "later") {
		// Most delays are over, except those that have doubled many times.
		s.Now = s.Now.Add(5 * time.Minute)
	}
	if chance(t, 60, "nothing remembered") {
		s.Backoff.Failures, s.Backoff.LastFailure = 0, time.Time{}
	}
}

// drawUndefaulted removes fields that have the default value of the API server.
func drawUndefaulted(t *rapid.T, spec *batchv1.JobSpec) {
	if !chance(t, 30, "defaults absent") {
		return
	}
	one := spec.Parallelism != nil && *spec.Parallelism == 1
	switch {
	case one && spec.Completions != nil && *spec.Completions == 1 && chance(t, 50, "no size"):
		spec.Parallelism, spec.Completions = nil, nil
	case one && spec.Completions != nil:
		spec.Parallelism = nil
	}
	if *spec.CompletionMode == batchv1.NonIndexedCompletion {
		spec.CompletionMode = nil
	}
}

// drawNames draws a long name of the Job, a pod whose controller has another name and the UID of the Job, and a template
// with what the controller adds to it.
func drawNames(t *rapid.T, s *decide.Snapshot) {
	if chance(t, 4, "long name") {
		s.Job.Name = strings.Repeat("long.name-", 7)[:rapid.IntRange(50, 63).Draw(t, "length")]
		for _, pod := range s.Pods {
			for i := range pod.OwnerReferences {
				pod.OwnerReferences[i].Name = s.Job.Name
			}
		}
	}
	if len(s.Pods) > 0 && chance(t, 4, "other controller") {
		pod := s.Pods[rapid.IntRange(0, len(s.Pods)-1).Draw(t, "pod")]
		for i := range pod.OwnerReferences {
			pod.OwnerReferences[i].Name = "other"
		}
	}
	if chance(t, 4, "keys in the template") {
		template := &s.Job.Spec.Template
		template.Finalizers = append(template.Finalizers, builtin.WithDefaults().Finalizer)
		template.Labels[batchv1.JobCompletionIndexAnnotation] = "7"
		template.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "7", batchv1.JobIndexFailureCountAnnotation: "7"}
	}
}

// drawTimes draws a clock with fractions of seconds, start times in the future, and deadlines that
// are never reached.
func drawTimes(t *rapid.T, s *decide.Snapshot) {
	if chance(t, 30, "between seconds") {
		s.Now = s.Now.Add(time.Duration(rapid.IntRange(1, 999).Draw(t, "milliseconds")) * time.Millisecond)
	}
	if s.Job.Status.StartTime != nil && chance(t, 4, "start in the future") {
		s.Job.Status.StartTime = new(metav1.NewTime(jobtest.Noon().Add(30 * time.Second)))
	}
	if s.Job.Spec.ActiveDeadlineSeconds != nil && chance(t, 3, "endless deadline") {
		s.Job.Spec.ActiveDeadlineSeconds = new(rapid.SampledFrom([]int64{9_223_372_036, 9_223_372_037, 1 << 62, 1<<63 - 1}).Draw(t, "deadline"))
	}
}

// drawConditions draws conditions that are not True, terminal conditions, and a Suspended condition
// of another client.
func drawConditions(t *rapid.T, s *decide.Snapshot) {
	st := &s.Job.Status
	add := func(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason string) {
		at := metav1.NewTime(jobtest.Noon().Add(-40 * time.Second))
		st.Conditions = append(st.Conditions, batchv1.JobCondition{
			Type: kind, Status: status, Reason: reason, Message: "as drawn", LastProbeTime: at, LastTransitionTime: at,
		})
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobComplete} {
		if condition(st, kind) == nil && chance(t, 2, "not "+string(kind)) {
			add(kind, rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(t, "status"), "NotYet")
		}
	}
	if condition(st, batchv1.JobSuspended) == nil && chance(t, 3, "strange Suspended") {
		add(batchv1.JobSuspended, rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, corev1.ConditionTrue}).Draw(t, "status"), "Other")
	}
	if chance(t, 2, "finished") {
		add(rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed}).Draw(t, "end"), corev1.ConditionTrue, "Done")
	}
	hideConditions(t, st)
}

// drawRareStatus draws counters and lists that only a mistake can cause.
func drawRareStatus(t *rapid.T, s *decide.Snapshot) {
	st := &s.Job.Status
	if indexed(s.Job) && chance(t, 3, "succeeded too high") {
		st.Succeeded += 2
	}
	u := st.UncountedTerminatedPods
	if u == nil {
		return
	}
	if len(u.Failed) > 0 && chance(t, 3, "UID twice") {
		u.Failed = append(u.Failed, u.Failed[0])
	}
	if len(u.Failed) > 0 && chance(t, 2, "UID in both") {
		u.Succeeded = append(u.Succeeded, u.Failed[0])
	}
	if chance(t, 1, "empty UID") {
		u.Failed = append(u.Failed, "")
	}
	// A terminating pod that has not ended is not in the list of succeeded pods: its phase was
	// Succeeded when it was recorded, and phases do not change back.
	u.Succeeded = slices.DeleteFunc(u.Succeeded, func(uid types.UID) bool {
		return slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool {
			return p.UID == uid && p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		})
	})
}

func drawSettings(t *rapid.T, c *trial) {
	if chance(t, 40, "small caps") {
		c.limits.MaxUncounted = rapid.IntRange(1, 5).Draw(t, "uncounted cap")
		c.limits.MaxCreateDelete = rapid.IntRange(1, 3).Draw(t, "changes cap")
	}
	if chance(t, 20, "other delays") {
		c.limits.Base = time.Duration(rapid.IntRange(1, 60_000).Draw(t, "base")) * time.Millisecond
		c.limits.Cap = c.limits.Base * time.Duration(rapid.IntRange(1, 40).Draw(t, "cap"))
	}
	if chance(t, 20, "other period") {
		c.limits.BatchPeriod = time.Duration(rapid.IntRange(1, 5000).Draw(t, "period")) * time.Millisecond
	}
	c.noPerIndex = chance(t, 8, "no per-index backoff") && gated
	c.noReplace = chance(t, 8, "no replacement policy") && gated
}

// drawFaults draws the writes that fail. In a trial with faults, each kind of write has faults with
// a probability of one in three, and then half of its writes fail.
func drawFaults(t *rapid.T, c *trial) {
	errs := []error{real.ErrInternal, real.ErrNotFound, real.ErrConflict, real.ErrInvalid}
	pods := func(kind string) map[string]error {
		if !chance(t, 33, kind+" fails") {
			return nil
		}
		m := map[string]error{}
		for _, p := range c.snapshot.Pods {
			if rapid.Bool().Draw(t, kind) {
				m[p.Name] = rapid.SampledFrom(errs).Draw(t, "error")
			}
		}
		return m
	}
	ordinals := func(kind string, most int, errs ...error) map[int]error {
		if !chance(t, 33, kind+" fails") {
			return nil
		}
		return map[int]error{rapid.IntRange(0, most).Draw(t, kind): rapid.SampledFrom(errs).Draw(t, "error")}
	}
	c.fail = real.Faults{
		Create:        ordinals("creation", 4, real.ErrInternal, real.ErrConflict),
		Adopt:         pods("adoption"),
		Release:       pods("release"),
		StripToDelete: pods("removal before deletion"),
		Delete:        pods("deletion"),
		Strip:         pods("removal"),
		Status:        ordinals("status", 1, real.ErrInternal, real.ErrConflict),
	}
	if chance(t, 5, "namespace ends") {
		c.fail.Create = refusedFrom(rapid.IntRange(0, 4).Draw(t, "refused from"))
	}
	if chance(t, 5, "live read fails") {
		c.fail.Get = real.ErrInternal
	}
}

// refusedFrom returns faults of a namespace that ends: it refuses the n-th and all later creations.
func refusedFrom(n int) map[int]error {
	all := map[int]error{}
	for ; n < 20; n++ {
		all[n] = real.ErrNamespaceTerminating
	}
	return all
}

// drawImpossible makes a snapshot that the API server never stores.
func drawImpossible(t *rapid.T, c *trial) {
	i := impossibles[rapid.IntRange(0, len(impossibles)-1).Draw(t, "what")]
	i.make(&c.snapshot)
	c.impossible = i.field
}

// impossibles lists the inputs that jobfate rejects, with the field in the error.
var impossibles = []struct {
	field string
	make  func(*decide.Snapshot)
}{
	{"spec.parallelism", func(s *decide.Snapshot) { s.Job.Spec.Parallelism = new(int32(-1)) }},
	{"spec.backoffLimit", func(s *decide.Snapshot) { s.Job.Spec.BackoffLimit = new(int32(-1)) }},
	{"spec.activeDeadlineSeconds", func(s *decide.Snapshot) { s.Job.Spec.ActiveDeadlineSeconds = new(int64(-1)) }},
	{"spec.completionMode", func(s *decide.Snapshot) { s.Job.Spec.CompletionMode = new(batchv1.CompletionMode("Other")) }},
	{"spec.template.metadata.labels", func(s *decide.Snapshot) { s.Job.Spec.Template.Labels = map[string]string{"other": "label"} }},
	{"spec.selector", func(s *decide.Snapshot) {
		s.Job.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Other"}}}
	}},
	{"status.failed", func(s *decide.Snapshot) { s.Job.Status.Conditions, s.Job.Status.Failed = nil, -1 }},
	{"metadata.uid", func(s *decide.Snapshot) { s.Job.UID = "" }},
	{"pods[1].metadata.uid", func(s *decide.Snapshot) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "twin", UID: "twin"}}
		s.Pods = []*corev1.Pod{pod, pod.DeepCopy()}
	}},
}
