package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// TestRequests checks that each kind is listed at most once, with the narrowest selectors.
func TestRequests(t *testing.T) {
	s := newStage(t)
	job := s.create(newJob("a"))
	selector := batchv1.ControllerUidLabel + "=" + string(job.UID)
	s.want(0, []string{"a"})
	s.take("list jobs metadata.name=a", "list pods "+selector, "list events involvedObject.kind=Job,involvedObject.name=a")
	s.node("node")
	s.pod(job, "a-1")
	s.want(0, []string{"a"})
	s.take("list jobs metadata.name=a", "list pods "+selector, "list events")
	kube.Kubelet{Server: s.server}.Start("default", "a-1")
	node := kube.List[*corev1.Pod](s.server, "default")[0].Spec.NodeName
	s.want(0, []string{"a"})
	s.take("list jobs metadata.name=a", "list pods "+selector, "list events involvedObject.kind=Job,involvedObject.name=a", "list nodes metadata.name="+node)
	s.pod(job, "a-2")
	kube.Kubelet{Server: s.server}.Start("default", "a-2")
	kube.Edit(s.server, "default", "a-2", func(pod *corev1.Pod) { pod.Spec.NodeName = "other" })
	s.want(0, []string{"--all"})
	s.take("list jobs", "list cronjobs", "list pods "+batchv1.ControllerUidLabel, "list events involvedObject.kind=Job", "list nodes")
	deadline := s.create(newJob("late"))
	kube.Edit(s.server, "default", "late", func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded}}
	})
	s.want(0, []string{"late"})
	s.take("list jobs metadata.name=late", "list pods "+batchv1.ControllerUidLabel+"="+string(deadline.UID), "list events")
	s.want(0, []string{"simulate", "a"}, "Complete after ")
	s.take("list jobs metadata.name=a", "list pods "+selector, "list events involvedObject.kind=Job,involvedObject.name=a", "list nodes")
	s.want(0, []string{"simulate", "a", "--from-creation"}, "Complete after ")
	s.take("list jobs metadata.name=a", "list pods "+selector)
	s.want(0, []string{"validate", "a"})
	s.take("list jobs metadata.name=a")
	s.want(0, []string{"-n", "empty"})
	s.take("list jobs", "list cronjobs")
}

// TestRequests_documented checks the requests that docs/command.md lists.
func TestRequests_documented(t *testing.T) {
	s := newWorld(t)
	s.node("node")
	s.logs = func(*http.Request) (int, string) { return 200, "last" }
	job := s.create(newJob("a"))
	for _, name := range []string{"a-1", "a-2"} {
		s.pod(job, name)
		kube.Kubelet{Server: s.server}.Start("default", name)
	}
	s.want(0, []string{"a"}, "Running: ")
	s.documented("a Job that runs", job)
	job = newJob("b")
	owner := s.object(cronJob, "nightly", map[string]any{})
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, cronJob)}
	job.Spec.BackoffLimit = new(int32(0))
	job = s.create(job)
	s.pod(job, "b-1")
	kube.Kubelet{Server: s.server}.Start("default", "b-1")
	kube.Kubelet{Server: s.server}.End("default", "b-1", 1)
	s.want(0, []string{"b", "--logs"}, "Ending: the Job fails: ", "Log of container main")
	s.documented("a failed Job of a CronJob, `--logs`", job)
}

// documented checks that docs/command.md lists the requests since the last call, which are about a Job.
func (s *stage) documented(what string, job *batchv1.Job) {
	s.Helper()
	node := kube.List[*corev1.Pod](s.server, "default")[0].Spec.NodeName
	row := "\n| " + what + " | `" + strings.NewReplacer(batchv1.ControllerUidLabel+"="+string(job.UID), "SELECTOR", "name="+job.Name, "name=NAME",
		"metadata.name="+node, "metadata.name=NODE").Replace(strings.Join(s.requests, "`, `")) + "` |\n"
	if s.requests = nil; !strings.Contains(console.Text(page), row) {
		s.Errorf("%s has no row%s", page, row)
	}
}

// TestMissingNode checks that a pod on a node that no longer exists does not run.
func TestMissingNode(t *testing.T) {
	s := newStage(t)
	s.node("other")
	job := s.create(newJob("a"))
	for _, name := range []string{"a-1", "a-2"} {
		s.pod(job, name)
		kube.Kubelet{Server: s.server}.Start("default", name)
	}
	s.now = func() time.Time { return time.Now().Add(time.Hour) }
	s.want(0, []string{"a"}, "NodeMissing: ", "node node is not among the 1 node of the cluster")
}

// node creates a node.
func (s *stage) node(name string) {
	s.Helper()
	Must(s.client.CoreV1().Nodes().Create(s.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}, metav1.CreateOptions{}))
}

