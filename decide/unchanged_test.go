package decide

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// atRest returns a Job with two running pods and the status that counts them.
func atRest(changes ...func(*batchv1.JobSpec)) (*batchv1.Job, []*corev1.Pod) {
	job := Train(2)
	for _, change := range changes {
		change(&job.Spec)
	}
	job.Status = batchv1.JobStatus{StartTime: &metav1.Time{Time: Noon()}, Active: 2, Ready: new(int32), Terminating: new(int32),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	return job, []*corev1.Pod{PodOf(job, "a", "11", Phase(corev1.PodRunning)), PodOf(job, "b", "12", Phase(corev1.PodRunning))}
}

// A decision is used again only if it has no action and does not depend on the time.
func TestRest_isOnlyWithoutActionsAndTimers(t *testing.T) {
	seconds, limit := int64(600), int32(3)
	for _, test := range []struct {
		name   string
		job    func(*batchv1.Job)
		pod    func(*corev1.Pod)
		none   bool // there are no pods
		with   Option
		action string // of an idle decision
		rests  bool
	}{
		{name: "two pods run", rests: true},
		{name: "a pod is ready, and the status does not count it", pod: Ready},
		{name: "a pod has ended", pod: Succeeded},
		{name: "a pod is missing", job: func(job *batchv1.Job) { job.Spec.Parallelism, job.Spec.Completions = &limit, &limit }},
		{name: "there is a deadline", job: func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = &seconds }},
		{name: "pods may be lost", with: FailLostPods(time.Hour)},
		{name: "another option", with: MaxChanges(5), rests: true},
		{name: "the Job ends", job: func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
		}},
		{name: "the Job ends with the next status", none: true, job: func(job *batchv1.Job) {
			job.Status.Active = 0
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
		}},
		{name: "a pod would be created if its index had not failed", job: func(job *batchv1.Job) {
			*job.Spec.Completions, job.Spec.CompletionMode = 3, new(batchv1.IndexedCompletion)
			job.Spec.BackoffLimitPerIndex, job.Status.FailedIndexes = new(int32), new("2")
		}, action: actionCreated},
		{name: "the Job has ended", job: func(job *batchv1.Job) {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}},
		{name: "the Job is being deleted", job: func(job *batchv1.Job) { job.DeletionTimestamp = &metav1.Time{Time: Noon()} }},
		{name: "a pod is to be adopted", pod: Ownerless},
	} {
		job, pods := atRest()
		if test.job != nil {
			test.job(job)
		}
		if test.pod != nil {
			test.pod(pods[0])
		}
		for i, pod := range pods {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)}
		}
		if test.none {
			pods = nil
		}
		var c Pods
		c.Replace(pods)
		d := Must(c.decide(Snapshot{Job: job, Now: Noon()}, configure([]Option{test.with})))
		if test.action != "" && (!d.Idle() || d.Action != test.action) {
			t.Errorf("%s: got %+v, want no action, called %s", test.name, d, test.action)
		}
		Same(t, test.name+": at rest", c.atRest != nil, test.rests)
	}
}

