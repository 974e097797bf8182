// Package jobs makes Jobs the members of a group: what [group.Driver] and [group.MakePlan] need to know about them, and
// their failures for [group.Decide].
package jobs

import (
	"cmp"
	"regexp"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
)

// Job is the Job of a member, a [group.Object].
type Job struct {
	group.Member
	// Job is nil if it does not exist.
	Job *batchv1.Job
	// Attempt is the attempt that the Job was created for.
	Attempt int32
	// Class and Progress are those of the Job's failure, if the caller gives it some.
	Class    string
	Progress int64
	// PodFailurePolicy is that of the Job, with the names of its rules, for OnRuleNames: the built-in Job controller
	// does not put the name into the reason. It may be nil.
	PodFailurePolicy *failurepolicy.Spec
}

// Of returns the members with their Jobs: those of a list that the owner with this UID controls, and that have the
// name of the member. An annotation of the Job has its attempt; without it, the Job is of attempt 0.
func Of(owner types.UID, members []group.Member, list []batchv1.Job, annotation string) []group.Object {
	byName := make(map[string]*batchv1.Job, len(list))
	for i := range list {
		if ref := metav1.GetControllerOfNoCopy(&list[i]); ref != nil && ref.UID == owner {
			byName[list[i].Name] = &list[i]
		}
	}
	objects, jobs := make([]group.Object, len(members)), make([]Job, len(members))
	for i, m := range members {
		objects[i], jobs[i].Member = &jobs[i], m
		if job := byName[m.Name]; job != nil {
			jobs[i].Job = job
			attempt, _ := strconv.ParseInt(job.Annotations[annotation], 10, 32) // 0 if it is not a number
			jobs[i].Attempt = int32(attempt)
		}
	}
	return objects
}

// UID returns the UID of the Job.
func (j *Job) UID() types.UID {
	if j.Job == nil {
		return ""
	}
	return j.Job.UID
}

// CreatedFor returns the Attempt.
func (j *Job) CreatedFor() int32 { return j.Attempt }

// Deleting reports whether the Job is being deleted.
func (j *Job) Deleting() bool { return j.Job != nil && j.Job.DeletionTimestamp != nil }

// Phase reads the conditions of the Job.
func (j *Job) Phase() (phase group.Phase) {
	if j.Job == nil {
		return ""
	}
	for i := range j.Job.Status.Conditions {
		c := &j.Job.Status.Conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobFailed:
			return group.Failed
		case batchv1.JobComplete:
			phase = group.Complete
		case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			phase = cmp.Or(phase, group.Ending)
		}
	}
	return phase
}

// Failure returns [FailureOf] the Job, with its class, its progress and the name of the rule that failed it.
func (j *Job) Failure() group.Failure {
	f, _ := FailureOf(j.Job, j.Member, j.Attempt)
	f.Class, f.Progress = j.Class, j.Progress
	if rule, ok := j.PodFailurePolicy.Find(f.Reason, f.Message); ok {
		f.RuleName = cmp.Or(j.PodFailurePolicy.Rules[rule].Name, f.RuleName)
	}
	return f
}

// FailureOf returns the failure of a Job that has the condition Failed, and whether it has. A Job
// that is failing may still have pods, and is not reported.
//
// The rule, the container and the exit code are read from the reason and the message. If the reason
// does not name the rule, RuleName is its position; [failurepolicy.Spec.Find] finds the name. The
// caller may set Class and Progress.
func FailureOf(job *batchv1.Job, member group.Member, attempt int32) (group.Failure, bool) {
	if job == nil {
		return group.Failure{}, false
	}
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if c.Type != batchv1.JobFailed || c.Status != corev1.ConditionTrue {
			continue
		}
		f := group.Failure{Member: member, Attempt: attempt, At: c.LastTransitionTime.Time,
			Reason: c.Reason, Message: c.Message}
		if ref, ok := failurepolicy.RuleOf(c.Reason, c.Message); ok {
			f.RuleName = ruleName(ref)
			f.Container, f.ExitCode = exitIn(c.Message)
		}
		return f, true
	}
	return group.Failure{}, false
}

// ruleName returns the name of the rule that failed a Job, or its position; empty if neither is known.
func ruleName(of failurepolicy.Ref) string {
	if of.Index < 0 {
		return of.Name
	}
	return strconv.Itoa(of.Index)
}

// onExitCode is the message of a rule on exit codes, of [failurepolicy.Match.Message] and of the Job controller
// (matchPodFailurePolicy, Kubernetes 1.37). The names of containers and pods have no spaces.
var onExitCode = regexp.MustCompile(
	`^Container ([^ ]*) for pod [^ ]* failed with exit code (-?[1-9][0-9]*) matching FailJob rule at index [^ ]*$`)

// exitIn returns the container and the exit code in a message; none if it is about something else.
func exitIn(message string) (container string, code int32) {
	m := onExitCode.FindStringSubmatch(message)
	if m == nil {
		return "", 0
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return "", 0
	}
	return m[1], int32(n)
}
