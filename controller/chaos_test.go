package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// Random schedules of faults for the Job controller and the orphan controller.
func TestSchedules(t *testing.T) {
	o := Options{ManagedBy: managedBy}
	schedules(t, chaos.Config{ManagedBy: managedBy}, o, func(_ *chaos.Env, api clients) objects { return jobs{api} })
}

// Random schedules of faults for the controllers that AddKind adds, with their own kind and keys.
// The schedules store the objects as Jobs: these controllers use only their spec and their status.
func TestSchedules_ofAKind(t *testing.T) {
	kind := Kind[*batchv1.Job]{
		Spec:   func(job *batchv1.Job) batchv1.JobSpec { return job.Spec },
		Status: func(job *batchv1.Job) *batchv1.JobStatus { return &job.Status },
		Keys:   tracking.Keys{Finalizer: "example.com/counted", Index: "example.com/trial", FailureCount: "example.com/failures"},
	}
	config := chaos.Config{Schedules: 300, Rules: referee.Rules{Owner: sweepKind.GroupKind(), Keys: kind.Keys}}
	schedules(t, config, Options{ReplaceBuiltIn: true}, func(env *chaos.Env, api clients) objects {
		return customKind[*batchv1.Job]{Kind: kind, clients: api, gvk: sweepKind, own: liveClient{env.Client, env.Live}}
	})
}

// liveClient is a client whose Get reads live.
type liveClient struct {
	client.Client
	live client.Reader
}

func (liveClient) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.ErrUnsupported
}

func (r liveClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return r.live.Get(ctx, key, o, options...)
}

// schedules tests the controllers of the objects that the function what returns.
func schedules(t *testing.T, config chaos.Config, o Options, what func(*chaos.Env, clients) objects) {
	config.Requests = []string{"default/"}
	config.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		c := scheduled(env, o, what)
		return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			c.stores[""].barrier = env.Barrier()
			if r.Name != "" {
				return c.Reconcile(ctx, r)
			}
			if err := mirror(c.stores[""].pods, env.Pods); err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{}, freeAll(ctx, c)
		})
	})
}

// scheduled returns a controller that uses the caches and the API server of a schedule.
func scheduled(env *chaos.Env, o Options, what func(*chaos.Env, clients) objects) *controller {
	runs := what(env, clientsOf(Must(kubernetes.NewForConfig(env.Config()))))
	c := Must(newController(Must(o.complete()), runs))
	pods := newPodCache(c.me, nil)
	c.stores[""] = &store{jobs: podsAfterJob{env.Jobs, pods, env.Pods}, pods: pods}
	c.recorder = &record.FakeRecorder{}
	env.RateLimiter = c.retries
	c.metrics = Must(newMetrics(prometheus.NewRegistry(), tracking.Keys{}))
	return c
}

// podsAfterJob updates the cache of pods after each read of a Job, so that the pods are at least as
// new as the Job.
type podsAfterJob struct {
	cache.Indexer
	pods  *podCache
	shown cache.Store
}

func (p podsAfterJob) GetByKey(key string) (any, bool, error) {
	job, ok, err := p.Indexer.GetByKey(key)
	return job, ok, errors.Join(err, mirror(p.pods, p.shown))
}

// mirror brings a cache to the state of the lagging cache of a schedule: usually change by change,
// sometimes with a new list. It passes copies of the pods, because the cache drops fields of its
// pods.
func mirror(pods *podCache, shown cache.Store) error {
	version, list, there := shown.LastStoreSyncResourceVersion(), shown.List(), map[types.NamespacedName]bool{}
	for i, obj := range list {
		pod := *obj.(*corev1.Pod)
		list[i], there[client.ObjectKeyFromObject(&pod)] = &pod, true
	}
	if pods.changes%7 == 0 {
		return pods.Replace(list, version)
	}
	for _, obj := range list {
		pod := obj.(*corev1.Pod)
		if old := pods.pods[client.ObjectKeyFromObject(pod)]; old == nil || old.UID != pod.UID || old.ResourceVersion != pod.ResourceVersion {
			if err := pods.Update(pod); err != nil {
				return err
			}
		}
	}
	for name, pod := range pods.pods {
		if !there[name] {
			if err := pods.Delete(pod); err != nil {
				return err
			}
		}
	}
	return pods.Bookmark(version)
}

// freeAll frees all orphans in the cache, with and without an owner.
func freeAll(ctx context.Context, c *controller) (failed error) {
	var all []orphanKey
	for _, namespace := range []string{"default", "other"} {
		all = append(all, orphanKey{NamespacedName: types.NamespacedName{Namespace: namespace}})
	}
	byName := func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) }
	for _, pod := range slices.SortedFunc(maps.Values(c.stores[""].pods.pods), byName) {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && c.me.Owns(ref) {
			all = append(all, orphanKey{types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, ref.UID})
		}
	}
	for i, r := range all {
		if slices.Contains(all[:i], r) {
			continue
		}
		_, err := orphans{c}.Reconcile(ctx, r)
		failed = errors.Join(failed, err)
	}
	return failed
}
