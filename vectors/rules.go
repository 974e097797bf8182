package vectors

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
)

// rule names the rule that a field of an outcome follows, and the document that has it.
type rule struct {
	// field is the name of a field; with a dot at its end, the beginning of names.
	field string
	// when says in which situations the rule decides about the field; nil means in all.
	when func(*situation) bool
	// verb completes a sentence about an item of the field: "index 3 is created". It is empty for
	// a field with one value.
	verb, source, rule string
}

// situation is what the choice of a rule depends on: the input of the sync, and the items that differ.
type situation struct {
	job     *batchv1.Job // nil if the cache has none
	pods    []*corev1.Pod
	now     time.Time
	waiting bool // for earlier writes
	failed  bool // the Job has failures that are remembered
	more    bool // caps leave work for the next sync
	items   []string
}

// rules is the table of the rules, in the order in which a difference is reported: the end of the
// Job, then its pods, then what follows from these. The first row whose field differs and whose
// situation applies names the rule.
var rules = []rule{
	{"read", nil, "is read live", "docs/architecture.md § A sync",
		"caches that may lack a write are not used"},
	{"gone", nil, "", "docs/architecture.md § A sync",
		"a Job is gone once a live read, or caches without pending writes, do not find it"},

	{"status.conditions", about("MaxFailedIndexesExceeded", "FailedIndexes"), "is stored", "KEP-3850 § Job completion",
		"the Job fails when all indexes are done and some failed, or when too many have failed"},
	{"status.conditions", about("PodFailurePolicy_"), "is stored", "KEP-4443 § Business logic",
		"the reason names the rule that failed the Job"},
	{"status.conditions", about("PodFailurePolicy"), "is stored", "API, JobSpec.podFailurePolicy",
		"a failed pod that matches a FailJob rule fails the Job"},
	{"status.conditions", about("BackoffLimitExceeded"), "is stored", "API, JobSpec.backoffLimit",
		"the Job fails when more pods have failed than its limit allows"},
	{"status.conditions", about("DeadlineExceeded"), "is stored", "API, JobSpec.activeDeadlineSeconds",
		"the Job fails at its deadline, which starts again with a resume"},
	{"status.conditions", about("SuccessPolicy"), "is stored", "API, JobSpec.successPolicy",
		"the Job succeeds when a rule of its success policy is met"},
	{"status.conditions", about("Suspended"), "is stored", "API, JobSpec.suspend",
		"the condition Suspended follows the spec"},
	{"status.conditions", nil, "is stored", "API, JobSpec.completions",
		"the Job succeeds with its completions, and no failure is ahead of that"},
	{"counted.conditions", nil, "is stored", "KEP-2307 § Algorithm, step 4",
		"a Job ends once no pod of it is active, terminating or uncounted"},

	{"adopt", nil, "is adopted", "KEP-2307 § Pod adoption",
		"a Job adopts the pods that its selector matches, with the finalizer"},
	{"release", nil, "is released", "API, JobSpec.selector",
		"a Job releases the pods that its selector does not match"},
	{"free", nil, "is freed", "KEP-2307 § Deleted Jobs",
		"pods that no Job will count lose their finalizer"},

	{"create", (*situation).isWaiting, "is created", "docs/architecture.md § A sync",
		"no pod is created before earlier writes are observed"},
	{"create", (*situation).isSuspended, "is created", "API, JobSpec.suspend",
		"a suspended Job has no active pods"},
	{"create", (*situation).endsOrGoes, "is created", "KEP-2307 § Deleted Jobs",
		"a Job that ends or is deleted gets no pods"},
	{"create", (*situation).isDone, "is created", "KEP-3850 § Failures per index",
		"an index that is completed or failed gets no pods"},
	{"create", (*situation).indexFailed, "is created", "KEP-3850 § Backoff delay per index",
		"the failed pod of an index is replaced after the delay of that index"},
	{"create", (*situation).jobFailed, "is created", "KEP-3850 § Risks, backoff delay",
		"failed pods are replaced after a delay of 10s, 20s, 40s …, from the last failure on"},
	{"create", (*situation).waitsForTermination, "is created", "API, JobSpec.podReplacementPolicy",
		"pods that terminate are replaced once they have terminated"},
	{"create", (*situation).isIndexed, "is created", "API, JobSpec.completionMode",
		"the lowest indexes without a pod get one, as parallelism allows"},
	{"create", nil, "is created", "API, JobSpec.parallelism",
		"as many pods are active as parallelism and the missing completions allow"},

	{"untrack", (*situation).endsOrGoes, "loses its finalizer", "KEP-2307 § Deleted Jobs",
		"pods that no Job will count lose their finalizer"},
	{"untrack", nil, "loses its finalizer before its deletion", "KEP-2307 § Deleted pods",
		"a pod that the controller deletes loses its finalizer first, so that it does not count"},
	{"delete", (*situation).isSuspended, "is deleted", "API, JobSpec.suspend",
		"a suspended Job has no active pods"},
	{"delete", (*situation).isIndexed, "is deleted", "API, JobSpec.completionMode",
		"of each index one pod stays; surplus pods and those beyond the completions go"},
	{"delete", nil, "is deleted", "API, JobSpec.parallelism",
		"surplus pods go, the least valuable first, and all active ones when the Job ends"},

	{"new.annotations", (*situation).perIndex, "is created with these annotations", "KEP-3850 § Failures per index",
		"a pod carries the failures of its index so far"},
	{"new.finalizers", nil, "is created with these finalizers", "KEP-2307 § Algorithm, step 1",
		"pods are created with the finalizer"},
	{"new.", nil, "is created with this", "API, JobSpec.completionMode",
		"a pod has its index in name, hostname, label, annotation and environment"},

	{"status", nil, "is stored", "docs/architecture.md § A sync",
		"a status is stored when it has changed"},
	{"status.failedIndexes", (*situation).hasFailIndex, "", "KEP-3850 § FailIndex",
		"an index fails by a FailIndex rule, or by its limit"},
	{"status.failedIndexes", nil, "", "KEP-3850 § Failures per index",
		"an index fails when it has more failures than its limit"},
	{"status.completedIndexes", nil, "", "KEP-2307 § Indexed Jobs",
		"the indexes of succeeded pods are completed"},
	{"status.uncountedTerminatedPods.", (*situation).areDeleted, "is listed", "KEP-2307 § Deleted pods",
		"a pod that another client deletes counts; one that the controller deletes does not"},
	{"status.uncountedTerminatedPods.", nil, "is listed", "KEP-2307 § Algorithm, step 2",
		"finished pods with the finalizer are listed before they are counted"},

	{"strip", (*situation).perIndex, "loses its finalizer", "KEP-3850 § Failures per index",
		"a failed pod keeps its finalizer until it is replaced, or its index has failed"},
	{"strip", nil, "loses its finalizer", "KEP-2307 § Algorithm, step 3",
		"pods lose their finalizer once the status lists them"},
	{"counted.uncountedTerminatedPods.", nil, "is still listed", "KEP-2307 § Algorithm, step 4",
		"pods are counted once their finalizer is gone"},
	{"counted.", nil, "", "KEP-2307 § Algorithm, step 4",
		"pods are counted once their finalizer is gone"},
	{"counted", nil, "is stored again", "KEP-2307 § Algorithm, step 4",
		"pods are counted once their finalizer is gone"},

	{"requeueMs", (*situation).hasMore, "", "KEP-2307 § Algorithm",
		"a Job with more to do than the caps allow is put back into the queue"},
	{"requeueMs", (*situation).isDueAtDeadline, "", "API, JobSpec.activeDeadlineSeconds",
		"the next sync is due at the deadline at the latest"},
	{"requeueMs", (*situation).isWaiting, "", "docs/architecture.md § A sync",
		"a sync is due while earlier writes are not observed"},
	{"requeueMs", (*situation).indexFailed, "", "KEP-3850 § Risks, fast updates",
		"the next sync is due after the least delay of all indexes, but not before 1s"},
	{"requeueMs", (*situation).jobFailed, "", "KEP-3850 § Risks, backoff delay",
		"the next sync is due when the delay after the last failure ends"},
	{"requeueMs", nil, "", "docs/architecture.md § A sync",
		"the next sync is due when the first delay ends; without one, when something changes"},

	{"status.startTime", nil, "", "API, JobStatus.startTime",
		"a Job starts with its first sync, and again with a resume"},
	{"status.terminating", nil, "", "API, JobStatus.terminating",
		"the status has the number of pods that terminate"},
	{"status.ready", nil, "", "API, JobStatus.ready",
		"the status has the number of ready pods"},
	{"status.active", nil, "", "API, JobStatus.active",
		"the status has the number of active pods once the plan is carried out"},
	{"status.succeeded", (*situation).isIndexed, "", "KEP-2307 § Indexed Jobs",
		"the succeeded pods of an Indexed Job are its completed indexes"},
	{"status.", nil, "", "KEP-2307 § Algorithm, step 4",
		"pods are counted once their finalizer is gone"},

	{"backoff.", nil, "", "KEP-3850 § Risks, backoff delay",
		"the delay grows with the failures in a row, and is counted from the last one"},
	{"finished", nil, "", "KEP-2307 § Algorithm, step 4",
		"a Job ends once no pod of it is active, terminating or uncounted"},
	{"ended", nil, "", "KEP-2307 § Algorithm, step 4",
		"a Job ends once no pod of it is active, terminating or uncounted"},
	{"over", nil, "ends", "docs/architecture.md § A sync",
		"the steps of a sync follow the table in sync.go"},
	{"failed", nil, "", "docs/architecture.md § A sync",
		"an error of a request is an error of the sync"},
	{"retryAfterMs", nil, "", "docs/architecture.md § A sync",
		"the API server is obeyed"},
	{"left", nil, "", "KEP-2307 § Algorithm",
		"caps leave work for the next sync"},
	{"unobserved", nil, "", "docs/architecture.md § A sync",
		"the Machine remembers its writes until the caches show them"},
	{"texts", nil, "is the message", "API, JobStatus.conditions",
		"messages of conditions are those of the Job controller"},
	{"times", nil, "is the time", "API, JobStatus.conditions",
		"a condition has the time of the sync that set it"},
	{"events", nil, "is sent", "docs/architecture.md § A sync",
		"users are told of pods, suspension and the end"},
	{"metrics", nil, "is added", "docs/divergences.md § Metrics",
		"the metrics are those of the Job controller"},
	{"action", nil, "", "docs/divergences.md § Metrics",
		"the metrics are those of the Job controller"},
	{"precondition", nil, "is the precondition", "docs/divergences.md § guarded-patches",
		"a deletion names the UID of the pod"},
	{"patch", nil, "is sent", "docs/divergences.md § guarded-patches",
		"a patch names the pod and changes nothing else"},
	{"", nil, "is sent", "docs/architecture.md § A sync",
		"a sync sends its requests in the order of its steps"},
}

