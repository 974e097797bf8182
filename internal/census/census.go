package census

import (
	"cmp"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/classify"
)

// Census holds the classified pods of a Job, and what follows from them. Pods are added
// and removed one by one, in any order. The cost of a query depends on what has changed
// since the last one, and on the length of its result.
//
// Invariant: a new Census of the same pods has the same contents.
type Census struct {
	// Active, Ready and Terminating are the numbers of such pods.
	Active, Ready, Terminating int32
	// Succeeded and Failed are the numbers of such pods that are not recorded yet:
	// tracked, valid and not listed. Pods that match an Ignore rule are not in Failed.
	Succeeded, Failed int32
	// Changes counts the changes that may change a decision. A new version of an active pod that is
	// classified as before is none.
	Changes uint32
	// Restarts is the sum of the container restarts of pending and running pods.
	Restarts int64
	// UntilLost is the time until the next pod counts as lost, as of the last SetClassifier; 0 if none will.
	UntilLost time.Duration
	// Results holds the results of the last IndexResults.
	Results IndexResults

	classifier classify.Classifier
	// stripped has the pods whose finalizer has been removed, although their objects still
	// show it.
	stripped map[types.UID]bool

	own     int32                     // the number of pods that belong to the Job
	records table[types.UID, *Record] // all pods
	most    int32                     // the largest number of them so far
	// finishes holds the finish times of pods; nil if there are none, and with a backoff limit per
	// index until they are needed. finished is the number of these pods.
	finished int32
	finishes *ordered[finish]
	classes  classify.Classes
	// names has the records of the pods in the Job's namespace, by name; nil until they
	// are needed, and while there are few. No two pods have the same name.
	names map[string]*Record
	lists [lists]*ordered[*Record] // nil until they are needed
	// members counts the pods that belong to the lists, those that wait for a
	// replacement included.
	members [lists]int32

	*indexed // nil without indexes
}

// New returns an empty census with memory for n pods.
func New(c *classify.Classifier, n int) *Census {
	next := &Census{classifier: *c, records: newTable[types.UID, *Record](n)}
	if c.Indexed {
		next.indexed = &indexed{}
	}
	return next
}

// Len returns the number of the Job's pods.
func (c *Census) Len() int { return int(c.own) }

// IsSparse reports whether a new census of the same pods takes much less memory. Maps do not shrink.
func (c *Census) IsSparse() bool { return c.most >= 100 && c.records.len() < int(c.most/4) }

// Of returns the record of the pod with the UID; nil if there is none.
func (c *Census) Of(uid types.UID) *Record { return c.records.get(uid) }

// All yields the records of the Job's pods, in no particular order.
func (c *Census) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, r := range c.records.all() {
			if r.Relation.Own() && !yield(r) {
				return
			}
		}
	}
}

