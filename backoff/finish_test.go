package backoff_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// at returns the time that many seconds after t0.
func at(seconds int) metav1.Time { return metav1.NewTime(t0.Add(time.Duration(seconds) * time.Second)) }

func finished(name string, t metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:  name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: t}},
	}
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name:  name,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(0)}},
	}
}

func ready(status corev1.ConditionStatus, since metav1.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: since}
}

// fallenBack returns a failed pod without finished containers, so that FinishTime uses a later
// rule: Ready is False since 7, the deletion was requested at 5 with a grace period of 30
// seconds, and the pod was created at 1.
func fallenBack(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp:          at(1),
			DeletionTimestamp:          new(at(5)),
			DeletionGracePeriodSeconds: new(int64(30)),
		},
		Spec: corev1.PodSpec{InitContainers: []corev1.Container{
			{Name: "init"},
			{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: at(8)},
			ready(corev1.ConditionFalse, at(7)),
		}},
	}
	change(pod)
	return pod
}

func TestFinishTime(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   metav1.Time
	}{
		// KEP-3850: "max finishAt of all containers, if specified for all containers".
		"latest of all containers": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", at(2)), finished("b", at(4)), finished("c", at(3))}
		}, at(4)},
		"a container still runs": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", at(2)), running("b"), finished("c", at(9))}
		}, at(7)},
		"no container statuses": {func(*corev1.Pod) {}, at(7)},
		"a time before year one": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", yearZero)}
		}, yearZero},

		// Sidecars outlive the regular containers.
		"sidecar finished last": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", at(2))}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{finished("sidecar", at(6))}
		}, at(6)},
		"sidecar still runs": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", at(2))}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{running("sidecar")}
		}, at(7)},
		"first of two sidecars still runs": {func(p *corev1.Pod) {
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{running("sidecar"), finished("init", at(9))}
		}, at(7)},

		// KEP-3850: "LastTransitionTime for the Ready=False condition".
		"ready": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{ready(corev1.ConditionTrue, at(7))}
		}, at(-25)},

		// KEP-3850: "deletionTimestamp-deletionGracePeriodSeconds if deletionTimestamp is set".
		"deleted, no grace period": {func(p *corev1.Pod) {
			p.Status.Conditions, p.DeletionGracePeriodSeconds = nil, nil
		}, at(5)},
		"deleted, absurd grace period": {func(p *corev1.Pod) {
			p.Status.Conditions, p.DeletionGracePeriodSeconds = nil, new(int64(math.MaxInt64))
		}, metav1.NewTime(at(5).Add(-9223372036 * time.Second))},
		"deleted, absurd negative grace period": {func(p *corev1.Pod) {
			p.Status.Conditions, p.DeletionGracePeriodSeconds = nil, new(int64(math.MinInt64))
		}, metav1.NewTime(at(5).Add(9223372036 * time.Second))},

		// KEP-3850: "When none of the above conditions is satisfied to compute
		// the finish time we fallback to the pod's creation time."
		"created": {func(p *corev1.Pod) {
			p.Status.Conditions, p.DeletionTimestamp = nil, nil
		}, at(1)},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "FinishTime", backoff.FinishTime(fallenBack(tc.change)).UTC(), tc.want.UTC())
		})
	}
}

var yearZero = metav1.Date(0, time.May, 1, 0, 0, 0, 0, time.UTC)

// FinishTime runs once for each failed pod, and there may be 10^5 of them. Pods with
// sidecars need a set of their names.
func TestFinishTimeAllocatesLittle(t *testing.T) {
	pods := []*corev1.Pod{
		fallenBack(func(*corev1.Pod) {}),
		fallenBack(func(p *corev1.Pod) { p.Status.Conditions = nil }),
		fallenBack(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{finished("a", at(2)), finished("b", at(3))}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{finished("init", at(1)), finished("sidecar", at(4))}
		}),
	}
	for i, want := range []float64{0, 0, 2} {
		if got := testing.AllocsPerRun(100, func() { backoff.FinishTime(pods[i]) }); got > want {
			t.Errorf("pod %d: FinishTime allocates %v times, want at most %v", i, got, want)
		}
	}
}

// finishTimes generates finish times, some of them zero.
func finishTimes() *rapid.Generator[metav1.Time] {
	return rapid.Map(rapid.IntRange(-1, 6), func(s int) metav1.Time {
		if s < 0 {
			return metav1.Time{}
		}
		return at(s)
	})
}

func statuses(names ...string) *rapid.Generator[[]corev1.ContainerStatus] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.ContainerStatus {
		name := rapid.SampledFrom(names).Draw(t, "name")
		switch rapid.IntRange(0, 5).Draw(t, "state") {
		case 0:
			return running(name)
		case 1:
			return corev1.ContainerStatus{Name: name}
		}
		status := finished(name, finishTimes().Draw(t, "finished"))
		status.RestartCount = rapid.Int32Range(0, 3).Draw(t, "restarts")
		return status
	}), 0, 4)
}

func podsWithTimes() *rapid.Generator[*corev1.Pod] {
	return rapid.Custom(func(t *rapid.T) *corev1.Pod {
		pod := &corev1.Pod{}
		pod.CreationTimestamp = finishTimes().Draw(t, "created")
		pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodFailed, corev1.PodFailed, corev1.PodSucceeded, corev1.PodRunning, corev1.PodPending}).Draw(t, "phase")
		if rapid.Bool().Draw(t, "deleted") {
			pod.DeletionTimestamp = new(finishTimes().Draw(t, "deletion"))
			pod.DeletionGracePeriodSeconds = rapid.Ptr(rapid.Int64Range(-30, 30), true).Draw(t, "grace")
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "inits") {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
				Name: fmt.Sprintf("init%d", rapid.IntRange(0, i).Draw(t, "name")), // names may repeat
				RestartPolicy: rapid.SampledFrom([]*corev1.ContainerRestartPolicy{
					nil, new(corev1.ContainerRestartPolicyAlways), new(corev1.ContainerRestartPolicy("Never")),
				}).Draw(t, "restart"),
			})
		}
		pod.Status.ContainerStatuses = statuses("a", "b").Draw(t, "containers")
		pod.Status.InitContainerStatuses = statuses("init0", "init1", "init2", "a").Draw(t, "init containers")
		pod.Status.Conditions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.PodCondition {
			return corev1.PodCondition{
				Type:               rapid.SampledFrom([]corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled}).Draw(t, "type"),
				Status:             rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown", ""}).Draw(t, "status"),
				LastTransitionTime: finishTimes().Draw(t, "since"),
			}
		}), 0, 3).Draw(t, "conditions")
		return pod
	})
}

// checkPod compares FinishTime, Sidecars and Restarts with the oracle. FuzzPod calls it too.
func checkPod(t rapid.TB, pod *corev1.Pod) {
	t.Helper()
	before := pod.DeepCopy()
	if got, want := backoff.FinishTime(pod), slowFinishTime(pod); !got.Equal(want) {
		t.Fatalf("FinishTime = %v, want %v", got, want)
	}
	var sidecars []corev1.ContainerStatus
	for status := range backoff.Sidecars(pod) {
		sidecars = append(sidecars, *status)
	}
	Same(t, "Sidecars", sidecars, slowSidecars(pod))
	for range backoff.Sidecars(pod) {
		break // must not panic
	}
	Same(t, "Restarts", backoff.Restarts(pod), slowRestarts(pod))
	Same(t, "the pod", pod, before)
}

func TestPodAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkPod(t, podsWithTimes().Draw(t, "pod")) })
}
