package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

type bug struct {
	name       string
	property   string // the properties that it may violate, one of which a run must report
	says       string // what the report must say
	controller func() cluster.Controller
	job        func(*batchv1.JobSpec)
	keys       tracking.Keys
}

var knownBugs = []bug{
	// Callers that violate the assumptions of the Machine.
	{name: "a View claims to be newer than it is", property: "S1", controller: bugs.Looking(bugs.Newer)},
	{name: "a View claims that its pods are as new as its Job", property: "S1", controller: bugs.Looking(bugs.NewerPods)},
	{name: "a live read comes from a cache", property: "S1 S6", controller: bugs.With(bugs.Caller{Answer: bugs.FromCache})},
	{name: "a lost creation is reported as rejected", property: "S6", controller: bugs.With(bugs.Caller{Answer: bugs.Rejected})},

	// Statuses that the API server rejects.
	{name: "seen, an index in both sets", property: "S4 S11", controller: bugs.Spoiled(bugs.BothSets)},
	{name: "k139428, active is a literal 0", property: "S10 S11", controller: bugs.Rewriting(func(st map[string]any) { st["active"] = 0 })},
	{name: "seen, k125410, k111646, a counted pod is classified again when its phase flips", property: "S1 S11", controller: bugs.Spoiled(countFlips)},
	{name: "k132144, an end without a start time", property: "S9 S11", controller: bugs.Rewriting(atEnd(func(st map[string]any) { st["startTime"] = nil }))},
	{name: "k134521, the start time is reset", property: "S11", controller: bugs.Spoiled(func(s decide.Snapshot, st *batchv1.JobStatus) {
		st.StartTime = &metav1.Time{Time: s.Now}
	})},
	{name: "k125909, an interim condition that is False ends the Job", property: "S8 S11", controller: bugs.Rewriting(atEnd(func(st map[string]any) {
		for _, c := range st["conditions"].([]any) {
			if c := c.(map[string]any); c["type"] == "FailureTarget" {
				c["status"] = "False"
			}
		}
	}))},
	{name: "k123775, k125510, an end with pods terminating", property: "S9 S11", controller: bugs.Rewriting(atEnd(func(st map[string]any) { st["terminating"] = 1 }))},
	{name: "k123775, an end with pods ready", property: "S10 S11", controller: bugs.Rewriting(atEnd(func(st map[string]any) { st["ready"] = 1 }))},
	{name: "k123775, an end without the interim condition", property: "S8 S11", controller: bugs.Rewriting(atEnd(func(st map[string]any) {
		st["conditions"] = slices.DeleteFunc(st["conditions"].([]any), func(c any) bool {
			kind := c.(map[string]any)["type"]
			return kind == "SuccessCriteriaMet" || kind == "FailureTarget"
		})
	}))},
	{name: "only the first condition of a type is read", property: "S7 S8 S11 L1", controller: bugs.Looking(func(v *cluster.View) {
		if v.Job != nil {
			v.Job = v.Job.DeepCopy()
			seen := map[batchv1.JobConditionType]bool{}
			v.Job.Status.Conditions = slices.DeleteFunc(v.Job.Status.Conditions, func(c batchv1.JobCondition) bool {
				again := seen[c.Type]
				seen[c.Type] = true
				return again
			})
		}
	})},
	{name: "the interim condition is appended each time", property: "S8 S11", controller: bugs.Spoiled(func(_ decide.Snapshot, st *batchv1.JobStatus) {
		for _, c := range st.Conditions {
			if c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobSuccessCriteriaMet {
				st.Conditions = append(st.Conditions, c)
			}
		}
	})},
	{name: "a suspended Job keeps its start time", property: "S20", controller: bugs.Spoiled(func(s decide.Snapshot, st *batchv1.JobStatus) {
		if st.StartTime == nil {
			st.StartTime = s.Job.Status.StartTime
		}
	})},
	{name: "the end of a Job is deferred", property: "S2 L1 L5", controller: bugs.Spoiled(func(_ decide.Snapshot, st *batchv1.JobStatus) {
		st.Conditions = slices.DeleteFunc(st.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuccessCriteriaMet })
	})},
	{name: "k125089, k125185, k121342, ready alone is not written", property: "L1", controller: bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status != nil {
			same := d.Status.DeepCopy()
			same.Ready, same.Terminating = s.Job.Status.Ready, s.Job.Status.Terminating
			if story.Status(same) == story.Status(&s.Job.Status) {
				d.Status = nil
			}
		}
	})},

	// Counting.
	{name: "k105200, a stale pod is counted again", property: "S1", controller: forgetful},
	{name: "KEP-2307, finalizers are removed before the status is stored", property: "S2", controller: bugs.With(bugs.Caller{Before: bugs.StripFirst})},
	{name: "k104666, UIDs leave the list while pods have the finalizer", property: "S1", controller: bugs.Spoiled(bugs.LeaveEarly)},
	{name: "KEP-2307, finalizers are removed from uncounted pods", property: "S2", controller: bugs.Spoiled(bugs.ListNone)},
	{name: "k109485, k119160, an end before all finalizers are removed", property: "S9 S11", controller: bugs.Spoiled(bugs.EndNow)},
	{name: "k108645, k109429, k141329, the finalizer stays on pods of a Job that is over", property: "L2 L3", controller: bugs.Amended(keepsFinalizers)},
	{name: "finalizers are never removed", property: "L2", says: "the Job has not ended", controller: bugs.Amended(func(_ decide.Snapshot, d *decide.Decision) { d.Strip = nil })},
	{name: "a pod gets its finalizer again when the Job has ended", property: "L3", says: "keeps its finalizer", controller: leaving},
	{name: "the finalizer stays on pods that a Job leaves without a controller", property: "L3", controller: bugs.Looking(func(v *cluster.View) {
		if v.Job == nil {
			v.Pods = slices.DeleteFunc(slices.Clone(v.Pods), func(p *corev1.Pod) bool { return metav1.GetControllerOfNoCopy(p) == nil })
		}
	})},
	{name: "k124798, pods of another controller are touched", property: "S15", controller: bugs.Looking(bugs.Changed(func(job *batchv1.Job, p *corev1.Pod) {
		for i := range p.OwnerReferences {
			p.OwnerReferences[i].UID, p.OwnerReferences[i].Name = job.UID, job.Name
		}
	}))},
	{name: "an orphan is adopted regardless of its labels", property: "S15", controller: bugs.Looking(bugs.Changed(func(job *batchv1.Job, p *corev1.Pod) {
		if metav1.GetControllerOfNoCopy(p) == nil {
			p.Labels = job.Spec.Template.Labels
		}
	}))},
	{name: "k81227, k28486, counters fall", property: "S1 S3 S11", controller: bugs.Spoiled(func(_ decide.Snapshot, st *batchv1.JobStatus) {
		st.Failed = 0
	})},
	{name: "k104130, a shared object is changed", property: "S1 S2 S12 L1 L2", controller: bugs.Amended(func(s decide.Snapshot, _ *decide.Decision) {
		for _, pod := range s.Pods {
			if pod.Status.Phase == corev1.PodFailed {
				pod.Status.Phase = corev1.PodSucceeded
			}
		}
	})},
	{name: "a creation that has failed counts as active", property: "S10", controller: bugs.With(bugs.Caller{Answer: func(_ *cluster.View, q *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
		if q.Verb == cluster.Create && err != nil {
			a.Pod = q.Pod.DeepCopy()
			a.Pod.Name, a.Pod.UID, a.Pod.ResourceVersion = "made-up", "made-up", "1"
			return a, nil
		}
		return a, err
	}})},

	// Staleness, duplicates, scaling.
	{name: "k130333, k137210, a decision on a stale Job", property: "S5 S6 S7", controller: forgetful},
	{name: "a creation is sent again and counted although its pod has finished", property: "L1 L2", controller: resending},
	{name: "k131917, k142142, memory is keyed by the name", property: "L2", controller: byName},
	{name: "k140839, two pods run for one index", property: "S5 S6", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, p *corev1.Pod) {
		if p.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
			p.Annotations[batchv1.JobCompletionIndexAnnotation] = "0"
		}
	}))},
	{name: "k99865, k115349, duplicates and indexes out of range count", property: "S1 S11", controller: bugs.Spoiled(func(s decide.Snapshot, st *batchv1.JobStatus) {
		if jobstatus.IsIndexed(&s.Job.Spec) {
			st.Succeeded = 0
			for _, pod := range s.Pods {
				if pod.Status.Phase == corev1.PodSucceeded {
					st.Succeeded++
				}
			}
		}
	})},

	{name: "seen, the status counts only the pods of a stale cache", property: "S21", controller: bugs.Deciding(bugs.ForgetUnobserved)},

	// Backoff, policy, deadline.
	{name: "seen, no timer for indexes that back off", property: "L2 L5", controller: waiting(func(time.Duration) time.Duration { return 0 })},
	{name: "there is no timer", property: "L5", says: "has set no requeue", controller: waiting(func(time.Duration) time.Duration { return 0 })},
	{name: "k110239, k107226, one timer overwrites another", property: "L5", says: "has set a requeue for", controller: waiting(func(d time.Duration) time.Duration { return 2 * d })},
	{name: "a timer is later than what it is for", property: "L5", says: "already sends requests", controller: waiting(func(d time.Duration) time.Duration { return 2 * d })},
	{name: "annotations, a replacement forgets the failures", property: "S13", controller: bugs.Asking(startingAgain(batchv1.JobIndexFailureCountAnnotation))},
	{name: "k70251, k92245, k60735, requeues count as failures", property: "S1", controller: bugs.Spoiled(bugs.AddFailure)},
	{name: "k114391, parallelism bypasses the backoff", property: "S12", controller: func() cluster.Controller {
		return jobtest.NewCaller(decide.Backoff(backoff.Policy{Base: time.Millisecond, Cap: time.Millisecond}))
	}},
	{name: "k114516, k114768, an event resets the backoff", property: "S12", controller: amnesiac, job: plain},
	{name: "k114650, a restart forgets the backoff", property: "S12", controller: bugs.Looking(withoutCounted), job: plain},
	{name: "k118413, the finish time falls back to now", property: "L2", controller: bugs.Looking(func(v *cluster.View) {
		bugs.Changed(func(_ *batchv1.Job, p *corev1.Pod) {
			for i := range p.Status.ContainerStatuses {
				if ended := p.Status.ContainerStatuses[i].State.Terminated; ended != nil && p.Status.Phase == corev1.PodFailed {
					ended.FinishedAt = metav1.NewTime(v.Now)
				}
			}
		})(v)
	})},
	{name: "k115844, k125695, a terminating pod is replaced", property: "S6", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		s.PodReplacementPolicy, s.PodFailurePolicy = new(batchv1.TerminatingOrFailed), nil
	})},
	{name: "KEP-3329, a rule other than the first match decides", property: "S2 S14", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.PodFailurePolicy != nil {
			slices.Reverse(s.PodFailurePolicy.Rules)
		}
	})},
	{name: "seen, a pod that fails the Job is counted before the verdict is stored", property: "S18", controller: bugs.Amended(bugs.ForgetVerdict)},
	{name: "seen, the pods of a Job that ends are deleted before the verdict is stored", property: "S22", controller: deletingFirst},
	{name: "seen, a Job ends for another reason than it was stored", property: "S22", controller: bugs.Rewriting(atEnd(func(st map[string]any) {
		for _, c := range st["conditions"].([]any) {
			if c := c.(map[string]any); c["type"] == "Failed" {
				c["reason"] = "Other"
			}
		}
	}))},
	{name: "pods are created while the Job is suspended", property: "S7", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.Suspend = new(bool) })},
	{name: "pods are not deleted when the Job is suspended", property: "L1", controller: sparing(func(s decide.Snapshot, _ decide.Deletion) bool {
		return *s.Job.Spec.Suspend
	})},
	{name: "pods are not deleted when parallelism falls", property: "L1", controller: sparing(func(s decide.Snapshot, d decide.Deletion) bool {
		return !*s.Job.Spec.Suspend && d.Cause == decide.CauseTooMany
	})},
	{name: "a verdict is removed", property: "S8 S11", controller: bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status == nil && !referee.Ended(s.Job) {
			d.Status = s.Job.Status.DeepCopy()
		}
		if d.Status != nil && len(s.Job.Status.Conditions) > 0 {
			d.Status.Conditions = nil
		}
	})},
	{name: "the end is changed", property: "S1 S8 S11", controller: bugs.With(bugs.Caller{Before: restless})},
	{name: "a rejected status is sent again and again", property: "L4 S11", controller: bugs.Spoiled(func(_ decide.Snapshot, st *batchv1.JobStatus) { st.Active = -1 })},
	{name: "a pod is deleted under a wrong UID again and again", property: "L4", says: "is sent again unchanged", controller: bugs.With(bugs.Caller{Before: deletingAnother})},
	{name: "a status is written in each sync", property: "L1", says: "still sends requests", controller: bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status == nil && !referee.Ended(s.Job) {
			d.Status = s.Job.Status.DeepCopy()
		}
	})},
	{name: "a pod is patched in every third sync", property: "L1", says: "but sends one in the next", controller: everyThird},
	{name: "no pod is read as ready", property: "L1", says: "the status says", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, p *corev1.Pod) { p.Status.Conditions = nil }))},
	{name: "a Job whose pods have succeeded gets no verdict", property: "L1", says: "its status does not say so", controller: indifferent, job: plain},
	{name: "patches have no UID", property: "S15", controller: bugs.Asking(func(q *cluster.Request) {
		if q.Verb == cluster.Patch {
			q.Patch = []byte(strings.ReplaceAll(string(q.Patch), `"uid":"`+string(q.UID)+`",`, ""))
		}
	})},

	// Input that is misread: when a Job ends, whether a pod has failed or succeeded, or which Job owns a pod.
	{name: "backoffLimit is read as 0", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.BackoffLimitPerIndex == nil {
			s.BackoffLimit = new(int32)
		}
	})},
	{name: "backoffLimit is never reached", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1 << 30)) })},
	{name: "completions are read as 1", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.Completions != nil && *s.Completions > 1 {
			s.Completions = new(int32(1))
		}
	})},
	{name: "completions are forgotten", property: "S5 S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
			s.Completions = nil
		}
	})},
	{name: "restarts are read as ten times as many", property: "S17", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].RestartCount *= 10
		}
	}))},
	{name: "the deadline is read as 1", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.ActiveDeadlineSeconds != nil {
			s.ActiveDeadlineSeconds = new(int64(1))
		}
	})},
	{name: "the deadline is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = nil })},
	{name: "the success policy is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.SuccessPolicy = nil })},
	{name: "maxFailedIndexes is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.MaxFailedIndexes = nil })},
	{name: "FailJob is read as Count", property: "S17", controller: bugs.Spec(bugs.CountFailJob)},
	{name: "a failure is read as a success", property: "S1 S4", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodFailed {
			pod.Status.Phase = corev1.PodSucceeded
		}
	}))},
	{name: "a success is read as a failure", property: "S1", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodSucceeded {
			pod.Status.Phase = corev1.PodFailed
		}
	}))},
	{name: "failed indexes are forgotten", property: "S3", controller: bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status != nil && d.Status.FailedIndexes != nil && *d.Status.FailedIndexes != "" {
			status := d.Status.DeepCopy()
			status.FailedIndexes = new(string)
			if len(status.Conditions) == 0 && s.Job.Status.FailedIndexes != nil && *s.Job.Status.FailedIndexes != "" {
				d.Status = status
			}
		}
	})},

	// The referee judges a controller with custom keys by these keys.
	{name: "custom keys, finalizers are removed from uncounted pods", property: "S2", keys: ownKeys, controller: bugs.Spoiled(bugs.ListNone, decide.Keys(ownKeys))},
	{name: "custom keys, the finalizer stays on pods of a Job that is over", property: "L2 L3", keys: ownKeys, controller: bugs.Amended(keepsFinalizers, decide.Keys(ownKeys))},
	{name: "custom keys, a replacement forgets the failures", property: "S13", keys: ownKeys, controller: bugs.Asking(startingAgain(ownKeys.FailureCount), decide.Keys(ownKeys))},
}

