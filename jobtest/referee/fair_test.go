package referee_test

import (
	"bytes"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// court is a cluster that a referee watches, and its verdicts.
type court struct {
	*cluster.Cluster
	t        *testing.T
	caller   *cluster.Caller
	cache    *cluster.Cache
	ghost    referee.Ghost
	verdicts []string
}

func newCourt(t *testing.T, rules referee.Rules, spec batchv1.JobSpec) *court {
	t.Helper()
	job := &batchv1.Job{Spec: spec}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main"}}}
	c, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	k := &court{Cluster: c, t: t, caller: cluster.NewCaller(), cache: c.NewCache(false)}
	k.ghost.Started(c.Job())
	c.Watch = func(s cluster.Step) {
		if v := rules.See(&k.ghost, &s); v != nil {
			k.verdicts = append(k.verdicts, v.Property)
		}
	}
	return k
}

func (k *court) sync() {
	k.t.Helper()
	k.cache.ShowAll()
	for range 3 {
		if out := k.Run(k.caller, k.cache); out.Err != nil {
			k.t.Fatal(out.Err)
		}
		k.cache.ShowAll()
	}
}

// failOn1 fails a Job of which a container exits with 1.
var failOn1 = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
	Action:      batchv1.PodFailurePolicyActionFailJob,
	OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
}}}

func indexed(n int32) batchv1.JobSpec {
	return batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: ptr(batchv1.IndexedCompletion)}
}

func all(s batchv1.JobSpec, change func(*batchv1.JobSpec)) batchv1.JobSpec {
	change(&s)
	return s
}

func (k *court) orphan(uid types.UID) {
	k.Edit(uid, func(pod *corev1.Pod) { pod.OwnerReferences = nil })
}

// orphaner takes the owner from pods that the caller has adopted, at once.
type orphaner struct{ *court }

func (o orphaner) Sync(client *cluster.Client) (time.Duration, error) {
	send := client.Send
	client.Send = func(r *cluster.Request) (cluster.Answer, error) {
		a, err := send(r)
		if r.Verb == cluster.Patch && bytes.Contains(r.Patch, []byte("ownerReferences")) {
			o.orphan(a.Pod.UID)
		}
		return a, err
	}
	return o.caller.Sync(client)
}

