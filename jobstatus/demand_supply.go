package jobstatus

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// supply is the state of a Job that its demand depends on.
type supply struct {
	// The spec.
	census.Classifier
	parallelism      int64
	completions      int64 // unbounded for a work queue
	workQueue        bool  // the Job has no completions
	perIndex         bool  // an Indexed Job with a backoffLimitPerIndex
	maxFailedIndexes *int32
	successRules     successRules
	hasDeadline      bool
	// The actions of the pod failure policy.
	ignores, failsJob, failsIndex bool

	// closed says that no further pod is created, closing that none is created once the
	// controller has observed the spec.
	closed, closing bool
	// edited says that the spec has changed since the Job was created.
	edited bool

	// The pods and indexes that have ended, according to the status and the pods.
	succeeded, failed int64
	verdicts          int64 // the failed pods that match a FailJob rule
	completed         indexset.Set
	failedIndexes     indexset.Set
	unfinished        indexset.Set // all other indexes
	// uncredited are the succeeded pods that the status has not recorded, unaccounted
	// all ended pods that it has not recorded, and spent the failed pods that have
	// failed their index.
	uncredited, unaccounted, spent int64

	// The running pods. A terminating pod is not active.
	active, terminating int64
	// expected are the running pods that certainly count when they end, hopeful those
	// that may count. byPod says that the individual pods are known. open are then the
	// indexes of the expected pods.
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

func newSupply(job *batchv1.Job, pods []*corev1.Pod, k tracking.Keys) *supply {
	s := &supply{Classifier: census.ClassifierOf(job, keys.Keys(k)), byPod: pods != nil}
	s.readSpec(&job.Spec)
	outcome := OutcomeOf(job)
	s.edited = job.Generation > 1
	s.closing = job.Spec.Suspend != nil && *job.Spec.Suspend
	neverActive := job.Generation == 1
	s.closed = outcome.Decided() || job.DeletionTimestamp != nil || s.closing && (neverActive || outcome.Phase == Suspended)
	s.readCounters(&job.Status)
	if sets := Indexes(job); s.perIndex {
		s.completed, s.failedIndexes = sets.Completed, sets.Failed
	} else {
		s.completed = sets.Completed
	}
	if s.byPod {
		// The controller has observed what the status records, so it creates no more
		// pods if that ends the Job. Without the pods this does not help: until the
		// condition is stored, the status may lack pods that have just been created.
		s.closed = s.closed || s.unobservedEnd().any()
		s.readPods(job, pods)
	} else {
		s.readActive(job)
	}
	if s.Indexed {
		s.failedIndexes = s.failedIndexes.Difference(s.completed)
		s.unfinished = s.completed.Union(s.failedIndexes).Complement(s.Completions)
	}
	return s
}

func (s *supply) readSpec(spec *batchv1.JobSpec) {
	s.parallelism, s.completions = 1, 1
	if p := spec.Parallelism; p != nil {
		s.parallelism = int64(max(*p, 0))
	}
	if c := spec.Completions; c != nil {
		s.completions = int64(max(*c, 0))
	} else if s.workQueue = spec.Parallelism != nil; s.workQueue {
		s.completions = unbounded
	}
	if s.perIndex = s.PerIndex(); s.perIndex {
		s.maxFailedIndexes = spec.MaxFailedIndexes
	}
	if p := lifecycle.NewSuccessPolicy(spec.SuccessPolicy, s.Completions); p != nil && s.Indexed {
		s.successRules = p.Rules
	}
	s.CountRestarts = spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	s.hasDeadline = spec.ActiveDeadlineSeconds != nil
	if policy := spec.PodFailurePolicy; policy != nil {
		has := func(action batchv1.PodFailurePolicyAction) bool {
			return slices.ContainsFunc(policy.Rules, func(r batchv1.PodFailurePolicyRule) bool { return r.Action == action })
		}
		s.ignores = has(batchv1.PodFailurePolicyActionIgnore)
		s.failsJob = has(batchv1.PodFailurePolicyActionFailJob)
		s.failsIndex = s.perIndex && has(batchv1.PodFailurePolicyActionFailIndex)
	}
}

// readCounters reads the pods that are counted or in the uncounted lists.
func (s *supply) readCounters(status *batchv1.JobStatus) {
	s.succeeded, s.failed = int64(max(status.Succeeded, 0)), int64(max(status.Failed, 0))
	if u := status.UncountedTerminatedPods; u != nil {
		s.succeeded += int64(len(u.Succeeded))
		s.failed += int64(len(u.Failed))
	}
}

// readActive reads the running pods from the status.
func (s *supply) readActive(job *batchv1.Job) {
	s.active = int64(max(job.Status.Active, 0))
	if t := job.Status.Terminating; t != nil {
		s.terminating = int64(max(*t, 0))
	}
	s.spent = s.failed // an upper bound: the status does not say which have failed their index
	s.expected, s.hopeful = s.active, s.running()
}

// readPods reads the running pods, and the ended pods that are not counted.
func (s *supply) readPods(job *batchv1.Job, pods []*corev1.Pod) {
	c := census.New(s.Classifier, len(pods))
	for _, pod := range pods {
		if pod != nil && metav1.IsControlledBy(pod, job) {
			c.Add(pod, false)
		}
	}
	s.retries = map[int32]int64{}
	var open indexset.Builder
	var ended, late indexEnds
	for r := range c.All() {
		switch {
		case r.Active, r.Terminating:
			s.run(r, &open)
		case r.Finalized:
			s.end(r, &ended)
		default:
			s.note(r, &late)
		}
	}
	s.open = open.Set()
	s.completed = s.completed.Union(ended.completed.Set())
	s.failedIndexes = s.failedIndexes.Union(ended.failed.Set())
	s.lateCompleted, s.lateFailed = late.completed.Set(), late.failed.Set()
}

// indexEnds collects the indexes that ended pods have completed or failed.
type indexEnds struct{ completed, failed indexset.Builder }

// run adds a running pod.
func (s *supply) run(r *census.Record, open *indexset.Builder) {
	if r.Active {
		s.active++
	} else {
		s.terminating++
	}
	if !r.Tracked || !r.Valid || r.Listed {
		return
	}
	s.expected++
	s.hopeful++
	if r.Terminating {
		s.expectedTerminating++
	}
	open.Add(r.Index)
	s.retry(r)
}

// end adds an ended pod that has the finalizer.
func (s *supply) end(r *census.Record, ended *indexEnds) {
	fails := s.note(r, ended)
	if !r.Valid {
		return
	}
	s.retry(r)
	if r.Listed {
		return
	}
	if fails {
		s.spent++
	}
	s.unaccounted++
	switch {
	case r.Succeeded:
		s.succeeded++
		s.uncredited++
	case !r.Ignored:
		s.failed++
	}
}

// note records the verdict of an ended pod and the end of its index, and reports whether
// the index has failed.
func (s *supply) note(r *census.Record, ended *indexEnds) (fails bool) {
	if r.FailsJob {
		s.verdicts++
	}
	switch {
	case !r.Valid, r.Ignored:
	case r.Succeeded:
		ended.completed.Add(r.Index)
	case r.FailsIndex, s.Limit.IndexExhausted(r.Counts.Failures):
		ended.failed.Add(r.Index)
		fails = true
	}
	return fails
}

// retry records how many pods may follow a pod of an index.
func (s *supply) retry(r *census.Record) {
	if !s.perIndex {
		return
	}
	left := max(0, int64(s.Limit.PerIndex)-int64(s.Keys.CountsOf(r.Pod.Annotations).Failures))
	if r.Ignored {
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