// Pods returns all pods, those of other owners included, ordered by name.
func (c *Census) Pods() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, c.records.len())
	for _, r := range c.records.all() {
		pods = append(pods, r.Pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// Add adds a pod with the given relation, whatever the selector says, or replaces the pod with its UID.
func (c *Census) Add(pod *corev1.Pod, r classify.Relation) { c.swap(c.records.get(pod.UID), pod, r) }

// swap replaces a record with that of a pod of the same UID. before is nil for a new pod.
func (c *Census) swap(before *Record, pod *corev1.Pod, relation classify.Relation) {
	r := c.classified(pod, relation)
	switch {
	case before == nil:
		c.put(&r)
	case c.isSame(before, &r):
		before.Pod = pod
	default: // in place, because maps of many pods are slow
		if before.Pod.Name != pod.Name {
			c.unname(before)
			defer c.name(before)
		}
		c.count(before, -1)
		*before = r
		c.count(before, 1)
	}
}

// isSame reports whether two records of one pod are equal in all that a census contains, apart from the pod.
func (c *Census) isSame(a, b *Record) bool {
	return a.Active && *a.Class == *b.Class && a.Index == b.Index && a.Pod.Name == b.Pod.Name &&
		(!c.classifier.CountRestarts || backoff.Restarts(a.Pod) == backoff.Restarts(b.Pod))
}

func (c *Census) classified(pod *corev1.Pod, relation classify.Relation) Record {
	return newRecord(c.classifier.Classify(pod, relation, c.stripped[pod.UID], &c.classes))
}

// put adds a record.
func (c *Census) put(r *Record) {
	c.records.put(r.Pod.UID, r)
	c.most = max(c.most, int32(c.records.len()))
	c.name(r)
	c.count(r, 1)
}

// drop removes a record, and the pod from it: Read has put many records into one array, which would
// keep the pods in memory.
func (c *Census) drop(r *Record) {
	c.records.remove(r.Pod.UID)
	c.unname(r)
	c.count(r, -1)
	r.Pod = nil
}

// reread classifies the pods again whose UIDs are in only one of the maps, or have different values in the two.
func (c *Census) reread(before, now map[types.UID]bool) {
	for uid, was := range before {
		if is, still := now[uid]; !still || is != was {
			c.reclassify(uid)
		}
	}
	for uid := range now {
		if _, already := before[uid]; !already {
			c.reclassify(uid)
		}
	}
}

func (c *Census) reclassify(uid types.UID) {
	if r := c.records.get(uid); r != nil {
		c.swap(r, r.Pod, r.Relation)
	}
}

// SetStripped sets the pods whose finalizer has been removed, although their objects still
// show it.
func (c *Census) SetStripped(uids []types.UID) {
	if len(uids)+len(c.stripped) == 0 {
		return
	}
	before := c.stripped
	c.stripped = make(map[types.UID]bool, len(uids))
	for _, uid := range uids {
		c.stripped[uid] = true
	}
	c.reread(before, c.stripped)
}

// SetClassifier replaces the classifier by a copy of one that [Census.ClassifiesAs] accepts, and
// returns the copy.
func (c *Census) SetClassifier(next *classify.Classifier) *classify.Classifier {
	before := c.classifier.Uncounted.Listed
	c.classifier = *next
	c.reread(before, next.Uncounted.Listed)
	c.UntilLost = 0
	if next.LosesPods() {
		for _, r := range slices.Collect(c.list(deleted).all()) {
			wait := next.UntilLost(r.Pod)
			if wait > 0 && wait < classify.Never {
				c.UntilLost = min(wait, cmp.Or(c.UntilLost, wait))
			}
			if r.Lost != (wait <= 0) {
				c.swap(r, r.Pod, r.Relation)
			}
		}
	}
	return &c.classifier
}

// Clone returns an independent copy. The pods are shared.
func (c *Census) Clone() *Census {
	if c == nil {
		return nil
	}
	next := New(&c.classifier, c.records.len())
	next.stripped = c.stripped
	if c.indexed != nil {
		next.SetDone(c.succeeded.base, c.failing.base)
	}
	for _, r := range c.records.all() {
		own := *r
		next.put(&own)
	}
	return next
}

// count adds a record to all counts and lists (by is 1), or removes it (by is -1).
func (c *Census) count(r *Record, by int32) {
	c.Changes++
	if !r.Relation.Own() {
		c.register(r, by)
		return
	}
	c.countNumbers(r, by)
	c.countFinish(r, by)
	waited := c.Predecessor(r.Index)
	c.countIndex(r, by)
	c.register(r, by)
	// These may have become countable, or no longer are.
	for _, other := range [...]*Record{waited, c.Predecessor(r.Index)} {
		if other != nil && other != r {
			c.update(countable, other, true)
		}
	}
}

func (c *Census) countNumbers(r *Record, by int32) {
	c.own += by
	if r.Active {
		c.Active += by
	}
	if r.Ready {
		c.Ready += by
	}
	if r.Terminating {
		c.Terminating += by
	}
	switch {
	case !r.Tracked || !r.Valid || r.Listed: // no status is to record it
	case r.Succeeded:
		c.Succeeded += by
	case r.Failed && !r.Ignored():
		c.Failed += by
	}
	if c.classifier.CountRestarts && !r.Lost {
		c.Restarts += int64(by) * backoff.Restarts(r.Pod)
	}
}

// SucceededTotal returns the number of succeeded pods: those that the status has counted,
// those in the lists, and those not recorded yet (KEP-2307 § Algorithm, step 1).
func (c *Census) SucceededTotal(counted int32) int32 {
	return classify.Sum(counted, c.Succeeded, int32(len(c.classifier.Uncounted.Succeeded)))
}

// FailedTotal returns the number of failed pods in the same way.
func (c *Census) FailedTotal(counted int32) int32 {
	return classify.Sum(counted, c.Failed, int32(len(c.classifier.Uncounted.Failed)))
}

// FailsJob returns the record of the first pod, ordered by index and UID, that matches
// a FailJob rule; nil if there is none.
func (c *Census) FailsJob() *Record {
	for r := range c.list(failJob).all() {
		return r
	}
	return nil
}

// ActiveInOrder returns the records of active pods, ordered by index and UID.
func (c *Census) ActiveInOrder() []*Record { return slices.Collect(c.list(active).all()) }

// TrackedInOrder returns the records of pods that carry the finalizer.
func (c *Census) TrackedInOrder() []*Record { return slices.Collect(c.list(tracked).all()) }

// Claims returns the records of the pods to adopt, to release or to free, as their relation
// says, ordered by UID.
func (c *Census) Claims() []*Record { return slices.Collect(c.list(claims).all()) }

// AllInOrder returns the records of all pods of the Job, ordered by index and UID.
func (c *Census) AllInOrder() []*Record { return slices.SortedFunc(c.All(), (*Record).compare) }

// Others returns the pods of other owners, ordered by name.
func (c *Census) Others() []*corev1.Pod {
	return slices.DeleteFunc(c.Pods(), func(pod *corev1.Pod) bool { return c.records.get(pod.UID).Relation.Own() })
}
