package referee_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Each Job is judged by its own ghost. A write that is correct in the sync of its Job is a
// violation in the sync of another Job.
func TestJudge(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "default", Name: "a"}, types.NamespacedName{Namespace: "default", Name: "b"}
	for name, c := range map[string]struct {
		in    types.NamespacedName
		ended bool
		all   bool
		want  string
		of    types.NamespacedName
	}{
		"in its own sync, after the end":       {in: a, ended: true},
		"in its own sync, before the end":      {in: a, want: "S2", of: a},
		"in the sync of another":               {in: b, ended: true, want: "S15", of: a},
		"in a sync of all, before the end":     {in: b, all: true, want: "S2", of: a},
		"in a sync of all Jobs, after the end": {in: b, all: true, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			world := Must(cluster.New(PlainJob(a.Name), jobtest.Noon()))
			NoError(t, world.CreateJob(PlainJob(b.Name)))
			pod := &corev1.Pod{}
			pod.Namespace, pod.Name, pod.Labels = a.Namespace, "pod", world.Job().Spec.Template.Labels
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(world.Job(), ofJob)}
			pod = world.Add(pod)
			if c.ended {
				world.SetStatus(batchv1.JobStatus{StartTime: new(metav1.NewTime(world.Now)), Conditions: []batchv1.JobCondition{
					{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}})
			}
			ledgers := referee.Ledgers{}
			for _, job := range world.Jobs() {
				ghost := &referee.Ghost{}
				ghost.Started(job)
				ledgers[types.NamespacedName{Namespace: job.Namespace, Name: job.Name}] = ghost
			}
			var found *referee.Violation
			var of types.NamespacedName
			world.Watch = func(s cluster.Step) { of, found = referee.Rules{}.Judge(ledgers, &s) }
			world.Focus(c.in)
			NoError(t, world.Run(bugs.Func(func(client *cluster.Client) (time.Duration, error) {
				_, err := client.Send(&cluster.Request{Verb: cluster.Patch, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, AboutAll: c.all,
					Patch: []byte(`{"metadata":{"uid":"` + string(pod.UID) + `","$deleteFromPrimitiveList/finalizers":["` + batchv1.JobTrackingFinalizer + `"]}}`)})
				return 0, err
			}), world.NewCache(true)).Err)
			if found == nil && c.want != "" || found != nil && (found.Property != c.want || of != c.of) {
				t.Errorf("the referee says %v for %s, want %q for %s", found, of, c.want, c.of)
			}
		})
	}
}

// Ghosts have equal keys if and only if they are equal.
func TestKey(t *testing.T) {
	var ghost referee.Ghost
	ghost.Started(&batchv1.Job{})
	ghost.Charged["pod-1"], ghost.Charged["pod-2"] = corev1.PodFailed, corev1.PodSucceeded
	ghost.Failures[0], ghost.Failures[1] = 1, 2
	ghost.Tampered["pod-3"] = true
	keys := map[string]string{ghost.Key(): "nothing"}
	Same(t, "the key of a copy", ghost.Clone().Key(), ghost.Key())
	for what, change := range map[string]func(*referee.Ghost){
		"a pod that was charged":            func(g *referee.Ghost) { g.Charged["pod-3"] = corev1.PodFailed },
		"the phase of a charged pod":        func(g *referee.Ghost) { g.Charged["pod-1"] = corev1.PodSucceeded },
		"a pod that was not charged":        func(g *referee.Ghost) { delete(g.Charged, "pod-1") },
		"the number of failures":            func(g *referee.Ghost) { g.Failed++ },
		"the number of successes":           func(g *referee.Ghost) { g.Succeeded++ },
		"the parallelism":                   func(g *referee.Ghost) { g.Parallelism++ },
		"the failures of an index":          func(g *referee.Ghost) { g.Failures[1]++ },
		"an index that has failed":          func(g *referee.Ghost) { g.Failures[2] = 1 },
		"a pod that was tampered with":      func(g *referee.Ghost) { g.Tampered["pod-4"] = true },
		"a pod that was adopted":            func(g *referee.Ghost) { g.Adopted["pod-4"] = true },
		"a pod whose creation is unknown":   func(g *referee.Ghost) { g.Unknown["pod-4"] = true },
		"a pod that was deleted":            func(g *referee.Ghost) { g.Deleted["pod-4"] = true },
		"that the controller is behind":     func(g *referee.Ghost) { g.Behind = true },
		"that it is in doubt":               func(g *referee.Ghost) { g.InDoubt = true },
		"that state was removed from pods":  func(g *referee.Ghost) { g.StateLost = true },
		"a failure moved from index 0 to 1": func(g *referee.Ghost) { g.Failures[0], g.Failures[1] = 0, 3 },
	} {
		changed := ghost.Clone()
		change(&changed)
		if other, ok := keys[changed.Key()]; ok {
			t.Errorf("%s and %s: both have the key %q", what, other, changed.Key())
		}
		keys[changed.Key()] = what
	}
}

