package census

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/owner"
)

// Census is what is known of a Job's pods. A pod goes in, and comes out again, on its
// own and in any order; a question costs what has changed since it was last asked, and
// the length of its answer.
//
// Invariant: everything below is what a new Census would hold of the same pods.
type Census struct {
	// Active, Ready and Terminating are the numbers of such pods.
	Active, Ready, Terminating int32
	// Succeeded and Failed are the pods newly found so: tracked, valid, and not
	// listed. Those that an Ignore rule matches are
	// not in Failed, but they are in Failures.
	Succeeded, Failed int32
	// Failures are the newly failed pods, ignored ones included: the backoff
	// waits after those as well.
	Failures int32
	// Restarts is the sum of the container restarts of pods that run or wait.
	Restarts int64
	// Foreign is the number of pods that are none of the Job's.
	Foreign int

	classifier Classifier
	owner      owner.Owner
	// stripped are the pods whose finalizer has been removed already, though they
	// still show it.
	stripped map[types.UID]struct{}

	// records are those of all pods, by UID. room is memory for more of them.
	records map[types.UID]*Record
	room    []Record
	// names are the records of the pods in the Job's namespace, by name; nil until they
	// are needed. No two pods have one name.
	names   map[string]*Record
	own     int // the number of those that are the Job's
	claimed int // the number of those to adopt, to release or to free
	// held is the number of listed UIDs whose pods still carry the finalizer.
	held int
	// ended is the number of tracked pods that have succeeded or failed, failsJob that of
	// the pods that match a FailJob rule.
	ended, failsJob int
	lists           [lists]*ordered[*Record] // nil until they are needed

	// The moments at which pods finished: of those that are news, of the failed ones
	// among them that match a FailJob rule apart, and of those that have been counted.
	// A pod that was counted, or not, and is being deleted is in deleted.
	news    struct{ succeeded, failed, failJob instants }
	counted struct{ succeeded, failed, deleted instants }

	indexed // only for Indexed Jobs
}

// New returns an empty census with room for n pods.
func New(c Classifier, n int) *Census {
	c.Keys = c.Keys.WithDefaults()
	n = max(n, 0)
	return &Census{classifier: c, records: make(map[types.UID]*Record, n), room: make([]Record, 0, n)}
}

// Len returns the number of the Job's pods.
func (c *Census) Len() int { return c.own }

// Of returns the record of the pod with a UID; nil without one.
func (c *Census) Of(uid types.UID) *Record { return c.records[uid] }

// All yields the records of the Job's pods, in no order.
func (c *Census) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, r := range c.records {
			if r.own() && !yield(r) {
				return
			}
		}
	}
}

