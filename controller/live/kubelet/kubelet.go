package kubelet

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// workers is the number of pods that are processed concurrently.
const workers = 8

// node is the node of all pods.
const node = "node"

// killed is the exit code of a container that SIGTERM ends.
const killed = 128 + 15

// Pod is the input of a script.
type Pod struct {
	*corev1.Pod        // read only
	Job         string // the name of its Job; empty without one
	Index       int    // its completion index; -1 without one
	Attempt     int    // the number of earlier pods of the same Job and index
}

// Script returns the life of a pod. It is called once for each pod, in the order of their
// events, and never concurrently.
type Script func(Pod) Life

// Always is the script that gives every pod the same life.
func Always(l Life) Script { return func(Pod) Life { return l } }

// Kubelet runs the pods of a namespace.
type Kubelet struct {
	client kubernetes.Interface
	script Script
	pods   cache.SharedIndexInformer
	queue  workqueue.TypedRateLimitingInterface[target]
	wait   func() // returns when all goroutines have ended

	mu       sync.Mutex
	records  map[types.UID]*record
	attempts map[attempt]int
	ended    map[types.UID]Ended
}

// target identifies a pod. The name alone may later be that of another pod.
type target struct {
	name cache.ObjectName
	uid  types.UID
}

// attempt is the key by which attempts are counted.
type attempt struct {
	owner types.UID
	index int
}

// record is the state that the kubelet keeps for a pod.
type record struct {
	life  Life
	due   step      // the step that it waits for
	since time.Time // the time at which it began to wait
	did   [remove + 1]bool
}

// Start runs the pods of a namespace until the context is done. The empty namespace means
// all.
func Start(ctx context.Context, client kubernetes.Interface, namespace string, script Script) *Kubelet {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(ctrlcache.TransformStripManagedFields()))
	k := &Kubelet{
		client: client, script: script,
		pods:     factory.Core().V1().Pods().Informer(),
		records:  map[types.UID]*record{},
		attempts: map[attempt]int{},
		ended:    map[types.UID]Ended{},
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[target]()),
	}
	k.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.meet(nil, o.(*corev1.Pod)) },
		UpdateFunc: func(old, o any) { k.meet(old.(*corev1.Pod), o.(*corev1.Pod)) },
		DeleteFunc: k.forget,
	})
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { k.work(ctx) })
	}
	context.AfterFunc(ctx, k.queue.ShutDown)
	k.wait = func() {
		running.Wait()
		factory.Shutdown()
	}
	return k
}

// Wait waits until the kubelet has stopped, after the context of [Start] is done.
func (k *Kubelet) Wait() { k.wait() }

// Become changes the life of some pods from now on. It has no effect on pods that have
// ended.
func (k *Kubelet) Become(l Life, pods ...*corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range pods {
		r := k.know(pod)
		r.life, r.since = l, time.Now()
		k.queue.Add(targetOf(pod))
	}
}

func targetOf(pod *corev1.Pod) target {
	return target{cache.MetaObjectToName(pod), pod.UID}
}

func (k *Kubelet) meet(before, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.know(pod)
	k.deleted(before, pod)
	k.queue.Add(targetOf(pod))
}

// know returns the record of a pod. For a new pod it first calls the script.
func (k *Kubelet) know(pod *corev1.Pod) *record {
	r := k.records[pod.UID]
	if r == nil {
		r = &record{life: k.script(k.view(pod)), since: time.Now()}
		k.records[pod.UID] = r
	}
	return r
}

func (k *Kubelet) forget(o any) {
	tombstone, unseen := o.(cache.DeletedFinalStateUnknown)
	if unseen {
		o = tombstone.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.records, pod.UID)
	if _, known := k.ended[pod.UID]; unseen && !known && tracked(pod) {
		k.ended[pod.UID] = Ended{Pod: pod, Tracked: true, Doubtful: true}
	}
}

// view returns the input of the script, and counts the attempt.
func (k *Kubelet) view(pod *corev1.Pod) Pod {
	p := Pod{Pod: pod, Index: -1}
	if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
		p.Index = index
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		p.Job = owner.Name
		of := attempt{owner.UID, p.Index}
		p.Attempt = k.attempts[of]
		k.attempts[of]++
	}
	return p
}

func (k *Kubelet) work(ctx context.Context) {
	for {
		t, over := k.queue.Get()
		if over {
			return
		}
		err := k.serve(ctx, t)
		if err == nil {
			k.queue.Forget(t)
		} else if ctx.Err() == nil {
			k.queue.AddRateLimited(t)
		}
		k.queue.Done(t)
	}
}

// serve performs the step that is due for a pod, or requeues the pod for it.
func (k *Kubelet) serve(ctx context.Context, t target) error {
	found, exists, err := k.pods.GetStore().GetByKey(t.name.String())
	if err != nil || !exists {
		return err
	}
	pod := found.(*corev1.Pod)
	if pod.UID != t.uid {
		return nil
	}
	due, life, wait := k.due(pod)
	if due == rest {
		return nil
	}
	if wait > 0 {
		k.queue.AddAfter(t, wait)
		return nil
	}
	if err := k.do(ctx, pod, due, life); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.records[t.uid]; r != nil {
		r.did[due] = true
	}
	return nil
}

// due returns the next step and how long to wait before it. It does not repeat a step that
// the cache does not show yet.
func (k *Kubelet) due(pod *corev1.Pod) (step, Life, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.records[pod.UID]
	if r == nil {
		return rest, Life{}, 0
	}
	due, after := next(pod, r.life)
	if due == rest || r.did[due] || due == stop && r.did[end] {
		return rest, r.life, 0
	}
	if r.due != due {
		r.due, r.since = due, time.Now()
	}
	return due, r.life, after - time.Since(r.since)
}

func (k *Kubelet) do(ctx context.Context, pod *corev1.Pod, due step, life Life) error {
	var err error
	switch due {
	case bind:
		err = k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
	case run:
		_, err = k.patch(ctx, pod, cluster.RunningStatus(pod, life.run(), time.Now()))
	case end:
		err = k.end(ctx, pod, cluster.EndedStatus(pod, life.run(), life.End, time.Now()))
	case stop:
		how := End{Exit: killed}
		if life.Stop != nil {
			how = *life.Stop
		}
		err = k.end(ctx, pod, cluster.EndedStatus(pod, life.run(), how, time.Now()))
	case remove:
		err = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	}
	// The pod is gone, or another pod has its name.
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (k *Kubelet) end(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	remember := k.ends(pod, status)
	answer, err := k.patch(ctx, pod, status)
	if err == nil || apierrors.IsNotFound(err) {
		remember(answer)
	}
	return err
}

// patch changes the status of a pod. The UID makes it fail for another pod of the same name.
func (k *Kubelet) patch(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) (*corev1.Pod, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]types.UID{"uid": pod.UID}, "status": status})
	if err != nil {
		return nil, err
	}
	answer, err := k.client.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, err
	}
	return answer, nil
}
