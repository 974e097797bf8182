package referee_test

import (
	"bytes"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// refereed is a cluster with a referee, and the violations that the referee has reported.
type refereed struct {
	*cluster.Cluster
	t        *testing.T
	caller   *cluster.Caller
	cache    *cluster.Cache
	ghost    referee.Ghost
	verdicts []string
}

func newRefereed(t *testing.T, rules referee.Rules, spec batchv1.JobSpec) *refereed {
	t.Helper()
	job := &batchv1.Job{Spec: spec}
	job.Spec.Template.Spec = MinimalPodSpec()
	c := Must(cluster.New(job, jobtest.Noon()))
	k := &refereed{Cluster: c, t: t, caller: jobtest.NewCaller(), cache: c.NewCache(false)}
	k.ghost.Started(c.Job())
	c.Watch = func(s cluster.Step) {
		if v := rules.See(&k.ghost, &s); v != nil {
			k.verdicts = append(k.verdicts, v.Property)
		}
	}
	return k
}

func (k *refereed) sync() {
	k.t.Helper()
	k.cache.ShowAll()
	for range 3 {
		NoError(k.t, k.Run(k.caller, k.cache).Err)
		k.cache.ShowAll()
	}
}

// edit changes the spec of the Job. The cache shows it.
func (k *refereed) edit(how func(*batchv1.JobSpec)) {
	k.t.Helper()
	NoError(k.t, k.EditJob(how))
	k.cache.ShowAll()
}

// otherLeader lets another leader sync, with an older cache.
func (k *refereed) otherLeader(old *cluster.Cache) {
	k.ghost.Behind = true
	k.Run(jobtest.NewCaller(), old)
	k.ghost.Behind = false
}

// said returns the first violated property; empty if there is none.
func (k *refereed) said() string {
	if len(k.verdicts) == 0 {
		return ""
	}
	return k.verdicts[0]
}

// Failure policies.
var (
	failOn1           = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{OnExit(batchv1.PodFailurePolicyActionFailJob, 1)}}
	ignoreDisruptions = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{OnDisruption(batchv1.PodFailurePolicyActionIgnore)}}
)

func indexed(n int32) batchv1.JobSpec {
	return batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: new(batchv1.IndexedCompletion)}
}

func all(s batchv1.JobSpec, change func(*batchv1.JobSpec)) batchv1.JobSpec {
	change(&s)
	return s
}