// What a controller may do, and what it must not.
func TestVerdicts(t *testing.T) {
	two, perIndex, ignoring := indexed(2), indexed(1), indexed(2)
	perIndex.BackoffLimitPerIndex = ptr[int32](3)
	ignoring.BackoffLimit = ptr[int32](0)
	ignoring.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
	ignoringPerIndex := all(perIndex, func(s *batchv1.JobSpec) { s.PodFailurePolicy = ignoring.PodFailurePolicy })
	places := func(k *court, n int32) {
		if err := k.EditJob(func(s *batchv1.JobSpec) { s.Parallelism = &n }); err != nil {
			k.t.Fatal(err)
		}
		k.cache.ShowAll()
	}
	// news has a controller take a success that its predecessor has recorded, and
	// that it still sees with its finalizer, for news, together with a failure. When
	// all is shown again, there are places for pods.
	news := func(blind bool) func(*court) {
		return func(k *court) {
			places(k, 0)
			k.End("pod-1", 1)
			k.End("pod-2", 0)
			old := k.NewCache(false)
			k.cache.ShowPod("pod-2")
			k.Run(k.caller, k.cache)
			k.caller, k.cache, k.ghost.Blind = cluster.NewCaller(), old, blind
			old.ShowJob()
			k.Run(k.caller, k.cache)
			k.ghost.Blind = false
			k.cache.ShowAll()
			k.Delete("pod-2", 0)
			places(k, 2)
		}
	}
	// anew has a controller start again, after a success and a failure at the same
	// time, and store a status when it has seen both; then only the failure is left,
	// and there are places for pods.
	anew := func(inDoubt bool) func(*court) {
		return func(k *court) {
			k.End("pod-1", 0)
			k.sync()
			k.End("pod-2", 1)
			k.sync()
			k.caller, k.ghost.InDoubt = cluster.NewCaller(), inDoubt
			places(k, 0)
			k.sync()
			k.Delete("pod-1", 0)
			places(k, 3)
		}
	}
	suspend := func(k *court, suspended bool) {
		if err := k.EditJob(func(s *batchv1.JobSpec) { s.Suspend = &suspended }); err != nil {
			k.t.Fatal(err)
		}
		k.sync()
	}
	for _, test := range []struct {
		name    string
		spec    batchv1.JobSpec
		rules   referee.Rules
		happens func(*court)
		want    string
	}{
		{"what a status says that another client has put in place is true", two, referee.Rules{}, func(k *court) {
			k.SetStatus(batchv1.JobStatus{Failed: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
				Failed: []types.UID{"gone", "both"}, Succeeded: []types.UID{"both"},
			}})
		}, ""},
		{"failedIndexes mean nothing without a limit per index", two, referee.Rules{}, func(k *court) {
			k.SetStatus(batchv1.JobStatus{FailedIndexes: ptr("1")})
		}, ""},
		{"the failure count goes with a pod that the controller deletes", perIndex, referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.sync()
			suspend(k, true)
			suspend(k, false)
		}, ""},
		{"and with one that is torn out", perIndex, referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.sync()
			k.Vanish("pod-2")
		}, ""},
		{"a pod that is ignored may go with the Job's end", ignoring, referee.Rules{}, func(k *court) {
			k.Start("pod-2")
			k.Disrupt("pod-2")
			k.End("pod-1", 1)
		}, ""},
		{"a pod that ended unseen may go", func() batchv1.JobSpec {
			s := indexed(2)
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr[int32](1)}}}
			return s
		}(), referee.Rules{}, func(k *court) {
			k.End("pod-1", 0)
			k.cache.ShowAll()
			k.End("pod-2", 1)
			k.Run(k.caller, k.cache)
		}, ""},
		{"a success that is seen late makes failures forgotten", indexed(3), referee.Rules{}, func(k *court) {
			k.End("pod-1", 0)
			k.Now = k.Now.Add(time.Second)
			k.End("pod-2", 1)
			k.cache.ShowPod("pod-2")
			k.Run(k.caller, k.cache)
		}, ""},
		{"a success is news again to a controller that starts on an old view", two, referee.Rules{}, news(true), ""},
		{"and to no other", two, referee.Rules{}, news(false), "S12"},
		{"a controller that starts again makes its record of what it sees", indexed(3), referee.Rules{}, anew(true), ""},
		{"and no other does", indexed(3), referee.Rules{}, anew(false), "S12"},
		{"and not of what has failed beyond the completions", indexed(3), referee.Rules{}, func(k *court) {
			scale := func(n int32) {
				if err := k.EditJob(func(s *batchv1.JobSpec) { s.Completions, s.Parallelism = &n, &n }); err != nil {
					k.t.Fatal(err)
				}
				k.sync()
			}
			k.End("pod-3", 1)
			k.sync()
			k.caller, k.ghost.InDoubt = cluster.NewCaller(), true
			scale(2)
			k.Start("pod-1")
			k.Ready("pod-1", corev1.ConditionTrue)
			k.sync()
			scale(3)
		}, ""},
		{"what is news to it delays all the same", two, referee.Rules{Backoff: backoff.Policy{Base: 20 * time.Second}}, func(k *court) {
			k.End("pod-1", 0)
			k.sync()
			k.End("pod-2", 1)
			k.caller, k.ghost.InDoubt = cluster.NewCaller(), true
			k.sync()
			k.Delete("pod-1", 0)
			k.Now = k.Now.Add(10 * time.Second)
		}, "S12"},
		{"a failure that is ignored is news too, and the clock may have gone back", all(ignoring, func(s *batchv1.JobSpec) { s.BackoffLimit = nil }), referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(-time.Hour)
			k.Disrupt("pod-2")
			k.End("pod-2", 1)
			k.sync()
			k.Now = k.Now.Add(20 * time.Second)
		}, ""},
		{"how a failure was seen says whether it is ignored", ignoringPerIndex, referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.Edit("pod-1", func(pod *corev1.Pod) {
				pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
			})
			k.Run(k.caller, k.cache)
		}, ""},
		{"a pod that another client has added may be taken for the last one", ignoringPerIndex, referee.Rules{}, func(k *court) {
			second := k.Pod("pod-1").DeepCopy()
			second.Name = "second"
			k.Add(second)
			k.End("pod-1", 1)
			k.Now = k.Now.Add(time.Second)
			k.Disrupt("pod-2")
			k.End("pod-2", 1)
			k.Now = k.Now.Add(10 * time.Second)
		}, ""},
		{"of two pods that have failed the last is the predecessor", ignoringPerIndex, referee.Rules{}, func(k *court) {
			places(k, 0)
			k.sync()
			old := k.NewCache(false)
			places(k, 1)
			k.sync()
			old.ShowJob()
			k.ghost.Blind = true // another leader, which does not see pod-2
			k.Run(cluster.NewCaller(), old)
			k.ghost.Blind = false
			k.End("pod-2", 1)
			k.Now = k.Now.Add(time.Second)
			k.Disrupt("pod-3")
			k.End("pod-3", 1)
			k.Now = k.Now.Add(10 * time.Second)
		}, ""},
		{"a pod that failed, and one that is being deleted: either may be the predecessor", perIndex, referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
			k.cache.ShowAll()
			k.Run(k.caller, k.cache)
			k.Delete("pod-2", 30)
			k.Now = k.Now.Add(20 * time.Second)
		}, ""},
		{"a deletion is news too, and the clock may have gone back", batchv1.JobSpec{Completions: ptr[int32](2), Parallelism: ptr[int32](2)}, referee.Rules{}, func(k *court) {
			k.End("pod-2", 1)
			k.sync()
			k.Now = k.Now.Add(-time.Hour)
			k.Delete("pod-1", 0)
			k.Now = k.Now.Add(time.Hour + time.Second)
		}, ""},
		{"a pod that is orphaned again after its adoption may be deleted", all(perIndex, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr[int64](100) }), referee.Rules{}, func(k *court) {
			k.orphan("pod-1")
			k.Now = k.Now.Add(100 * time.Second)
			k.cache.ShowAll()
			k.Run(orphaner{k}, k.cache)
		}, ""},
		{"a success policy may name indexes one by one", all(indexed(4), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr("0,1,2")}}}
		}), referee.Rules{}, func(k *court) {
			k.End("pod-1", 0)
			k.End("pod-2", 0)
			k.End("pod-3", 0)
		}, ""},
		{"one that is content with 0 is met by the first", all(indexed(3), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr[int32](0)}}}
		}), referee.Rules{}, func(k *court) { k.End("pod-3", 0) }, ""},
		{"failures that no status holds yet exceed a limit", all(indexed(4), func(s *batchv1.JobSpec) { s.BackoffLimit = ptr[int32](1) }), referee.Rules{}, func(k *court) {
			inside.MachineOf(k.caller.Machine).Config.UncountedCap = 1
			k.End("pod-1", 1)
			k.Delete("pod-2", 30)
		}, ""},
		{"a pod that was charged as failed fails the Job, whatever it shows now", all(indexed(2), func(s *batchv1.JobSpec) {
			s.PodFailurePolicy = failOn1
		}), referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			k.Edit("pod-1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
			status := k.Job().Status.DeepCopy()
			status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-1"}}
			k.SetStatus(*status)
		}, ""},
		{"a pod that was charged as succeeded fails no Job, whatever it shows now", batchv1.JobSpec{
			Completions: ptr[int32](3), Parallelism: ptr[int32](2), PodFailurePolicy: failOn1,
		}, referee.Rules{}, func(k *court) {
			k.End("pod-1", 1)
			status := k.Job().Status.DeepCopy()
			status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-1"}}
			k.SetStatus(*status)
		}, ""},
		{"a replacement comes before its delay", two, referee.Rules{Backoff: backoff.Policy{Base: 20 * time.Second}}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
		}, "S12"},
		{"and so in an index", perIndex, referee.Rules{Backoff: backoff.Policy{Base: 20 * time.Second}}, func(k *court) {
			k.End("pod-1", 1)
			k.sync()
			k.Now = k.Now.Add(10 * time.Second)
		}, "S12"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newCourt(t, test.rules, test.spec)
			k.sync()
			test.happens(k)
			k.sync()
			got := ""
			if len(k.verdicts) > 0 {
				got = k.verdicts[0]
			}
			if got != test.want {
				t.Errorf("the verdict is %q of %v, want %q", got, k.verdicts, test.want)
			}
		})
	}
}
