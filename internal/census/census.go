package census

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
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
	// listed. Those that an Ignore rule matches are
	// not in Failed, but they are in Failures.
	Succeeded, Failed int32
	// Failures are the newly failed pods, ignored ones included: the backoff
	// waits after those as well.
	Failures int32
	// Restarts is the sum of the container restarts of pods that run or wait.
	Restarts int64

	classifier Classifier
	// failsJob is the number of pods that match a FailJob rule.
	failsJob int
	// held is the number of listed UIDs whose pods still carry the finalizer.
	held int
	// succeeded and failed are the numbers of records that are so.
	succeeded, failed int
	// where is the position of the record of a pod; nil before the first Remove.
	where map[*corev1.Pod]int
}

// New returns an empty census with room for n pods.
func New(c Classifier, n int) *Census {
	c.Keys = c.Keys.WithDefaults()
	return &Census{classifier: c, Records: make([]Record, 0, max(n, 0))}
}

// Add reads a pod into the census. adopted says that the pod gets the finalizer in the
// patch that adopts it. A pod is added once; nil is no pod.
func (c *Census) Add(pod *corev1.Pod, adopted bool) {
	if pod == nil {
		return
	}
	c.add(pod, adopted, pod.Annotations[c.classifier.Keys.Index])
}

// add is Add for a pod of which the annotation with the index has been read.
func (c *Census) add(pod *corev1.Pod, adopted bool, index string) {
	if c.where != nil {
		c.where[pod] = len(c.Records)
	}
	held := adopted || slices.Contains(pod.Finalizers, c.classifier.Keys.Finalizer)
	c.Records = append(c.Records, c.classifier.read(pod, held, index))
	c.tally(&c.Records[len(c.Records)-1], 1)
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
	if r.Active {
		c.Active += by
		if r.Ready {
			c.Ready += by
		}
	}
	if r.Terminating {
		c.Terminating += by
	}
	if r.FailsJob {
		c.failsJob += int(by)
	}
	if r.Tracked && r.Listed {
		c.held += int(by)
	}
	if r.Succeeded {
		c.succeeded += int(by)
	}
	if r.Failed {
		c.failed += int(by)
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
	var first *Record
	for i := range c.Records {
		if r := &c.Records[i]; r.FailsJob && (first == nil || r.Before(first)) {
			first = r
		}
	}
	return first.Pod
}
