package controller

import (
	"maps"
	"sort"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/tracking"
)

// podCache holds the pods that are controlled by a Job or have no controller. A reflector fills it.
// Unlike an informer, it records which pods have changed. The cost of a sync therefore depends on
// the number of changed pods, and not on the number of pods of the Job.
type podCache struct {
	me        tracking.Controller
	transform func(*corev1.Pod)

	// notifying orders the changes and the calls of the handlers.
	notifying sync.Mutex
	handlers  []podHandler

	mu      sync.RWMutex
	pods    map[types.NamespacedName]*corev1.Pod
	groups  map[groupKey]*group
	version string // the resource version up to which the pods are complete
	changes int64  // the number of changes so far
	listed  int64  // the number of changes when the pods were last listed; 0: never listed
}

// podHandler is called for each change, in order. before is nil for a new pod, after for a
// deleted one. initial says that the pod existed before this process.
type podHandler func(before, after *corev1.Pod, initial bool)

// groupKey identifies the pods that one object controls. If controller is empty, it identifies the
// pods of a namespace that have no controller.
type groupKey struct {
	namespace  string
	controller types.UID
}

// group is a group of pods and the log of their changes.
type group struct {
	pods map[string]*corev1.Pod
	log  []change // in order
	// since is the number of a change. The log contains all changes after that one.
	since int64
}

type change struct {
	number int64
	pod    string
}

var (
	_ cache.ReflectorStore         = &podCache{}
	_ cache.ReflectorBookmarkStore = &podCache{}
	_ cache.TransformingStore      = &podCache{}
)

func newPodCache(me tracking.Controller, transform func(*corev1.Pod)) *podCache {
	return &podCache{
		me: me, transform: transform,
		pods: map[types.NamespacedName]*corev1.Pod{}, groups: map[groupKey]*group{},
	}
}

// position is the last change of a Job's pods that a Machine has read. The zero value means that it
// has read nothing.
type position struct {
	job    types.UID
	change int64
}

// reading is the result of a read of a Job's pods: all pods, or those that have changed.
type reading struct {
	version string
	// all lists all pods. It is unset if fed is true: then the Machine needs only the changed pods.
	all []*corev1.Pod
	fed bool
	// changed has the changed pods by name. A pod that is gone is nil.
	changed map[string]*corev1.Pod
	next    position
}

// read returns the pods of a Job, and the pods of its namespace without a controller. If the logs
// go back to the last position, it returns only the pods that have changed since.
func (c *podCache) read(job *batchv1.Job, last position) reading {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r := reading{version: c.version, next: position{job.UID, c.changes}}
	own, free := c.groups[groupKey{job.Namespace, job.UID}], c.groups[groupKey{job.Namespace, ""}]
	r.fed = last.job == job.UID && own.logs(last.change) && (free == nil || free.logs(last.change))
	for _, g := range []*group{own, free} {
		switch {
		case g == nil:
		case r.fed:
			for _, changed := range g.after(last.change) {
				if r.changed == nil {
					r.changed = map[string]*corev1.Pod{}
				}
				r.changed[changed.pod] = own.or(free, changed.pod)
			}
		default:
			r.all = g.appendTo(r.all)
		}
	}
	return r
}

// under returns the pods of a group.
func (c *podCache) under(key groupKey) []*corev1.Pod {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if g := c.groups[key]; g != nil {
		return g.appendTo(nil)
	}
	return nil
}

// filled reports whether the pods have been listed.
func (c *podCache) filled() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.listed > 0
}

// handle calls a function for each pod in the cache, and then for each change.
func (c *podCache) handle(h podHandler) {
	c.notifying.Lock()
	defer c.notifying.Unlock()
	for _, pod := range c.pods {
		h(nil, pod, true)
	}
	c.handlers = append(c.handlers, h)
}

// The methods below are called by the reflector, one at a time.

// Add adds a pod.
func (c *podCache) Add(obj any) error { return c.Update(obj) }

// Update changes a pod.
func (c *podCache) Update(obj any) error {
	pod := obj.(*corev1.Pod)
	c.apply(pod, c.keep(pod))
	return nil
}

// Delete removes a pod.
func (c *podCache) Delete(obj any) error {
	c.apply(obj.(*corev1.Pod), nil)
	return nil
}

// Replace replaces all pods with a list.
func (c *podCache) Replace(list []any, version string) error {
	c.notifying.Lock()
	defer c.notifying.Unlock()
	before, initial := c.pods, c.listed == 0
	c.mu.Lock()
	c.pods, c.groups = make(map[types.NamespacedName]*corev1.Pod, len(list)), map[groupKey]*group{}
	c.changes++
	c.listed, c.version = c.changes, version
	for _, obj := range list {
		if pod := c.keep(obj.(*corev1.Pod)); pod != nil {
			c.pods[client.ObjectKeyFromObject(pod)] = pod
			c.groupOf(pod).pods[pod.Name] = pod
		}
	}
	c.mu.Unlock()
	for name, pod := range before {
		if c.pods[name] == nil {
			c.notify(pod, nil, false)
		}
	}
	for name, pod := range c.pods {
		if old := before[name]; old == nil || old.ResourceVersion != pod.ResourceVersion {
			c.notify(old, pod, initial)
		}
	}
	return nil
}

// Bookmark says that the pods are complete up to a version.
func (c *podCache) Bookmark(version string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	return nil
}

// Resync does nothing.
func (c *podCache) Resync() error { return nil }

