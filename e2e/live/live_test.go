package live

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live"
)

// Jobs run on a server that has no Job controller: an index fails twice, its Job completes, and
// deleting the Job deletes its pods.
func TestJobsLive(t *testing.T) {
	t.Parallel()
	namespace, err := api.Namespace(t.Context(), "live")
	must(t, err)
	jobs := live.Start(t, api.Config(), live.Namespace(namespace), live.Backoff(10*time.Millisecond), live.BatchPeriod(10*time.Millisecond),
		live.Pods(live.Fail(137).ForIndex(3).Times(2), live.Succeed().After(10*time.Millisecond)))
	client := api.Client.BatchV1().Jobs(namespace)
	_, err = client.Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5)), Parallelism: new(int32(5)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	job := jobs.Ended(namespace, "job", time.Minute)
	if s := job.Status; s.CompletedIndexes != "0-4" || s.Failed != 2 || s.CompletionTime == nil {
		t.Errorf("got %+v, want it complete after 2 failed pods", s)
	}
	must(t, client.Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
	for left := -1; left != 0; time.Sleep(10 * time.Millisecond) {
		pods, err := api.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		left = len(pods.Items)
	}
}

var must = world.Must
