package proof

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/tracking"
)

// listsToo returns a caller that also lists some other pods as failed.
func listsToo(which func(*corev1.Pod) bool) func() cluster.Controller {
	return bugs.Spoiled(func(in decide.Snapshot, s *batchv1.JobStatus) {
		for _, pod := range in.Pods {
			if u := s.UncountedTerminatedPods; which(pod) && u != nil && !slices.Contains(u.Failed, pod.UID) {
				u.Failed = append(u.Failed, pod.UID)
			}
		}
	})
}

// remembering returns callers whose memory is changed before each sync.
func remembering(how func(*memory.Memory, *cluster.View)) func() cluster.Controller {
	return bugs.With(bugs.Caller{Before: func(c *bugs.Caller, client *cluster.Client) {
		how(inside.Memory(c.Machine), &client.View)
	}})
}

func withoutVersion(patch []byte) []byte {
	var p map[string]map[string]any
	if json.Unmarshal(patch, &p) != nil {
		return patch
	}
	delete(p["metadata"], "resourceVersion")
	next, _ := json.Marshal(p)
	return next
}

// isDone answers a request that had no answer as done.
func isDone(verb cluster.Verb) func(*cluster.View, *cluster.Request, cluster.Answer, error) (cluster.Answer, error) {
	return func(v *cluster.View, r *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
		if r.Verb != verb || err == nil || !apierrors.IsTimeout(err) && !apierrors.IsInternalError(err) {
			return a, err
		}
		if verb == cluster.Status {
			a.Job = v.Job.DeepCopy()
			a.Job.ResourceVersion = "999999"
		}
		return a, nil
	}
}

// bug is a bug with the properties that it breaks.
type bug struct {
	name, property string
	controller     func() cluster.Controller
}

