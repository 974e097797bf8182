package kinds

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

func worker(n int) string     { return fmt.Sprintf("fail-group-workers-%d", n) }
func simulation(n int) string { return fmt.Sprintf("restart-job-simulations-%d", n) }

// Story 1: "decide whether to fail the JobSet or not, based on the exact container
// exit code that caused a child job failure." Here it is: "If Job fails due to a pod
// failing with exit code 2, fail the JobSet immediately, without attempting any
// restarts."
func TestStory1ExitCodeFailsTheGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	s.create("fail-group")
	s.UntilReady(1, names(10, worker)...)
	s.Become(kubelet.Fail(2), worker(7))
	s.untilPhase("Failed", 0)
	s.wantMessage("FailGroup: " + worker(7) + " failed: PodFailurePolicy_ExitCode2")
	// Running Jobs are deleted. Failed Jobs stay, so that users can examine them.
	s.Until("only the failed Job is left", func() bool {
		return len(s.Jobs) == 1 && s.outcome(worker(7)) == "Failed/PodFailurePolicy_ExitCode2"
	})
	s.wantMade(1, 10, worker)
}

// The same story with another exit code: no rule matches its reason, and the group is
// restarted.
func TestStory1OtherExitCodeRestartsTheGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	s.create("fail-group")
	s.UntilReady(1, names(10, worker)...)
	s.Become(kubelet.Succeed(), worker(0)) // it is restarted too
	s.Until("a worker has succeeded", func() bool { return strings.HasPrefix(s.outcome(worker(0)), "Complete/") })
	s.Become(kubelet.Fail(1), worker(7))
	s.untilPhase("Restarting", 1)
	s.wantMessage("RestartGroup: " + worker(7) + " failed: BackoffLimitExceeded")
	s.untilPhase("Running", 1)
	s.UntilReady(2, names(10, worker)...)
	s.Become(kubelet.Succeed(), names(10, worker)...)
	s.untilPhase("Complete", 1)
	s.wantMade(2, 10, worker)
}

// Story 2: "When a Job fails due to a pod failing with exit code 2, I want my job
// management software to leave the Job in a failed state. When a Job fails due to a
// pod failing with exit code 3, I want my job management software to restart the
// Job."
func TestStory2ExitCodeRestartsTheJob(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	s.create("restart-job")
	s.UntilReady(1, names(10, simulation)...)

	s.Become(kubelet.Fail(2), simulation(2))
	s.Until("Job 2 has failed", func() bool { return s.outcome(simulation(2)) == "Failed/PodFailurePolicy_ExitCode2" })

	for restart := 1; restart <= 2; restart++ {
		s.Become(kubelet.Fail(3), simulation(5))
		s.Until("Job 5 is restarted", func() bool { return s.status.Restarts == restart })
		s.UntilReady(restart+1, simulation(5))
	}
	Same(t, "Job 2 after the restarts of Job 5", s.outcome(simulation(2)), "Failed/PodFailurePolicy_ExitCode2")

	s.Become(kubelet.Succeed(), names(10, simulation)...)
	s.untilPhase("Failed", 2)
	s.wantMessage("members left failed: 1")
	for n := range 10 {
		want := 1
		if n == 5 {
			want = 3
		}
		Same(t, "times that "+simulation(n)+" was made", len(s.Made[simulation(n)]), want)
	}
	s.noFinalizerLeft()
}

// failing lets the pods of a worker fail.
func failing(p kubelet.Pod) kubelet.Life {
	if p.Job == worker(1) {
		return kubelet.Fail(1)
	}
	return kubelet.Run()
}

// wantMessage checks how the message of the group begins.
func (s *stage) wantMessage(want string) {
	s.T.Helper()
	if got := s.status.Message; !strings.HasPrefix(got, want) {
		s.T.Errorf("the message: got %q, want it to begin with %q", got, want)
	}
}

// The Job once, after a backoff, then the group once, then fail. The restarts are counted in two budgets.
func TestEscalation(t *testing.T) {
	t.Parallel()
	s := newStage(t, failing, server.Options{})
	s.create("fail-group", set(int64(3), "jobs", 0, "replicas"), set(map[string]any{
		"budgets": []any{map[string]any{"name": "alone", "per": "Member", "max": int64(1)}, map[string]any{"name": "together", "max": int64(1)}},
		"rules": []any{map[string]any{"steps": []any{
			map[string]any{"action": "RestartMember", "charges": []any{"alone"}, "backoff": map[string]any{"base": "2s"}},
			map[string]any{"action": "RestartGroup", "charges": []any{"together"}},
		}}},
	}, "failurePolicy"))
	s.untilPhase("Failed", 2)
	s.wantMessage("no step is left, FailGroup: " + worker(1) + " failed: BackoffLimitExceeded")
	if got := s.status.Failures; got.Group.Restarts != 1 || got.Members[worker(1)].Restarts != 1 || got.Group.Used["together"].Count != 1 || got.Members[worker(1)].Used["alone"].Count != 1 {
		t.Errorf("the state: got %+v", got)
	}
	for n, want := range []int{2, 3, 2} {
		Same(t, "times that "+worker(n)+" was made", len(s.Made[worker(n)]), want)
	}
}

