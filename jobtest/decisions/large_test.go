package decisions

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/machine"
)

// largeJob returns a snapshot of an Indexed Job with n pods, which are shuffled in memory.
func largeJob(n int, perIndex bool, state func(i int, pod *corev1.Pod)) decide.Snapshot {
	count, limit := int32(n), int32(1<<30)
	job := NewJob()
	job.ResourceVersion = "1"
	job.Spec = batchv1.JobSpec{Completions: &count, Parallelism: &count, CompletionMode: new(batchv1.IndexedCompletion),
		BackoffLimit: &limit, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "job-uid"}}}
	job.Spec.Template.Labels = map[string]string{batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "job"}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Status = batchv1.JobStatus{StartTime: new(After(-3600)), Active: count, Ready: new(int32), Terminating: new(int32)}
	if perIndex {
		job.Spec.BackoffLimitPerIndex = &limit
		job.Status.FailedIndexes = new(string)
	}
	pods := make([]*corev1.Pod, n)
	for _, i := range rand.New(rand.NewSource(1)).Perm(n) {
		index := strconv.Itoa(i)
		pods[i] = Pod(fmt.Sprintf("%08x-0000-4000-8000-%012x", int64(i)*2654435761, i), Index(index), Failures("0"),
			func(pod *corev1.Pod) { state(i, pod) })
		pods[i].Name = "job-" + index
		pods[i].Labels = map[string]string{batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "job",
			batchv1.JobCompletionIndexAnnotation: index}
	}
	rand.New(rand.NewSource(2)).Shuffle(n, func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return decide.Snapshot{Job: job, Pods: pods, Now: Noon()}
}

func running(int, *corev1.Pod) {}

func failedJustNow(_ int, pod *corev1.Pod) { Exit(1, After(-2))(pod) }

func everySecondSucceeded(i int, pod *corev1.Pod) {
	if i%2 == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
}

// settled stores the status of the decision in the snapshot, and repeats that until nothing
// changes any more.
func settled(t *testing.T, s decide.Snapshot) decide.Snapshot {
	t.Helper()
	for range 10 {
		d := Must(decide.Job(s))
		if d.Idle() {
			return s
		}
		s.Job = s.Job.DeepCopy()
		for _, pod := range d.Strip {
			pod.Finalizers = nil
		}
		if d.Status != nil {
			s.Job.Status = *d.Status
		}
		if st := decidetest.Settle(d, d.Strip...).Status; st != nil {
			s.Job.Status = *st
		}
		s.Backoff = d.Backoff
	}
	t.Fatal("the decisions keep changing the status")
	return s
}

// atRest lists the states of a large Job in which a decision changes nothing.
var atRest = []resting{
	{"running", false, running, asItIs},
	{"running, per index", true, running, asItIs},
	{"backing off", false, failedJustNow, asItIs},
	{"backing off, per index", true, failedJustNow, asItIs},
	{"half completed", true, everySecondSucceeded, asItIs},
	{"complete", false, func(_ int, pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, asItIs},
	{"not indexed", false, running, func(s *batchv1.JobSpec) { s.CompletionMode = nil }},
	{"pod failure policy", true, failedJustNow, withFailurePolicy},
	{"success policy", false, everySecondSucceeded, withSuccessPolicy},
	{"a custom label", false, running, func(s *batchv1.JobSpec) { s.Selector.MatchLabels[batchv1.JobNameLabel] = "job" }},
}

type resting struct {
	name     string
	perIndex bool
	state    func(int, *corev1.Pod)
	spec     func(*batchv1.JobSpec)
}

func (r resting) snapshot(n int) decide.Snapshot {
	s := largeJob(n, r.perIndex, r.state)
	r.spec(&s.Job.Spec)
	return s
}

func asItIs(*batchv1.JobSpec) {}

func withFailurePolicy(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42, 43}}},
		{Action: batchv1.PodFailurePolicyActionCount, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new("main"), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{7}}},
	}}
}

