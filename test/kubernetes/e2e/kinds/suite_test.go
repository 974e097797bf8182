package kinds

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// The cluster role has all permissions that the controller needs, and no others. A shard fails
// once, and the controller is killed meanwhile.
func TestSuite(t *testing.T) {
	t.Parallel()
	p := world.Proxy(t, api)
	controller := world.Run(t, api.Suites, server.Options{Via: p.Config})
	namespace, err := api.Namespace(t.Context(), "suite")
	must(t, err)
	k := kubelet.Start(t.Context(), api.Client, namespace, func(p kubelet.Pod) kubelet.Life {
		if p.Index == 0 && p.Attempt == 0 {
			return kubelet.Fail(1)
		}
		return kubelet.Run()
	})
	suites := api.Dynamic().Resource(schema.GroupVersionResource{Group: "jobfate.dev", Version: "v1alpha1", Resource: "suites"}).Namespace(namespace)
	_, err = suites.Create(t.Context(), read(t, "suite/deploy/samples/suite.yaml"), metav1.CreateOptions{})
	must(t, err)

	running := func(s batchv1.JobStatus) bool { return s.Ready != nil && *s.Ready == 2 }
	until(t, suites, "shard 0 has failed, and two shards run", func(s batchv1.JobStatus) bool { return s.Failed == 1 && running(s) })
	controller.Kill()
	pods, err := api.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for i := range pods.Items {
		k.Become(kubelet.Succeed(), &pods.Items[i])
	}
	must(t, controller.Start())
	until(t, suites, "two shards have passed, and two more run", func(s batchv1.JobStatus) bool { return s.Succeeded == 2 && running(s) })

	patch := []byte(`{"spec": {"paused": true}}`)
	_, err = suites.Patch(t.Context(), "nightly", "application/merge-patch+json", patch, metav1.PatchOptions{})
	must(t, err)
	status := until(t, suites, "the suite is paused", func(s batchv1.JobStatus) bool { return s.Active == 0 && *s.Terminating == 0 })
	if got := jobstatus.OutcomeOf(&batchv1.Job{Status: status}).Phase; got != jobstatus.Suspended || status.UncountedTerminatedPods == nil {
		t.Errorf("got the phase %s of %+v, want it suspended", got, status)
	}

	_, err = suites.Patch(t.Context(), "nightly", "application/merge-patch+json", []byte(`{"spec": {"shards": 6}}`), metav1.PatchOptions{})
	if err == nil || !strings.Contains(err.Error(), "the number of shards cannot change") {
		t.Errorf("another number of shards: got %v, want it refused", err)
	}

	// These permissions are for other API servers, which check owner references or cannot fill
	// a cache by a watch, and for creations and status writes without an answer.
	used := p.Counts()
	unused, err := used.Unused("../../../../examples/suite/deploy/rbac.yaml",
		"update suites/finalizers", "list suites", "get suites", "get pods", "patch events")
	if err != nil || unused != "" {
		t.Errorf("permissions are not used: %v\n%s; used are:\n%s", err, unused, used)
	}
}

// until waits until the status of the suite matches.
func until(t *testing.T, suites dynamic.ResourceInterface, what string, holds func(batchv1.JobStatus) bool) batchv1.JobStatus {
	t.Helper()
	var status batchv1.JobStatus
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		suite, err := suites.Get(t.Context(), "nightly", metav1.GetOptions{})
		must(t, err)
		job, _, err := unstructured.NestedMap(suite.Object, "status", "job")
		must(t, err)
		status = batchv1.JobStatus{}
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(job, &status))
		if holds(status) {
			return status
		}
	}
	t.Fatalf("not reached: %s; the status is %+v", what, status)
	return status
}
