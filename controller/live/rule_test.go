package live

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
)

// The first matching rule decides. A rule matches the pods that meet all its conditions, and counts by Job and
// index. Without a matching rule a pod succeeds, unless its restart policy is Always.
func TestScript(t *testing.T) {
	decide := script([]Rule{
		Fail(1).ForJob("named").Times(1),
		Fail(2).Disrupted().ForLabels(map[string]string{"tier": "low"}).ForLabels(map[string]string{"app": "x"}),
		Fail(3).ForIndex(0).Times(0),
		Fail(4).ForIndex(1).Times(2),
	})
	for _, c := range []struct {
		name, job string
		index     int
		labels    map[string]string
		restart   corev1.RestartPolicy
		want      kubelet.Life
	}{
		{name: "the first pod of the Job", job: "named", index: -1, want: kubelet.Fail(1)},
		{name: "the second", job: "named", index: -1, want: kubelet.Succeed()},
		{name: "the first of a new Job of the same name", job: "named", index: -1, want: kubelet.Succeed()},
		{name: "an index of the Job", job: "named", index: 7, want: kubelet.Fail(1)},
		{name: "both labels", index: -1, labels: map[string]string{"tier": "low", "app": "x"}, want: kubelet.Fail(2).Disrupted()},
		{name: "the first label", index: -1, labels: map[string]string{"tier": "low"}, want: kubelet.Succeed()},
		{name: "the second label", index: -1, labels: map[string]string{"app": "x"}, want: kubelet.Succeed()},
		{name: "a rule for no pod", job: "a", index: 0, want: kubelet.Succeed()},
		{name: "index 1", job: "a", index: 1, want: kubelet.Fail(4)},
		{name: "index 1 again", job: "a", index: 1, want: kubelet.Fail(4)},
		{name: "index 1 of another Job", job: "b", index: 1, want: kubelet.Fail(4)},
		{name: "index 1 a third time", job: "a", index: 1, want: kubelet.Succeed()},
		{name: "a server", index: -1, restart: corev1.RestartPolicyAlways, want: kubelet.Run()},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}, Spec: corev1.PodSpec{RestartPolicy: c.restart}}
		if got := decide(kubelet.Pod{Pod: pod, Job: c.job, Index: c.index}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