var planted = []bug{
	{"writes in flight are forgotten", "P1", bugs.With(bugs.Caller{Before: bugs.ForgetInFlight})},
	{"removed finalizers are forgotten", "P1", remembering(func(m *memory.Memory, _ *cluster.View) { m.Stripped = nil })},
	{"every status is taken for the own one", "P1", remembering(func(m *memory.Memory, v *cluster.View) {
		if v.Job != nil && m.Job == v.Job.UID {
			s := &v.Job.Status
			m.Counted = memory.Counted{Succeeded: s.Succeeded, Failed: s.Failed, Uncounted: s.UncountedTerminatedPods}
		}
	})},
	{"the caches claim to be up to date", "P1", bugs.Looking(bugs.Newer)},
	{"the pods claim to be as new as the Job", "P1", bugs.Looking(bugs.NewerPods)},
	{"live reads are answered from the caches", "P1", bugs.With(bugs.Caller{Answer: bugs.FromCache})},
	{"a pod without the finalizer is listed again", "P1", listsToo(func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed && !tracking.Keys{}.HasFinalizer(pod)
	})},
	{"a running pod is counted", "P1", listsToo(func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && tracking.Keys{}.HasFinalizer(pod)
	})},
	{"finalizers are removed before the status is stored", "P2", bugs.With(bugs.Caller{Before: bugs.StripFirst})},
	{"the status does not list the pods whose finalizers are removed", "P2", bugs.Spoiled(bugs.ListNone)},
	{"the finalizer of a pod to delete is removed whatever has become of the pod", "P2", bugs.Asking(func(r *cluster.Request) {
		if r.Verb == cluster.Patch && !strings.Contains(string(r.Patch), "ownerReferences") {
			r.Patch = withoutVersion(r.Patch)
		}
	})},
	{"all failures are ignored", "P2", bugs.Spec(func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}}}}}
	})},
	{"completions are read as one", "P2", bugs.Spec(func(s *batchv1.JobSpec) {
		if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion {
			s.Completions = new(int32(1))
		}
	})},
	{"pods are released that the Job selects", "P2", bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) { pod.Labels = nil }))},
	{"the index of a pod is that of its label", "P2", bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if key := batchv1.JobCompletionIndexAnnotation; pod.Labels[key] != "" {
			pod.Annotations[key] = pod.Labels[key]
		}
	}))},
	{"a status write without an answer is taken as stored", "P2", bugs.With(bugs.Caller{Answer: isDone(cluster.Status)})},
	{"failed is reset", "P3", bugs.Rewriting(func(s map[string]any) { s["failed"] = 0 })},
	{"succeeded is reset", "P3", bugs.Rewriting(func(s map[string]any) { s["succeeded"] = 0 })},
	{"failed indexes are completed indexes", "P4", bugs.Spoiled(bugs.BothSets)},
	{"a FailJob rule is read as Count", "P5", bugs.Spec(bugs.CountFailJob)},
	{"the verdict is not stored", "P5", bugs.Rewriting(func(s map[string]any) {
		if list, ok := s["conditions"].([]any); ok {
			s["conditions"] = slices.DeleteFunc(list, func(c any) bool { return c.(map[string]any)["type"] == "FailureTarget" })
		}
	})},
	{"a Job ends with uncounted pods", "P6", bugs.Spoiled(func(in decide.Snapshot, s *batchv1.JobStatus) {
		failed, listed := s.Failed, s.UncountedTerminatedPods
		if bugs.EndNow(in, s); listed != nil {
			s.Failed, s.UncountedTerminatedPods = failed, listed
		}
	})},
	{"a Job ends, and what it lists is added, before the finalizers are removed", "P6 P7", bugs.Spoiled(bugs.EndNow)},
	{"pods leave the lists with their finalizers", "P7", bugs.Spoiled(bugs.LeaveEarly)},
	{"the removal of a finalizer without an answer is taken as done", "P7", bugs.With(bugs.Caller{Answer: isDone(cluster.Patch)})},
	{"each status write adds a failure", "P8", bugs.Spoiled(bugs.AddFailure)},
	{"pods that leave the lists are not added", "P8", bugs.Rewriting(func(s map[string]any) {
		if u, ok := s["uncountedTerminatedPods"].(map[string]any); ok && u["succeeded"] == nil {
			delete(s, "succeeded")
		}
	})},
	{"the lists have no cap", "P9", func() cluster.Controller { return cluster.NewCaller() }},
	{"pods are deleted before the verdict is stored", "P10", bugs.Amended(func(_ decide.Snapshot, d *decide.Decision) {
		for i := range d.Delete {
			d.Delete[i].Cause = decide.CauseTooMany // no verdict is stored for these first
		}
	})},
	{"an adoption does not name the version of the pod", "the assumption versions", bugs.Asking(func(r *cluster.Request) {
		if r.Verb == cluster.Patch && strings.Contains(string(r.Patch), "ownerReferences") {
			r.Patch = withoutVersion(r.Patch)
		}
	})},
	{"a status does not name the version of the Job", "the assumption versions", bugs.Asking(func(r *cluster.Request) {
		if r.Verb == cluster.Status {
			r.Patch = withoutVersion(r.Patch)
		}
	})},
	{"the pods of a living Job are freed as orphans", "P2", bugs.With(bugs.Caller{View: func(v *cluster.View) { v.Jobs = nil },
		Answer: func(_ *cluster.View, r *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
			if r.Verb == cluster.Get {
				a.Job = nil
			}
			return a, err
		}})},
}

// A bug in the Machine, or in its input, is refused: the first step of a schedule that depends on
// it is not a step of the model.
func TestPlanted(t *testing.T) {
	p := Must(Must(Load()).compile())
	for _, property := range p.Properties {
		if !slices.ContainsFunc(planted, func(b bug) bool { return slices.Contains(strings.Fields(b.property), property.Name) }) {
			t.Errorf("no bug breaks %s", property.Name)
		}
	}
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			var o Options
			if bug.property == "P9" {
				o.Cap = 1
			}
			for seed := range uint64(4_000) {
				if f := follow(p, o, chaos.Config{Seed: seed, Controller: bug.controller}); f.Refused != nil {
					t.Logf("seed %d: %.300s", seed, f.Refused)
					return
				}
			}
			t.Error("no schedule is refused")
		})
	}
}