// creating creates a pod for the Job that find reads, with an owner of another kind, and
// deletes the pod.
func creating(find func(*cluster.Client) *batchv1.Job, owner schema.GroupVersionKind) bugs.Func {
	return func(client *cluster.Client) (time.Duration, error) {
		job := find(client)
		pod := &corev1.Pod{}
		pod.Namespace, pod.GenerateName, pod.Labels = job.Namespace, "a-", job.Spec.Template.Labels
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, owner)}
		made, err := client.CreatePod(pod)
		if err != nil {
			return 0, err
		}
		return 0, client.DeletePod(made, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))})
	}
}

// judged runs a controller once on a cache that does not have the Job, and returns the first
// property that it violates.
func judged(t *testing.T, rules referee.Rules, c bugs.Func) string {
	t.Helper()
	k := newRefereed(t, rules, batchv1.JobSpec{})
	k.DeleteJob(metav1.DeletePropagationBackground)
	k.cache.ShowAll() // no Job
	NoError(t, k.CreateJob(PlainJob("job")))
	k.BeforeRead = k.cache.ShowAll // the cache catches up before it is read again
	NoError(t, k.Run(c, k.cache).Err)
	return k.said()
}

var ofJob = batchv1.SchemeGroupVersion.WithKind("Job")

// A controller may decide on a Job that it read live while its cache does not have it yet.
// It may also decide on what its cache shows when it reads it again during the sync.
func TestSee_readDuringTheSync(t *testing.T) {
	for name, c := range map[string]struct {
		find func(*cluster.Client) *batchv1.Job
		want string
	}{
		"a live read": {func(c *cluster.Client) *batchv1.Job { job, _ := c.GetJob(); return job }, ""},
		"a second read of the cache": {func(c *cluster.Client) *batchv1.Job {
			return c.Reread(cluster.Jobs).Job
		}, ""},
		"no read": {func(*cluster.Client) *batchv1.Job {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job", UID: "job-2"}}
			return job
		}, "S15"},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "the referee says", judged(t, referee.Rules{}, creating(c.find, ofJob)), c.want)
		})
	}
}

// A controller of another kind may write to the pods of that kind only.
func TestOtherKind(t *testing.T) {
	live := func(c *cluster.Client) *batchv1.Job { job, _ := c.GetJob(); return job }
	suite := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Suite"}
	own := referee.Rules{Owner: suite.GroupKind()}
	for _, c := range []struct {
		name  string
		rules referee.Rules
		owner schema.GroupVersionKind
		want  string
	}{
		{"of its own kind", own, suite, ""},
		{"of Jobs", own, ofJob, "S15"},
		{"of Suites, by the controller of Jobs", referee.Rules{}, suite, "S15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			Same(t, "the referee says", judged(t, c.rules, creating(live, c.owner)), c.want)
		})
	}
}