// functionRules lists the rules that the functions of calls follow, in the form of the table.
var functionRules = map[string]rule{
	"delay": {source: "KEP-3850 § Risks, backoff delay",
		rule: "a delay of 10s, 20s, 40s and so on, up to a cap"},
	"wait":   {source: "KEP-3850 § Risks, backoff delay", rule: "the delay is counted from the last failure"},
	"record": {source: "KEP-3850 § Risks, backoff delay", rule: "a success ends the failures in a row"},
	"finishTime": {source: "KEP-3850 § Risks, backoff delay",
		rule: "the finish time of a pod does not change with the time"},
	"restarts": {source: "API, JobSpec.backoffLimit", rule: "with OnFailure, restarts count towards the limit"},
	"indexFailures": {source: "KEP-3850 § Failures per index",
		rule: "a replacement carries one failure more, or one ignored failure more"},
	"fromDraft": {source: "KEP-3850, first draft § Proposal", rule: "the draft has one limit and its target"},
	"toDraft":   {source: "KEP-3850, first draft § Proposal", rule: "the draft has one limit and its target"},
	"readIndexes": {source: "KEP-3850 § Failed indexes format",
		rule: "what can be read of a list counts, and its first defect is named"},
	"parseIndexes": {source: "KEP-3850 § Failed indexes format",
		rule: "indexes ascend; three or more in a row are a range"},
	"checkIndexes": {source: "API, JobSpec.successPolicy",
		rule: "succeededIndexes has the format of completedIndexes"},
	"sets":          {source: "KEP-3850 § Failed indexes format", rule: "the results of set operations are canonical"},
	"failurePolicy": {source: "API, JobSpec.podFailurePolicy", rule: "the first rule that matches decides"},
	"failedRule":    {source: "KEP-4443 § Business logic", rule: "the reason names the rule that failed the Job"},
	"ruleNames":     {source: "KEP-4443 § Validation", rule: "names are unique and have the form of a reason"},
	"successPolicy": {source: "API, JobSpec.successPolicy",
		rule: "the first rule that the completed indexes meet decides"},
	"orphan": {source: "KEP-2307 § Deleted Jobs", rule: "pods that no Job will count lose their finalizer"},
	"route": {source: "KEP-2307 § Pod adoption",
		rule: "a change of a pod concerns its Job, or those that may adopt it"},
	"podIndex": {source: "API, JobSpec.completionMode", rule: "the annotation has the index of a pod"},
	"checkKeys": {source: "docs/adopting.md",
		rule: "a finalizer, a label and an annotation of one's own have valid names"},
	"readStatus": {source: "API, JobStatus.conditions",
		rule: "a status is read by its conditions and lists of indexes"},
	"equalStatus": {source: "docs/architecture.md § A sync", rule: "a status is stored when it has changed"},
	"statusPatch": {source: "docs/architecture.md § A sync", rule: "a status patch replaces the whole status"},
	"demand": {source: "API, JobSpec.parallelism",
		rule: "the bounds hold for every way in which the Job can go on"},
	"count": {source: "KEP-2307 § Algorithm, step 2",
		rule: "pods are listed, lose their finalizer, and are counted"},
	"enterTracking": {source: "KEP-2307 § Upgrade",
		rule: "the Job gets the lists of uncounted pods, and its pods the finalizer"},
	"leaveTracking": {source: "KEP-2307 § Downgrade",
		rule: "the Job loses the lists of uncounted pods, and its pods the finalizer"},
	"gauge": {source: "KEP-2307 § Monitoring", rule: "finished pods with the finalizer are in the gauge"},
	"createJob": {source: "docs/divergences.md § Checks of the API server",
		rule: "the errors are those of the API server"},
	"updateJob": {source: "docs/divergences.md § Checks of the API server",
		rule: "the errors are those of the API server"},
	"updateStatus": {source: "docs/divergences.md § Checks of the API server",
		rule: "the errors are those of the API server"},
	"renameRules": {source: "KEP-4443 § Validation", rule: "names are unique and have the form of a reason"},
}