func withSuccessPolicy(s *batchv1.JobSpec) {
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
		{SucceededIndexes: new("1,3-5"), SucceededCount: new(int32(2))},
		{SucceededCount: new(*s.Completions)},
	}}
}

// withSidecars adds n finished sidecars to a pod.
func withSidecars(pod *corev1.Pod, n int) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	for i := range n {
		name := fmt.Sprintf("sidecar-%d", i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: name, RestartCount: int32(i),
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: pod.CreationTimestamp}},
		})
	}
	return pod
}

// largeTemplate returns a Job of n pods with a template of about a megabyte.
func largeTemplate(t testing.TB, n int32) decide.Snapshot {
	job := decidetest.SpecJob(t, fmt.Sprintf("completions: %d\nparallelism: %d", n, n))
	var env []corev1.EnvVar
	for i := range 20_000 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "value"})
	}
	job.Spec.Template.Spec.Containers[0].Env = env
	return decide.Snapshot{Job: job, Now: job.CreationTimestamp.Time}
}

// thirds returns a view of a Job of 3n indexes: of each three, one has completed, one has failed and one backs off.
func thirds(n int) machine.View {
	s := largeJob(3*n, true, failedJustNow)
	var completed, failed indexset.Builder
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		i, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		switch i % 3 {
		case 0:
			completed.Add(int32(i))
		case 1:
			failed.Add(int32(i))
		default:
			pods = append(pods, pod)
		}
	}
	status := &s.Job.Status
	status.Active, status.Succeeded, status.Failed = 0, int32(n), int32(n)
	status.CompletedIndexes = completed.Set().String()
	*status.FailedIndexes = failed.Set().String()
	view := fresh(s.Job, pods...)
	view.Now = s.Now
	return view
}

// largeView returns a group of n members that have all been restarted once. One has succeeded, the others run.
func largeView(t testing.TB, n int) group.View {
	_, state, _ := largeGroup(t, n)
	v := group.View{Owner: group.Owner{UID: "owner", ResourceVersion: "1", State: state}, Now: Noon()}
	for i := range n {
		job := NewJob()
		if i == n/2 {
			Has(batchv1.JobComplete)(job)
		}
		m := group.Member{Name: fmt.Sprintf("workers-%d", i), Template: "workers"}
		v.Members = append(v.Members, &jobs.Job{Member: m, Job: job, Attempt: 1})
	}
	return v
}

// largeGroup returns a group of n members in which one of ten has failed, a policy of ten rules of which
// the last one matches, and its state, in which every member has been restarted.
func largeGroup(t testing.TB, n int) (*group.Decider, group.State, []group.Failure) {
	policy := &group.Policy{Budgets: []group.Budget{{Name: "alone", Per: group.PerMember, Max: 100}, {Name: "together", Max: 100}}}
	for i := range 9 {
		policy.Rules = append(policy.Rules, group.Rule{OnReasons: []string{fmt.Sprint("PodFailurePolicy_Rule", i)},
			OnMessagePatterns: []string{"exit code 4[0-9] "}, Steps: []group.Step{{Action: group.FailGroup}}})
	}
	policy.Rules = append(policy.Rules, group.Rule{OnMessagePatterns: []string{"backoff limit$"}, Steps: []group.Step{
		{Action: group.RestartMember, Charges: []string{"alone"}}, {Action: group.RestartGroup, Charges: []string{"together"}}}})
	decider := Must(group.NewDecider(policy))
	state := group.State{Version: group.StateVersion, Members: map[string]group.Part{}}
	var failures []group.Failure
	for i := range n {
		m := group.Member{Name: fmt.Sprintf("workers-%d", i), Template: "workers"}
		state.Members[m.Name] = group.Part{Restarts: 1, Used: map[string]group.Use{"alone": {Count: 1}}}
		if i%10 == 0 {
			failures = append(failures, group.Failure{Member: m, Attempt: 1, At: After(n - i).Time, Reason: "BackoffLimitExceeded",
				Message: "Job has reached the specified backoff limit"})
		}
	}
	return decider, state, failures
}
