// Package operate tests what operators of jobfate's controller rely on: its permissions, flags,
// metrics, events and leases, and that it does not touch objects of other owners.
package operate

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
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

// removePod removes a pod at once, with its finalizers.
func removePod(w *world.World, name string) {
	w.T.Helper()
	pods := w.Client.CoreV1().Pods(w.Namespace)
	_, err := pods.Patch(w.T.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	w.Must(err)
	w.Must(pods.Delete(w.T.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}
