package operate

import (
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// at returns the spec of an Indexed Job whose indexes all run at once.
func at(indexes int32) batchv1.JobSpec {
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: &indexes, Parallelism: &indexes, BackoffLimit: new(2 * indexes),
	}
}

func newWorld(t *testing.T, side world.Side, life kubelet.Life) *world.World {
	t.Helper()
	w := world.New(t, api, side, kubelet.Always(life))
	t.Cleanup(w.LogOnFailure)
	return w
}

// client-go limits the events about one object. The events of a hundred simultaneous creations
// do not suppress those that say why there is no pod.
func TestEventsAfterManyCreations(t *testing.T) {
	t.Parallel()
	_, side := start(t, "events", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(100))
	w.Until("active=100 ready=100")
	if s := w.Play("become all fail 1\nevent BackingOff"); s.Event("SuccessfulCreate") == nil {
		t.Error("no event says that pods were created")
	}
	w.Play("edit {suspend: true}\nevent Suspended")
}

// Some pod names that the controller generates are taken. It retries with other names, without an
// event.
func TestNamesAreTaken(t *testing.T) {
	t.Parallel()
	p, side := start(t, "names", server.Options{})
	w := newWorld(t, side, kubelet.Succeed())
	var mu sync.Mutex
	taken := map[string]*corev1.Pod{}
	take := proxy.Inspect(func(body []byte) {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		name := obj.(*corev1.Pod).Name
		taken[name] = createPod(w, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "elsewhere"}})
	})
	for _, nth := range []int{1, 4, 5} {
		p.Add(proxy.Rule{Call: proxy.Call{Verb: "create", Resource: "pods"}, Nth: nth, Do: take})
	}
	w.Create(at(20))
	s := w.Until("succeeded=20 completed=0-19 " + world.Completed)
	if got := len(s.Pods()); got != 20 || len(taken) != 3 {
		t.Errorf("the Job has %d pods and %d names were taken, want 20 and 3", got, len(taken))
	}
	for name, before := range taken {
		if now := getPod(w, name); now.UID != before.UID || len(now.OwnerReferences)+len(now.Finalizers) > 0 {
			t.Errorf("another owner's pod was changed: %+v", now.ObjectMeta)
		}
	}
	for _, e := range s.Events {
		if e.Type == corev1.EventTypeWarning {
			t.Errorf("a warning: %s: %s", e.Reason, e.Message)
		}
	}
	if n := sum(t, side.Controller, "job_controller_job_syncs_total", `result="error"`); n != 0 {
		t.Errorf("%v syncs have failed, want none", n)
	}
	if log := side.Log("level=ERROR", 5); log != "" {
		t.Errorf("logged: %s", log)
	}
}

// failures returns the number of failed syncs, by the metric of the Job controller and by that
// of controller-runtime.
func failures(t *testing.T, side world.Side) (ours, runtimes float64) {
	t.Helper()
	return sum(t, side.Controller, "job_controller_job_syncs_total", `result="error"`),
		sum(t, side.Controller, "controller_runtime_reconcile_errors_total", `controller="jobfate-job"`)
}

func awaitFailures(t *testing.T, side world.Side, least float64) {
	t.Helper()
	await(t, "failed syncs are counted", func() string {
		if ours, runtimes := failures(t, side); ours < least || runtimes < least {
			return "too few are counted"
		}
		return ""
	})
	if ours, runtimes := failures(t, side); ours > runtimes {
		t.Errorf("%v failed syncs, and %v of controller-runtime, want the same", ours, runtimes)
	}
}

// A quota admits no pod. The failures are counted. Retries come after 1, 3, 7, 15 and 31 s, but the
// Job fails at its deadline and not at the next retry.
func TestDeadlineDespiteErrors(t *testing.T) {
	t.Parallel()
	const deadline, nextTry = 18, 31
	_, side := start(t, "quota", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	w.Quota(0)
	w.Create(batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(deadline))})
	awaitFailures(t, side, 3)
	s := w.When("the Job has failed", func(s script.State) bool { return s.Ended() })
	ended := s.Job.Status.Conditions[len(s.Job.Status.Conditions)-1]
	if ended.Reason != batchv1.JobReasonDeadlineExceeded {
		t.Errorf("the Job has failed with %s, want DeadlineExceeded", ended.Reason)
	}
	if took := ended.LastTransitionTime.Sub(s.Job.Status.StartTime.Time); took >= nextTry*time.Second {
		t.Errorf("it has failed after %s, want %ds", took, deadline)
	}
}