// ruleFor returns the first rule for a difference, and its field.
func ruleFor(differ []string, items func(field string) []string, in situation) (rule, string) {
	for _, r := range rules {
		for _, field := range differ {
			if in.items = items(field); r.isAbout(field) && (r.when == nil || r.when(&in)) {
				return r, field
			}
		}
	}
	return rule{}, ""
}

func (r *rule) isAbout(field string) bool {
	whole := r.field != "" && !strings.HasSuffix(r.field, ".")
	return field == r.field || !whole && strings.HasPrefix(field, r.field)
}

// about returns a condition that one of the words, or its beginning, is in an item.
func about(words ...string) func(*situation) bool {
	return func(s *situation) bool {
		return slices.ContainsFunc(s.items, func(item string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(" "+item, " "+word) })
		})
	}
}

func (s *situation) isWaiting() bool { return s.waiting }

func (s *situation) isSuspended() bool {
	return s.job != nil && s.job.Spec.Suspend != nil && *s.job.Spec.Suspend
}

func (s *situation) endsOrGoes() bool {
	return s.job == nil || s.job.DeletionTimestamp != nil || jobstatus.OutcomeOf(s.job).Decided()
}

func (s *situation) isIndexed() bool {
	return s.job != nil && lifecycle.IsIndexed(&s.job.Spec)
}

