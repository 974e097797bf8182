package chaos_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/internal/memory"
	engine "github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
)

// planted are bugs that need clients, informers or a Reconciler; package jobtest/chaos has the others. The test injects
// each into the correct Reconciler, and a schedule must find it.
var planted = []struct {
	name, property string
	with           func(*chaos.Env, *reconciler)
	cause          string // a text that the report must contain
}{
	{name: "a restart trusts caches that are older than the last creation", property: "S1 S5 S6 S19 S21", with: func(_ *chaos.Env, r *reconciler) {
		r.live = r.Client
		r.beforeBegin = func(_ context.Context, _ *machine.Machine, v *machine.View) { v.Barrier = "1" }
	}},
	{name: "a decision is dropped after its buffers were reused", property: "L1 L2 S1", with: func(_ *chaos.Env, r *reconciler) {
		n := 0
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			if n++; q.Verb == machine.PatchStatus && n > 5 {
				return &batchv1.Job{}, nil
			}
			return r.serve(ctx, q)
		}
	}},
	{name: "a delete event is handled between the list and its use", property: "S1 S11", with: racing},
	{name: "the version of the cache is read after its pods", property: "S1 S5 S6 S7", with: func(_ *chaos.Env, r *reconciler) {
		r.beforeBegin = func(ctx context.Context, m *machine.Machine, v *machine.View) {
			_ = r.live.Get(ctx, types.NamespacedName{Namespace: "default", Name: "job"}, &batchv1.Job{}) // any request
			v.PodsVersion = r.env.Pods.LastStoreSyncResourceVersion()
		}
	}},
	{name: "an error discards RequeueAfter", property: "L5", cause: "which discards it", with: func(_ *chaos.Env, r *reconciler) {
		r.last = func(result machine.Result) (reconcile.Result, error) {
			return reconcile.Result{RequeueAfter: result.Requeue}, result.Err
		}
	}},
	{name: "the test itself reports a violation", property: "own", with: func(env *chaos.Env, r *reconciler) {
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			o, err := r.serve(ctx, q)
			if apierrors.IsTimeout(err) {
				env.Fail("a request took too long")
			}
			return o, err
		}
	}},
	{name: "raw delete options drop the UID", property: "S15", with: func(_ *chaos.Env, r *reconciler) {
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			if q.Verb != machine.DeletePod {
				return r.serve(ctx, q)
			}
			pod := &corev1.Pod{}
			pod.Namespace, pod.Name = q.Namespace, q.Name
			raw := q.Options // is changed: that is the bug
			return nil, r.Delete(ctx, pod, &client.DeleteOptions{Raw: &raw})
		}
	}},
}

func looking(bug func(*machine.View)) func(*chaos.Env, *reconciler) {
	return func(_ *chaos.Env, r *reconciler) {
		r.beforeBegin = func(_ context.Context, _ *machine.Machine, v *machine.View) { bug(v) }
	}
}

// racing records in an event handler which pods are gone, and forgets that it removed their
// finalizers. It lists the pods, makes a request, and only then reads which pods are gone.
// The list may still show these pods with the finalizer.
func racing(env *chaos.Env, r *reconciler) {
	gone := map[types.UID]bool{}
	_, _ = env.Informer(&corev1.Pod{}).AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) {
		if pod, ok := o.(*corev1.Pod); ok {
			gone[pod.UID] = true
		}
	}})
	r.beforeBegin = func(ctx context.Context, m *machine.Machine, v *machine.View) {
		_ = r.live.Get(ctx, types.NamespacedName{Namespace: "default", Name: "job"}, &batchv1.Job{}) // any request
		maps.DeleteFunc(inside.Memory(m).Stripped, func(uid types.UID, _ memory.Stripped) bool { return gone[uid] })
	}
}

// with makes the correct Reconciler with a bug.
func with(bug func(*chaos.Env, *reconciler)) func(*chaos.Env) reconcile.Reconciler {
	return func(env *chaos.Env) reconcile.Reconciler {
		r := newReconciler(env)
		bug(env, r)
		return r
	}
}

// checkReport checks that a bug was found, and that the report fits on a screen and says what is violated.
func checkReport(t *testing.T, r engine.Report, property string) {
	t.Helper()
	if r.Violation == nil || !slices.Contains(strings.Fields(property), r.Violation.Property) {
		t.Fatalf("found %v, want %s\n%s", r.Violation, property, r.Story)
	}
	t.Log(r.Story)
	if n := strings.Count(r.Story, "\n"); n > 60 || !strings.Contains(r.Story, r.Violation.Meaning()) {
		t.Errorf("a report of %d lines, want at most 60, with the meaning of the property", n)
	}
}

// A schedule finds each bug.
func TestPlanted(t *testing.T) {
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			r := chaos.Config{Schedules: 4000}.Search(t, with(bug.with))
			if checkReport(t, r, bug.property); !strings.Contains(r.Story, bug.cause) {
				t.Errorf("the report does not name the cause %q", bug.cause)
			}
		})
	}
}
