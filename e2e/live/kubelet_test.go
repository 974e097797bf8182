// Package live runs jobtest/live against a real API server.
package live

import (
	"os"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

var api *server.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 0, nil)) }

// stage is a namespace with pods of a Job that no controller runs. Without the Job the garbage
// collector would delete the pods.
type stage struct {
	t         *testing.T
	namespace string
	owner     *batchv1.Job
	kubelet   *kubelet.Kubelet
	view      *observe.View
}

func newStage(t *testing.T, client kubernetes.Interface, script kubelet.Script) *stage {
	namespace, err := api.Namespace(t.Context(), "kubelet")
	must(t, err)
	owner, err := api.Client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{
			ManagedBy: new("example.com/none"),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "image"}, {Name: "side", Image: "image"}},
			}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return &stage{t, namespace, owner, kubelet.Start(t.Context(), client, namespace, script),
		observe.Watch(t.Context(), api.Client, namespace, "")}
}

func (s *stage) create(name string, index int) {
	s.t.Helper()
	_, err := api.Client.CoreV1().Pods(s.namespace).Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{batchv1.JobTrackingFinalizer},
			Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s.owner, batchv1.SchemeGroupVersion.WithKind("Job")),
			},
		},
		Spec: s.owner.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	must(s.t, err)
}

func (s *stage) delete(name string) {
	s.t.Helper()
	must(s.t, api.Client.CoreV1().Pods(s.namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}))
}

func (s *stage) when(what, name string, holds func(*corev1.Pod) bool) *corev1.Pod {
	s.t.Helper()
	return s.view.When(s.t, what, func(state observe.State) bool {
		pod := state.All[name]
		return pod != nil && holds(pod)
	}).All[name]
}

func phase(want corev1.PodPhase) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return p.Status.Phase == want }
}

func TestPodRunsAndEnds(t *testing.T) {
	s := newStage(t, api.Client, kubelet.Always(kubelet.Succeed().Exiting("side", 7).Disrupted()))
	s.create("a", 0)
	running := s.when("the pod runs", "a", phase(corev1.PodRunning))
	if running.Spec.NodeName == "" || !running.Status.ContainerStatuses[0].Ready {
		t.Errorf("the running pod must be bound and ready, got node %q and %+v", running.Spec.NodeName, running.Status)
	}
	failed := s.when("the pod fails", "a", phase(corev1.PodFailed))
	for i, want := range []int32{0, 7} {
		got := failed.Status.ContainerStatuses[i].State.Terminated
		if got == nil || got.ExitCode != want || got.FinishedAt.IsZero() {
			t.Errorf("container %d: got %+v, want exit code %d and a finish time", i, got, want)
		}
	}
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range failed.Status.Conditions {
		conditions[c.Type] = c.Status
	}
	if conditions[corev1.PodReady] != corev1.ConditionFalse || conditions[corev1.DisruptionTarget] != corev1.ConditionTrue {
		t.Errorf("got conditions %v, want Ready=False and DisruptionTarget=True", conditions)
	}
}

// A pod that is deleted with a grace period first gets its final phase. After that, only its
// finalizer blocks its deletion.
func TestGracefulDeletion(t *testing.T) {
	s := newStage(t, api.Client, kubelet.Always(kubelet.Run().Dying(0, 0)))
	s.create("a", 0)
	s.when("the pod runs", "a", phase(corev1.PodRunning))
	s.delete("a")
	deleted := s.when("the pod is being deleted", "a", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if got := *deleted.DeletionGracePeriodSeconds; got == 0 {
		t.Errorf("the deletion has no grace period")
	}
	s.when("the pod has exited with 0 and no grace period is left", "a", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded && *p.DeletionGracePeriodSeconds == 0
	})
}

func TestBecome(t *testing.T) {
	s := newStage(t, api.Client, kubelet.Always(kubelet.Run().NeverDying()))
	s.create("a", 0)
	s.create("b", 1)
	a := s.when("a runs", "a", phase(corev1.PodRunning))
	b := s.when("b runs", "b", phase(corev1.PodRunning))
	s.delete("b")
	s.kubelet.Become(kubelet.Fail(3).After(time.Millisecond), a)
	s.when("a fails", "a", phase(corev1.PodFailed))
	if got := s.view.State().All["b"]; got.Status.Phase != corev1.PodRunning {
		t.Errorf("b does not ignore its deletion: it is %s", got.Status.Phase)
	}
	s.kubelet.Become(kubelet.Run(), b)
	s.when("b fails", "b", phase(corev1.PodFailed))
}

func TestAttemptsAreCountedByIndex(t *testing.T) {
	seen := make(chan kubelet.Pod, 3)
	s := newStage(t, api.Client, func(p kubelet.Pod) kubelet.Life {
		seen <- p
		return kubelet.Wait()
	})
	for i, want := range []struct{ index, attempt int }{{0, 0}, {1, 0}, {1, 1}} {
		s.create("p"+strconv.Itoa(i), want.index)
		got := <-seen
		if got.Job != "job" || got.Index != want.index || got.Attempt != want.attempt {
			t.Errorf("pod %d: got Job %q, index %d, attempt %d, want job, %d, %d", i, got.Job, got.Index, got.Attempt, want.index, want.attempt)
		}
	}
}

// The kubelet reads pods with one watch. It sends one request for each change of a pod.
func TestCallsPerPod(t *testing.T) {
	const pods = 200
	p := world.Proxy(t, api)
	client := kubernetes.NewForConfigOrDie(p.Config(api.Config()))
	s := newStage(t, client, func(p kubelet.Pod) kubelet.Life {
		life := kubelet.Succeed()
		life.Direct = p.Index%2 == 0
		return life
	})
	for i := range pods {
		s.create("p"+strconv.Itoa(i), i)
	}
	s.view.When(t, "all pods have ended", func(state observe.State) bool {
		return len(state.Sorted(phase(corev1.PodSucceeded))) == pods
	})
	counts := p.Counts()
	for call, want := range map[proxy.Call]int{
		{Verb: "create", Resource: "pods/binding"}: pods / 2,
		{Verb: "patch", Resource: "pods/status"}:   pods/2*2 + pods/2,
		{Verb: "get", Resource: "pods"}:            0,
	} {
		if got := counts[call]; got != want {
			t.Errorf("%s: got %d calls, want %d", call, got, want)
		}
	}
	if got := counts.Of(proxy.Call{Verb: "list"}) + counts.Of(proxy.Call{Verb: "watch"}); got > 2 {
		t.Errorf("got %d lists and watches, want one or two:\n%s", got, counts)
	}
}