func (s *situation) perIndex() bool { return s.isIndexed() && s.job.Spec.BackoffLimitPerIndex != nil }

func (s *situation) hasMore() bool { return s.more }

// isDueAtDeadline reports whether one of the two times until the next sync ends at the deadline.
func (s *situation) isDueAtDeadline() bool {
	if s.job == nil || s.job.Spec.ActiveDeadlineSeconds == nil {
		return false
	}
	for _, start := range []*metav1.Time{s.job.Status.StartTime, {Time: s.now}} {
		if start == nil {
			continue
		}
		left := lifecycle.Deadline(*s.job.Spec.ActiveDeadlineSeconds, start.Time, s.now).Truncate(time.Millisecond)
		if slices.Contains(s.items, left.String()) {
			return true
		}
	}
	return false
}

func (s *situation) hasFailIndex() bool {
	return s.job != nil && s.job.Spec.PodFailurePolicy != nil && slices.ContainsFunc(s.job.Spec.PodFailurePolicy.Rules,
		func(r batchv1.PodFailurePolicyRule) bool { return r.Action == batchv1.PodFailurePolicyActionFailIndex })
}

// isDone reports whether an index of the difference is completed or failed.
func (s *situation) isDone() bool {
	done := jobstatus.Indexes(s.job).Finished
	return slices.ContainsFunc(s.items, func(item string) bool {
		index, err := strconv.ParseInt(strings.TrimPrefix(item, "index "), 10, 32)
		return err == nil && done.Contains(int32(index))
	})
}

