package referee_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// creating creates a pod for the Job that find reads, with an owner of another kind, and
// deletes the pod.
type creating struct {
	find  func(*cluster.Client) *batchv1.Job
	owner schema.GroupVersionKind
}

func (c creating) Sync(client *cluster.Client) (time.Duration, error) {
	job := c.find(client)
	pod := &corev1.Pod{}
	pod.Namespace, pod.GenerateName, pod.Labels = job.Namespace, "a-", job.Spec.Template.Labels
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, c.owner)}
	made, err := client.CreatePod(pod)
	if err != nil {
		return 0, err
	}
	return 0, client.DeletePod(made, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))})
}

// judged runs a controller once on a cache that does not have the Job, and returns what the
// referee reports.
func judged(t *testing.T, rules referee.Rules, c creating) *referee.Violation {
	t.Helper()
	job := jobOf(types.NamespacedName{})
	world, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	world.History = 10
	// The cache shows a state in which the Job was deleted.
	stale := world.NewCache(false)
	world.DeleteJob(metav1.DeletePropagationBackground)
	stale.ShowAll()
	if err := world.CreateJob(job); err != nil {
		t.Fatal(err)
	}
	var ghost referee.Ghost
	ghost.Started(world.Job())
	var found *referee.Violation
	world.BeforeRead = stale.ShowAll // the cache catches up before it is read again
	world.Watch = func(s cluster.Step) {
		if v := rules.See(&ghost, &s); v != nil && found == nil {
			found = v
		}
	}
	if out := world.Run(c, stale); out.Err != nil {
		t.Fatal(out.Err)
	}
	return found
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
			v := judged(t, referee.Rules{}, creating{c.find, ofJob})
			if got := propertyOf(v); got != c.want {
				t.Errorf("the referee says %v, want %q", v, c.want)
			}
		})
	}
}

func propertyOf(v *referee.Violation) string {
	if v == nil {
		return ""
	}
	return v.Property
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
			if v := judged(t, c.rules, creating{live, c.owner}); propertyOf(v) != c.want {
				t.Errorf("the referee says %v, want %q", v, c.want)
			}
		})
	}
}
