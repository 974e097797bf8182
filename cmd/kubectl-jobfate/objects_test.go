package main

import (
	"net/http"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

var (
	jobSet  = schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	cronJob = batchv1.SchemeGroupVersion.WithKind("CronJob")
	claim   = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
)

// newWorld is a stage with owners of Jobs and claims of pods.
func newWorld(t *testing.T) *stage {
	return newStage(t, kube.Kind{GroupVersionKind: jobSet}, kube.Kind{GroupVersionKind: claim})
}

// object creates an object and returns its UID.
func (s *stage) object(gvk schema.GroupVersionKind, name string, fields map[string]any) *unstructured.Unstructured {
	s.Helper()
	client := Must(dynamic.NewForConfig(s.server.Config()))
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	kind := client.Resource(gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"))
	return Must(kind.Namespace("default").Create(s.Context(), u, metav1.CreateOptions{}))
}

// owned creates a suspended Job of an owner.
func (s *stage) owned(owner *unstructured.Unstructured, name string) {
	s.Helper()
	job := newJob(name)
	job.Spec.Suspend, job.Labels = new(true), map[string]string{jobSetName: owner.GetName()}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	s.create(job)
}

// unschedulable sets what the scheduler says of a pod that fits no node.
func (s *stage) unschedulable(pod, message string) {
	kube.Edit(s.server, "default", pod, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: message}}
	})
}

// TestOwners checks that the owner of a Job is read, and selects its Jobs.
func TestOwners(t *testing.T) {
	s := newWorld(t)
	set := s.object(jobSet, "sweep", map[string]any{"spec": map[string]any{"suspend": true}})
	s.owned(set, "sweep-a-0")
	s.owned(set, "sweep-b-0")
	s.owned(s.object(cronJob, "sweep", map[string]any{"spec": map[string]any{"schedule": "0 3 * * *"}}), "nightly-1")
	s.suspended("default", "other", nil)
	s.now = at("2000-01-01T00:00:00Z")
	s.transcript("owners.txt")
	s.requests = nil
	s.want(0, []string{"cronjob/sweep"}, "Scheduled: the next Job is due at 2000-01-01T03:00:00Z, in 3h", " nightly-1, 0s: Running")
	Same(s, "the last request, for the events of CronJobs", s.requests[len(s.requests)-1], "list events involvedObject.kind!=Pod")
	s.forbid("no", "cronjobs")
	s.want(0, []string{"--all"}, "nightly-1 ", "NotPermitted: causes that depend on CronJob cannot be found: ")
	s.want(1, []string{"cronjob/sweep"})
	s.forbid("no", "jobsets")
	s.requests = nil
	s.want(0, []string{"jobset/sweep"}, "NotPermitted: causes that depend on JobSet cannot be found: ")
	var uids []string
	for _, job := range kube.List[*batchv1.Job](s.server, "default") {
		if job.Labels[jobSetName] == "sweep" && strings.HasPrefix(job.Name, "sweep") {
			uids = append(uids, string(job.UID))
		}
	}
	s.take("list jobs "+jobSetName+"=sweep", "list pods "+batchv1.ControllerUidLabel+" in ("+strings.Join(uids, ",")+")",
		"list events involvedObject.kind=Job", "get jobsets")
}

// TestClaims checks that the claims of a pod without a node are read, once, and those of other pods not.
func TestClaims(t *testing.T) {
	s := newWorld(t)
	s.object(claim, "data", map[string]any{"status": map[string]any{"phase": "Pending"}})
	job := newJob("a")
	job.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	job = s.create(job)
	s.pod(job, "a-1")
	s.pod(job, "a-2")
	for _, name := range []string{"a-1", "a-2"} {
		s.unschedulable(name, "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.") // as VolumeBinding says
	}
	s.want(0, []string{"a"}, "VolumeUnbound: ", "PersistentVolumeClaim data is Pending")
	pods := "list pods " + batchv1.ControllerUidLabel + "=" + string(job.UID)
	s.take("list jobs metadata.name=a", pods, "list events", "get persistentvolumeclaims")
	s.node("node")
	for _, name := range []string{"a-1", "a-2"} {
		kube.Kubelet{Server: s.server}.Start("default", name)
		kube.Edit(s.server, "default", name, func(pod *corev1.Pod) { pod.Spec.NodeName = "node" })
	}
	s.want(0, []string{"a"}, "Job default/a")
	s.take("list jobs metadata.name=a", pods, "list events involvedObject.kind=Job,involvedObject.name=a",
		"list nodes metadata.name=node")
}

// TestVersions checks that a kind is read in the version that the server has, and that one it does not have is no
// error.
func TestVersions(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		in := schema.GroupVersion{Group: deviceClaim.Group, Version: version}
		s := newStage(t, kube.Kind{GroupVersionKind: in.WithKind("ResourceClaim")})
		s.object(in.WithKind("ResourceClaim"), "gpu", map[string]any{})
		job := newJob("a")
		job.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")},
			{Name: "other", ResourceClaimTemplateName: new("other")}}
		s.pod(s.create(job), "a-1")
		s.unschedulable("a-1", "0/3 nodes are available: 3 cannot allocate all claims.")
		s.want(0, []string{"a"}, "Job default/a")
		if path := "/apis/" + in.String() + "/namespaces/default/resourceclaims/gpu"; s.accepts[path] == "" {
			t.Errorf("got the requests %v, want one to %s", s.requests, path)
		}
	}
}

// TestLogs checks which log is read: that of the last run of the container that restarts.
func TestLogs(t *testing.T) {
	s := newWorld(t)
	job := newJob("a")
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	s.pod(s.create(job), "a-1")
	kube.Kubelet{Server: s.server}.Start("default", "a-1")
	s.logs = func(*http.Request) (int, string) {
		t.Error("got a request, want none for a healthy pod")
		return 500, ""
	}
	s.want(0, []string{"a", "--logs"}, "Job default/a")
	kube.Edit(s.server, "default", "a-1", func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 7,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2,
				Reason: "Error"}}}}
	})
	var query string
	s.logs = func(r *http.Request) (int, string) {
		query = r.URL.Path + "?" + r.URL.RawQuery
		return 200, "first\x1b[2J\xff\nsecond\n"
	}
	s.want(0, []string{"a", "--logs=2"}, "Log of container main of pod a-1, before its restart:\n",
		"  first\\u001b[2J\ufffd\n  second\n")
	want := "/api/v1/namespaces/default/pods/a-1/log?container=main&limitBytes=65536&previous=true&tailLines=2"
	Same(t, "the request", query, want)
	s.want(0, []string{"a", "--logs", "-o", "json"}, `"previous": true`, `"second"`)
	s.logs = func(*http.Request) (int, string) { return 403, "you may not" }
	s.want(0, []string{"a", "--logs"}, "Log of container main", "it cannot be read: ")
}

// TestProtobuf checks that the kinds with a Go type are asked for as protobuf.
func TestProtobuf(t *testing.T) {
	s := newStage(t)
	s.pod(s.create(newJob("a")), "a-1")
	s.want(0, []string{"a"}, "Job default/a")
	for _, path := range []string{"/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/events"} {
		if got := s.accepts[path]; !strings.HasPrefix(got, "application/vnd.kubernetes.protobuf") {
			t.Errorf("%s: got Accept %q, want protobuf first", path, got)
		}
	}
}
