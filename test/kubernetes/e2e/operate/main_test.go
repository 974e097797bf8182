// Package operate tests what operators of jobfate's controller rely on: its permissions, flags,
// metrics, events and leases, and that it does not touch objects of other owners.
package operate

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var api *server.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 16, nil)) }

// start starts a controller behind a proxy, for Jobs that name it.
func start(t *testing.T, name string, o server.Options) (*proxy.Proxy, world.Side) {
	t.Helper()
	p := world.Proxy(t, api)
	o.Name, o.Via, o.Metrics = name, p.Config, true
	return p, world.Start(t, api, o)
}

// run starts a controller until the test ends.
func run(t *testing.T, o server.Options) *server.Controller {
	t.Helper()
	return world.Run(t, api.Jobfate, o)
}

// await waits until a function reports nothing missing.
func await(t *testing.T, what string, missing func() string) {
	t.Helper()
	observe.Await(t, observe.DefaultPatience, what, missing)
}

// awaitLog waits until a controller has logged a text.
func awaitLog(t *testing.T, c *server.Controller, text string) {
	t.Helper()
	await(t, c.Name+" logs "+text, func() string {
		if c.Log(text, 1) == "" {
			return c.Log("", 5)
		}
		return ""
	})
}

// sum adds up the series of a metric whose labels contain some texts.
func sum(t *testing.T, c *server.Controller, name string, labels ...string) (n float64) {
	t.Helper()
	all, err := c.Metrics(t.Context())
	world.Must(t, err)
	for series, value := range all {
		if strings.HasPrefix(series, name+"{") && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(series, l) }) {
			n += value
		}
	}
	return n
}

func createPod(w *world.World, pod *corev1.Pod) *corev1.Pod {
	w.T.Helper()
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = world.PodSpec().Containers
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	made, err := w.Client.CoreV1().Pods(w.Namespace).Create(w.T.Context(), pod, metav1.CreateOptions{})
	w.Must(err)
	return made
}

func getPod(w *world.World, name string) *corev1.Pod {
	w.T.Helper()
	pod, err := w.Client.CoreV1().Pods(w.Namespace).Get(w.T.Context(), name, metav1.GetOptions{})
	w.Must(err)
	return pod
}

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
