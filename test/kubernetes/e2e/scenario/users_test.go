package scenario

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// Actions of users, and checks that they have no effect.

// without returns the pods that are not in a list.
func without(pods, others []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(others, func(o *corev1.Pod) bool { return o.UID == p.UID })
	})
}

// standAside stops a controller until the test ends. Such a test must not run in parallel.
func standAside(t *testing.T, c *server.Controller) {
	t.Helper()
	world.Must(t, c.Stop())
	t.Cleanup(func() {
		if err := c.Start(); err != nil {
			t.Error(err)
		}
	})
}