func (k *refereed) orphan(uid types.UID) {
	k.Edit(uid, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
}

// The referee accepts what a controller may do, and reports what it must not do.
func TestVerdicts(t *testing.T) {
	two, perIndex, ignoring := indexed(2), indexed(1), indexed(2)
	perIndex.BackoffLimitPerIndex = new(int32(3))
	ignoring.BackoffLimit = new(int32(0))
	ignoring.PodFailurePolicy = ignoreDisruptions
	ignoringPerIndex := all(perIndex, func(s *batchv1.JobSpec) { s.PodFailurePolicy = ignoreDisruptions })
	setParallelism := func(k *refereed, n int32) { k.edit(func(s *batchv1.JobSpec) { s.Parallelism = &n }) }
	// secondPod lets another leader create pod-4 beside pod-3, which has replaced the failed pod-2.
	secondPod := func(k *refereed) {
		setParallelism(k, 0)
		k.sync()
		old := k.NewCache(false)
		setParallelism(k, 1)
		old.ShowJob()
		k.sync()
		k.End("pod-2", 1)
		k.sync()
		k.Now = k.Now.Add(20 * time.Second)
		k.sync()
		k.otherLeader(old) // it does not see pod-2 and pod-3
	}
	// twoFailedPods leaves two failed pods of one index. The pod that failed first follows another failure, and
	// is replaced after 20 seconds, before the delay of the other one has passed.
	twoFailedPods := func(k *refereed) {
		secondPod(k)
		k.End("pod-3", 1)
		k.Now = k.Now.Add(15 * time.Second)
		k.End("pod-4", 1)
		k.Now = k.Now.Add(5 * time.Second)
	}
	// recordedAgain restarts a controller after its predecessor has recorded a success. The
	// cache still shows the finalizer of that pod, so the new controller records the success
	// again, together with a failure. When its caches have caught up, the Job needs more
	// pods.
	recordedAgain := func(behind bool) func(*refereed) {
		return func(k *refereed) {
			setParallelism(k, 0)
			k.End("pod-1", 1)
			k.End("pod-2", 0)
			old := k.NewCache(false)
			k.cache.ShowPod("pod-2")
			k.Run(k.caller, k.cache)
			k.caller, k.cache, k.ghost.Behind = jobtest.NewCaller(), old, behind
			old.ShowJob()
			k.Run(k.caller, k.cache)
			k.ghost.Behind = false
			k.cache.ShowAll()
			k.Delete("pod-2", 0)
			setParallelism(k, 2)
		}
	}
	// restarted replaces a controller after a success and a failure at the same time. The
	// controller stores a status after it has seen both. Then only the failed pod is left,
	// and the Job needs more pods.
	restarted := func(inDoubt bool) func(*refereed) {
		return func(k *refereed) {
			k.End("pod-1", 0)
			k.sync()
			k.End("pod-2", 1)
			k.sync()
			k.caller, k.ghost.InDoubt = jobtest.NewCaller(), inDoubt
			setParallelism(k, 0)
			k.sync()
			k.Delete("pod-1", 0)
			setParallelism(k, 3)
		}
	}
	suspend := func(k *refereed, suspended bool) {
		k.edit(func(s *batchv1.JobSpec) { s.Suspend = &suspended })
		k.sync()
	}
	for _, test := range []struct {
		name    string
		spec    batchv1.JobSpec
		rules   referee.Rules
		happens func(*refereed)
		want    string
	}{
		{"a status written by another client is accepted as correct", two, referee.Rules{}, func(k *refereed) {
			k.SetStatus(batchv1.JobStatus{Failed: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
				Failed: []types.UID{"gone", "both"}, Succeeded: []types.UID{"both"},
			}})
		}, ""},
		{"failedIndexes is ignored without a limit per index", two, referee.Rules{}, func(k *refereed) {
			k.SetStatus(batchv1.JobStatus{FailedIndexes: new("1")})
		}, ""},
		{"the failure count is lost with a pod that the controller deletes", perIndex, referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.sync()
			suspend(k, true)
			suspend(k, false)
		}, ""},
		{"the failure count is lost with a pod that vanishes", perIndex, referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.sync()
			k.Vanish("pod-2")
		}, ""},
		{"an ignored pod may lose its finalizer when the Job ends", ignoring, referee.Rules{}, func(k *refereed) {
			k.Start("pod-2")
			k.Disrupt("pod-2")
			k.End("pod-1", 1)
		}, ""},
		{"a pod whose end was not observed may lose its finalizer", all(indexed(2), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
		}), referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 0)
			k.cache.ShowAll()
			k.End("pod-2", 1)
			k.Run(k.caller, k.cache)
		}, ""},
		{"a success that is observed late forgives failures", indexed(3), referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 0)
			k.Now = k.Now.Add(time.Second)
			k.End("pod-2", 1)
			k.cache.ShowPod("pod-2")
			k.Run(k.caller, k.cache)
		}, ""},
		{"a recorded success is news to a controller that starts with a stale view", two, referee.Rules{}, recordedAgain(true), ""},
		{"a recorded success is not news to another controller", two, referee.Rules{}, recordedAgain(false), "S12"},
		{"a restarted controller computes its backoff record from the observed pods", indexed(3), referee.Rules{}, restarted(true), ""},
		{"a controller that was not restarted keeps its backoff record", indexed(3), referee.Rules{}, restarted(false), "S12"},
		{"the backoff record lacks failures beyond the completions", indexed(3), referee.Rules{}, func(k *refereed) {
			scale := func(n int32) {
				k.edit(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = &n, &n })
				k.sync()
			}
			k.End("pod-3", 1)
			k.sync()
			k.caller, k.ghost.InDoubt = jobtest.NewCaller(), true
			scale(2)
			k.Start("pod-1")
			k.Ready("pod-1", corev1.ConditionTrue)
			k.sync()
			scale(3)
		}, ""},
		{"a failure that is news after a restart causes a delay", two, referee.Rules{Backoff: backoff.Policy{Base: 20 * time.Second}}, func(k *refereed) {
			k.End("pod-1", 0)
			k.sync()
			k.End("pod-2", 1)
			k.caller, k.ghost.InDoubt = jobtest.NewCaller(), true
			k.sync()
			k.Delete("pod-1", 0)
			k.Now = k.Now.Add(10 * time.Second)
		}, "S12"},
		{"an ignored failure is news too, and the clock may have gone back", all(ignoring, func(s *batchv1.JobSpec) { s.BackoffLimit = nil }), referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(-time.Hour)
			k.Disrupt("pod-2")
			k.End("pod-2", 1)
			k.sync()
			k.Now = k.Now.Add(20 * time.Second)
		}, ""},
		{"the observed failure decides whether a rule ignores it", ignoringPerIndex, referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.Edit("pod-1", func(pod *corev1.Pod) {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
			})
			k.Run(k.caller, k.cache)
		}, ""},
		{"a pod that another client added may be the predecessor", ignoringPerIndex, referee.Rules{}, func(k *refereed) {
			second := k.Pod("pod-1").DeepCopy()
			second.Name = "second"
			k.Add(second)
			k.End("pod-1", 1)
			k.Now = k.Now.Add(time.Second)
			k.Disrupt("pod-2")
			k.End("pod-2", 1)
			k.Now = k.Now.Add(10 * time.Second)
		}, ""},
		{"the last of two failed pods is the predecessor", ignoringPerIndex, referee.Rules{}, func(k *refereed) {
			setParallelism(k, 0)
			k.sync()
			old := k.NewCache(false)
			setParallelism(k, 1)
			k.sync()
			old.ShowJob()
			k.otherLeader(old) // it does not see pod-2
			k.End("pod-2", 1)
			k.Now = k.Now.Add(time.Second)
			k.Disrupt("pod-3")
			k.End("pod-3", 1)
			k.Now = k.Now.Add(10 * time.Second)
		}, ""},
		{"of two failed pods, the delay of the one with more failures counts", perIndex, referee.Rules{}, twoFailedPods, ""},
		{"the delay of the one with more failures has not passed", perIndex,
			referee.Rules{Backoff: backoff.Policy{Base: 20 * time.Second}}, twoFailedPods, "S12"},
		{"a deleted pod may be the predecessor, although the delay of a failed one has not passed", perIndex, referee.Rules{}, func(k *refereed) {
			secondPod(k)
			k.Start("pod-3")
			k.Delete("pod-3", 1) // its index has had two failures then: 20 seconds
			k.Now = k.Now.Add(15 * time.Second)
			k.End("pod-4", 1)
			k.Now = k.Now.Add(7 * time.Second)
		}, ""},
		{"a failed pod or one that is being deleted may be the predecessor", perIndex, referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.cache.ShowAll()
			k.Run(k.caller, k.cache)
			k.Delete("pod-2", 30)
			k.Now = k.Now.Add(20 * time.Second)
		}, ""},
		{"a deletion is news too, and the clock may have gone back", batchv1.JobSpec{Completions: new(int32(2)), Parallelism: new(int32(2))}, referee.Rules{}, func(k *refereed) {
			k.End("pod-2", 1)
			k.sync()
			k.Now = k.Now.Add(-time.Hour)
			k.Delete("pod-1", 0)
			k.Now = k.Now.Add(time.Hour + time.Second)
		}, ""},
		{"a pod that is orphaned again after its adoption may be deleted", all(perIndex, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(100)) }), referee.Rules{}, func(k *refereed) {
			k.orphan("pod-1")
			k.Now = k.Now.Add(100 * time.Second)
			k.cache.ShowAll()
			k.Run(&bugs.Caller{Caller: k.caller, Answer: func(_ *cluster.View, r *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
				if r.Verb == cluster.Patch && bytes.Contains(r.Patch, []byte("ownerReferences")) {
					k.orphan(a.Pod.UID) // right after the caller has adopted it
				}
				return a, err
			}}, k.cache)
		}, ""},
		{"a success policy may name indexes one by one", all(indexed(4), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0,1,2")}}}
		}), referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 0)
			k.End("pod-2", 0)
			k.End("pod-3", 0)
		}, ""},
		{"a success policy with a count of 0 is met by the first success", all(indexed(3), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(0))}}}
		}), referee.Rules{}, func(k *refereed) { k.End("pod-3", 0) }, ""},
		{"failures that no status records yet exceed a limit", all(indexed(4), func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1)) }), referee.Rules{}, func(k *refereed) {
			inside.Decide(k.caller.Machine, func(s decide.Snapshot, o decide.Option, _ inside.Usual) (decide.Decision, error) {
				return decide.Job(s, o, decide.MaxUncounted(1))
			})
			k.End("pod-1", 1)
			k.Delete("pod-2", 30)
		}, ""},
		{"a pod charged as failed fails the Job regardless of its current phase", all(indexed(2), func(s *batchv1.JobSpec) {
			s.PodFailurePolicy = failOn1
		}), referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			k.Edit("pod-1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
			status := k.Job().Status.DeepCopy()
			status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-1"}}
			k.SetStatus(*status)
		}, ""},
		{"a pod charged as succeeded does not fail the Job regardless of its current phase", batchv1.JobSpec{
			Completions: new(int32(3)), Parallelism: new(int32(2)), PodFailurePolicy: failOn1,
		}, referee.Rules{}, func(k *refereed) {
			k.End("pod-1", 1)
			status := k.Job().Status.DeepCopy()
			status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-1"}}
			k.SetStatus(*status)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newRefereed(t, test.rules, test.spec)
			k.sync()
			test.happens(k)
			k.sync()
			Same(t, "the first property that the referee reports", k.said(), test.want)
		})
	}
}
