package operate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// On the API servers of older releases the controller logs which features they lack, and runs Jobs. The
// flag -kubernetes=1.35.4 runs a server that is older, and not only emulates it.
func TestOlderServers(t *testing.T) {
	const managed, restartRules, resources = "spec.managedBy", "restart rules", "resources of a suspended Job"
	own, err := api.Minor()
	world.Must(t, err)
	defer restore(t)
	for _, release := range []struct {
		minor int
		lacks []string
	}{{35, []string{resources}}, {36, nil}} {
		if !emulates(own, release.minor) {
			continue
		}
		world.Must(t, api.Restart(t.Context(), fmt.Sprintf("--emulated-version=1.%d", release.minor)))
		name := fmt.Sprintf("minor-%d", release.minor)
		c := world.Start(t, api, server.Options{Name: name})
		w := newWorld(t, c, kubelet.Succeed())
		w.Create(at(3))
		w.Until("succeeded=3 completed=0-2 " + world.Completed)
		line := c.Log("lacks features", 1)
		for _, feature := range []string{managed, restartRules, resources} {
			if got, want := strings.Contains(line, feature), slices.Contains(release.lacks, feature); got != want {
				t.Errorf("1.%d lacks %s: logged %t, want %t: %s", release.minor, feature, got, want, line)
			}
		}
		c.Kill()
	}
}

// emulates reports whether a server can emulate a minor version: its own, and the three before.
func emulates(own, minor int) bool { return own-3 <= minor && minor <= own }

func restore(t *testing.T) {
	if err := api.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

// Up to 1.34 the gate JobManagedBy can be off. The API server then drops spec.managedBy, so the
// built-in controller runs the Jobs. The version of the server does not show that: jobfate's
// controller starts and ignores the Jobs.
func TestJobManagedByGateIsOff(t *testing.T) {
	own, err := api.Minor()
	world.Must(t, err)
	if !emulates(own, 34) {
		t.Skip("the gate is always on from 1.35 on")
	}
	world.Must(t, api.Restart(t.Context(), "--emulated-version=1.34", "--feature-gates=JobManagedBy=false"))
	defer restore(t)
	namespace, err := api.Namespace(t.Context(), "gates")
	world.Must(t, err)
	c := world.Start(t, api, server.Options{Name: "gates"})
	awaitLog(t, c.Controller, "Starting workers")
	job, err := api.Client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{ManagedBy: c.ManagedBy, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
		}}},
	}, metav1.CreateOptions{})
	world.Must(t, err)
	if job.Spec.ManagedBy != nil {
		t.Errorf("the stored Job names %s, want no name", *job.Spec.ManagedBy)
	}
}
