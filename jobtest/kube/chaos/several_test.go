package chaos_test

import (
	"context"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/backoff"
	engine "github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
)

// crossJobBugs are bugs through which one Job affects another. They have no effect with one
// Job in the cluster.
var crossJobBugs = []struct {
	name, property string
	with           func(*chaos.Env, *reconciler)
}{
	{"pods are selected by their labels and not by the UID of their owner", "S1 S2 S4 S10 S15", byLabel},
	{"the pods of another Job are treated as orphans", "S2 S15", stripsOthers},
	{"creations in flight are counted for the namespace", "S5 S6", expecting(func(of types.NamespacedName) string { return of.Namespace })},
	{"creations in flight are counted by the name of the Job without its namespace", "S5 S6", expecting(func(of types.NamespacedName) string { return of.Name })},
	{"all Jobs share a backoff record", "S12 L5", func(_ *chaos.Env, r *reconciler) {
		var shared backoff.Record
		var current *machine.Machine
		r.beforeBegin = func(_ context.Context, m *machine.Machine, _ *machine.View) {
			if current != nil {
				shared = inside.Memory(current).Backoff
			}
			current = m
			inside.Memory(m).Backoff = shared
		}
	}},
	{"Jobs of one name share a Machine", "S5 S6 S7", func(_ *chaos.Env, r *reconciler) {
		r.key = func(name types.NamespacedName) types.NamespacedName { return types.NamespacedName{Name: name.Name} }
	}},
	{"every status goes to the namespace default", "S15 L1 L2 L4 L5", func(_ *chaos.Env, r *reconciler) {
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			if q.Verb == machine.PatchStatus {
				q.Namespace = "default"
			}
			return r.serve(ctx, q)
		}
	}},
}

// byLabel treats the pods that a Job selects as its own if any Job controls them.
var byLabel = looking(func(v *machine.View) {
	if v.Job == nil {
		return
	}
	selector, _ := metav1.LabelSelectorAsSelector(v.Job.Spec.Selector) // is valid
	for _, pod := range v.Pods {
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" && selector.Matches(labels.Set(pod.Labels)) {
			owner.Name, owner.UID = v.Job.Name, v.Job.UID
			pod.OwnerReferences = []metav1.OwnerReference{*owner}
		}
	}
})

// stripsOthers removes the finalizer from all pods in the namespace that other Jobs
// control.
func stripsOthers(_ *chaos.Env, r *reconciler) {
	r.beforeBegin = func(ctx context.Context, _ *machine.Machine, v *machine.View) {
		if v.Job == nil {
			return
		}
		for _, pod := range v.Pods {
			owner := metav1.GetControllerOf(pod)
			if owner == nil || owner.Kind != "Job" || owner.UID == v.Job.UID || !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
				continue
			}
			next := pod.DeepCopy()
			next.Finalizers = nil
			_ = r.Patch(ctx, next, client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})) // another sync tries again
		}
	}
}

// expecting counts created pods by a key until events show them, like the expectations of
// client-go controllers. It drops the key when no creation is in flight. Each Job starts a
// new count.
func expecting(key func(types.NamespacedName) string) func(*chaos.Env, *reconciler) {
	type expectation struct {
		of types.NamespacedName
		n  int
	}
	return func(env *chaos.Env, r *reconciler) {
		expected := map[string]*expectation{}
		created := map[types.UID]string{}
		var current types.NamespacedName
		_, _ = env.Informer(&corev1.Pod{}).AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
			if k, ok := created[o.(*corev1.Pod).UID]; ok {
				expected[k].n--
			}
		}})
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			o, err := r.serve(ctx, q)
			if pod, ok := o.(*corev1.Pod); ok && err == nil && q.Verb == machine.CreatePod {
				k := key(current)
				if expected[k] == nil || expected[k].of != current {
					expected[k] = &expectation{of: current}
				}
				created[pod.UID] = k
				expected[k].n++
			}
			return o, err
		}
		r.beforeBegin = func(_ context.Context, m *machine.Machine, _ *machine.View) {
			for name, other := range r.machines {
				if other == m {
					current = name
				}
			}
			if e := expected[key(current)]; e != nil && e.n <= 0 {
				inside.Memory(m).Created = nil
			}
		}
	}
}

// The schedules find each of these bugs with two Jobs in the cluster. With one Job, few schedules
// find none: a Job that is made again is another Job, too.
func TestCrossJobBugs(t *testing.T) {
	for _, bug := range crossJobBugs {
		t.Run(bug.name, func(t *testing.T) {
			factory := with(bug.with)
			checkReport(t, chaos.Config{Schedules: 4000, Jobs: engine.Jobs}.Search(t, factory), bug.property)
			alone := func(seed uint64) []*batchv1.Job { return []*batchv1.Job{engine.Job(seed)} }
			if r := (chaos.Config{Schedules: 60, Jobs: alone}).Search(t, factory); r.Violation != nil {
				t.Errorf("with one Job: %v", r.Story)
			}
		})
	}
}
