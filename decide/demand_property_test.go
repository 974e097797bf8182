package decide_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// demandHolds: no bound overflows, and no lower bound is above an upper one. "A Job that is
// suspended, being deleted, or decided gets no more pods."
func demandHolds(t rapid.TB, job *batchv1.Job, d decide.Demand) {
	t.Helper()
	for _, r := range []decide.Range{d.AtOnce, d.InTotal} {
		if r.Least < 0 || r.Most < r.Least {
			t.Errorf("got %+v", d)
		}
	}
	if d.AtOnce.Least > d.InTotal.Least || d.AtOnce.Most > d.InTotal.Most {
		t.Errorf("AtOnce is above InTotal: %+v", d)
	}
	if d.Unbounded && d.InTotal.Most != math.MaxInt64 {
		t.Errorf("Unbounded, and at most %d", d.InTotal.Most)
	}
	phase := jobstatus.OutcomeOf(job).Phase
	if phase != jobstatus.Running || job.DeletionTimestamp != nil {
		exactly := decide.Range{Least: d.InTotal.Least, Most: d.InTotal.Least}
		observed := jobstatus.Suspension{}.After(job).Observed()
		if (phase != jobstatus.Suspended || observed || job.DeletionTimestamp != nil) && (d.AtOnce != exactly || d.InTotal != exactly || d.Unbounded) {
			t.Errorf("%s, deleted %t, and gets more pods: %+v", phase, job.DeletionTimestamp != nil, d)
		}
	}
}

// podsHold: "nil means that there are none, and pods of other owners are ignored."
func podsHold(t rapid.TB, job *batchv1.Job, pods []*corev1.Pod) {
	t.Helper()
	d := byPods(job, pods)
	demandHolds(t, job, d)
	if len(pods) == 0 {
		Same(t, "demand, without pods", byPods(job, []*corev1.Pod{}), byPods(job, nil))
	}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "foreign"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	others := append(slices.Clone(pods), foreign, nil)
	Same(t, "demand, with a pod of another owner", byPods(job, others), d)
	if byUID := map[string]bool{}; !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		again := pod != nil && byUID[string(pod.UID)]
		if pod != nil {
			byUID[string(pod.UID)] = true
		}
		return again
	}) {
		slices.Reverse(others)
		Same(t, "demand, pods in another order", byPods(job, others), d)
	}
}

func TestRandom_demand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := DrawJob(t)
		var pods []*corev1.Pod
		if rapid.Bool().Draw(t, "pods") {
			for _, uid := range []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(0, 5).Draw(t, "number of pods")] {
				pods = append(pods, DrawPod(t, uid))
				ControlledBy(job.UID)(pods[len(pods)-1])
			}
			pods = append(pods, nil)
		}
		demandHolds(t, job, decide.DemandOf(job))
		podsHold(t, job, pods)
	})
}

// FuzzDemand decodes a Job and its pods from any JSON, so it reaches objects that no API server would store.
func FuzzDemand(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobText, podsText string) {
		var job batchv1.Job
		var pods []*corev1.Pod
		if json.Unmarshal([]byte(jobText), &job) == nil && json.Unmarshal([]byte(podsText), &pods) == nil {
			var inputs Inputs
			inputs.AddView(&job, pods)
			demandHolds(t, &job, decide.DemandOf(&job))
			podsHold(t, &job, pods)
			Same(t, "the inputs", inputs.Changed(), "")
		}
	})
}
