package proof

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/tracking"
)

// buggy is the reference caller with a bug in its memory, its view, its requests or the answers.
type buggy struct {
	*cluster.Caller
	remember func(*memory.Memory, *cluster.View)
	see      func(*cluster.View)
	send     func(*cluster.Request)
	hear     func(*cluster.View, *cluster.Request, cluster.Answer, error) (cluster.Answer, error)
	first    func(*cluster.Client)
}

// Sync implements cluster.Controller.
func (b *buggy) Sync(client *cluster.Client) (time.Duration, error) {
	seen := *client
	seen.Send = func(r *cluster.Request) (cluster.Answer, error) {
		sent := *r
		if b.send != nil {
			b.send(&sent)
		}
		a, err := client.Send(&sent)
		if b.hear != nil {
			return b.hear(&client.View, r, a, err)
		}
		return a, err
	}
	if b.see != nil {
		seen.Pods = slices.Clone(seen.Pods)
		b.see(&seen.View)
	}
	if b.remember != nil {
		b.remember(inside.Memory(b.Machine), &seen.View)
	}
	if b.first != nil {
		b.first(&seen)
	}
	return b.Caller.Sync(&seen)
}

// storesWrongly returns a caller whose first status of each sync is changed.
func storesWrongly(how func(jobfate.Snapshot, *batchv1.JobStatus)) func() cluster.Controller {
	return func() cluster.Controller {
		caller := cluster.NewCaller()
		inside.Amend(caller.Machine, func(s jobfate.Snapshot, d *jobfate.Decision) {
			if d.Status != nil {
				d.Status = d.Status.DeepCopy()
				how(s, d.Status)
			}
		})
		return caller
	}
}

// listsToo returns a caller that also lists some other pods as failed.
func listsToo(which func(*corev1.Pod) bool) func() cluster.Controller {
	return storesWrongly(func(in jobfate.Snapshot, s *batchv1.JobStatus) {
		for _, pod := range in.Pods {
			if u := s.UncountedTerminatedPods; which(pod) && u != nil && !slices.Contains(u.Failed, pod.UID) {
				u.Failed = append(u.Failed, pod.UID)
			}
		}
	})
}

func with(b buggy) func() cluster.Controller {
	return func() cluster.Controller {
		next := b
		next.Caller = cluster.NewCaller()
		return &next
	}
}

// sendsStatus returns a caller whose status patches are changed.
func sendsStatus(how func(status map[string]any)) func() cluster.Controller {
	return with(buggy{send: func(r *cluster.Request) {
		var p map[string]any
		if r.Verb != cluster.Status || json.Unmarshal(r.Patch, &p) != nil {
			return
		}
		how(p["status"].(map[string]any))
		r.Patch, _ = json.Marshal(p)
	}})
}

// misreads returns a caller that reads another spec.
func misreads(how func(*batchv1.JobSpec)) func() cluster.Controller {
	return with(buggy{see: func(v *cluster.View) {
		if v.Job != nil {
			v.Job = v.Job.DeepCopy()
			how(&v.Job.Spec)
		}
	}})
}