// Transformer drops unused fields while pods are listed.
func (c *podCache) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return dropUnused(c.me, pod, c.transform), nil
		}
		return obj, nil
	}
}

// keep returns the part of a pod that the cache holds, or nil if an object of another kind controls
// the pod. If the pod loses that controller, it is new to the cache.
func (c *podCache) keep(pod *corev1.Pod) *corev1.Pod {
	if ofOthers(c.me, pod) {
		return nil
	}
	return dropUnused(c.me, pod, c.transform)
}

// apply stores the new state of a pod. after is nil if the pod is gone.
func (c *podCache) apply(sent, after *corev1.Pod) {
	c.notifying.Lock()
	defer c.notifying.Unlock()
	name := client.ObjectKeyFromObject(sent)
	before := c.pods[name]
	if before != nil && after != nil && before.UID == after.UID {
		share(before, after)
	}
	c.mu.Lock()
	c.version = sent.ResourceVersion
	if before != nil || after != nil {
		c.changes++
		if before != nil && (after == nil || keyOf(before) != keyOf(after)) {
			c.leave(before)
		}
		if after != nil {
			g := c.groupOf(after) // the pod is new there, or has changed
			g.pods[after.Name] = after
			g.record(change{c.changes, after.Name})
			c.pods[name] = after
		} else {
			delete(c.pods, name)
		}
	}
	c.mu.Unlock()
	if before != nil || after != nil {
		c.notify(before, after, false)
	}
}

// leave records that a pod is no longer in its group. It deletes a controller's group that has no
// pods left. If the Job gets pods again, its Machine reads them all.
func (c *podCache) leave(pod *corev1.Pod) {
	g := c.groupOf(pod)
	delete(g.pods, pod.Name)
	g.record(change{c.changes, pod.Name})
	if key := keyOf(pod); len(g.pods) == 0 && key.controller != "" {
		delete(c.groups, key)
	}
}

// groupOf returns the group of a pod, and creates it if needed. The log of a new group starts at
// its creation. The group of pods without a controller is never deleted, so its log starts at the
// list: no such pod has existed since then.
func (c *podCache) groupOf(pod *corev1.Pod) *group {
	key := keyOf(pod)
	g := c.groups[key]
	if g == nil {
		g = &group{pods: map[string]*corev1.Pod{}, since: c.listed}
		if key.controller != "" {
			g.since = c.changes
		}
		c.groups[key] = g
	}
	return g
}

func (c *podCache) notify(before, after *corev1.Pod, initial bool) {
	for _, h := range c.handlers {
		h(before, after, initial)
	}
}

// logs reports whether the log contains all changes after the given number.
func (g *group) logs(number int64) bool { return g != nil && number >= g.since }

// after returns the changes after the given number.
func (g *group) after(number int64) []change {
	return g.log[sort.Search(len(g.log), func(i int) bool { return g.log[i].number > number }):]
}

// or returns the pod with a name in one of two groups, or nil if neither has it.
func (g *group) or(other *group, name string) *corev1.Pod {
	if pod := g.pods[name]; pod != nil || other == nil {
		return pod
	}
	return other.pods[name]
}

func (g *group) appendTo(pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range g.pods {
		pods = append(pods, pod)
	}
	return pods
}

// record adds a change to the log. It limits the length of the log to about twice the number of
// pods. A Machine that falls further behind reads the whole group, which costs no more.
func (g *group) record(c change) {
	g.log = append(g.log, c)
	if drop := len(g.log) / 2; drop > 512+len(g.pods) {
		g.since = g.log[drop-1].number
		g.log = append([]change(nil), g.log[drop:]...)
	}
}

func keyOf(pod *corev1.Pod) groupKey {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return groupKey{pod.Namespace, ref.UID}
	}
	return groupKey{namespace: pod.Namespace}
}

// ofOthers reports whether an object of another kind controls a pod, even if the owner reference
// has the UID of a Job.
func ofOthers(me tracking.Controller, pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && !me.Owns(ref)
}

// dropUnused drops unused fields of a pod. If an object of another kind controls the pod, it drops
// nearly all fields, because only the loss of that controller matters.
func dropUnused(me tracking.Controller, pod *corev1.Pod, more func(*corev1.Pod)) *corev1.Pod {
	if ofOthers(me, pod) {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			OwnerReferences: pod.OwnerReferences,
		}}
	}
	pod.ManagedFields = nil
	if pod.Status.Phase != corev1.PodPending {
		pod.Spec = startedSpec(&pod.Spec)
	}
	if more != nil {
		more(pod)
	}
	return pod
}

// share makes a pod use the metadata of its previous version where they are equal. A Machine holds
// the previous version until the next sync of the Job, so there may be two versions of many pods.
func share(before, after *corev1.Pod) {
	after.Name, after.Namespace, after.UID = before.Name, before.Namespace, before.UID
	if maps.Equal(before.Labels, after.Labels) {
		after.Labels = before.Labels
	}
	if maps.Equal(before.Annotations, after.Annotations) {
		after.Annotations = before.Annotations
	}
	if equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) {
		after.OwnerReferences = before.OwnerReferences
	}
}

// startedSpec returns the part of a spec that decisions and explanations read once the pod has started.
func startedSpec(spec *corev1.PodSpec) corev1.PodSpec {
	started := corev1.PodSpec{
		NodeName: spec.NodeName, RestartPolicy: spec.RestartPolicy,
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		started.InitContainers = append(started.InitContainers,
			corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
	}
	return started
}
