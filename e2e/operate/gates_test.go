package operate

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/server"
)

// A current API server whose gate JobManagedBy is switched off by emulation drops
// spec.managedBy, so the built-in controller runs the Jobs. The version of the server does not
// show that: jobfate's controller starts and ignores the Jobs.
func TestJobManagedByGateIsOff(t *testing.T) {
	if err := api.Restart(t.Context(), "--emulated-version=1.34", "--feature-gates=JobManagedBy=false"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	namespace, err := api.Namespace(t.Context(), "gates")
	if err != nil {
		t.Fatal(err)
	}
	managedBy := "jobfate.dev/gates"
	c := run(t, server.Options{Name: "gates", Args: []string{"--managed-by=" + managedBy}})
	awaitLog(t, c, "Starting workers")
	job, err := api.Client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{ManagedBy: &managedBy, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if job.Spec.ManagedBy != nil {
		t.Errorf("the stored Job names %s, want no name", *job.Spec.ManagedBy)
	}
}
