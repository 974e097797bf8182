package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// supply is the state of a Job that its demand depends on.
type supply struct {
	// The spec.
	classify.Classifier
	parallelism   int64
	completions   int64 // unbounded for a work queue
	workQueue     bool  // the Job has no completions
	maxFailed     int64 // the maxFailedIndexes; unbounded for none
	successPolicy lifecycle.SuccessPolicy
	// ignores, failsJob and failsIndex say that a pod may do so when it fails: by a rule of
	// the pod failure policy, or, for the Job, by the restart of a container.
	ignores, failsJob, failsIndex bool

	// closed says that no further pod is created, mayStop that creations may stop at any time:
	// by a deadline, or when the controller observes that the Job is suspended.
	closed, mayStop bool
	// edited says that the spec has changed since the Job was created. A controller that lags may have
	// to suspend and resume the Job as often as lag says before it observes the last suspension.
	edited bool
	lag    int64

	// The pods and indexes that have ended, according to the status and the pods.
	succeeded, failed int64
	verdicts          int64 // the failed pods that match a FailJob rule
	completed         indexset.Set
	failedIndexes     indexset.Set
	unfinished        indexset.Set // all other indexes
	// uncredited counts the succeeded pods that the status has not recorded, unaccounted all ended
	// pods that it has not recorded, and spent the failed pods that have failed their index.
	uncredited, unaccounted, spent int64

	// The running pods. A terminating pod is not active.
	active, terminating int64
	// expected counts the running pods that certainly count when they end, hopeful those that may
	// count. byPod says that the individual pods are known. open then lists the indexes of the
	// expected pods.
	expected, hopeful   int64
	expectedTerminating int64
	byPod               bool
	open                indexset.Set
	// lateCompleted and lateFailed are the indexes of ended pods without the finalizer. An
	// index beyond the completions was not recorded when its finalizer was removed. A
	// controller that still observes the finalizer may record it after a scale-up.
	lateCompleted, lateFailed indexset.Set
	// retries is the number of pods that may still be created, for each unfinished index
	// that has had a pod.
	retries map[int32]int64
}

func newSupply(job *batchv1.Job, byPod bool, pods []*corev1.Pod, k tracking.Keys) *supply {
	// The controller reference alone decides which pods count, not the selector.
	c, _ := classify.Of(job, k, classify.Options{})
	s := &supply{Classifier: c, byPod: byPod}
	s.readSpec(&job.Spec)
	s.edited = job.Generation > 1
	s.mayStop = valueOf(job.Spec.Suspend, false) || job.Spec.ActiveDeadlineSeconds != nil
	s.closed = s.parallelism == 0 || jobstatus.OutcomeOf(job).Decided() || job.DeletionTimestamp != nil ||
		jobstatus.Suspension{}.After(job).Observed()
	if valueOf(job.Spec.Suspend, false) {
		// of the edits before the last suspension, at most every second one resumed the Job
		s.lag = max(0, (job.Generation-2)/2)
	}
	s.readPods(job, nil)
	if s.byPod {
		// The controller has observed what the status records, so it creates no more
		// pods if that ends the Job. Without the pods this does not help: until the
		// condition is stored, the status may lack pods that have just been created.
		s.closed = s.closed || s.workQueue && s.succeeded > 0 || s.unobservedEnd() != unobservedEnd{}
		s.readPods(job, pods)
	} else {
		s.active, s.terminating = numberOf(&job.Status.Active, 0), numberOf(job.Status.Terminating, 0)
		s.spent = s.failed // an upper bound: the status does not say which have failed their index
		s.expected, s.hopeful = s.active, s.running()
	}
	s.unfinished = s.completed.Union(s.failedIndexes).Complement(s.Completions)
	return s
}

