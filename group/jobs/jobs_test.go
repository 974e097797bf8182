package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var (
	noon    = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	members = []group.Member{{Name: "a-0", Template: "a"}, {Name: "a-1", Template: "a"}, {Name: "b-0", Template: "b"}, {Name: "alone"}, {Template: "b"}}
)

// jobWith returns a Job with one condition.
func jobWith(typ batchv1.JobConditionType, reason, message string) *batchv1.Job {
	job := &batchv1.Job{}
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuspended, Status: "False", Reason: "JobResumed"},
		{Type: typ, Status: "True", Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon)},
	}
	return job
}

func TestFailureOf(t *testing.T) {
	const message = "Container main for pod ns/train-0-x7k2p failed with exit code 42 matching FailJob rule at index 1"
	m := group.Member{Name: "train-0", Template: "train"}
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		want group.Failure
	}{
		"the limit": {jobWith(batchv1.JobFailed, "BackoffLimitExceeded", "x"), group.Failure{Reason: "BackoffLimitExceeded", Message: "x"}},
		"a rule": {jobWith(batchv1.JobFailed, "PodFailurePolicy", message),
			group.Failure{Reason: "PodFailurePolicy", Message: message, RuleName: "1", Container: "main", ExitCode: 42}},
		"the first rule": {jobWith(batchv1.JobFailed, "PodFailurePolicy", "Pod ns/x failed matching FailJob rule at index 0"),
			group.Failure{Reason: "PodFailurePolicy", Message: "Pod ns/x failed matching FailJob rule at index 0", RuleName: "0"}},
		"a rule by name": {jobWith(batchv1.JobFailed, "PodFailurePolicy_Gpu", message),
			group.Failure{Reason: "PodFailurePolicy_Gpu", Message: message, RuleName: "Gpu", Container: "main", ExitCode: 42}},
		"a rule by position": {jobWith(batchv1.JobFailed, "PodFailurePolicy_1", message),
			group.Failure{Reason: "PodFailurePolicy_1", Message: message, RuleName: "1", Container: "main", ExitCode: 42}},
		"a rule that is not known": {jobWith(batchv1.JobFailed, "PodFailurePolicy", "x"), group.Failure{Reason: "PodFailurePolicy", Message: "x"}},
		// A rule may be named like the position of another rule only if the policy is not valid.
		"a rule named like another position": {jobWith(batchv1.JobFailed, "PodFailurePolicy_2", message),
			group.Failure{Reason: "PodFailurePolicy_2", Message: message, RuleName: "2", Container: "main", ExitCode: 42}},
		"another reason": {jobWith(batchv1.JobFailed, "X", message), group.Failure{Reason: "X", Message: message}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Member, tc.want.Attempt, tc.want.At = m, 3, noon
			got, ok := jobs.FailureOf(tc.job, m, 3)
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
	inverted := jobWith(batchv1.JobFailed, "X", "")
	inverted.Status.Conditions[1].Status = "False"
	for name, job := range map[string]*batchv1.Job{"nil": nil, "empty": {}, "failing": jobWith(batchv1.JobFailureTarget, "X", ""),
		"complete": jobWith(batchv1.JobComplete, "X", ""), "not failed": inverted} {
		Same(t, name, Pair(jobs.FailureOf(job, m, 0)), Pair(group.Failure{}, false))
	}
}

// The container and the exit code are those of the message, if it has some.
func TestFailureOf_exit(t *testing.T) {
	for message, want := range map[string]group.Failure{
		"Container main for pod ns/name failed with exit code 42 matching FailJob rule at index 1x":                                 {Container: "main", ExitCode: 42},
		"Container main for pod ns/name failed with exit code -1 matching FailJob rule at index 0":                                  {Container: "main", ExitCode: -1, RuleName: "0"},
		"Container main for pod ns/name failed with exit code 0 matching FailJob rule at index 1":                                   {RuleName: "1"},
		"Container main for pod ns/name failed with exit code 4294967296 matching FailJob rule at index 1":                          {RuleName: "1"},
		"Container main for pod ns/name failed with exit code 42x matching FailJob rule at index 1":                                 {RuleName: "1"},
		"The Container main for pod ns/name failed with exit code 42 matching FailJob rule at index 1":                              {RuleName: "1"},
		"Container  matching FailJob rule at index 1":                                                                               {RuleName: "1"},
		"Container main for pod ns/name failed with exit code 42 matching FailJob rule at index 1 matching FailJob rule at index 0": {RuleName: "0"},
		"Pod ns/name has condition DisruptionTarget matching FailJob rule at index 0":                                               {RuleName: "0"},
		"Pod ns/name failed with x matching FailJob rule at index 7 matching FailJob rule at index 0":                               {RuleName: "0"},
		"Pod ns/name failed with a\nb matching FailJob rule at index 1":                                                             {RuleName: "1"},
	} {
		got, _ := jobs.FailureOf(jobWith(batchv1.JobFailed, "PodFailurePolicy", message), group.Member{}, 0)
		want.Reason, want.Message, want.At = "PodFailurePolicy", message, noon
		Same(t, message, got, want)
	}
}

// What a rule of this library writes is read back.
func TestFailureOf_ofAMatch(t *testing.T) {
	for _, code := range []int32{1, 42, -1, 255, 1<<31 - 1} {
		match := failurepolicy.Match{Rule: 3, Action: batchv1.PodFailurePolicyActionFailJob, Container: "main", ExitCode: code,
			Pod: types.NamespacedName{Namespace: "ns", Name: "name"}}
		got, _ := jobs.FailureOf(jobWith(batchv1.JobFailed, failurepolicy.Reason(3, ""), match.Message()), group.Member{}, 0)
		if got.RuleName != "3" || got.Container != "main" || got.ExitCode != code {
			t.Errorf("%s: got %+v", match.Message(), got)
		}
	}
}

// The phase of a Job: the condition that ends it counts, not what announces it.
func TestJob_phase(t *testing.T) {
	for conditions, want := range map[string]group.Phase{
		"": "", "SuccessCriteriaMet": group.Ending, "FailureTarget": group.Ending, "Suspended": "",
		"Complete": group.Complete, "SuccessCriteriaMet Complete": group.Complete, "Complete SuccessCriteriaMet": group.Complete,
		"FailureTarget Failed": group.Failed, "Failed FailureTarget": group.Failed, "-Failed": "", "-Complete FailureTarget": group.Ending,
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		for _, word := range strings.Fields(conditions) {
			condition := jobWith(batchv1.JobConditionType(strings.TrimPrefix(word, "-")), "Because", "").Status.Conditions[1]
			if word[0] == '-' {
				condition.Status = "False"
			}
			job.Status.Conditions = append(job.Status.Conditions, condition)
		}
		Same(t, fmt.Sprintf("%q", conditions), (&jobs.Job{Job: job}).Phase(), want)
	}
	none := &jobs.Job{Member: members[0], Attempt: 3}
	if none.UID() != "" || none.Phase() != "" || none.Deleting() || none.CreatedFor() != 3 || none.Of() != members[0] {
		t.Errorf("a Job that does not exist: %+v", none)
	}
}

// "those of a list that the owner with this UID controls, and that have the name of the member".
func TestOf(t *testing.T) {
	job := func(name, owner, attempt string) batchv1.Job {
		j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + owner), Annotations: map[string]string{"attempt": attempt}}}
		if owner != "" {
			j.OwnerReferences = []metav1.OwnerReference{{UID: "other"}, {UID: types.UID(owner), Controller: new(true)}}
		}
		return j
	}
	list := []batchv1.Job{job("a-0", "earlier", "7"), job("a-1", "owner", "3"), job("b-0", "", "1"), job("backup", "owner", "0"), job("alone", "owner", "x")}
	got := Each(jobs.Of("owner", members, list, "attempt"), func(o group.Object) string {
		return fmt.Sprint(o.Of().Name, " ", o.UID(), " ", o.CreatedFor())
	})
	Same(t, "the members", got, []string{"a-0  0", "a-1 a-1owner 3", "b-0  0", "alone aloneowner 0", "  0"})
}