// keepsFinalizers removes no finalizers once the Job is deleted.
func keepsFinalizers(s decide.Snapshot, d *decide.Decision) {
	if s.Job.DeletionTimestamp != nil {
		d.Strip = nil
	}
}

// startingAgain creates pods for an index as if none had failed.
func startingAgain(failureCount string) func(*cluster.Request) {
	return func(q *cluster.Request) {
		if q.Verb == cluster.Create && q.Pod.Annotations[failureCount] != "" {
			q.Pod = q.Pod.DeepCopy()
			q.Pod.Annotations[failureCount] = "0"
		}
	}
}

// plain removes the backoff limit per index, and lets many pods fail.
func plain(s *batchv1.JobSpec) {
	*s = batchv1.JobSpec{Template: s.Template, Completions: new(int32(3)), Parallelism: s.Parallelism, BackoffLimit: new(int32(6))}
}

// forgetful are callers that forget their writes in flight.
var forgetful = bugs.With(bugs.Caller{Before: bugs.ForgetInFlight})

func waiting(how func(time.Duration) time.Duration) func() cluster.Controller {
	return bugs.With(bugs.Caller{After: how})
}

// sparing is a caller that omits some deletions, and stores a status that is consistent with
// that.
func sparing(which func(decide.Snapshot, decide.Deletion) bool) func() cluster.Controller {
	return bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status == nil {
			return
		}
		st := d.Status.DeepCopy()
		d.Delete = slices.DeleteFunc(d.Delete, func(x decide.Deletion) bool {
			if !which(s, x) {
				return false
			}
			st.Active, *st.Terminating = st.Active+1, *st.Terminating-1
			if slices.ContainsFunc(x.Pod.Status.Conditions, isReady) {
				*st.Ready++
			}
			return true
		})
		if d.Status = st; story.Status(st) == story.Status(&s.Job.Status) {
			d.Status = nil
		}
	})
}

