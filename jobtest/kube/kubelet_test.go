package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func TestKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		pods := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default")
		kubelet := kube.Kubelet{Server: s}
		for _, name := range []string{"held", "lost", "stopped"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: MinimalPodSpec()}
			if name != "stopped" {
				pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
			}
			Must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))
			if !kubelet.Start("default", name) {
				t.Errorf("%s did not start", name)
			}
			if kubelet.Start("default", name) {
				t.Errorf("%s started twice", name)
			}
		}
		if !kubelet.Act("default", "lost", cluster.DisruptPod) || kubelet.Act("default", "lost", cluster.DisruptPod) {
			t.Error("the pod was not disrupted once")
		}
		for _, name := range []string{"held", "stopped"} {
			NoError(t, pods.Delete(t.Context(), name, metav1.DeleteOptions{}))
			pod, _ := kube.Get[*corev1.Pod](s, "default", name)
			if want := time.Now().Add(30 * time.Second); !pod.DeletionTimestamp.Time.Equal(want) {
				t.Errorf("the deletionTimestamp of %s is %s, want %s", name, pod.DeletionTimestamp, want)
			}
		}
		for kubelet.Step(func(*corev1.Pod) (int32, bool) { return 0, true }) {
		}
		if _, there := kube.Get[*corev1.Pod](s, "default", "stopped"); there {
			t.Error("the pod that stopped is still there")
		}
		held, there := kube.Get[*corev1.Pod](s, "default", "held")
		if !there || held.Status.Phase != corev1.PodFailed || *held.DeletionGracePeriodSeconds != 0 {
			t.Errorf("the pod with a finalizer: exists %t, %+v", there, held)
		}
		kube.Edit(s, "default", "held", func(p *corev1.Pod) { p.Finalizers = nil })
		vanish := func(*corev1.Pod, time.Time) *corev1.Pod { return nil }
		if !kubelet.Act("default", "lost", vanish) || kubelet.Act("default", "lost", vanish) {
			t.Error("the lost pod did not vanish, or twice")
		}
		Same(t, "pods left", len(kube.List[*corev1.Pod](s, "")), 0)
	})
}