// "OnRuleNames lists rules of the Job's pod failure policy: the names of rules, or the position of a rule whose name is
// not known". The built-in controller writes the position only.
func TestJob_ruleNames(t *testing.T) {
	const message = "Pod ns/p failed matching FailJob rule at index "
	rules := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{}, {Name: "Gpu"}}}
	for _, tc := range []struct {
		reason, message string
		rules           *failurepolicy.Spec
		want            string
	}{
		{"PodFailurePolicy", message + "1", rules, "Gpu"}, {"PodFailurePolicy", message + "1", nil, "1"},
		{"PodFailurePolicy", message + "0", rules, "0"}, {"PodFailurePolicy", message + "7", rules, "7"},
		{"PodFailurePolicy_Gpu", message + "1", nil, "Gpu"}, {"PodFailurePolicy_1", message + "1", rules, "Gpu"},
		{"BackoffLimitExceeded", message + "1", rules, ""},
	} {
		job := &jobs.Job{Member: members[0], Job: jobWith(batchv1.JobFailed, tc.reason, tc.message), PodFailurePolicy: tc.rules, Class: "Infra", Progress: 7}
		job.Job.UID = "uid"
		policy := &group.Policy{Rules: []group.Rule{{OnRuleNames: []string{tc.want}, Steps: []group.Step{{Action: group.RestartMember}}}}}
		p, err := group.MakePlan(policy, group.State{}, []group.Object{job}, noon)
		if err != nil || p.Failure.RuleName != tc.want || p.Rule != 0 || p.Failure.Class != "Infra" || p.Failure.Progress != 7 {
			t.Errorf("%s, %s: the rule %q, %v, want %q", tc.reason, tc.message, p.Failure.RuleName, err, tc.want)
		}
	}
}