// atEnd changes only statuses that end the Job.
func atEnd(how func(map[string]any)) func(map[string]any) {
	return func(st map[string]any) {
		text, _ := json.Marshal(st["conditions"])
		if strings.Contains(string(text), `"Failed"`) || strings.Contains(string(text), `"Complete"`) {
			how(st)
		}
	}
}

// countFlips moves a pod to the uncounted list of its current phase.
func countFlips(s decide.Snapshot, st *batchv1.JobStatus) {
	u := st.UncountedTerminatedPods
	for _, pod := range s.Pods {
		switch {
		case u == nil:
		case pod.Status.Phase == corev1.PodSucceeded && slices.Contains(u.Failed, pod.UID):
			u.Succeeded = append(u.Succeeded, pod.UID)
		case pod.Status.Phase == corev1.PodFailed && slices.Contains(u.Succeeded, pod.UID):
			u.Failed = append(u.Failed, pod.UID)
		}
	}
}

// resending is a caller that chooses the names of pods. After a lost answer, its next sync
// sends the creation again with the same name. It treats AlreadyExists as a success, even if
// the pod has ended. That answer has no UID, so the caller never observes the creation.
func resending() cluster.Controller {
	made, lost, sent := 0, "", ""
	return &bugs.Caller{
		Caller: jobtest.NewCaller(),
		Ask: func(q *cluster.Request) {
			if q.Verb == cluster.Create {
				if sent = lost; sent == "" {
					made++
					sent = fmt.Sprintf("%smade-%d", q.Pod.GenerateName, made)
				}
				q.Pod = q.Pod.DeepCopy()
				q.Pod.Name = sent
			}
		},
		Answer: func(_ *cluster.View, q *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
			switch {
			case q.Verb != cluster.Create:
				return a, err
			case apierrors.IsTimeout(err):
				lost = sent
				return a, apierrors.NewForbidden(corev1.Resource("pods"), sent, err)
			case apierrors.IsAlreadyExists(err):
				a.Pod = q.Pod.DeepCopy()
				a.Pod.Name, a.Pod.UID, a.Pod.ResourceVersion, err = sent, "unknown", "999999", nil
			}
			lost = ""
			return a, err
		},
	}
}