// Pods returns all pods that were read, those of others included, by name.
func (c *Census) Pods() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(c.records))
	for _, r := range c.records {
		pods = append(pods, r.Pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return pods
}

// Add reads a pod of the Job into the census. adopted says that the pod gets the
// finalizer in the patch that adopts it. Of a UID the last pod counts; nil is no pod.
func (c *Census) Add(pod *corev1.Pod, adopted bool) {
	if pod == nil {
		return
	}
	relation := owner.Owned
	if adopted {
		relation = owner.Adoptable
	}
	c.swap(c.records[pod.UID], pod, relation)
}

// swap puts a pod in the place of a record with its UID; nil is none.
func (c *Census) swap(before *Record, pod *corev1.Pod, relation owner.Relation) {
	if before != nil {
		c.count(before, -1)
		if before.Pod.Name != pod.Name {
			c.unname(before)
		}
	}
	c.add(pod, relation, pod.Annotations[c.classifier.Keys.Index])
}

// add adds a pod of which the annotation with the index has been read.
func (c *Census) add(pod *corev1.Pod, relation owner.Relation, index string) {
	if len(c.room) == cap(c.room) {
		c.room = make([]Record, 0, 1)
	}
	c.room = append(c.room, Record{Pod: pod, Relation: relation})
	r := &c.room[len(c.room)-1]
	if r.own() {
		c.classifier.read(r, c.stripped, index)
	}
	c.records[pod.UID] = r
	c.name(r)
	c.count(r, 1)
}

// expected is how many pods are still to be read.
func (c *Census) expected() int { return cap(c.room) - len(c.room) }

// Remove takes a pod out again. It reports whether the pod was there.
func (c *Census) Remove(uid types.UID) bool {
	r := c.records[uid]
	if r == nil {
		return false
	}
	delete(c.records, uid)
	c.unname(r)
	c.count(r, -1)
	return true
}

// again reads a pod anew.
func (c *Census) again(uid types.UID) {
	if r := c.records[uid]; r != nil {
		c.swap(r, r.Pod, r.Relation)
	}
}

// SetStripped says of which pods the finalizer has been removed, though they still show
// it.
func (c *Census) SetStripped(uids []types.UID) {
	if len(uids)+len(c.stripped) == 0 {
		return
	}
	before := c.stripped
	c.stripped = make(map[types.UID]struct{}, len(uids))
	for _, uid := range uids {
		c.stripped[uid] = struct{}{}
	}
	for uid := range before {
		if _, still := c.stripped[uid]; !still {
			c.again(uid)
		}
	}
	for uid := range c.stripped {
		if _, already := before[uid]; !already {
			c.again(uid)
		}
	}
}

// SetUncounted says what the uncounted lists of the status hold.
func (c *Census) SetUncounted(u Uncounted) {
	before := c.classifier.Uncounted
	c.classifier.Uncounted = u
	for uid, failed := range before.listed {
		if now, still := u.listed[uid]; !still || now != failed {
			c.again(uid)
		}
	}
	for uid := range u.listed {
		if _, already := before.listed[uid]; !already {
			c.again(uid)
		}
	}
}

// Clone returns a census that changes on its own. The records are shared.
func (c *Census) Clone() *Census {
	if c == nil {
		return nil
	}
	next := *c
	next.records, next.names, next.stripped, next.room = maps.Clone(c.records), maps.Clone(c.names), maps.Clone(c.stripped), nil
	for l := range c.lists {
		next.lists[l] = c.lists[l].clone()
	}
	for _, s := range []*instants{&next.news.succeeded, &next.news.failed, &next.news.failJob, &next.counted.succeeded, &next.counted.failed, &next.counted.deleted} {
		s.ordered = s.clone()
	}
	next.indexed = c.indexed.clone()
	return &next
}

// count counts a record in, or out again by -1.
func (c *Census) count(r *Record, by int32) {
	if toClaim(r) {
		c.claimed += int(by)
	}
	if !r.own() {
		if r.Relation == owner.Foreign {
			c.Foreign += int(by)
		}
		c.register(r, by)
		return
	}
	c.own += int(by)
	c.countNumbers(r, by)
	c.countMoments(r, by)
	c.register(r, by)
	if c.lists[countable] == nil {
		c.countIndex(r, by)
		return
	}
	waited := c.waiting(r.Index)
	c.countIndex(r, by)
	c.holdBack(r, by, waited, c.waiting(r.Index))
}

// holdBack keeps the list of countable pods, given the pods of the record's index that
// waited for their replacement before and that do now.
func (c *Census) holdBack(r *Record, by int32, waited, waits *Record) {
	list := c.lists[countable]
	if by < 0 {
		list.remove(r)
	} else if r.done() && r != waits {
		list.insert(r)
	}
	if waited != waits && waited != nil && waited != r {
		list.insert(waited)
	}
	if waited != waits && waits != nil && waits != r {
		list.remove(waits)
	}
}

func (c *Census) countNumbers(r *Record, by int32) {
	if r.Active {
		c.Active += by
		if r.Ready {
			c.Ready += by
		}
	}
	if r.Terminating {
		c.Terminating += by
	}
	if r.done() {
		c.ended += int(by)
	}
	if r.FailsJob {
		c.failsJob += int(by)
	}
	if r.Tracked && r.Listed {
		c.held += int(by)
	}
	if c.classifier.CountRestarts {
		c.Restarts += int64(by) * backoff.Restarts(r.Pod)
	}
	switch {
	case !r.isNews():
	case r.Succeeded:
		c.Succeeded += by
	case r.Failed:
		c.Failures += by
		if !r.Ignored {
			c.Failed += by
		}
	}
}

// SucceededTotal and FailedTotal are the numbers of succeeded and failed pods,
// counted, listed and newly found (KEP-2307 § Algorithm, step 1), given the
// counters of the status.
func (c *Census) SucceededTotal(counted int32) int32 {
	return add(counted, c.Succeeded, int32(len(c.classifier.Uncounted.succeeded)))
}

// FailedTotal: see SucceededTotal.
func (c *Census) FailedTotal(counted int32) int32 {
	return add(counted, c.Failed, int32(len(c.classifier.Uncounted.failed)))
}

// add returns the sum, or the largest int32 where that is less.
func add(terms ...int32) int32 {
	var sum int64
	for _, t := range terms {
		sum += int64(t)
	}
	return int32(min(sum, math.MaxInt32))
}

// FailsJob returns the first pod, in the order of Before, that a FailJob rule
// matches; nil when there is none.
func (c *Census) FailsJob() *corev1.Pod {
	if c.failsJob == 0 {
		return nil
	}
	for r := range c.list(failJob).all() {
		return r.Pod
	}
	return nil
}

// ActiveInOrder returns the records of active pods, in the order of Before.
func (c *Census) ActiveInOrder() []*Record {
	if c.Active == 0 {
		return nil
	}
	return slices.Collect(c.list(active).all())
}

// TrackedInOrder returns the records of pods whose finalizer is still to go.
func (c *Census) TrackedInOrder() []*Record { return slices.Collect(c.list(tracked).all()) }

// AllInOrder returns the records of all pods of the Job, in the order of Before.
func (c *Census) AllInOrder() []*Record {
	records := make([]*Record, 0, c.own)
	records = slices.AppendSeq(records, c.All())
	sortRecords(records)
	return records
}
