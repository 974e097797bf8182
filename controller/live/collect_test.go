package live_test

import (
	"bytes"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/controller/live"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// A deleted Job is removed. The propagation policy decides whether its pods are deleted; by
// default they stay.
func TestDeleteJob(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy *metav1.DeletionPropagation
		pods   int
	}{
		{"background", new(metav1.DeletePropagationBackground), 0},
		{"foreground", new(metav1.DeletePropagationForeground), 0},
		{"orphan", new(metav1.DeletePropagationOrphan), 2},
		{"default", nil, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.start(live.Pods(live.Run()))
				w.create("kept", indexed(1))
				w.create("job", indexed(2))
				time.Sleep(5 * time.Second)
				NoError(t, w.client.BatchV1().Jobs("default").Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: test.policy}))
				time.Sleep(time.Minute)
				if _, there := kube.Get[*batchv1.Job](w.Server, "default", "job"); there {
					t.Error("the Job is still there")
				}
				pods := slices.DeleteFunc(w.pods(), func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] == "kept" })
				if len(pods) != test.pods || len(w.pods()) != test.pods+1 {
					t.Errorf("%d of %d pods belong to the Job, want %d and one of the other Job", len(pods), len(w.pods()), test.pods)
				}
				for _, pod := range pods {
					if len(pod.OwnerReferences) > 0 || len(pod.Finalizers) > 0 || pod.DeletionTimestamp != nil {
						t.Errorf("the pod %s has the owners %v and the finalizers %v", pod.Name, pod.OwnerReferences, pod.Finalizers)
					}
				}
			})
		})
	}
}

// If the object of an operator is deleted, its Job and the pods of the Job are deleted too.
func TestDeleteOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := kube.New(kube.Options{Kinds: []kube.Kind{backupKind}})
		live.Start(t, server.Config(), live.Pods(live.Run()))
		user := startOperator(t, server.Config())
		for _, name := range []string{"nightly", "kept"} {
			NoError(t, user.Create(t.Context(), &Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		}
		time.Sleep(5 * time.Second)
		if got := len(kube.List[*corev1.Pod](server, "default")); got != 2 {
			t.Fatalf("there are %d pods, want 2", got)
		}
		NoError(t, user.Delete(t.Context(), &Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}))
		time.Sleep(time.Minute)
		jobs, pods := kube.List[*batchv1.Job](server, "default"), kube.List[*corev1.Pod](server, "default")
		if len(jobs) != 1 || jobs[0].Name != "kept" || len(pods) != 1 {
			t.Errorf("%d Jobs and %d pods are left, want those of the other object", len(jobs), len(pods))
		}
	})
}

// If an owner is created again, the dependents of the first owner are deleted.
func TestOwnerCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := kube.New(kube.Options{Kinds: []kube.Kind{backupKind}})
		user := startOperator(t, server.Config())
		backup := func() *Backup { return &Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}} }
		first := backup()
		NoError(t, user.Create(t.Context(), first))
		time.Sleep(time.Second)
		NoError(t, user.Delete(t.Context(), first))
		second := backup()
		NoError(t, user.Create(t.Context(), second))
		live.Start(t, server.Config(), live.Pods(live.Run()))
		time.Sleep(time.Hour) // the operator retries with an increasing delay
		job := &batchv1.Job{}
		NoError(t, user.Get(t.Context(), client.ObjectKeyFromObject(second), job))
		if !metav1.IsControlledBy(job, second) {
			t.Errorf("the Job belongs to %v, want the second object", job.OwnerReferences)
		}
	})
}

// A Job with ttlSecondsAfterFinished is deleted with its pods when that time has passed.
func TestTimeToLive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.start()
		w.create("job", func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(60)) })
		w.create("kept", nil)
		c.Ended("default", "job", time.Minute)
		for _, test := range []struct {
			after time.Duration
			left  int
		}{{50 * time.Second, 2}, {20 * time.Second, 1}} {
			time.Sleep(test.after)
			if got := len(kube.List[*batchv1.Job](w.Server, "default")); got != test.left || len(w.pods()) != test.left {
				t.Errorf("%v later there are %d Jobs and %d pods, want %d", test.after, got, len(w.pods()), test.left)
			}
		}
	})
}

// If orphaning a pod fails with a conflict, the Job stays until the pod has lost its owner
// reference. Otherwise the pod would be deleted with the Job.
func TestOrphanConflict(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start(live.Pods(live.Run()))
		w.create("job", indexed(1))
		time.Sleep(5 * time.Second)
		var conflicts atomic.Int32
		w.Server.Intercept(func(r *kube.Request) kube.Verdict {
			if r.Verb == "patch" && r.Resource.Resource == "pods" && bytes.Contains(r.Body, []byte("ownerReferences")) && conflicts.Load() < 2 {
				n := conflicts.Add(1)
				kube.Edit(w.Server, r.Namespace, r.Name, func(pod *corev1.Pod) { pod.Annotations = map[string]string{"conflict": strconv.Itoa(int(n))} })
			}
			return kube.Verdict{}
		})
		NoError(t, w.client.BatchV1().Jobs("default").Delete(t.Context(), "job", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}))
		time.Sleep(time.Minute)
		pods := w.pods()
		if conflicts.Load() != 2 || len(pods) != 1 || len(pods[0].OwnerReferences) > 0 {
			t.Errorf("after %d conflicts: %d pods, want one without an owner after 2", conflicts.Load(), len(pods))
		}
	})
}