// deletingFirst are callers that delete the pods of a Job that ends before the interim condition is stored.
var deletingFirst = bugs.Deciding(inside.DeletingFirst)

// amnesiac is a caller that restarts for every sync.
func amnesiac() cluster.Controller {
	return &bugs.Caller{Before: func(c *bugs.Caller, _ *cluster.Client) { c.Caller = jobtest.NewCaller() }, View: withoutCounted}
}

// withoutCounted hides the pods that the status counts.
func withoutCounted(v *cluster.View) {
	v.Pods = slices.DeleteFunc(v.Pods, func(p *corev1.Pod) bool { return cluster.HasEnded(p) && !tracking.Keys{}.HasFinalizer(p) })
}

// byName is a caller that waits to observe the pods that it created, even if they belong to an
// earlier Job of that name.
func byName() cluster.Controller {
	var unseen []types.UID
	caller := &bugs.Caller{Caller: jobtest.NewCaller(), Answer: func(_ *cluster.View, q *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
		if q.Verb == cluster.Create && err == nil {
			unseen = append(unseen, a.Pod.UID)
		}
		return a, err
	}}
	return bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		unseen = slices.DeleteFunc(unseen, func(uid types.UID) bool {
			return slices.ContainsFunc(client.Pods, func(p *corev1.Pod) bool { return p.UID == uid })
		})
		if len(unseen) > 0 {
			return 0, nil
		}
		return caller.Sync(client)
	})
}

