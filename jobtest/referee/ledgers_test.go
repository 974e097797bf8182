package referee_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// controllerFunc implements [cluster.Controller].
type controllerFunc func(*cluster.Client) error

func (f controllerFunc) Sync(client *cluster.Client) (time.Duration, error) { return 0, f(client) }

// Each Job is judged by its own ghost. A write that is correct in the sync of its Job is a
// violation in the sync of another Job.
func TestJudge(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "default", Name: "a"}, types.NamespacedName{Namespace: "default", Name: "b"}
	strip := func(client *cluster.Client, pod *corev1.Pod, all bool) error {
		_, err := client.Send(&cluster.Request{Verb: cluster.Patch, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, AboutAll: all,
			Patch: []byte(`{"metadata":{"uid":"` + string(pod.UID) + `","$deleteFromPrimitiveList/finalizers":["` + batchv1.JobTrackingFinalizer + `"]}}`)})
		return err
	}
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
			world, err := cluster.New(jobOf(a), jobtest.Noon())
			if err == nil {
				err = world.CreateJob(jobOf(b))
			}
			if err != nil {
				t.Fatal(err)
			}
			pod := &corev1.Pod{}
			pod.Namespace, pod.Name, pod.Labels = a.Namespace, "pod", world.Job().Spec.Template.Labels
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(world.Job(), ofJob)}
			pod = world.Add(pod)
			if c.ended {
				at := metav1.NewTime(world.Now)
				world.SetStatus(batchv1.JobStatus{StartTime: &at, Conditions: []batchv1.JobCondition{
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
			if out := world.Run(controllerFunc(func(client *cluster.Client) error { return strip(client, pod, c.all) }), world.NewCache(true)); out.Err != nil {
				t.Fatal(out.Err)
			}
			if propertyOf(found) != c.want || found != nil && of != c.of {
				t.Errorf("the referee says %v for %s, want %q for %s", found, of, c.want, c.of)
			}
		})
	}
}

func jobOf(name types.NamespacedName) *batchv1.Job {
	one := int32(1)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Spec: batchv1.JobSpec{Completions: &one, Parallelism: &one}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}
	return job
}
