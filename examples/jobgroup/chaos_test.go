package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// underFaults runs groups whose Jobs fail with every kind of reason.
var underFaults = chaos.Creator{
	Scheme:  Must(newScheme()),
	Kinds:   []kube.Kind{{GroupVersionKind: groupVersion.WithKind("JobGroup"), Status: true}},
	Objects: drawGroups,
	Purpose: func(job *batchv1.Job) string {
		return memberOf(job.Name) + " in attempt " + job.Annotations[attemptAnnotation]
	},
	Outcome: drawOutcome,
	Judge:   judge,
}

// memberOf returns the first three parts of a name.
func memberOf(name string) string {
	return strings.Join(strings.SplitN(name, "-", 4)[:3], "-")
}

// drawGroups returns one or two groups, and sometimes a Job that a user created with a group's label.
func drawGroups(seed uint64) []client.Object {
	random := rand.New(rand.NewPCG(seed, 0))
	var all []client.Object
	for _, name := range []string{"g", "h"}[:1+random.IntN(4)/3] {
		all = append(all, drawGroup(random, name))
	}
	if random.IntN(3) == 0 {
		backup := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup", Labels: map[string]string{groupLabel: "g"}}}
		backup.Spec.Template.Spec = MinimalPodSpec()
		all = append(all, backup)
	}
	return all
}

// policies are failure policies whose end does not depend on the order in which Jobs fail.
var policies = []string{
	// Each failure restarts the group.
	`{budgets: [{name: restarts, max: 2}], rules: [{name: whole, steps: [{action: RestartGroup, charges: [restarts]}]}]}`,
	`{rules: [{onReasons: [PodFailurePolicy_ExitCode2], steps: [{action: FailGroup}]}]}`,
	// A Job is restarted alone, then left, with a budget for each rule and a backoff.
	`{budgets: [{name: two, per: Member, max: 1}, {name: three, per: Member, max: 2}], rules: [
		{onRuleNames: [ExitCode2], steps: [{action: RestartMember, charges: [two], backoff: {}}, {action: Leave}]},
		{onReasons: [PodFailurePolicy], steps: [{action: RestartMember, charges: [three]}, {action: Leave}]}]}`,
	// The Job once, then the group once, then fail.
	`{budgets: [{name: alone, per: Member, max: 1}, {name: together, max: 1}], rules: [{name: escalate, steps: [
		{action: RestartMember, charges: [alone], backoff: {base: 5s}}, {action: RestartGroup, charges: [together], backoff: {}}]}]}`,
}

// drawGroup draws a group, and writes into its template which Jobs fail, in which attempts.
func drawGroup(random *rand.Rand, name string) *JobGroup {
	at := random.IntN(len(policies))
	group := newGroup(1+random.Int32N(3), policies[at])
	group.Name, group.UID = name, ""
	members := []string{name + "-a-0", name + "-a-1", name + "-a-2"}[:group.Spec.Jobs[0].Replicas]
	one, script := members[random.IntN(len(members))], map[string]string{}
	attempts := " 0 1 2 3"[:2*random.IntN(5)]
	switch at {
	case 0, 3: // only one Job fails
		script[one] = "BackoffLimitExceeded" + attempts
	case 1:
		script[one] = "PodFailurePolicy_ExitCode2 0"
	case 2:
		for _, member := range members {
			script[member] = []string{"", "PodFailurePolicy_ExitCode2" + attempts, "PodFailurePolicy_ExitCode3" + attempts}[random.IntN(3)]
		}
	}
	group.Spec.Jobs[0].Spec.Template.Spec = MinimalPodSpec()
	group.Spec.Jobs[0].Spec.Template.Annotations = script
	return group
}

// newGroup returns a group of the Jobs g-a-0 and so on.
func newGroup(jobs int32, policy string) *JobGroup {
	g := &JobGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g-uid"}}
	g.Spec.Jobs = []Template{{Name: "a", Replicas: jobs}}
	utilruntime.Must(yaml.UnmarshalStrict([]byte(policy), &g.Spec.FailurePolicy))
	return g
}

// drawOutcome returns the reason with which a Job fails in some restarts.
func drawOutcome(_ uint64, job *batchv1.Job) string {
	script := strings.Fields(job.Spec.Template.Annotations[memberOf(job.Name)])
	if len(script) > 0 && slices.Contains(script[1:], job.Annotations[attemptAnnotation]) {
		return script[0]
	}
	return ""
}