// indexFailed reports whether an index of the difference has a failed pod, or any index if the
// difference is not about indexes.
func (s *situation) indexFailed() bool {
	return s.perIndex() && slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		index := "index " + pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		return s.hasFailed(pod) && (slices.Contains(s.items, index) || !slices.ContainsFunc(s.items, isIndex))
	})
}

func isIndex(item string) bool { return strings.HasPrefix(item, "index ") }

func (s *situation) jobFailed() bool {
	return !s.perIndex() && (s.failed || slices.ContainsFunc(s.pods, s.hasFailed))
}

func (s *situation) waitsForTermination() bool {
	return s.replacesFailedOnly() && slices.ContainsFunc(s.pods, isTerminating)
}

func (s *situation) replacesFailedOnly() bool {
	if s.job == nil {
		return false
	}
	policy := s.job.Spec.PodReplacementPolicy
	return s.job.Spec.PodFailurePolicy != nil || policy != nil && *policy == batchv1.Failed
}

// areDeleted reports whether a pod of the difference is being deleted.
func (s *situation) areDeleted() bool {
	return slices.ContainsFunc(s.pods, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && slices.Contains(s.items, "pod "+string(pod.UID))
	})
}

func (s *situation) hasFailed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || isTerminating(pod) && !s.replacesFailedOnly()
}

func isTerminating(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed &&
		pod.Status.Phase != corev1.PodSucceeded
}
