package operate

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// Pods that another kind controls are not cached: many large pods take less memory than their size.
func TestMemoryOfForeignPods(t *testing.T) {
	const pods, size = 1500, 40_000
	namespace, err := api.Namespace(t.Context(), "foreign")
	world.Must(t, err)
	peak := func(name string) int64 {
		_, side := start(t, name, server.Options{})
		w := newWorld(t, side, kubelet.Succeed())
		w.Create(at(1))
		w.Until("succeeded=1 completed=0 " + world.Completed) // the caches are filled
		usage, err := side.Usage()
		w.Must(err)
		return usage.MaxRSS
	}
	before := peak("without-others")
	owner := metav1.NewControllerRef(&metav1.ObjectMeta{Name: "web", UID: "set-uid"}, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	owner.APIVersion = "apps.example.com/v1" // a kind that garbage collection ignores
	var group errgroup.Group
	group.SetLimit(16)
	for i := range pods {
		group.Go(func() error {
			_, err := api.Client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), OwnerReferences: []metav1.OwnerReference{*owner}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image", Env: []corev1.EnvVar{
					{Name: "LARGE", Value: strings.Repeat(string('a'+rune(i%26)), size)},
				}}}},
			}, metav1.CreateOptions{})
			return err
		})
	}
	world.Must(t, group.Wait())
	after := peak("beside-others")
	t.Logf("%d pods of %d bytes: %d MB, without them %d MB", pods, size, after>>20, before>>20)
	if grown := after - before; grown > pods*size {
		t.Errorf("the memory has grown by %d MB, more than the size of the pods", grown>>20)
	}
}