func (s *supply) readSpec(spec *batchv1.JobSpec) {
	s.parallelism, s.completions, s.maxFailed = numberOf(spec.Parallelism, 1), numberOf(spec.Completions, 1), unbounded
	s.workQueue = spec.Completions == nil && spec.Parallelism != nil
	if s.workQueue {
		s.completions = unbounded
	}
	if s.PerIndex() {
		s.maxFailed = numberOf(spec.MaxFailedIndexes, unbounded)
	}
	// without completions it has no rules
	s.successPolicy = lifecycle.NewSuccessPolicy(spec.SuccessPolicy, s.Completions)
	has := func(action batchv1.PodFailurePolicyAction) bool {
		return s.Policy != nil && slices.ContainsFunc(s.Policy.Rules,
			func(r failurepolicy.Rule) bool { return r.Action == action })
	}
	s.ignores = has(batchv1.PodFailurePolicyActionIgnore)
	s.failsJob = has(batchv1.PodFailurePolicyActionFailJob) ||
		spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	s.failsIndex = s.PerIndex() && has(batchv1.PodFailurePolicyActionFailIndex)
}

// readPods reads what has ended according to the status and the pods, and the pods that run.
func (s *supply) readPods(job *batchv1.Job, pods []*corev1.Pod) {
	classifier := s.Classifier
	classifier.ReplaceFailedOnly = true // a terminating pod has not failed yet
	c := census.New(&classifier, len(pods))
	for _, pod := range pods {
		if pod != nil && metav1.IsControlledBy(pod, job) {
			c.Add(pod, classify.Owned)
		}
	}
	s.active, s.terminating = int64(c.Active), int64(c.Terminating)
	s.uncredited, s.unaccounted = int64(c.Succeeded), int64(c.Succeeded)
	s.succeeded = int64(c.SucceededTotal(max(job.Status.Succeeded, 0)))
	s.failed = int64(c.FailedTotal(max(job.Status.Failed, 0)))
	results := c.IndexResults(jobstatus.ReadIndexes(&job.Status, s.Completions))
	s.completed, s.failedIndexes = results.Completed, results.Failed
	s.retries = map[int32]int64{}
	var open, completed, failed indexset.Builder
	for r := range c.All() {
		if r.FailsJob() {
			s.verdicts++
		}
		if !r.Valid {
			continue
		}
		if r.Finalized {
			s.retry(r)
		}
		counts := r.Finalized && !r.Listed
		if counts && r.Failed {
			s.unaccounted++ // ignored failures as well
		}
		switch {
		case counts && (r.Active || r.Terminating):
			s.expected++
			if r.Terminating {
				s.expectedTerminating++
			}
			open.Add(r.Index)
		case counts && r.FailsIndex():
			s.spent++
		case !r.Finalized && r.Succeeded:
			completed.Add(r.Index)
		// The controller may have counted the pod before the spec was edited, so unlike the
		// census this does not ask for the finalizer.
		case !r.Finalized && r.FailsIndex():
			failed.Add(r.Index)
		}
	}
	s.hopeful = s.expected
	s.open, s.lateCompleted, s.lateFailed = open.Set(), completed.Set(), failed.Set()
}

// retry records how many pods may follow a pod of an index.
func (s *supply) retry(r *census.Record) {
	left := max(0, int64(s.Limit.PerIndex)-int64(classify.CountsOf(s.Keys(), r.Pod.Annotations).Failures))
	if r.Ignored() {
		left++ // an ignored failure does not count towards the limit
	}
	if known, ok := s.retries[r.Index]; !ok || left < known {
		s.retries[r.Index] = left
	}
}

func (s *supply) running() int64 { return s.active + s.terminating }

// remaining returns the number of successes that the Job lacks. For a work queue, which has
// no such number, it is larger than any number of pods.
func (s *supply) remaining() int64 {
	if s.Indexed {
		return int64(s.unfinished.Len())
	}
	return max(0, s.completions-s.succeeded)
}

// mayFail returns how many more indexes may fail before the Job fails.
func (s *supply) mayFail() int64 { return s.maxFailed - int64(s.failedIndexes.Len()) }

// numberOf returns a number of the API, 0 if it is negative.
func numberOf(p *int32, absent int64) int64 {
	if p == nil {
		return absent
	}
	return int64(max(*p, 0))
}
