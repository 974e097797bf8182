package chaos_test

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
)

// A Reconciler that feeds its Machines as the documentation of Feed says violates no property.
func TestFeed(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r, changed, listed := newReconciler(env), map[types.NamespacedName]map[string]bool{}, map[*machine.Machine]bool{}
		jobs := func(namespace string) (all []*batchv1.Job) {
			for _, o := range env.Jobs.List() {
				if job := o.(*batchv1.Job); job.Namespace == namespace {
					all = append(all, job)
				}
			}
			return all
		}
		mark := func(o any) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			pod := o.(*corev1.Pod)
			for _, name := range machine.RouteOf(nil, pod, jobs) {
				if changed[name] == nil {
					changed[name] = map[string]bool{}
				}
				changed[name][pod.Name] = true
			}
		}
		_, err := env.Informer(&corev1.Pod{}).AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: mark, DeleteFunc: mark, UpdateFunc: func(before, after any) { mark(before); mark(after) }})
		if err != nil {
			t.Error(err)
		}
		r.beforeBegin = func(_ context.Context, m *machine.Machine, v *machine.View) {
			if v.Job == nil {
				return
			}
			name := client.ObjectKeyFromObject(v.Job)
			for v.Fed = listed[m]; v.Fed && len(changed[name]) > 0; {
				names := changed[name]
				delete(changed, name)
				for n := range names {
					o, _, _ := env.Pods.GetByKey(name.Namespace + "/" + n)
					pod, _ := o.(*corev1.Pod)
					m.Feed(n, pod)
				}
			}
			listed[m] = true
		}
		return r
	})
}