// restless writes after the Job has ended.
func restless(_ *bugs.Caller, client *cluster.Client) {
	if client.Job != nil && referee.Ended(client.Job) {
		job := client.Job.DeepCopy()
		job.Status.Failed++
		_, _ = client.UpdateStatus(job)
	}
}

// everyThird is a caller that patches a pod in every third sync.
func everyThird() cluster.Controller {
	syncs := 0
	return bugs.With(bugs.Caller{Before: func(_ *bugs.Caller, client *cluster.Client) {
		if syncs++; syncs%3 == 0 && len(client.Pods) > 0 {
			_, _ = client.PatchPod(client.Pods[0], []byte(`{"metadata":{"uid":"`+string(client.Pods[0].UID)+`"}}`))
		}
	}})()
}

// indifferent is a caller that stops when all pods have succeeded, and stores no verdict.
func indifferent() cluster.Controller {
	caller := bugs.Rewriting(func(st map[string]any) { st["conditions"], st["completionTime"] = nil, nil })()
	return bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		if client.Job != nil && client.Job.Status.Succeeded == *client.Job.Spec.Completions {
			return 0, nil
		}
		return caller.Sync(client)
	})
}

// deletingAnother deletes a pod under a wrong UID.
func deletingAnother(_ *bugs.Caller, client *cluster.Client) {
	if len(client.Pods) > 0 {
		_ = client.DeletePod(client.Pods[0], metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})
	}
}

