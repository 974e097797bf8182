// Package apibehaviour plays the scripts of jobtest/kube/behaviour on a real kube-apiserver, and
// compares the answers with the recorded ones. With -record it records them.
package apibehaviour

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/controller/live/kubelet"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube/behaviour"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

var (
	record = flag.Bool("record", false, "record the answers")
	api    *server.Server
)

const (
	scripts = "../../../../jobtest/kube/behaviour/testdata"
	// settleTime is how long the garbage collector may take. pollTime is the interval of the
	// checks.
	settleTime, pollTime = 15 * time.Second, 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 0, func(ctx context.Context, s *server.Server) error {
		_, err := s.Apply(ctx, "", "e2e/apibehaviour/testdata/crds.yaml")
		return err
	}))
}

func TestScripts(t *testing.T) {
	rows := 0
	for _, script := range Must(behaviour.Scripts()) {
		answers := map[string][]string{}
		for _, row := range script.Rows {
			rows++
			t.Run(script.Name+"/"+row.Name, func(t *testing.T) {
				answers[row.Name] = play(t, row, fmt.Sprintf("behaviour-%d", rows))
			})
		}
		if *record && !t.Failed() {
			NoError(t, os.WriteFile(filepath.Join(scripts, script.Name), []byte(script.Format(answers)), 0o644))
		}
	}
}

func play(t *testing.T, row behaviour.Row, namespace string) []string {
	player := behaviour.Player{Config: api.Config(), Settle: func(since time.Time) bool {
		time.Sleep(pollTime)
		return time.Since(since) < settleTime
	}}
	got, err := player.Play(t.Context(), row, namespace)
	NoError(t, err)
	for i, step := range row.Steps {
		if diff := cmp.Diff(step.Want, got[i]); diff != "" && !*record {
			t.Errorf("%s %s (-recorded +answered)\n%s", step.Method, step.Path, diff)
		}
	}
	return got
}

// create creates a Job of five indexes in a new namespace.
func create(t *testing.T, managedBy *string) *batchv1.Job {
	t.Helper()
	namespace, err := api.Namespace(t.Context(), "live")
	NoError(t, err)
	job := world.NewJob("job", managedBy, batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5)), Parallelism: new(int32(5))})
	job, err = api.Client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{})
	NoError(t, err)
	return job
}

// Jobs run on a server that has no Job controller: an index fails twice, its Job completes, and
// deleting the Job deletes its pods.
func TestJobsLive(t *testing.T) {
	job := create(t, nil)
	jobs := live.Start(t, api.Config(), live.Namespace(job.Namespace), live.Backoff(10*time.Millisecond), live.BatchPeriod(10*time.Millisecond),
		live.Pods(live.Fail(137).ForIndex(3).Times(2), live.Succeed().After(10*time.Millisecond)))
	job = jobs.Ended(job.Namespace, "job", time.Minute)
	if s := job.Status; s.CompletedIndexes != "0-4" || s.Failed != 2 || s.CompletionTime == nil {
		t.Errorf("got %+v, want it complete after 2 failed pods", s)
	}
	w, _ := observe.Watch(t.Context(), t, api.Client, job.Namespace, "job")
	w.Until("succeeded=5 failed=2 completed=0-4 " + world.Completed)
	NoError(t, api.Client.BatchV1().Jobs(job.Namespace).Delete(t.Context(), "job",
		metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
	w.When("no pod is left", func(s script.State) bool { return len(s.All) == 0 })
}

// The kubelet reads pods with one watch. It sends one request for each change of a pod. An ended pod is bound, with
// the exit codes of its containers, and not ready.
func TestCallsPerPod(t *testing.T) {
	const pods = 200
	p := world.Proxy(t, api)
	job := create(t, new("example.com/none"))
	kubelet.Start(t.Context(), kubernetes.NewForConfigOrDie(p.Config(api.Config())), job.Namespace, func(p kubelet.Pod) kubelet.Life {
		life := kubelet.Succeed().Exiting("side", 7).Disrupted()
		life.Direct = p.Pod.Name < "pod-100"
		return life
	})
	template := job.Spec.Template.Spec
	template.Containers = append(template.Containers, corev1.Container{Name: "side", Image: "image"})
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")) // or they would be collected
	for i := range pods {
		_, err := api.Client.CoreV1().Pods(job.Namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%03d", i), OwnerReferences: []metav1.OwnerReference{*owner}},
			Spec:       template,
		}, metav1.CreateOptions{})
		NoError(t, err)
	}
	w, _ := observe.Watch(t.Context(), t, api.Client, job.Namespace, "job")
	s := w.When("all pods have ended", func(s script.State) bool {
		return len(s.Sorted(func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })) == pods
	})
	last := s.All["pod-199"]
	exits, conditions := map[string]int32{}, map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range last.Status.ContainerStatuses {
		exits[c.Name] = c.State.Terminated.ExitCode
	}
	for _, c := range last.Status.Conditions {
		conditions[c.Type] = c.Status
	}
	if last.Spec.NodeName == "" || exits["main"] != 0 || exits["side"] != 7 ||
		conditions[corev1.PodReady] != corev1.ConditionFalse || conditions[corev1.DisruptionTarget] != corev1.ConditionTrue {
		t.Errorf("got a pod on node %q with the exits %v and the conditions %v", last.Spec.NodeName, exits, conditions)
	}
	counts := p.Counts()
	for call, want := range map[proxy.Call]int{
		{Verb: "create", Resource: "pods/binding"}: pods / 2,
		{Verb: "patch", Resource: "pods/status"}:   pods/2*2 + pods/2,
		{Verb: "get", Resource: "pods"}:            0,
	} {
		Same(t, call.String()+" calls", counts[call], want)
	}
	if got := counts.Of(proxy.Call{Verb: "list"}) + counts.Of(proxy.Call{Verb: "watch"}); got > 2 {
		t.Errorf("got %d lists and watches, want one or two: %v", got, counts)
	}
}
