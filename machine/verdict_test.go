package machine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// These tests check that a verdict that was acted on is kept (S22 in docs/reliability.md): the interim condition is
// stored before the first pod is deleted because the Job ends.

// restarted makes a pod run whose container has restarted a number of times.
func restarted(times int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		Ready(pod)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: times}}
	}
}

// newRestartingWorld is a world whose Job fails after three restarts, with two pods that are running.
func newRestartingWorld(t *testing.T) *world {
	w := newWorld(2)
	w.job.Spec.BackoffLimit = new(int32(2))
	w.job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	w.sync(t, noon, "1000")
	return w
}

// requests runs a sync, and returns its requests. Those about which the test says nothing succeed.
func (w *world) requests(t *testing.T, v View, how func(Request) error) (asked []string) {
	t.Helper()
	return run(t, w.m, v, func(r Request) (runtime.Object, error) {
		if err := how(r); err != nil {
			return nil, err
		}
		return w.answer(r)
	})
}

func (w *world) view(pods ...*corev1.Pod) View {
	v := fresh(w.job, pods...)
	v.JobsVersion, v.PodsVersion = "9000", "9000"
	return v
}

func succeeds(Request) error { return nil }

// refuse returns an error for requests of one verb.
func refuse(verb Verb) func(Request) error {
	return func(r Request) error {
		if r.Verb == verb {
			return apierrors.NewConflict(batchv1.Resource("jobs"), r.Name, fmt.Errorf("refused"))
		}
		return nil
	}
}

func conditions(st *batchv1.JobStatus) []string {
	return Each(st.Conditions, func(c batchv1.JobCondition) string { return string(c.Type) })
}

// The restarts of running pods exceed the limit, and end with these pods. The write that stores the verdict is refused,
// and the next syncs see other parts of the truth. Whatever was deleted, the Job fails.
func TestVerdict_survivesConflicts(t *testing.T) {
	w := newRestartingWorld(t)
	running := []*corev1.Pod{w.at(w.made[0], restarted(3)), w.at(w.made[1], Ready)}
	deletions := 0
	count := func(r Request) error {
		if r.Verb == DeletePod {
			deletions++
		}
		return nil
	}
	w.requests(t, w.view(running...), func(r Request) error {
		_ = count(r)
		return refuse(PatchStatus)(r)
	})
	Same(t, "deletions although the verdict is not stored", deletions, 0)
	w.requests(t, w.view(running...), count) // the cache shows no deletion
	ended := []*corev1.Pod{w.at(running[0], Succeeded), w.at(running[1], Succeeded)}
	w.requests(t, w.view(ended...), count)
	Same(t, "deletions", deletions, 2)
	Same(t, "conditions", conditions(&w.job.Status), []string{"FailureTarget", "Failed"})
}

// The verdict is stored with the numbers of pods before the deletions. Then the sync goes on as if it had been stored
// all the time.
func TestVerdict_isStoredBeforeTheFirstDeletion(t *testing.T) {
	w := newRestartingWorld(t)
	running := []*corev1.Pod{w.at(w.made[0], restarted(3)), w.at(w.made[1], Ready)}
	var stored []string
	asked := w.requests(t, w.view(running...), func(r Request) error {
		if st := r.Status; st != nil {
			stored = append(stored, fmt.Sprintf("%s: active %d ready %d terminating %d uncounted %d",
				conditions(st), st.Active, *st.Ready, *st.Terminating, len(st.UncountedTerminatedPods.Failed)))
		}
		return nil
	})
	Same(t, "statuses", stored, []string{
		"[FailureTarget]: active 2 ready 2 terminating 0 uncounted 0",
		"[FailureTarget]: active 0 ready 0 terminating 2 uncounted 2",
		"[FailureTarget]: active 0 ready 0 terminating 2 uncounted 0",
	})
	Same(t, "verbs", verbs(asked), "patch the status, delete pod, delete pod, patch the status, patch pod, patch pod, patch the status")
	r := w.m.Result()
	Same(t, "error", r.Err, nil)
	Same(t, "failed pods in the metrics", r.Metrics[len(r.Metrics)-1].Add, int64(2))
}

// The metrics have the indexes that are stored with the verdict, once.
func TestVerdict_countsItsIndexes(t *testing.T) {
	w := newWorld(3)
	mode, none := batchv1.IndexedCompletion, int32(0)
	w.job.Spec.CompletionMode, w.job.Spec.BackoffLimitPerIndex, w.job.Spec.MaxFailedIndexes = &mode, &none, &none
	w.sync(t, noon, "1000")
	asked := w.requests(t, w.view(w.at(w.made[0], Phase(corev1.PodFailed)), w.at(w.made[1], Ready), w.at(w.made[2], Ready)), succeeds)
	Same(t, "verbs", verbs(asked[:3]), "patch the status, delete pod, delete pod")
	var counted []string
	for _, metric := range Texts(w.m.Result().Metrics) {
		if strings.HasPrefix(metric, "job_finished_indexes_total") {
			counted = append(counted, metric)
		}
	}
	Same(t, "metrics", counted, []string{"job_finished_indexes_total backoffLimit=perIndex status=failed 1"})
}

func verbs(asked []string) string {
	for i, request := range asked {
		asked[i] = strings.TrimSuffix(request, " "+request[strings.LastIndex(request, " ")+1:])
		if strings.HasPrefix(request, "patch the") {
			asked[i] = request
		}
	}
	return strings.Join(asked, ", ")
}

// Once the verdict is stored, a deletion that fails does not take it back, and is retried.
func TestVerdict_staysWhenADeletionFails(t *testing.T) {
	w := newRestartingWorld(t)
	running := []*corev1.Pod{w.at(w.made[0], restarted(3)), w.at(w.made[1], Ready)}
	w.requests(t, w.view(running...), refuse(DeletePod))
	Same(t, "conditions", conditions(&w.job.Status), []string{"FailureTarget"})
	Same(t, "active", w.job.Status.Active, 2)
	Same(t, "the sync that deletes nothing has an error", w.m.Result().Err != nil, true)
	asked := w.requests(t, w.view(running...), succeeds)
	Same(t, "requests", verbs(asked[:2]), "delete pod, delete pod")
}

// While a creation is unobserved, the verdict cannot be stored. The deletions wait for it.
func TestVerdict_waitsForCreations(t *testing.T) {
	w := newRestartingWorld(t)
	shown := w.at(w.made[0], restarted(3))
	v := w.view(shown)
	v.PodsVersion = "1000" // the other creation is not observed
	Same(t, "requests", w.requests(t, v, succeeds), []string{"patch the status"})
	Same(t, "conditions", conditions(&w.job.Status), []string(nil))
	got := w.m.Result()
	Same(t, "requeue, to read the creation by name, and deletions", Pair(got.Requeue, len(got.Decision.Delete)), Pair(10*time.Second, 0))
	asked := w.requests(t, w.view(shown, w.made[1]), succeeds)
	Same(t, "requests once it is observed", verbs(asked[:3]), "patch the status, delete pod, delete pod")
}

// The status may be kept in another object, whose version counts then.
func TestVerdict_inAnotherObject(t *testing.T) {
	w := newRestartingWorld(t)
	v := w.view(w.at(w.made[0], restarted(3)), w.at(w.made[1], Ready))
	v.StatusVersion = w.job.ResourceVersion
	var named []string
	w.requests(t, v, func(r Request) error {
		if r.Verb == PatchStatus {
			named = append(named, r.ResourceVersion)
			Same(t, "a status names version", r.ResourceVersion, w.job.ResourceVersion)
		}
		return nil
	})
	Same(t, "status writes", len(named), 3)
}