// relabel changes the pods that a caller sees.
func relabel(v *cluster.View, how func(*corev1.Pod)) {
	for i, pod := range v.Pods {
		v.Pods[i] = pod.DeepCopy()
		how(v.Pods[i])
	}
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
	{"writes in flight are forgotten", "P1", with(buggy{remember: func(m *memory.Memory, _ *cluster.View) {
		m.Known, m.Shown, m.ReadFirst, m.Created, m.Deleted, m.Stripped, m.Lost = "", "", false, nil, nil, nil, nil
	}})},
	{"removed finalizers are forgotten", "P1", with(buggy{remember: func(m *memory.Memory, _ *cluster.View) { m.Stripped = nil }})},
	{"every status is taken for the own one", "P1", with(buggy{remember: func(m *memory.Memory, v *cluster.View) {
		if v.Job != nil && m.Job == v.Job.UID {
			s := &v.Job.Status
			m.Counted = memory.Counted{Succeeded: s.Succeeded, Failed: s.Failed, Uncounted: s.UncountedTerminatedPods}
		}
	}})},
	{"the caches claim to be up to date", "P1", with(buggy{see: func(v *cluster.View) { v.JobsVersion, v.PodsVersion = "999999", "999999" }})},
	{"the pods claim to be as new as the Job", "P1", with(buggy{see: func(v *cluster.View) {
		if v.Job != nil {
			job, _ := strconv.Atoi(v.Job.ResourceVersion)
			pods, _ := strconv.Atoi(v.PodsVersion)
			v.PodsVersion = strconv.Itoa(max(job, pods))
		}
	}})},
	{"live reads are answered from the caches", "P1", with(buggy{hear: func(v *cluster.View, r *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
		switch r.Verb {
		case cluster.Get:
			a.Job = v.Job
		case cluster.List:
			a.Pods, a.Version = v.Pods, v.Barrier
		}
		return a, err
	}})},
	{"a pod without the finalizer is listed again", "P1", listsToo(func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed && !tracking.Keys{}.HasFinalizer(pod)
	})},
	{"a running pod is counted", "P1", listsToo(func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodRunning && tracking.Keys{}.HasFinalizer(pod)
	})},
	{"finalizers are removed before the status is stored", "P2", func() cluster.Controller {
		b := &buggy{Caller: cluster.NewCaller()}
		var client *cluster.Client
		b.first = func(c *cluster.Client) { client = c }
		inside.Amend(b.Machine, func(_ jobfate.Snapshot, d *jobfate.Decision) {
			for _, pod := range d.Strip {
				_, _ = client.PatchPod(pod, tracking.Keys{}.StripPatch(pod))
			}
		})
		return b
	}},
	{"the status does not list the pods whose finalizers are removed", "P2", storesWrongly(func(_ jobfate.Snapshot, s *batchv1.JobStatus) {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	})},
	{"the finalizer of a pod to delete is removed whatever has become of the pod", "P2", with(buggy{send: func(r *cluster.Request) {
		if r.Verb == cluster.Patch && !strings.Contains(string(r.Patch), "ownerReferences") {
			r.Patch = withoutVersion(r.Patch)
		}
	}})},
	{"all failures are ignored", "P2", misreads(func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}}}}}
	})},
	{"completions are read as one", "P2", misreads(func(s *batchv1.JobSpec) {
		if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion {
			s.Completions = new(int32(1))
		}
	})},
	{"pods are released that the Job selects", "P2", with(buggy{see: func(v *cluster.View) {
		relabel(v, func(pod *corev1.Pod) { pod.Labels = nil })
	}})},
	{"the index of a pod is that of its label", "P2", with(buggy{see: func(v *cluster.View) {
		relabel(v, func(pod *corev1.Pod) {
			if key := batchv1.JobCompletionIndexAnnotation; pod.Labels[key] != "" {
				pod.Annotations[key] = pod.Labels[key]
			}
		})
	}})},
	{"a status write without an answer is taken as stored", "P2", with(buggy{hear: isDone(cluster.Status)})},
	{"failed is reset", "P3", sendsStatus(func(s map[string]any) { s["failed"] = 0 })},
	{"succeeded is reset", "P3", sendsStatus(func(s map[string]any) { s["succeeded"] = 0 })},
	{"failed indexes are completed indexes", "P4", storesWrongly(func(_ jobfate.Snapshot, s *batchv1.JobStatus) {
		if s.FailedIndexes != nil && s.CompletedIndexes != "" {
			s.FailedIndexes = &s.CompletedIndexes
		}
	})},
	{"a FailJob rule is read as Count", "P5", misreads(func(s *batchv1.JobSpec) {
		if s.PodFailurePolicy != nil {
			s.PodFailurePolicy = s.PodFailurePolicy.DeepCopy()
			for i := range s.PodFailurePolicy.Rules {
				if r := &s.PodFailurePolicy.Rules[i]; r.Action == batchv1.PodFailurePolicyActionFailJob {
					r.Action = batchv1.PodFailurePolicyActionCount
				}
			}
		}
	})},
	{"the verdict is not stored", "P5", sendsStatus(func(s map[string]any) {
		if list, ok := s["conditions"].([]any); ok {
			s["conditions"] = slices.DeleteFunc(list, func(c any) bool { return c.(map[string]any)["type"] == "FailureTarget" })
		}
	})},
	{"a Job ends with uncounted pods", "P6", storesWrongly(func(_ jobfate.Snapshot, s *batchv1.JobStatus) { endNow(s, false) })},
	{"a Job ends, and what it lists is added, before the finalizers are removed", "P6 P7", storesWrongly(func(_ jobfate.Snapshot, s *batchv1.JobStatus) { endNow(s, true) })},
	{"pods leave the lists with their finalizers", "P7", storesWrongly(func(_ jobfate.Snapshot, s *batchv1.JobStatus) {
		if u := s.UncountedTerminatedPods; u != nil && len(u.Failed) > 1 {
			s.Failed += int32(len(u.Failed) - 1)
			u.Failed = u.Failed[:1]
		}
	})},
	{"the removal of a finalizer without an answer is taken as done", "P7", with(buggy{hear: isDone(cluster.Patch)})},
	{"each status write adds a failure", "P8", storesWrongly(func(in jobfate.Snapshot, s *batchv1.JobStatus) {
		if len(in.Pods) > 0 {
			s.Failed++
		}
	})},
	{"pods that leave the lists are not added", "P8", sendsStatus(func(s map[string]any) {
		if u, ok := s["uncountedTerminatedPods"].(map[string]any); ok && u["succeeded"] == nil {
			delete(s, "succeeded")
		}
	})},
	{"the lists have no cap", "P9", func() cluster.Controller { return cluster.NewCaller() }},
	{"pods are deleted before the verdict is stored", "P10", func() cluster.Controller {
		caller := cluster.NewCaller()
		inside.Amend(caller.Machine, func(_ jobfate.Snapshot, d *jobfate.Decision) {
			for i := range d.Delete {
				d.Delete[i].Cause = jobfate.CauseTooMany // no verdict is stored for these first
			}
		})
		return caller
	}},
	{"an adoption does not name the version of the pod", "the assumption versions", with(buggy{send: func(r *cluster.Request) {
		if r.Verb == cluster.Patch && strings.Contains(string(r.Patch), "ownerReferences") {
			r.Patch = withoutVersion(r.Patch)
		}
	}})},
	{"a status does not name the version of the Job", "the assumption versions", with(buggy{send: func(r *cluster.Request) {
		if r.Verb == cluster.Status {
			r.Patch = withoutVersion(r.Patch)
		}
	}})},
	{"the pods of a living Job are freed as orphans", "P2", with(buggy{see: func(v *cluster.View) { v.Jobs = nil },
		hear: func(_ *cluster.View, r *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
			if r.Verb == cluster.Get {
				a.Job = nil
			}
			return a, err
		}})},
}

// endNow adds the terminal condition to a status that has FailureTarget.
func endNow(s *batchv1.JobStatus, empty bool) {
	c := s.Conditions
	if len(c) == 0 || c[len(c)-1].Type != batchv1.JobFailureTarget || s.Active != 0 || s.StartTime == nil || s.UncountedTerminatedPods == nil {
		return
	}
	end := c[len(c)-1]
	end.Type = batchv1.JobFailed
	s.Conditions, s.Terminating = append(slices.Clone(c), end), new(int32)
	if empty {
		s.Failed += int32(len(s.UncountedTerminatedPods.Failed))
		s.UncountedTerminatedPods = nil
	}
}

// A bug in the Machine, or in its input, is refused: the first step of a schedule that depends on
// it is not a step of the model.
func TestPlanted(t *testing.T) {
	p := compiledModel(t)
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