// A foreign edit of the list of Jobs that have succeeded stops nothing, and is overwritten.
func TestForeignEdit(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	s.create("restart-job", set(int64(2), "jobs", 0, "replicas"))
	s.UntilReady(1, names(2, simulation)...)
	s.Until("the edit is stored", func() bool {
		edited, err := s.Objects.Get(t.Context(), "restart-job", metav1.GetOptions{})
		s.Must(err)
		s.Must(unstructured.SetNestedField(edited.Object, "1,2,3,x", "status", "succeeded"))
		_, err = s.Objects.UpdateStatus(t.Context(), edited, metav1.UpdateOptions{})
		return err == nil
	})
	s.Until("the edit is observed", func() bool { return s.status.Succeeded == "1,2,3,x" })
	s.Until("the edit is overwritten", func() bool { return s.status.Succeeded == "" })
	s.Become(kubelet.Succeed(), names(2, simulation)...)
	s.untilPhase("Complete", 0)
	Same(t, "succeeded", s.status.Succeeded, "0,1")
}

// In the middle of a restart of the group, the controllers of groups and Jobs are killed at the
// first change of each Job. The group still restarts once, and each pod is counted once.
func TestKilledInTheMiddleOfARestart(t *testing.T) {
	t.Parallel()
	const jobs, kills = 4, 60
	second := map[string]bool{}
	script := func(p kubelet.Pod) kubelet.Life {
		if second[p.Job] {
			return kubelet.Succeed()
		}
		second[p.Job] = true
		return kubelet.Run()
	}
	s := newStage(t, script, server.Options{})
	s.create("fail-group", set(int64(jobs), "jobs", 0, "replicas"))
	s.UntilReady(1, names(jobs, worker)...)
	s.Become(kubelet.Fail(1), worker(1))
	s.Until("the Job has failed, or the group knows", func() bool {
		return s.outcome(worker(1)) != "Running" || s.status.Phase != "Running"
	})
	killed := 0
	for ; killed < kills && s.status.Phase != "Complete"; killed++ {
		s.controller.Kill()
		for s.Step() {
		}
		s.Must(s.controller.Start())
		seen := s.Changes
		s.Until("something changes", func() bool { return s.Changes > seen })
	}
	t.Logf("killed %d times", killed)
	if killed < jobs {
		t.Errorf("killed %d times, want at least once for each of %d Jobs", killed, jobs)
	}
	s.untilPhase("Complete", 1)
	s.wantMade(2, jobs, worker)
	for _, name := range names(jobs, worker) {
		if got := s.Jobs[name].Status; got.Succeeded != 1 || got.Failed != 0 {
			t.Errorf("%s: got %d pods succeeded and %d failed, want 1 and 0", name, got.Succeeded, got.Failed)
		}
	}
	s.noFinalizerLeft()
}

func names(n int, name func(int) string) (all []string) {
	for i := range n {
		all = append(all, name(i))
	}
	return all
}

// wantMade checks how often the first Jobs were created.
func (s *stage) wantMade(times, jobs int, name func(int) string) {
	s.T.Helper()
	for _, job := range names(jobs, name) {
		if got := len(s.Made[job]); got != times {
			s.T.Errorf("%s was made %d times, want %d\n%s", job, got, times, s.Story())
		}
	}
}

// All tests here run the controller with the permissions of its manifests, so no permission is
// missing. This test checks that all permissions of the cluster role are used.
func TestPermissionsAreUsed(t *testing.T) {
	t.Parallel()
	p := world.Proxy(t, api)
	address := server.Loopback() + ":8081"
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{Via: p.Config, Args: []string{"--health-probe-bind-address=" + address}})

	jobs := api.Client.BatchV1().Jobs(s.Namespace)
	taken := world.NewJob(simulation(1), nil, batchv1.JobSpec{Suspend: new(true)}) // it belongs to no group
	_, err := jobs.Create(t.Context(), taken, metav1.CreateOptions{})
	s.Must(err)
	s.create("restart-job", set(int64(2), "jobs", 0, "replicas"))
	s.untilEventTwice("CannotSync")
	for _, path := range []string{"/healthz", "/readyz"} {
		if answer, err := http.Get("http://" + address + path); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s, which the Deployment probes: got %v, %v", path, answer, err)
		}
	}
	s.Must(jobs.Delete(t.Context(), taken.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	s.UntilReady(1, simulation(0))
	s.UntilReady(2, simulation(1)) // after the taken one
	s.Become(kubelet.Fail(3), simulation(0))
	s.untilPhase("Running", 1)

	// These permissions are for other API servers: those with the admission plugin
	// OwnerReferencesPermissionEnforcement, and those that cannot fill a cache by a watch.
	// Others are for rare cases: a Job that seems to be gone, a creation without an answer, and a Job that has pods left
	// when it ends.
	used := p.Counts()
	unused, err := used.Unused("../../../../examples/jobgroup/deploy/rbac.yaml",
		"update jobgroups/finalizers", "update jobs/finalizers", "list jobgroups", "get jobs", "get pods", "delete pods")
	if err != nil || unused != "" {
		t.Errorf("permissions are not used: %v\n%s; used are: %v", err, unused, used)
	}
}

// untilEventTwice waits until an event has been sent at least twice.
func (s *stage) untilEventTwice(reason string) {
	s.T.Helper()
	events, err := api.Client.EventsV1().Events(s.Namespace).Watch(s.T.Context(), metav1.ListOptions{})
	s.Must(err)
	defer events.Stop()
	for change := range events.ResultChan() {
		if event, ok := change.Object.(*eventsv1.Event); ok && event.Reason == reason && event.Series != nil {
			return
		}
	}
	s.T.Fatalf("no event %s was sent twice", reason)
}
