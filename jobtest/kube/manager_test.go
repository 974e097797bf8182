package kube_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// The default handlers wait for decades in a bubble: see the package kube.
func init() { utilruntime.ErrorHandlers = nil }

// jobReconciler is a typical Reconciler. It creates one pod per completion and counts those
// that succeeded.
type jobReconciler struct{ client.Client }

func (r *jobReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var job batchv1.Job
	if err := r.Get(ctx, req.NamespacedName, &job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels(job.Spec.Selector.MatchLabels)); err != nil {
		return ctrl.Result{}, err
	}
	succeeded := int32(0)
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodSucceeded {
			succeeded++
		}
	}
	// The pod names are fixed, so a stale cache does not lead to surplus pods.
	for i := range int(*job.Spec.Completions) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", job.Name, i), Namespace: job.Namespace, Labels: job.Spec.Template.Labels},
			Spec:       job.Spec.Template.Spec,
		}
		if err := controllerutil.SetControllerReference(&job, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == pod.Name }) {
			continue
		}
		if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	if succeeded == job.Status.Succeeded {
		return ctrl.Result{}, nil
	}
	before := job.DeepCopy()
	job.Status.Succeeded = succeeded
	return ctrl.Result{}, r.Status().Patch(ctx, &job, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func startManager(t *testing.T, ctx context.Context, s *kube.Server, options ctrl.Options) (ctrl.Manager, <-chan error) {
	t.Helper()
	options.Scheme = scheme.Scheme
	options.Metrics = server.Options{BindAddress: "0"}
	options.Controller = config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)}
	mgr := Must(ctrl.NewManager(s.Config(), options))
	NoError(t, ctrl.NewControllerManagedBy(mgr).For(&batchv1.Job{}).Owns(&corev1.Pod{}).Complete(&jobReconciler{mgr.GetClient()}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	settle()
	return mgr, ended
}

// settle runs everything that waits for at most a second, because caches are polled until
// they have synced.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		mgr, ended := startManager(t, ctx, s, ctrl.Options{})
		job := PlainJob("a")
		job.Spec.Completions = new(int32(3))
		NoError(t, mgr.GetClient().Create(ctx, job))
		kubelet := kube.Kubelet{Server: s}
		for steps := 0; ; steps++ {
			synctest.Wait()
			if !kubelet.Step(func(*corev1.Pod) (int32, bool) { return 0, true }) {
				break
			}
			if steps > 20 {
				t.Fatal("the pods do not end")
			}
		}
		stored, _ := kube.Get[*batchv1.Job](s, "default", "a")
		Same(t, "succeeded", stored.Status.Succeeded, 3)
		Same(t, "pods", len(kube.List[*corev1.Pod](s, "default")), 3)

		// Background deletion removes the Job first, and then its pods.
		NoError(t, mgr.GetClient().Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		// A Reconciler with a stale cache may create pods for a Job that is gone.
		for collector := (kube.Collector{Server: s}); collector.Run() > 0; {
			synctest.Wait()
		}
		Same(t, "pods left", len(kube.List[*corev1.Pod](s, "default")), 0)
		cancel()
		NoError(t, <-ended)
	})
}

func TestLeaderElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		options := ctrl.Options{LeaderElection: true, LeaderElectionID: "jobs", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true}
		first, stopFirst := context.WithCancel(t.Context())
		one, firstEnded := startManager(t, first, s, options)
		<-one.Elected()
		second, stopSecond := context.WithCancel(t.Context())
		two, secondEnded := startManager(t, second, s, options)
		time.Sleep(time.Minute)
		select {
		case <-two.Elected():
			t.Fatal("two managers lead at once")
		default:
		}
		stopFirst()
		NoError(t, <-firstEnded)
		start := time.Now()
		<-two.Elected()
		if waited := time.Since(start); waited > 20*time.Second {
			t.Errorf("the second manager waited %s to lead", waited)
		}
		NoError(t, two.GetClient().Create(second, PlainJob("a")))
		settle()
		Same(t, "pods", len(kube.List[*corev1.Pod](s, "default")), 1)
		// A leader whose renewals fail stops.
		s.Intercept(func(r *kube.Request) kube.Verdict {
			if r.Resource.Resource == "leases" && r.Verb == "update" {
				return kube.Verdict{Err: context.DeadlineExceeded}
			}
			return kube.Verdict{}
		})
		if err := <-secondEnded; err == nil {
			t.Error("the manager stopped without an error although it lost its lease")
		}
		stopSecond()
	})
}
