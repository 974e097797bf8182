package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// The labels of JobSet.
const (
	replicatedJob     = "jobset.sigs.k8s.io/replicatedjob-name"
	jobIndex          = "jobset.sigs.k8s.io/job-index"
	restartAttempt    = "jobset.sigs.k8s.io/restart-attempt"
	jobRestartAttempt = "jobset.sigs.k8s.io/job-restart-attempt"
)

func jobSetHeld(o object) string {
	starting := o.condition("StartupPolicyInProgress")
	return cmp.Or(suspended(o), textIf(starting.text("status") == "True",
		"its startup policy starts this Job after others: "+starting.text("message")))
}

// mustBeReady reports whether an owner creates other Jobs only once the pods of this one are Ready (JobSet
// pkg/controllers/startup_policy.go allReplicasStarted, depends_on.go dependencyReachedStatus).
func (f *facts) mustBeReady() bool {
	return slices.ContainsFunc(f.owners, func(o owner) bool {
		return o.object.condition("StartupPolicyInProgress").text("status") == "True" ||
			slices.ContainsFunc(o.object.list("spec", "replicatedJobs"), func(r object) bool {
				return !hasStarted(o.object, r.text("name")) &&
					slices.ContainsFunc(r.list("dependsOn"), func(d object) bool {
						return d.text("status") == "Ready" && d.text("name") == f.Job.Labels[replicatedJob]
					})
			})
	})
}

// hasStarted reports whether Jobs of a ReplicatedJob of a JobSet have begun.
func hasStarted(set object, name string) bool {
	return slices.ContainsFunc(set.list("status", "replicatedJobsStatus"), func(r object) bool {
		return r.text("name") == name && slices.ContainsFunc([]string{"active", "ready", "succeeded", "failed"},
			func(count string) bool { n, _ := r.number(count); return n > 0 })
	})
}

// jobSetSays follows the failure policy of a JobSet (pkg/controllers/failure_policy.go executeFailurePolicy).
func jobSetSays(f *facts, of owner, failed bool) string {
	o, manager := of.object, of.object.text("spec", "managedBy")
	switch {
	case !failed:
		return ""
	case o == nil:
		return of.String() + ", which is not given, decides whether the Job runs again"
	case manager != "" && manager != "jobset.sigs.k8s.io/jobset-controller":
		return of.String() + " is managed by " + manager + ", which decides whether the Job runs again"
	case o.text("metadata", "deletionTimestamp") != "":
		return of.String() + " is being deleted, and does not run the Job again"
	}
	for _, end := range []string{"Failed", "Completed"} {
		if c := o.condition(end); c.text("status") == "True" {
			return joined(": ", of.String()+" has "+strings.ToLower(end), c.text("reason"), c.text("message"))
		}
	}
	if text := jobSetDeletes(f.Job, of); text != "" {
		return text
	}
	rule, name := f.jobSetRule(o)
	action := rule.text("action")
	what := either(strings.HasPrefix(action, "RestartJob") && !strings.HasPrefix(action, "RestartJobSet"),
		"restarts this Job", "restarts")
	all, _ := o.number("status", "restarts")
	switch action {
	case "FailJobSet":
		return of.String() + " fails, too, by rule " + name + " of its failure policy"
	case "RestartJobAndIgnoreMaxRestarts":
		all = restartsOf(f.Job, o)
		fallthrough
	case "RestartJobSetAndIgnoreMaxRestarts":
		return fmt.Sprintf("%s %s by rule %s of its failure policy, without a limit: %d restarts so far", of, what,
			name, all)
	}
	most, _ := o.number("spec", "failurePolicy", "maxRestarts")
	used, _ := o.number("status", "restartsCountTowardsMax") // omitted if 0
	for _, r := range o.list("status", "replicatedJobsStatus") {
		for _, n := range r.numbers("jobRestartsCountTowardsMax") {
			used += n
		}
	}
	if used < most {
		return fmt.Sprintf("%s %s: restart %d of %d", of, what, used+1, most)
	}
	return fmt.Sprintf("%s fails, too: it has used %d of %d restarts", of, used, most)
}

// jobSetRule returns the first rule of a JobSet's failure policy that applies to the failure of the Job, with its name
// or number; empty if none does.
func (f *facts) jobSetRule(set object) (rule object, name string) {
	message := cmp.Or(jobstatus.OutcomeOf(f.Job).Message, f.End.Condition.Message)
	for i, r := range set.list("spec", "failurePolicy", "rules") {
		patterns, _ := r["onJobFailureMessagePatterns"].([]any)
		if holds(r["onJobFailureReasons"], f.failureReason()) &&
			holds(r["targetReplicatedJobs"], f.Job.Labels[replicatedJob]) &&
			(len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern any) bool {
				matches, err := regexp.MatchString(fmt.Sprint(pattern), message)
				return err == nil && matches
			})) {
			return r, cmp.Or(r.text("name"), fmt.Sprint(i))
		}
	}
	return nil, ""
}

// holds reports whether a list of a rule is empty or has the text.
func holds(list any, text string) bool {
	all, _ := list.([]any)
	return len(all) == 0 || slices.Contains(all, any(text))
}

// restartsOf returns how often a JobSet has restarted a Job without the others.
func restartsOf(job *batchv1.Job, set object) int64 {
	index, err := strconv.Atoi(job.Labels[jobIndex])
	for _, r := range set.list("status", "replicatedJobsStatus") {
		if n := r.numbers("jobRestarts"); r.text("name") == job.Labels[replicatedJob] && err == nil && index < len(n) {
			return n[max(0, index)]
		}
	}
	return 0
}

// jobSetDeletes follows the JobSet controller (pkg/controllers/jobset_controller.go getChildJobs): it deletes Jobs of
// earlier attempts, of the set or of the Job alone, and active Jobs once the set has ended.
func jobSetDeletes(job *batchv1.Job, set owner) string {
	at, _ := set.object.number("status", "restarts")
	for _, of := range [...]struct {
		label, what string
		at          int64
	}{{restartAttempt, "set", at}, {jobRestartAttempt, "Job", restartsOf(job, set.object)}} {
		attempt, err := strconv.ParseInt(job.Labels[of.label], 10, 64)
		if err == nil && attempt < of.at {
			return fmt.Sprintf("%s deletes this Job: it is of restart attempt %d, and the %s is at %d", set, attempt,
				of.what, of.at)
		}
	}
	for _, end := range []string{"Failed", "Completed"} {
		if set.object.condition(end).text("status") == "True" && jobstatus.Finished(job) == nil {
			return fmt.Sprintf("%s is %s, and deletes the Jobs that are active", set, end)
		}
	}
	return ""
}