// leaving is a caller that adds the finalizer to a pod again when the Job has ended.
func leaving() cluster.Controller {
	caller := jobtest.NewCaller()
	return bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		if client.Job == nil || !referee.Ended(client.Job) {
			return caller.Sync(client)
		}
		for _, pod := range client.Pods {
			if !(tracking.Keys{}).HasFinalizer(pod) && pod.DeletionTimestamp == nil {
				_, err := client.PatchPod(pod, []byte(`{"metadata":{"uid":"`+string(pod.UID)+`","finalizers":["`+batchv1.JobTrackingFinalizer+`"]}}`))
				return 0, err
			}
		}
		return 0, nil
	})
}

// enough is the number of seeds of which one finds any of the bugs.
const enough = uint64(3000)

// TestPutBack injects known bugs, one at a time, and requires that a run finds each. The
// names refer to issues and pull requests of kubernetes/kubernetes; "seen" marks bugs of
// release 1.37.
func TestPutBack(t *testing.T) {
	for _, bug := range knownBugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for seed := range enough {
				cfg := Config{Seed: seed, Mode: Liveness, Controller: bug.controller, Rules: referee.Rules{Keys: bug.keys}, Retries: -1}
				if bug.job != nil {
					cfg.Job = Job(seed)
					bug.job(&cfg.Job.Spec)
				}
				v := Run(cfg).Violation
				if v != nil && slices.Contains(strings.Fields(bug.property), v.Property) && strings.Contains(v.Text, bug.says) {
					t.Logf("seed %d: %v", seed, v)
					return
				}
			}
			t.Error("no run finds it")
		})
	}
}
