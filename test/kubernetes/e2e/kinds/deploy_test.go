package kinds

import (
	"net/http"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// All tests here run the controller with the permissions of its manifests, so no permission is
// missing. This test checks that all permissions of the cluster role are used.
func TestPermissionsAreUsed(t *testing.T) {
	t.Parallel()
	p := world.Proxy(t, api)
	address := server.Loopback() + ":8081"
	s := newStageWith(t, kubelet.Always(kubelet.Run()), server.Options{Via: p.Config, Args: []string{"--health-probe-bind-address=" + address}})

	taken := s.takeName(simulation(1))
	s.create("restart-job", set(int64(2), "jobs", 0, "replicas"))
	s.untilEventTwice("CannotCreate")
	for _, path := range []string{"/healthz", "/readyz"} {
		if answer, err := http.Get("http://" + address + path); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s, which the Deployment probes: got %v, %v", path, answer, err)
		}
	}
	s.must(api.Client.BatchV1().Jobs(s.namespace).Delete(t.Context(), taken.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	s.untilReady(2)
	s.end(kubelet.Fail(3), simulation(0))
	s.untilPhase("Running", 1)

	// These permissions are for other API servers: those with the admission plugin
	// OwnerReferencesPermissionEnforcement, and those that cannot fill a cache by a watch.
	// Others are for rare cases: a Job that seems to be gone, a creation without an answer, and a Job that has pods left
	// when it ends.
	used := p.Counts()
	unused, err := used.Unused("../../../../examples/jobgroup/deploy/rbac.yaml",
		"update jobgroups/finalizers", "update jobs/finalizers", "list jobgroups", "get jobs", "get pods", "delete pods")
	if err != nil || unused != "" {
		t.Errorf("permissions are not used: %v\n%s; used are:\n%s", err, unused, used)
	}
}

// takeName creates a Job that belongs to no group.
func (s *stage) takeName(name string) *batchv1.Job {
	s.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	job.Spec.Suspend = new(true)
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	made, err := api.Client.BatchV1().Jobs(s.namespace).Create(s.t.Context(), job, metav1.CreateOptions{})
	s.must(err)
	return made
}

// untilEventTwice waits until an event has been sent at least twice.
func (s *stage) untilEventTwice(reason string) {
	s.t.Helper()
	events, err := api.Client.EventsV1().Events(s.namespace).Watch(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	defer events.Stop()
	for change := range events.ResultChan() {
		if event, ok := change.Object.(*eventsv1.Event); ok && event.Reason == reason && event.Series != nil {
			return
		}
	}
	s.t.Fatalf("no event %s was sent twice", reason)
}