// The decision for a Job at rest is used again until anything that it depends on changes.
func TestRest_untilAChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Pods, *Snapshot, **config)
		again  bool
	}{
		{"nothing", func(*Pods, *Snapshot, **config) {}, true},
		{"the time", func(_ *Pods, in *Snapshot, _ **config) { in.Now = Noon().Add(time.Hour) }, true},
		{"no time", func(_ *Pods, in *Snapshot, _ **config) { in.Now = time.Time{} }, false},
		{"the last status write", func(_ *Pods, in *Snapshot, _ **config) { in.LastStatus = Noon() }, true},
		{"another object of the Job", func(_ *Pods, in *Snapshot, _ **config) { in.Job = in.Job.DeepCopy() }, false},
		{"the config", func(_ *Pods, _ *Snapshot, c **config) { *c = configure([]Option{BatchPeriod(time.Minute)}) }, false},
		{"the record", func(_ *Pods, in *Snapshot, _ **config) { in.Backoff.Failures = 1 }, false},
		{"a status in flight", func(_ *Pods, in *Snapshot, _ **config) { in.InFlight.Status = true }, false},
		{"a creation in flight", func(_ *Pods, in *Snapshot, _ **config) { in.InFlight.Creations = 1 }, false},
		{"a deletion in flight", func(_ *Pods, in *Snapshot, _ **config) { in.InFlight.Deletions = 1 }, false},
		{"a pod in flight", func(_ *Pods, in *Snapshot, _ **config) { in.InFlight.Pods = []PodInFlight{{UID: "c"}} }, false},
		{"a pod and a finalizer in flight", func(_ *Pods, in *Snapshot, _ **config) {
			in.InFlight.Pods, in.InFlight.Stripped = []PodInFlight{{UID: "c"}}, []types.UID{"a"}
		}, false},
		{"a finalizer in flight", func(_ *Pods, in *Snapshot, _ **config) { in.InFlight.Stripped = []types.UID{"a"} }, false},
		{"a pod, in what does not count", fed(func(pod *corev1.Pod) { pod.Labels = map[string]string{"job": "train", "own": ""} }), true},
		{"a pod is ready", fed(Ready), false},
		{"a pod ends", fed(Succeeded), false},
		{"a pod is being deleted", fed(Deleted), false},
		{"a pod without finalizer", fed(Released), false},
		{"a pod with other labels", fed(Unlabelled), false},
		{"a pod without a controller", fed(Ownerless), false},
		{"a container has restarted", fed(func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
		}), false},
		{"a pod is gone", func(c *Pods, _ *Snapshot, _ **config) { c.Feed("train-a", nil) }, false},
		{"another pod", func(c *Pods, in *Snapshot, _ **config) { c.Feed("", PodOf(in.Job, "c", "13")) }, false},
		{"a pod under another name", fed(func(pod *corev1.Pod) { pod.Name = "train-c" }), false},
		{"a list of the same pods", func(c *Pods, _ *Snapshot, _ **config) { c.Replace(c.List()) }, true},
		{"a list without one", func(c *Pods, _ *Snapshot, _ **config) { c.Replace(c.List()[1:]) }, false},
	} {
		job, pods := atRest(func(spec *batchv1.JobSpec) { spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
		var c Pods
		c.Replace(pods)
		in, with := Snapshot{Job: job, Now: Noon(), Backoff: backoff.Record{Job: job.UID, Failures: 2, LastFailure: Noon()}}, defaults
		first := Must(c.decide(in, with))
		test.change(&c, &in, &with)
		d, err := c.decide(in, with)
		Same(t, test.name+": an error", err != nil, in.Now.IsZero())
		Same(t, test.name+": the same decision", d.made == first.made, test.again)
		if test.again && (!d.Facts().Now.Equal(in.Now) || d.Backoff != first.Backoff || d.Action != first.Action || !d.Idle()) {
			t.Errorf("%s: got %+v at %s, want %+v at %s", test.name, d, d.Facts().Now, first, in.Now)
		}
	}
}

// A decision with two kinds of actions and without a status is not idle.
func TestIdle_withTwoKindsOfActions(t *testing.T) {
	for name, d := range map[string]Decision{
		"a claim and a creation":     {Claim: []Claim{{}}, Create: []Creation{{}}},
		"a claim and a deletion":     {Claim: []Claim{{}}, Delete: []Deletion{{}}},
		"a creation and a finalizer": {Create: []Creation{{}}, Strip: []*corev1.Pod{nil}},
	} {
		Same(t, name, d.Idle(), false)
	}
}

// A decision that leaves work for the next sync is made again, because the next one leaves it too.
func TestRest_isNotWithDeferredWork(t *testing.T) {
	job, pods := atRest()
	job.Spec.Completions = new(int32(4))
	job.Status.UncountedTerminatedPods.Succeeded = []types.UID{"a"} // by an edit: the pod Phase(corev1.PodRunning), and fills the list
	var c Pods
	c.Replace(append(pods, PodOf(job, "c", "13", Succeeded)))
	with := configure([]Option{MaxUncounted(1), BatchPeriod(0)})
	for range 2 {
		d := Must(c.decide(Snapshot{Job: job, Now: Noon()}, with))
		Same(t, "idle, and deferred pods", []any{d.Idle(), d.Deferred.Strip}, []any{true, int32(1)})
	}
}

// A decision that counts a write in flight is not used again once the write is observed.
func TestRest_isNotInFlight(t *testing.T) {
	job, pods := atRest()
	job.Status.Active = 3
	var c Pods
	c.Replace(pods)
	in := Snapshot{Job: job, Now: Noon(), InFlight: InFlight{Pods: []PodInFlight{{UID: "c"}}}}
	Same(t, "idle", Must(c.decide(in, defaults)).Idle(), true)
	in.InFlight = InFlight{}
	Same(t, "active pods in the status", Must(c.decide(in, defaults)).Status.Active, 2)
}

// A decision is not used again for a census with as many changes as an earlier one.
func TestRest_isNotThatOfAnotherCensus(t *testing.T) {
	job, first := atRest()
	n := int32(120)
	job.Spec.Parallelism, job.Spec.Completions, job.Status.Active = &n, &n, n
	var pods, copies []*corev1.Pod
	for i := range n {
		pod := first[0].DeepCopy()
		pod.UID, pod.Name = types.UID(fmt.Sprint(i)), fmt.Sprint("train-", i)
		pods, copies = append(pods, pod), append(copies, pod.DeepCopy())
	}
	var c Pods
	c.Replace(pods)
	in := Snapshot{Job: job, Now: Noon()}
	Same(t, "idle", Must(c.decide(in, defaults)).Idle(), true)
	Ready(copies[0])
	c.Replace(copies)
	Same(t, "ready pods in the status", *Must(c.decide(in, defaults)).Status.Ready, 1)
}

// fed feeds a changed copy of the first pod.
func fed(change func(*corev1.Pod)) func(*Pods, *Snapshot, **config) {
	return func(c *Pods, in *Snapshot, _ **config) {
		pod := PodOf(in.Job, "a", "13", Phase(corev1.PodRunning))
		change(pod)
		c.Feed("train-a", pod)
	}
}

// The Facts of a decision that is used again have the pods that were fed last.
func TestRest_showsTheNewPods(t *testing.T) {
	job, pods := atRest()
	var c Pods
	c.Replace(pods)
	in := Snapshot{Job: job, Now: Noon()}
	Must(c.decide(in, defaults))
	newer := PodOf(job, "a", "13", Phase(corev1.PodRunning))
	c.Feed("", newer)
	Same(t, "it is the pod at version 13", Must(c.decide(in, defaults)).Facts().Pod("a").Pod == newer, true)
}

// Neither is it used again after a decision on another state of the Job, which the census follows.
func TestRest_isNotThatOfAnotherStatus(t *testing.T) {
	s := newScene(t, "parallelism: 1\ncompletions: 2"+indexed)
	s.pod("a", 1, corev1.PodRunning, 0)
	s.Job.Status = s.outcome(t).made.status
	var c Pods
	c.Replace(s.Pods)
	first, between := s.Snapshot, s.Snapshot
	between.Job = s.Job.DeepCopy()
	between.Job.Status.CompletedIndexes, between.Job.Status.Succeeded = "1", 1
	between.Job.Spec.Suspend = new(true)
	for _, in := range []Snapshot{first, between, first} {
		d := Must(c.decide(in, defaults))
		Same(t, "idle", d.Idle(), in.Job == first.Job)
		Same(t, "completed indexes", d.Facts().Progress.Completed.String(), in.Job.Status.CompletedIndexes)
	}
}

// A caller may feed a pod as often as it likes.
func TestFeed_takesNoMemoryForTheSamePods(t *testing.T) {
	job, pods := atRest()
	var c Pods
	for range 2 { // before any decision, and after one
		for range 2 * manyChanges {
			c.Feed("", pods[0])
			c.Feed("", pods[1])
		}
		if n := len(c.changes); n > 2*manyChanges {
			t.Errorf("%d changes are kept, want at most %d", n, 2*manyChanges)
		}
		d := Must(c.decide(Snapshot{Job: job, Now: Noon()}, defaults))
		Same(t, "active pods", d.Facts().Progress.Active, 2)
	}
}
