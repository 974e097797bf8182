package controller

import (
	"sort"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobfate/jobfate/tracking"
)

// podCache holds the pods that a Job or no object controls. A reflector fills it. Unlike an
// informer, it knows which pods have changed up to its version, so that a sync costs what has
// changed, however many pods the Job has.
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
	listed  int64  // that number when the pods were listed last; 0: never
}

// podHandler is called for each change, in order. before is nil for a new pod, after for a
// deleted one. initial says that the pod existed before this process.
type podHandler func(before, after *corev1.Pod, initial bool)

// groupKey names the pods of one controller; without a controller, the pods of a namespace that
// have none.
type groupKey struct {
	namespace  string
	controller types.UID
}

// group is a group of pods and the log of their changes.
type group struct {
	pods map[string]*corev1.Pod
	log  []change // in order
	// since is the number of a change: the log has all later ones.
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

// position is what a Machine has read of the pods of a Job. The zero value is nothing.
type position struct {
	job    types.UID
	change int64
}

// reading is what a Machine reads of the pods of a Job.
type reading struct {
	version string
	// all are the pods, unless the Machine has only to be fed with those that have changed.
	all []*corev1.Pod
	fed bool
	// changed are the changed pods by name, nil for a pod that is gone.
	changed map[string]*corev1.Pod
	next    position
}

// read returns the pods of a Job and the pods of its namespace without a controller, or which of
// them have changed since an earlier reading, if that is known.
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
			c.pods[nameOfPod(pod)] = pod
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

// keep returns the part of a pod that the cache holds; nil if an object of another kind controls
// it. If it loses that controller, it is a new pod.
func (c *podCache) keep(pod *corev1.Pod) *corev1.Pod {
	if ofOthers(c.me, pod) {
		return nil
	}
	return dropUnused(c.me, pod, c.transform)
}

// apply stores the new state of a pod, nil if it is gone.
func (c *podCache) apply(sent, after *corev1.Pod) {
	c.notifying.Lock()
	defer c.notifying.Unlock()
	name := nameOfPod(sent)
	before := c.pods[name]
	c.mu.Lock()
	c.version = sent.ResourceVersion
	if before != nil || after != nil {
		c.changes++
		if before != nil && (after == nil || keyOf(before) != keyOf(after)) {
			c.leave(before)
		}
		if after != nil {
			c.enter(after)
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

// enter records that a pod is new in its group, or has changed there.
func (c *podCache) enter(pod *corev1.Pod) {
	g := c.groupOf(pod)
	g.pods[pod.Name] = pod
	g.record(change{c.changes, pod.Name})
}

// leave records that a pod is no longer in its group. A controller's group without pods goes:
// the Job reads it as a list when it has pods again.
func (c *podCache) leave(pod *corev1.Pod) {
	g := c.groupOf(pod)
	delete(g.pods, pod.Name)
	g.record(change{c.changes, pod.Name})
	if key := keyOf(pod); len(g.pods) == 0 && key.controller != "" {
		delete(c.groups, key)
	}
}

// groupOf returns the group of a pod. The log of a new group has all changes of it: a group
// without a controller has not existed since the list, and another one is read from its
// creation on.
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

// logs reports whether the log has all changes after a change.
func (g *group) logs(number int64) bool { return g != nil && number >= g.since }

// after returns the changes after a change.
func (g *group) after(number int64) []change {
	return g.log[sort.Search(len(g.log), func(i int) bool { return g.log[i].number > number }):]
}

// or returns a pod of one of two groups, nil if neither has it.
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

// record adds a change to the log, and keeps the log within about twice the number of pods. Who
// reads less often reads a list, which is no longer.
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

func nameOfPod(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// ofOthers reports whether an object of another kind controls a pod, even if the owner reference
// has the UID of a Job.
func ofOthers(me tracking.Controller, pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && !me.Owns(ref)
}

// dropUnused drops unused fields of a pod: nearly all fields of a pod that an object of another
// kind controls, of which only the loss of its controller matters.
func dropUnused(me tracking.Controller, pod *corev1.Pod, more func(*corev1.Pod)) *corev1.Pod {
	if ofOthers(me, pod) {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			OwnerReferences: pod.OwnerReferences,
		}}
	}
	pod.ManagedFields = nil
	if more != nil {
		more(pod)
	}
	return pod
}
