package tracking

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
)

// Census is what one pass over a Job's pods finds. A pod goes in, and comes out
// again, on its own and in any order, so that a caller that sees pod events may
// keep a census and pay only for the pods that change. What the methods return
// is right until the next pod goes in or comes out.
type Census struct {
	// Records are those of the pods, in no order. They are to be read only.
	Records []Record

	// Active, Ready and Terminating are the numbers of such pods.
	Active, Ready, Terminating int32
	// Succeeded and Failed are the pods newly found so: tracked, valid, and not
	// parked in the list of their kind. Those that an Ignore rule matches are
	// not in Failed, but they are in Failures.
	Succeeded, Failed int32
	// Failures are the newly failed pods, ignored ones included: the backoff
	// waits after those as well.
	Failures int32
	// Restarts is the sum of the container restarts of pods that run or wait.
	Restarts int64

	lens Lens
	// judged is the number of pods that match a FailJob rule.
	judged int
	// held is the number of parked UIDs whose pods still carry the finalizer.
	held int
	// succeeded and failed are the numbers of records that are so.
	succeeded, failed int
	// where is the position of the record of a pod; nil before anybody asks.
	where map[*corev1.Pod]int
}

// NewCensus returns an empty census with room for n pods.
func NewCensus(lens Lens, n int) *Census {
	return &Census{lens: lens, Records: make([]Record, 0, max(n, 0))}
}

// Lens returns what the census was taken through.
func (c *Census) Lens() Lens { return c.lens }

// Add reads a pod into the census. adopted says that the pod gets the finalizer
// in the patch that adopts it. A pod is added once; nil is no pod.
func (c *Census) Add(pod *corev1.Pod, adopted bool) {
	if pod == nil {
		return
	}
	c.add(pod, adopted, pod.Annotations[batchv1.JobCompletionIndexAnnotation])
}

// add is Add for a pod of which the annotation with the index has been read.
func (c *Census) add(pod *corev1.Pod, adopted bool, index string) {
	if c.where != nil {
		c.where[pod] = len(c.Records)
	}
	c.Records = append(c.Records, c.lens.read(pod, adopted || HasFinalizer(pod), index))
	r := &c.Records[len(c.Records)-1]
	c.tally(r, 1)
}

// Remove takes the pod out again, as it was when it was added: the same object,
// unchanged. It reports whether the pod was there.
func (c *Census) Remove(pod *corev1.Pod) bool {
	if c.where == nil {
		c.where = make(map[*corev1.Pod]int, len(c.Records))
		for i := range c.Records {
			c.where[c.Records[i].Pod] = i
		}
	}
	i, found := c.where[pod]
	if !found {
		return false
	}
	c.tally(&c.Records[i], -1)
	last := len(c.Records) - 1
	c.Records[i] = c.Records[last]
	c.Records[last] = Record{} // lets go of the pod
	c.Records = c.Records[:last]
	if i < last {
		c.where[c.Records[i].Pod] = i
	}
	delete(c.where, pod)
	return true
}

func (c *Census) tally(r *Record, by int32) {
	if r.Is(Active) {
		c.Active += by
		if r.Is(Ready) {
			c.Ready += by
		}
	}
	if r.Is(Terminating) {
		c.Terminating += by
	}
	if r.Is(FailsJob) {
		c.judged += int(by)
	}
	if r.Is(Tracked | Parked) {
		c.held += int(by)
	}
	if r.Is(Succeeded) {
		c.succeeded += int(by)
	}
	if r.Is(Failed) {
		c.failed += int(by)
	}
	if c.lens.Restarts {
		c.Restarts += int64(by) * backoff.Restarts(r.Pod)
	}
	if !r.Is(Tracked|Valid) || r.Is(Parked) {
		return
	}
	switch {
	case r.Is(Succeeded):
		c.Succeeded += by
	case r.Is(Failed):
		c.Failures += by
		if !r.Is(Ignored) {
			c.Failed += by
		}
	}
}

// SucceededTotal and FailedTotal are the numbers of succeeded and failed pods,
// counted, parked and newly found (KEP-2307 § Algorithm, step 1), given the
// counters of the status.
func (c *Census) SucceededTotal(counted int32) int32 {
	return add(counted, c.Succeeded, int32(len(c.lens.Uncounted.succeeded)))
}

// FailedTotal: see SucceededTotal.
func (c *Census) FailedTotal(counted int32) int32 {
	return add(counted, c.Failed, int32(len(c.lens.Uncounted.failed)))
}