// Syncs fail because other clients write the Job at the same time, and because requests fail. Both
// are counted. Only failed requests are logged as errors.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do     proxy.Fault
		logged bool
	}{"conflict": {proxy.Conflict, false}, "internal": {proxy.Internal, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, side := start(t, name, server.Options{})
			p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Nth: 1, Do: test.do})
			w := newWorld(t, side, kubelet.Succeed())
			w.Create(batchv1.JobSpec{})
			w.Until("succeeded=1 " + world.Completed)
			awaitFailures(t, side, 1)
			if log := side.Log("level=ERROR", 5); (log != "") != test.logged {
				t.Errorf("logged %q, want something: %t", log, test.logged)
			}
		})
	}
}

// The first attempts to free the orphans of a Job fail. These failures are counted too.
func TestFailuresToFreeAreCounted(t *testing.T) {
	t.Parallel()
	p, side := start(t, "freeing", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(2))
	w.Until("active=2 ready=2")
	rule := p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "pods"}, Probability: 1, Do: proxy.Internal})
	w.DeleteJob(metav1.DeletePropagationOrphan)
	await(t, "failures are counted", func() string {
		if sum(t, side.Controller, "controller_runtime_reconcile_errors_total", `controller="jobfate-job-orphans"`) == 0 {
			return "none is"
		}
		return ""
	})
	p.Remove(rule)
	// The garbage collector deletes a pod that it had not seen when it made orphans of the others. A pod that is gone
	// has been freed too.
	w.When("the pods are free", func(now script.State) bool { return len(now.Tracked()) == 0 })
}

// A deletion names the UID of the pod, so a new pod with the same name is not deleted.
func TestPodIsReplacedBeforeItsDeletion(t *testing.T) {
	t.Parallel()
	p, side := start(t, "precondition", server.Options{})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(2))
	s := w.Until("active=2 ready=2")
	victim := s.OfIndex(1)[0]
	var other *corev1.Pod
	replace := sync.OnceFunc(func() {
		w.Patch(victim, []byte(`{"metadata":{"finalizers":null}}`))
		w.DeletePod(victim, true)
		other = createPod(w, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: victim.Name}})
	})
	deletion := p.Add(proxy.Rule{Call: proxy.Call{Verb: "delete", Resource: "pods"}, Probability: 1, Do: proxy.Before(replace)})
	w.Play(`edit {parallelism: 1, completions: 1}
		until active=1 ready=1
		become index:0 succeed
		until succeeded=1 completed=0 ` + world.Completed)
	if p.Hits(deletion) == 0 {
		t.Fatal("no pod was deleted")
	}
	if now := getPod(w, victim.Name); now.UID != other.UID || now.DeletionTimestamp != nil {
		t.Errorf("the new pod was deleted: %+v", now.ObjectMeta)
	}
}

// A Job that is deleted during its sync causes no error.
func TestDeletedDuringASync(t *testing.T) {
	t.Parallel()
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		name := "deleted-" + strings.ToLower(string(how))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, side := start(t, name, server.Options{})
			w := newWorld(t, side, kubelet.Run())
			deleted := make(chan struct{})
			p.Add(proxy.Rule{Call: proxy.Call{Verb: "create", Resource: "pods"}, Nth: 2, Do: proxy.Before(func() {
				defer close(deleted)
				w.DeleteJob(how)
			})})
			w.Create(at(5))
			w.Play("when job=there\nwhen job=gone")
			<-deleted // the Job may be gone before its deletion is answered
			w.When("its pods are gone, or free", func(s script.State) bool {
				return len(s.Tracked()) == 0 && (how == metav1.DeletePropagationOrphan || len(s.All) == 0)
			})
			if log := side.Log("level=ERROR", 5); log != "" {
				t.Errorf("logged: %s", log)
			}
		})
	}
}