// TestPages reads more pods than fit a page.
func TestPages(t *testing.T) {
	const many = 2*pageSize + 1
	s := newStage(t)
	job := newJob("a")
	job.Spec.Parallelism, job.Spec.Completions = new(int32(many)), new(int32(many))
	job = s.create(job)
	for i := range many {
		s.pod(job, fmt.Sprintf("a-%d", i))
	}
	s.want(0, []string{"a"}, fmt.Sprintf("%d pods", many))
	pods := "list pods " + batchv1.ControllerUidLabel + "=" + string(job.UID)
	s.take("list jobs metadata.name=a", pods, pods+" continued", pods+" continued", "list events")
}

// fail answers requests of the plugin with the error that of returns, if it does.
func (s *stage) fail(of func(schema.GroupVersionResource) error) {
	s.server.Intercept(func(r *kube.Request) (v kube.Verdict) {
		if s.note(r); r.UserAgent == userAgent {
			v.Err = of(r.Resource)
		}
		return v
	})
}

// forbid refuses requests of the plugin for some resources.
func (s *stage) forbid(why string, resources ...string) {
	s.fail(func(of schema.GroupVersionResource) error {
		if !slices.Contains(resources, of.Resource) {
			return nil
		}
		return apierrors.NewForbidden(of.GroupResource(), "", errors.New(why))
	})
}

// TestForbidden checks that without permission for events and nodes a Job is still explained,
// with a note, and that missing permission for Jobs or pods is an error.
func TestForbidden(t *testing.T) {
	s := newStage(t)
	s.load("cannot-start")
	s.now = at("2023-08-21T10:00:00Z")
	s.want(0, []string{"resize"}, "QuotaExceeded: ")
	const no = "you may not \xff\x1b[2J"
	s.forbid(no, "events", "nodes")
	notes := []string{"  NotPermitted: causes that depend on events, nodes cannot be found: events is forbidden: you may not "}
	s.want(6, []string{"resize", "--exit-status"}, append(notes, "Unschedulable: 1 of 4 active pods")...)
	s.want(0, []string{}, "resize   8/30          20m        20m   Unschedulable   ", strings.TrimSpace(notes[0]))
	s.want(0, []string{"-o", "json", "resize"}, `"code": "NotPermitted"`)
	s.want(0, []string{"simulate", "resize"}, "Assumed without a scenario: ", "!kubectl jobfate simulate: "+strings.TrimSpace(notes[0]))
	for _, resource := range []string{"jobs", "pods"} {
		s.forbid(no, resource)
		s.want(1, []string{"resize"}, "!kubectl jobfate: "+resource)
		s.want(1, []string{}, "!kubectl jobfate: "+resource)
		s.want(1, []string{"simulate", "resize"}, "!kubectl jobfate simulate: "+resource)
	}
	s.fail(func(of schema.GroupVersionResource) error {
		if of.Resource == "events" {
			return apierrors.NewInternalError(errors.New("broken"))
		}
		return nil
	})
	s.want(1, []string{"resize"}, "!broken")
}

// TestNothingHostileReachesTheTerminal uses a cluster whose texts contain terminal sequences, and
// the bytes that mark the plugin's own colours.
func TestNothingHostileReachesTheTerminal(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\xff\x1b[2J\xfe\u202e\r"
	s := newStage(t)
	job := s.create(newJob("a"))
	s.pod(job, "a-1")
	kube.Edit(s.server, "default", "a-1", func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodPending
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "PLACE", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "PLACE"}}}}
	})
	Must(s.client.CoreV1().Events("default").Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Reason: "PLACE", Message: "PLACE", Type: "Warning",
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a-1"}}, metav1.CreateOptions{}))
	// The JSON of a hostile server may be invalid.
	s.answer = func(_ string, body []byte) []byte {
		return []byte(strings.ReplaceAll(string(body), "PLACE", strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`).Replace(hostile)))
	}
	check := func(args []string, status int) {
		t.Helper()
		got, stdout, stderr := s.run(args...)
		if got != status {
			t.Errorf("%q: got status %d, want %d: %s", args, got, status, stderr)
		}
		for _, bad := range []string{"\x1b", "\x07", "\r", "\xff", "\u202e"} {
			if strings.Contains(stdout+stderr, bad) {
				t.Errorf("%q: got %q, want no %q", args, stdout+stderr, bad)
			}
		}
		if !strings.Contains(stdout+stderr, `\u202e`) {
			t.Errorf("%q: got %q, want the text escaped", args, stdout+stderr)
		}
	}
	for _, args := range [][]string{{"a"}, {"a", "-o", "json"}, {"a", "-o", "yaml"}, {}, {"-o", "json"}} {
		check(args, 0)
	}
	s.server.Intercept(func(r *kube.Request) kube.Verdict {
		return kube.Verdict{Err: apierrors.NewForbidden(r.Resource.GroupResource(), hostile, errors.New(hostile))}
	})
	for _, args := range [][]string{{"a"}, {}, {"simulate", "a"}, {"validate", "a"}, {"a", "-w"}} {
		check(args, 1)
	}
	s.server.Intercept(nil)
	check([]string{"\u202e"}, 1)
	check([]string{"--\u202e"}, 2)
	s.want(2, []string{"\xff\x1b[2J\xfe"}, `!argument 1, "\xff\x1b[2J\xfe", is not UTF-8 text`)
}