// add returns the sum, or the largest int32 where that is less.
func add(terms ...int32) int32 {
	var sum int64
	for _, t := range terms {
		sum += int64(t)
	}
	return int32(min(sum, math.MaxInt32))
}

// News returns what the newly finished pods mean for the backoff of the whole
// Job: failures after the last success, and when the last of them was. Kept says that
// the pods which match a FailJob rule are not counted now (see Terms.KeepFailsJob), and
// are no news.
func (c *Census) News(kept bool) backoff.News {
	if c.Succeeded == 0 && c.Failures == 0 {
		return backoff.News{}
	}
	var lastSuccess *Record
	for i := range c.Records {
		if r := &c.Records[i]; c.isNews(r, Succeeded) && (lastSuccess == nil || lastSuccess.finishedBefore(r)) {
			lastSuccess = r
		}
	}
	news := backoff.News{Succeeded: lastSuccess != nil}
	var last *Record
	for i := range c.Records {
		r := &c.Records[i]
		if !c.isNews(r, Failed) || kept && r.Is(FailsJob) || lastSuccess != nil && !lastSuccess.finishedBefore(r) {
			continue
		}
		news.Failures = add(news.Failures, 1)
		if last == nil || last.finishedBefore(r) {
			last = r
		}
	}
	if last != nil {
		news.LastFailure = last.Finish()
	}
	return news
}

func (c *Census) isNews(r *Record, as Is) bool {
	return r.Is(Tracked|Valid|as) && !r.Is(Parked)
}

// FailsJob returns the first pod, in the order of Before, that a FailJob rule
// matches; nil when there is none.
func (c *Census) FailsJob() *corev1.Pod {
	if c.judged == 0 {
		return nil
	}
	var first *Record
	for i := range c.Records {
		if r := &c.Records[i]; r.Is(FailsJob) && (first == nil || r.Before(first)) {
			first = r
		}
	}
	return first.Pod
}

// Indexes returns the indexes of the pods that are all of what. Pods without an
// index are left out.
func (c *Census) Indexes(what Is) indexset.Set {
	most := len(c.Records)
	for _, counted := range [...]struct {
		is Is
		n  int
	}{{Active, int(c.Active)}, {Terminating, int(c.Terminating)}, {Succeeded, c.succeeded}, {Failed, c.failed}} {
		if what&counted.is != 0 {
			most = min(most, counted.n)
		}
	}
	return c.indexes(most, func(r *Record) bool { return r.Is(what) })
}

// indexes returns the indexes of the pods that are wanted, with room for most of them.
func (c *Census) indexes(most int, wanted func(*Record) bool) indexset.Set {
	indexes := make([]int32, 0, most)
	for i := range c.Records {
		if r := &c.Records[i]; wanted(r) {
			indexes = append(indexes, r.Index)
		}
	}
	return indexset.Of(indexes...) // leaves out NoIndex
}

// Fates are the completion indexes of an Indexed Job that are settled.
type Fates struct {
	// Counted are the completed indexes of the status, within completions.
	Counted indexset.Set
	// Completed adds those whose pod has succeeded since.
	Completed indexset.Set
	// Failed are the failed indexes. No index is both completed and failed: a
	// success wins.
	Failed indexset.Set
}

// Finished returns the indexes that need no pod any more.
func (f Fates) Finished() indexset.Set { return f.Completed.Union(f.Failed) }

// Fates returns the settled indexes, given those of the status and the limit.
// An index fails when a failed pod of it has used up the limit, or matches a
// FailIndex rule (KEP-3850 § Tracking the number of failures per index).
func (c *Census) Fates(completed, failed indexset.Set, limit backoff.Limit) Fates {
	f := Fates{Counted: completed.Clip(c.lens.Completions)}
	f.Completed = f.Counted
	if c.succeeded > 0 {
		f.Completed = f.Counted.Union(c.Indexes(Finalized | Valid | Succeeded))
	}
	if !c.lens.PerIndex {
		return f
	}
	f.Failed = failed.Clip(c.lens.Completions)
	if c.failed > 0 {
		f.Failed = f.Failed.Union(c.indexes(0, func(r *Record) bool {
			return r.Is(Finalized|Valid|Failed) && !r.Is(Ignored) &&
				(r.Is(FailsIndex) || limit.IndexExhausted(r.Counts.Failures))
		}))
	}
	f.Failed = f.Failed.Difference(f.Completed)
	return f
}
