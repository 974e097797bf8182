package bugs

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
)

// Func is a controller that is a function.
type Func func(*cluster.Client) (time.Duration, error)

// Sync implements cluster.Controller.
func (f Func) Sync(client *cluster.Client) (time.Duration, error) { return f(client) }

// Caller is the reference caller with a bug. The bug changes its memory, its view, its requests or the answers.
type Caller struct {
	*cluster.Caller
	Before func(*Caller, *cluster.Client)
	View   func(*cluster.View)
	Ask    func(*cluster.Request)
	Answer func(*cluster.View, *cluster.Request, cluster.Answer, error) (cluster.Answer, error)
	After  func(time.Duration) time.Duration
}

// Sync implements cluster.Controller.
func (c *Caller) Sync(client *cluster.Client) (time.Duration, error) {
	seen := *client
	seen.Send = func(q *cluster.Request) (cluster.Answer, error) {
		sent := *q
		if c.Ask != nil {
			c.Ask(&sent)
		}
		a, err := client.Send(&sent)
		if c.Answer != nil {
			return c.Answer(&client.View, q, a, err)
		}
		return a, err
	}
	if c.View != nil {
		seen.Pods = slices.Clone(seen.Pods)
		c.View(&seen.View)
	}
	if c.Before != nil {
		c.Before(c, &seen)
	}
	wait, err := c.Caller.Sync(&seen)
	if c.After != nil {
		wait = c.After(wait)
	}
	return wait, err
}

// With returns callers with a bug.
func With(bug Caller, opts ...decide.Option) func() cluster.Controller {
	return func() cluster.Controller {
		next := bug
		next.Caller = jobtest.NewCaller(opts...)
		return &next
	}
}

// Looking returns callers with a changed view.
func Looking(how func(*cluster.View)) func() cluster.Controller { return With(Caller{View: how}) }

// Asking returns callers with changed requests.
func Asking(how func(*cluster.Request), opts ...decide.Option) func() cluster.Controller {
	return With(Caller{Ask: how}, opts...)
}

// Deciding returns callers that decide with a function.
func Deciding(how inside.Decider, opts ...decide.Option) func() cluster.Controller {
	return func() cluster.Controller {
		caller := jobtest.NewCaller(opts...)
		caller.Guard = nil // the referee is to find it
		inside.Decide(caller.Machine, how)
		return caller
	}
}

// Amended returns callers with changed decisions.
func Amended(how func(decide.Snapshot, *decide.Decision), opts ...decide.Option) func() cluster.Controller {
	return Deciding(inside.Amended(how), opts...)
}

// Spoiled returns callers whose first status write of each sync is changed.
func Spoiled(how func(decide.Snapshot, *batchv1.JobStatus), opts ...decide.Option) func() cluster.Controller {
	return Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status != nil {
			d.Status = d.Status.DeepCopy()
			how(s, d.Status)
		}
	}, opts...)
}

// Rewriting returns callers with changed status patches.
func Rewriting(how func(status map[string]any)) func() cluster.Controller {
	return Asking(func(q *cluster.Request) {
		var p map[string]any
		if q.Verb == cluster.Status && json.Unmarshal(q.Patch, &p) == nil {
			how(p["status"].(map[string]any))
			q.Patch, _ = json.Marshal(p)
		}
	})
}

// Changed applies a change to a copy of each pod of a view.
func Changed(how func(*batchv1.Job, *corev1.Pod)) func(*cluster.View) {
	return func(v *cluster.View) {
		for i, pod := range v.Pods {
			if v.Job != nil {
				v.Pods[i] = pod.DeepCopy()
				how(v.Job, v.Pods[i])
			}
		}
	}
}

// Spec returns callers that see another spec than the stored one.
func Spec(how func(*batchv1.JobSpec)) func() cluster.Controller {
	return Looking(func(v *cluster.View) {
		if v.Job != nil {
			v.Job = v.Job.DeepCopy()
			how(&v.Job.Spec)
		}
	})
}

// The bugs that several kits plant.

// Newer lets a View claim to be newer than it is.
func Newer(v *cluster.View) { v.JobsVersion, v.PodsVersion = "999999", "999999" }

// NewerPods lets a View claim that its pods are as new as its Job.
func NewerPods(v *cluster.View) {
	if v.Job == nil {
		return
	}
	job, _ := strconv.Atoi(v.Job.ResourceVersion)
	pods, _ := strconv.Atoi(v.PodsVersion)
	v.PodsVersion = strconv.Itoa(max(job, pods))
}

// FromCache answers live reads with the content of the caches.
func FromCache(v *cluster.View, q *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
	switch q.Verb {
	case cluster.Get:
		a.Job = v.Job
	case cluster.List:
		a.Pods, a.Version = v.Pods, v.Barrier
	}
	return a, err
}

// Rejected answers a creation that fails, or whose answer is lost, as rejected.
func Rejected(_ *cluster.View, q *cluster.Request, a cluster.Answer, err error) (cluster.Answer, error) {
	if q.Verb == cluster.Create && err != nil {
		err = apierrors.NewForbidden(corev1.Resource("pods"), q.Name, err)
	}
	return a, err
}

// BothSets lists the completed indexes as failed too.
func BothSets(_ decide.Snapshot, st *batchv1.JobStatus) {
	if st.FailedIndexes != nil && st.CompletedIndexes != "" {
		st.FailedIndexes = &st.CompletedIndexes
	}
}

// LeaveEarly removes UIDs from the list and counts them while their pods have the finalizer.
func LeaveEarly(_ decide.Snapshot, st *batchv1.JobStatus) {
	if u := st.UncountedTerminatedPods; u != nil && len(u.Failed) > 1 {
		st.Failed += int32(len(u.Failed) - 1)
		u.Failed = u.Failed[:1]
	}
}

// ListNone lists no uncounted pods.
func ListNone(_ decide.Snapshot, st *batchv1.JobStatus) {
	st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
}

// AddFailure adds a failure with each status.
func AddFailure(s decide.Snapshot, st *batchv1.JobStatus) {
	if len(s.Pods) > 0 {
		st.Failed++
	}
}

// EndNow adds the terminal condition to a status that has FailureTarget, and counts the pods that it lists as failed.
func EndNow(_ decide.Snapshot, st *batchv1.JobStatus) {
	c, u := st.Conditions, st.UncountedTerminatedPods
	ends := len(c) > 0 && c[len(c)-1].Type == batchv1.JobFailureTarget
	if ends && st.Active == 0 && st.StartTime != nil && u != nil {
		failed := c[len(c)-1]
		failed.Type = batchv1.JobFailed
		st.Failed += int32(len(u.Failed))
		st.UncountedTerminatedPods, st.Terminating = nil, new(int32)
		st.Conditions = append(slices.Clone(c), failed)
	}
}

// CountFailJob reads FailJob rules as Count.
func CountFailJob(s *batchv1.JobSpec) {
	if s.PodFailurePolicy == nil {
		return
	}
	for i := range s.PodFailurePolicy.Rules {
		if rule := &s.PodFailurePolicy.Rules[i]; rule.Action == batchv1.PodFailurePolicyActionFailJob {
			rule.Action = batchv1.PodFailurePolicyActionCount
		}
	}
}