// judge checks that a restart of a whole group creates no Job while old ones exist. In the end no
// Job of a previous restart is left, and none of a failed group runs.
func judge(now client.Reader) (end string, violation error) {
	ctx := context.Background()
	var groups JobGroupList
	var jobs batchv1.JobList
	if err := errors.Join(now.List(ctx, &groups), now.List(ctx, &jobs)); err != nil {
		return "", err
	}
	ended := len(groups.Items) > 0
	for i := range groups.Items {
		group := &groups.Items[i]
		ended = ended && (group.Status.Phase == "Complete" || group.Status.Phase == "Failed")
		end += fmt.Sprintf("%s has %s after %d restarts. ", group.Name, group.Status.Phase, group.Status.Restarts)
		current := map[string]int{}
		for _, m := range group.members() {
			current[m.Name] = int(group.Status.Failures.Attempt(m))
		}
		var attempts []int
		for j := range jobs.Items {
			job := &jobs.Items[j]
			if !metav1.IsControlledBy(job, group) {
				continue
			}
			attempt, _ := strconv.Atoi(job.Annotations[attemptAnnotation])
			attempts = append(attempts, attempt)
			if attempt < current[job.Name] || len(job.Status.Conditions) == 0 {
				end += "The Job " + job.Name + " is left. "
			}
		}
		whole := len(group.Spec.FailurePolicy.Rules) > 0 && group.Spec.FailurePolicy.Rules[0].Name == "whole"
		if whole && len(attempts) > 0 && slices.Min(attempts) != slices.Max(attempts) {
			violation = fmt.Errorf("the group %s has Jobs of the attempts %d", group.Name, attempts)
		}
	}
	if !ended {
		end = ""
	}
	return end, violation
}

func newController(env *chaos.Env) *groupController {
	return &groupController{client: env.Client, live: env.Live, recorder: env.Manager.GetEventRecorder("jobgroup-controller")}
}

// Random schedules of faults for the controller of groups.
func TestSchedules(t *testing.T) {
	underFaults.Test(t, func(env *chaos.Env) reconcile.Reconciler { return newController(env) })
}

// suffixed makes the names of Jobs random, as generateName does.
type suffixed struct {
	client.Client
	names map[types.UID]string
}

func (c suffixed) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	job := o.(*batchv1.Job).DeepCopy()
	job.Name, job.GenerateName = "", job.Name+"-"
	return c.Client.Create(ctx, job)
}

func (c suffixed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := c.Client.List(ctx, list, options...)
	for i, job := range list.(*batchv1.JobList).Items {
		c.names[job.UID] = job.Name
		list.(*batchv1.JobList).Items[i].Name = memberOf(job.Name)
	}
	return err
}

func (c suffixed) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	o.SetName(c.names[o.GetUID()])
	return c.Client.Delete(ctx, o, options...)
}

// forced stores a status over a newer one.
type forced struct {
	client.Client
	live client.Reader
}

func (c forced) Status() client.SubResourceWriter { return forcedStatus{c.Client.Status(), c.live} }

type forcedStatus struct {
	client.SubResourceWriter
	live client.Reader
}

func (s forcedStatus) Update(ctx context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	now := &JobGroup{}
	if s.live.Get(ctx, client.ObjectKeyFromObject(o), now) == nil {
		o.SetResourceVersion(now.ResourceVersion)
	}
	return s.SubResourceWriter.Update(ctx, o, options...)
}

// byName deletes Jobs without their UIDs.
type byName struct{ client.Client }

func (c byName) Delete(ctx context.Context, o client.Object, _ ...client.DeleteOption) error {
	return c.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

// cachedLists gets objects live, and lists those of the cache.
type cachedLists struct {
	client.Reader
	cache client.Reader
}

func (c cachedLists) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.cache.List(ctx, list, options...)
}

// withoutRetry does not retry a creation that a quota has refused.
type withoutRetry struct{ client.Client }

func (c withoutRetry) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return utilerrors.FilterOut(c.Client.Create(ctx, o, options...), apierrors.IsForbidden)
}

// planted are bugs of controllers that create Jobs.
var planted = []struct {
	name, property string
	plant          func(*groupController)
}{
	{"live reads go to the cache", "C1 own", func(c *groupController) { c.live = c.client }},
	{"names are random, and after a lost answer the Job is assumed not to exist", "C1", func(c *groupController) {
		c.client = suffixed{c.client, map[types.UID]string{}}
		c.live = c.client
	}},
	{"a status is stored over a newer one", "C1 C2 C3", func(c *groupController) { c.client = forced{c.client, c.live} }},
	{"Jobs are deleted by name, without the UID, as a cache lists them", "C1", func(c *groupController) {
		c.live, c.client = cachedLists{c.live, c.client}, byName{c.client}
	}},
	{"a creation that a quota refused is not retried", "C4", func(c *groupController) { c.client = withoutRetry{c.client} }},
}

// Each bug is found, with a report that fits on a screen.
func TestPlanted(t *testing.T) {
	for _, bug := range planted {
		t.Run(bug.name, func(t *testing.T) {
			r := underFaults.Search(t, func(env *chaos.Env) reconcile.Reconciler {
				c := newController(env)
				bug.plant(c)
				return c
			})
			if r.Violation == nil || !slices.Contains(strings.Fields(bug.property), r.Violation.Property) {
				t.Fatalf("found %v, want %s\n%s", r.Violation, bug.property, r.Story)
			}
			if t.Log(r.Story); strings.Count(r.Story, "\n") > 60 || !strings.Contains(r.Story, r.Violation.Meaning()) {
				t.Error("the report has more than 60 lines, or does not say what is violated")
			}
		})
	}
}
