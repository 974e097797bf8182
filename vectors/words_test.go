package vectors

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// theCase returns a case with pods in several states, and what jobfate does with it.
func theCase(t *testing.T, changes ...func(*Case)) (*Case, *Outcome) {
	t.Helper()
	labels := map[string]string{"app": "job"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid", ResourceVersion: "7"},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(4)), Parallelism: new(int32(3)),
			BackoffLimitPerIndex: new(int32(1)),
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
		Status: batchv1.JobStatus{StartTime: new(metav1.NewTime(noon.Add(-time.Minute))), FailedIndexes: new("")},
	}
	pod := func(name, index string, phase corev1.PodPhase, code int32, ago time.Duration) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: labels,
			Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: index, batchv1.JobIndexFailureCountAnnotation: "0"},
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}}
		p.Status.Phase = phase
		if phase != corev1.PodRunning {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(noon.Add(-ago))}}}}
		}
		return p
	}
	c := &Case{ID: "made", Snapshot: Snapshot{Now: noon, Job: job, Pods: []*corev1.Pod{
		pod("waits", "0", corev1.PodFailed, 3, 4*time.Second),
		pod("runs", "1", corev1.PodRunning, 0, 0),
		pod("done", "2", corev1.PodSucceeded, 0, time.Second),
	}}}
	for _, change := range changes {
		change(c)
	}
	got, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	c.Jobfate = got
	return c, got
}

// wrong returns a copy of an outcome that is changed.
func wrong(t *testing.T, o *Outcome, change func(*Outcome)) *Outcome {
	t.Helper()
	copied := *o
	copied.Writes = slices.Clone(o.Writes)
	for i := range copied.Writes {
		w := &copied.Writes[i]
		if w.Status != nil {
			w.Status = w.Status.DeepCopy()
		}
		if w.New != nil {
			n := *w.New
			w.New = &n
		}
	}
	change(&copied)
	return &copied
}

// write returns the first write with a verb.
func write(o *Outcome, verb Verb) *Write {
	return &o.Writes[slices.IndexFunc(o.Writes, func(w Write) bool { return w.Verb == verb })]
}

func dropped(verb Verb) func(*Outcome) {
	return func(o *Outcome) {
		o.Writes = slices.DeleteFunc(o.Writes, func(w Write) bool { return w.Verb == verb })
	}
}

func added(w Write) func(*Outcome) {
	return func(o *Outcome) { o.Writes = append([]Write{w}, o.Writes...) }
}

func newPod(index string) *NewPod {
	return &NewPod{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: index}}
}

// A wrong expectation about each field gives the difference in words, the rule and its document.
func TestDifference_namesTheRule(t *testing.T) {
	pods := func(c *Case) []*corev1.Pod { return c.Snapshot.Pods }
	job := func(change func(*batchv1.Job)) func(*Case) {
		return func(c *Case) { change(c.Snapshot.Job) }
	}
	notIndexed := job(func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex, j.Status.FailedIndexes = nil, nil, nil
	})
	suspended := job(func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	healthy := func(c *Case) { c.Snapshot.Pods = pods(c)[1:2] }
	condition := func(kind batchv1.JobConditionType, reason string) func(*Outcome) {
		return func(o *Outcome) {
			status := write(o, Status).Status
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason})
		}
	}
	status := func(change func(*batchv1.JobStatus)) func(*Outcome) {
		return func(o *Outcome) { change(write(o, Status).Status) }
	}
	told := map[string]bool{} // the rules
	for _, test := range []struct {
		name   string
		setup  []func(*Case)
		plant  func(*Outcome) // into what the vector says
		says   string
		source string
	}{
		{"a creation of an index that backs off", nil, added(Write{Verb: Create, New: newPod("0")}),
			"the vector says that index 0 is created, it is not", "KEP-3850 § Backoff delay per index"},
		{"no creation", nil, dropped(Create), "index 3 is created, the vector says it is not",
			"API, JobSpec.completionMode"},
		{"a creation of a completed index", []func(*Case){job(func(j *batchv1.Job) { j.Status.CompletedIndexes = "2" })},
			added(Write{Verb: Create, New: newPod("2")}), "the vector says that index 2 is created, it is not", "KEP-3850 § Failures per index"},
		{"a creation before earlier writes are observed", []func(*Case){func(c *Case) { c.Snapshot.Pending.Creations = 1 }},
			added(Write{Verb: Create, New: newPod("3")}), "the vector says that index 3 is created, it is not", "docs/architecture.md § A sync"},
		{"a creation for a suspended Job", []func(*Case){suspended},
			added(Write{Verb: Create, New: newPod("3")}), "the vector says that index 3 is created, it is not", "API, JobSpec.suspend"},
		{"a creation for a Job that is deleted", []func(*Case){job(func(j *batchv1.Job) { j.DeletionTimestamp = j.Status.StartTime })},
			added(Write{Verb: Create, New: newPod("3")}), "the vector says that index 3 is created, it is not", "KEP-2307 § Deleted Jobs"},
		{"a creation while the Job backs off", []func(*Case){notIndexed, func(c *Case) { c.Snapshot.Pods = pods(c)[:2] }},
			added(Write{Verb: Create, New: &NewPod{}}), "the vector says that a pod without an index is created, it is not", "KEP-3850 § Risks, backoff delay"},
		{"a creation while a pod terminates", []func(*Case){notIndexed, healthy, func(c *Case) {
			c.Snapshot.Job.Spec.PodReplacementPolicy = new(batchv1.Failed)
			c.Snapshot.Pods[0].DeletionTimestamp = c.Snapshot.Job.Status.StartTime
		}}, added(Write{Verb: Create, New: &NewPod{}}), "the vector says that a pod without an index is created, it is not", "API, JobSpec.podReplacementPolicy"},
		{"no creation for a Job without indexes", []func(*Case){notIndexed, healthy}, dropped(Create),
			"a pod without an index (2 times) are created, the vector says they are not", "API, JobSpec.parallelism"},

		{"a deletion", nil, added(Write{Verb: Delete, Pod: "runs"}),
			"the vector says that pod runs is deleted, it is not", "API, JobSpec.completionMode"},
		{"no deletion of a suspended Job's pods", []func(*Case){suspended}, dropped(Delete),
			"pod runs is deleted, the vector says it is not", "API, JobSpec.suspend"},
		{"a deletion for a Job without indexes", []func(*Case){notIndexed}, added(Write{Verb: Delete, Pod: "runs"}),
			"the vector says that pod runs is deleted, it is not", "API, JobSpec.parallelism"},
		{"a deletion that counts", []func(*Case){suspended}, dropped(Untrack),
			"pod runs loses its finalizer before its deletion, the vector says it does not", "KEP-2307 § Deleted pods"},
		{"an adoption", nil, added(Write{Verb: Adopt, Pod: "runs"}),
			"the vector says that pod runs is adopted, it is not", "KEP-2307 § Pod adoption"},
		{"a release", nil, added(Write{Verb: Release, Pod: "runs"}),
			"the vector says that pod runs is released, it is not", "API, JobSpec.selector"},
		{"a pod that is freed", nil, added(Write{Verb: Free, Pod: "runs"}),
			"the vector says that pod runs is freed, it is not", "KEP-2307 § Deleted Jobs"},
		{"a failed pod that is not replaced loses its finalizer", nil, func(o *Outcome) { o.Writes = append(o.Writes, Write{Verb: Strip, Pod: "waits"}) },
			"the vector says that pod waits loses its finalizer, it does not", "KEP-3850 § Failures per index"},
		{"a finished pod keeps its finalizer", []func(*Case){notIndexed}, func(o *Outcome) { write(o, Strip).Pod = "runs" },
			"pod done loses its finalizer, the vector says pod runs", "KEP-2307 § Algorithm, step 3"},

		{"other counts of failures", nil, func(o *Outcome) {
			write(o, Create).New.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: "3", batchv1.JobIndexFailureCountAnnotation: "9"}
		}, `job-index-failure-count":"0"} is created with these annotations, the vector says index 3`, "KEP-3850 § Failures per index"},
		{"no finalizer", nil, func(o *Outcome) { write(o, Create).New.Finalizers = nil },
			"is created with these finalizers, the vector says it is not", "KEP-2307 § Algorithm, step 1"},
		{"another hostname", nil, func(o *Outcome) { write(o, Create).New.Hostname = "mine" },
			`index 3: "job-3" is created with this, the vector says index 3: "mine"`, "API, JobSpec.completionMode"},

		{"too many failed indexes", nil, condition(batchv1.JobFailureTarget, batchv1.JobReasonMaxFailedIndexesExceeded),
			"the vector says that FailureTarget True MaxFailedIndexesExceeded is stored, it is not", "KEP-3850 § Job completion"},
		{"failed indexes", nil, condition(batchv1.JobFailureTarget, batchv1.JobReasonFailedIndexes),
			"FailureTarget True FailedIndexes is stored", "KEP-3850 § Job completion"},
		{"a rule with a name", nil, condition(batchv1.JobFailureTarget, "PodFailurePolicy_Disk"),
			"FailureTarget True PodFailurePolicy_Disk is stored", "KEP-4443 § Business logic"},
		{"a rule", nil, condition(batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy),
			"FailureTarget True PodFailurePolicy is stored", "API, JobSpec.podFailurePolicy"},
		{"the limit of the Job", nil, condition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded),
			"FailureTarget True BackoffLimitExceeded is stored", "API, JobSpec.backoffLimit"},
		{"the deadline", nil, condition(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded),
			"FailureTarget True DeadlineExceeded is stored", "API, JobSpec.activeDeadlineSeconds"},
		{"the success policy", nil, condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy),
			"SuccessCriteriaMet True SuccessPolicy is stored", "API, JobSpec.successPolicy"},
		{"suspended", nil, condition(batchv1.JobSuspended, "JobSuspended"),
			"Suspended True JobSuspended is stored", "API, JobSpec.suspend"},
		{"completions", nil, condition(batchv1.JobSuccessCriteriaMet, "CompletionsReached"),
			"SuccessCriteriaMet True CompletionsReached is stored", "API, JobSpec.completions"},

		{"a failed index", nil, status(func(s *batchv1.JobStatus) { s.FailedIndexes = new("0") }),
			`status.failedIndexes is "", the vector says "0"`, "KEP-3850 § Failures per index"},
		{"an index that a rule fails", []func(*Case){job(func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailIndex,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{3}}}}}
		})}, status(func(s *batchv1.JobStatus) { s.FailedIndexes = new("") }), `status.failedIndexes is "0", the vector says ""`, "KEP-3850 § FailIndex"},
		{"completed indexes", nil, status(func(s *batchv1.JobStatus) { s.CompletedIndexes = "" }),
			`status.completedIndexes is "2", the vector says nothing`, "KEP-2307 § Indexed Jobs"},
		{"the number of completed indexes", nil, status(func(s *batchv1.JobStatus) { s.Succeeded = 4 }),
			"status.succeeded is 1, the vector says 4", "KEP-2307 § Indexed Jobs"},
		{"an uncounted pod", []func(*Case){notIndexed}, status(func(s *batchv1.JobStatus) { s.UncountedTerminatedPods.Failed = nil }),
			"pod waits is listed, the vector says it is not", "KEP-2307 § Algorithm, step 2"},
		{"a pod that is deleted", []func(*Case){notIndexed, func(c *Case) { pods(c)[0].DeletionTimestamp = c.Snapshot.Job.Status.StartTime }},
			status(func(s *batchv1.JobStatus) { s.UncountedTerminatedPods.Failed = nil }), "pod waits is listed, the vector says it is not", "KEP-2307 § Deleted pods"},
		{"a counter", nil, status(func(s *batchv1.JobStatus) { s.Failed = 5 }),
			"status.failed is nothing, the vector says 5", "KEP-2307 § Algorithm, step 4"},
		{"active pods", nil, status(func(s *batchv1.JobStatus) { s.Active = 5 }),
			"status.active is 2, the vector says 5", "API, JobStatus.active"},
		{"ready pods", nil, status(func(s *batchv1.JobStatus) { s.Ready = new(int32(5)) }),
			"status.ready is 0, the vector says 5", "API, JobStatus.ready"},
		{"terminating pods", nil, status(func(s *batchv1.JobStatus) { s.Terminating = new(int32(5)) }),
			"status.terminating is 0, the vector says 5", "API, JobStatus.terminating"},
		{"no status", nil, dropped(Status), "the status is stored, the vector says it is not",
			"docs/architecture.md § A sync"},
		{"the start", nil, status(func(s *batchv1.JobStatus) { s.StartTime = nil }),
			`status.startTime is "2026-01-01T11:59:00Z", the vector says nothing`, "API, JobStatus.startTime"},
		{"a pod that is counted twice", []func(*Case){notIndexed}, func(o *Outcome) { o.Writes[len(o.Writes)-1].Status.Failed = 5 },
			"counted.failed is 1, the vector says 5", "KEP-2307 § Algorithm, step 4"},
		{"a pod that stays listed", []func(*Case){notIndexed}, func(o *Outcome) {
			o.Writes[len(o.Writes)-1].Status.UncountedTerminatedPods.Failed = []types.UID{"waits"}
		}, "the vector says that pod waits is still listed, it is not", "KEP-2307 § Algorithm, step 4"},
		{"a Job that ends too early", []func(*Case){notIndexed}, func(o *Outcome) {
			s := o.Writes[len(o.Writes)-1].Status
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
		}, "the vector says that Complete True is stored, it is not", "KEP-2307 § Algorithm, step 4"},

		{"the delay of an index", nil, func(o *Outcome) { o.Requeue = 10_000 },
			"requeueMs is 6s, the vector says 10s", "KEP-3850 § Risks, fast updates"},
		{"the delay of the Job", []func(*Case){notIndexed, func(c *Case) { c.Snapshot.Pods = pods(c)[:2] }}, func(o *Outcome) { o.Requeue = 10_000 },
			"requeueMs is 6s, the vector says 10s", "KEP-3850 § Risks, backoff delay"},
		{"the deadline as a timer", []func(*Case){healthy, job(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(90)) })}, func(o *Outcome) { o.Requeue = 0 },
			"requeueMs is 30s, the vector says nothing", "API, JobSpec.activeDeadlineSeconds"},
		{"a timer while writes are not observed", []func(*Case){func(c *Case) { c.Snapshot.Pending.Status = true }}, func(o *Outcome) { o.Requeue = 0 },
			"requeueMs is 1s, the vector says nothing", "docs/architecture.md § A sync"},
		{"a timer for nothing", []func(*Case){healthy}, func(o *Outcome) { o.Requeue = 5000 },
			"requeueMs is nothing, the vector says 5s", "docs/architecture.md § A sync"},
		{"a timer for what a cap leaves", []func(*Case){healthy, func(c *Case) { c.Options.MaxChanges = 1 }}, func(o *Outcome) { o.Requeue = 0 },
			"requeueMs is 1s, the vector says nothing", "KEP-2307 § Algorithm"},
		{"the record of failures", []func(*Case){notIndexed}, func(o *Outcome) { o.Backoff.Failures = 7 },
			"backoff.failures is nothing, the vector says 7", "KEP-3850 § Risks, backoff delay"},

		{"the end", nil, func(o *Outcome) { o.Finished = true },
			"finished is nothing, the vector says true", "KEP-2307 § Algorithm, step 4"},
		{"work that is left", nil, func(o *Outcome) { o.Left.Create = 2 },
			"left is nothing, the vector says 2 pods to create", "KEP-2307 § Algorithm"},
		{"an event", nil, func(o *Outcome) { o.Events = append(o.Events, Event{"Normal", "Suspended", "Job suspended"}) },
			"the vector says that Normal Suspended: Job suspended is sent, it is not", "docs/architecture.md § A sync"},
		{"a metric", nil, func(o *Outcome) { o.Metrics = nil },
			"are added, the vector says they are not", "docs/divergences.md § Metrics"},
		{"the action", nil, func(o *Outcome) { o.Action = "reconciling" },
			"action is pods_created, the vector says reconciling", "docs/divergences.md § Metrics"},
		{"a patch", nil, func(o *Outcome) { write(o, Strip).Patch = map[string]any{"metadata": 1} },
			`is sent, the vector says strip done {"metadata":1}`, "docs/divergences.md § guarded-patches"},
		{"a message", []func(*Case){suspended}, status(func(s *batchv1.JobStatus) { s.Conditions[0].Message = "why" }),
			"status Suspended: Job suspended is the message, the vector says status Suspended: why", "API, JobStatus.conditions"},
		{"the time of a condition", []func(*Case){suspended}, status(func(s *batchv1.JobStatus) { s.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(time.Hour)) }),
			"is the time, the vector says", "API, JobStatus.conditions"},
		{"an empty list in place of none", nil, status(func(s *batchv1.JobStatus) { s.UncountedTerminatedPods = nil }),
			"the rest of it differs", "docs/architecture.md § A sync"},
		{"the order of writes", nil, func(o *Outcome) { o.Writes[0], o.Writes[1] = o.Writes[1], o.Writes[0] },
			"the order is create, status, strip done, the vector says status, create, strip done", "docs/architecture.md § A sync"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, got := theCase(t, test.setup...)
			if told := c.Difference(got); told != "" {
				t.Fatalf("the same outcome differs: %s", told)
			}
			c.Jobfate = wrong(t, got, test.plant)
			words := c.Difference(got)
			first, rest, _ := strings.Cut(words, "\n")
			rule, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			if !strings.Contains(first, test.says) || !strings.HasSuffix(rule, ": "+test.source) {
				t.Errorf("got %s\nwant %q and the rule of %s", words, test.says, test.source)
			}
			told[rule] = true
		})
	}
	for _, r := range rules {
		if !slices.Contains(ofDialogues, r.field) && !told["rule: "+r.rule+": "+r.source] {
			t.Errorf("no test of the field %s has the rule %q of %s", r.field, r.rule, r.source)
		}
	}
}

// ofDialogues lists the fields that only dialogues have.
var ofDialogues = []string{"read", "gone", "over", "failed", "retryAfterMs", "ended", "unobserved", "precondition"}

// A wrong result of a function is reported with its rule and its input.
func TestDifference_ofAFunction(t *testing.T) {
	c := &Call{Function: "delay", In: []byte(`{"failures":2}`), Jobfate: []byte("10"), Oracle: "getRemainingTime"}
	const want = `delay is 20, the vector says 10
  rule: a delay of 10s, 20s, 40s and so on, up to a cap: KEP-3850 § Risks, backoff delay
  input: {"failures":2}
  in Kubernetes: getRemainingTime`
	if told := c.Difference([]byte("20")); told != want {
		t.Errorf("got\n%s\nwant\n%s", told, want)
	}
	if told := c.Difference([]byte("10")); told != "" {
		t.Errorf("the same result differs: %s", told)
	}
}

// The words tell what the sync began with.
func TestDifference_tellsTheInput(t *testing.T) {
	c, got := theCase(t, func(c *Case) { c.Divergences = []string{"order"} })
	c.Jobfate = wrong(t, got, dropped(Create))
	const want = `index 3 is created, the vector says it is not
  rule: the lowest indexes without a pod get one, as parallelism allows: API, JobSpec.completionMode
  these differ too: new.annotations, new.finalizers, new.generateName, new.hostname, new.labels, new.ownerReferences, order
  Job job, Indexed, completions 4, parallelism 3, backoffLimitPerIndex 1
  pods: pod waits of index 0 failed with exit code 3, 4s ago; pod runs of index 1 is running; pod done of index 2 succeeded, 1s ago
  here jobfate differs from Kubernetes: docs/divergences.md § order`
	if told := c.Difference(got); told != want {
		t.Errorf("got\n%s\nwant\n%s", told, want)
	}
}

// goOn carries out a step, and adds it to the dialogue.
func goOn(t *testing.T, d *Dialogue, m *jobfate.Machine, s Step) Step {
	t.Helper()
	got, err := d.Play(m, s)
	if err != nil {
		t.Fatal(err)
	}
	d.Steps = append(d.Steps, got)
	return got
}

// A wrong expectation in a step of a dialogue is reported with what happened in the sync.
func TestReplay_tellsTheStep(t *testing.T) {
	c, _ := theCase(t)
	broken := func(name string, change func(*Dialogue)) string {
		t.Helper()
		d := &Dialogue{Jobs: map[string]*batchv1.Job{"7": c.Snapshot.Job}, Pods: map[string]*corev1.Pod{}}
		begin := &Begin{Now: noon, Job: "7", JobsVersion: "9", PodsVersion: "9", Barrier: "1"}
		for _, pod := range c.Snapshot.Pods {
			d.Pods[pod.Name], begin.Pods = pod, append(begin.Pods, pod.Name)
		}
		m := d.Machine()
		goOn(t, d, m, Step{Begin: begin})
		goOn(t, d, m, Step{})
		if told := d.Replay(); told != "" {
			t.Fatalf("%s: the same dialogue differs: %s", name, told)
		}
		change(d)
		return d.Replay()
	}
	want := `step 1: the vector says that pod runs is deleted, it is not
  rule: of each index one pod stays; surplus pods and those beyond the completions go: API, JobSpec.completionMode
  these differ too: order, precondition, uid
  Job job, Indexed, completions 4, parallelism 3, backoffLimitPerIndex 1
  what happened:
    step 0: a sync begins, 0s after the first, with version "7" of the Job job, Indexed, completions 4, parallelism 3, backoffLimitPerIndex 1; pods: pod done of index 2 succeeded, 1s ago; pod runs of index 1 is running; pod waits of index 0 failed with exit code 3, 4s ago`
	got := broken("a deletion", func(d *Dialogue) {
		d.Steps[1].Requests = append(slices.Clone(d.Steps[1].Requests), Request{ID: 2, Verb: "delete pod", Name: "runs", UID: "runs"})
	})
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, test := range map[string]struct {
		change func(*Dialogue)
		want   string
	}{
		"a read":      {func(d *Dialogue) { d.Steps[1].Requests = []Request{{ID: 1, Verb: "get the Job"}} }, "docs/architecture.md § A sync"},
		"a result":    {func(d *Dialogue) { d.Steps[1] = Step{Result: &Result{Gone: true}} }, "a Job is gone once"},
		"no creation": {func(d *Dialogue) { d.Steps[1] = Step{Result: &Result{}} }, "index 3 is created, the vector says it is not"},
		"a finalizer": {func(d *Dialogue) {
			patch := []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"],"resourceVersion":"1"}}`)
			d.Steps[1].Requests = append(slices.Clone(d.Steps[1].Requests), Request{ID: 2, Verb: "patch pod", Name: "runs", Patch: patch})
		}, "the vector says that pod runs loses its finalizer before its deletion, it does not"},
		"another UID": {func(d *Dialogue) {
			d.Steps[1].Requests = slices.Clone(d.Steps[1].Requests)
			d.Steps[1].Requests[0].UID = "other"
		}, "is sent, the vector says create pod  other"},
	} {
		if got := broken(name, test.change); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %q", name, got, test.want)
		}
	}
}

// The words about a step begin with the result of the sync before. Writes that it has left unobserved
// choose the rule.
func TestReplay_tellsTheSyncBefore(t *testing.T) {
	c, _ := theCase(t, func(c *Case) { c.Snapshot.Pods = nil })
	stored := c.Snapshot.Job.DeepCopy()
	stored.ResourceVersion = "8"
	d := &Dialogue{Jobs: map[string]*batchv1.Job{"7": c.Snapshot.Job, "8": stored}, Pods: map[string]*corev1.Pod{}}
	m := d.Machine()
	play := func(s Step) Step { return goOn(t, d, m, s) }
	begin := Step{Begin: &Begin{Now: noon, Job: "7", JobsVersion: "9", PodsVersion: "9", Barrier: "1"}}
	play(begin)
	for next := play(Step{}); next.Result == nil; next = play(Step{}) {
		for _, r := range next.Requests {
			a := &Answer{To: r.ID, Job: "8"}
			if r.Verb == "create pod" {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: types.UID(r.Verb), ResourceVersion: "20"}}
				d.Pods["20"], a.Pod, a.Job = pod, "20", ""
			}
			play(Step{Answer: a})
		}
	}
	play(begin)
	last := play(Step{})
	if last.Result == nil || d.Replay() != "" {
		t.Fatalf("got %s and %q, want the result of the second sync", textOf(last), d.Replay())
	}
	wrong := *last.Result
	wrong.Requeue = 5000
	d.Steps[len(d.Steps)-1] = Step{Result: &wrong}
	told := d.Replay()
	for _, want := range []string{
		"requeueMs is 1s, the vector says 5s\n  rule: a sync is due while earlier writes are not observed",
		"what happened:\n    step 8: the sync ends with the result {",
		"waiting to observe version 8 of the Job, 3 creations",
		`a sync begins, 0s after the first, with version "7" of the Job job`,
	} {
		if !strings.Contains(told, want) {
			t.Errorf("got %s\nwant %q in it", told, want)
		}
	}
}

// The rule is chosen by the pods that the sync has read live.
func TestReplay_knowsThePodsThatWereReadLive(t *testing.T) {
	c, _ := theCase(t)
	d := &Dialogue{Jobs: map[string]*batchv1.Job{"7": c.Snapshot.Job}, Pods: map[string]*corev1.Pod{}}
	list := &List{Version: "9"}
	for _, pod := range c.Snapshot.Pods {
		d.Pods[pod.Name], list.Pods = pod, append(list.Pods, pod.Name)
	}
	d.Steps = []Step{
		{Begin: &Begin{Now: noon, Job: "7"}},
		{Requests: []Request{{ID: 1, Verb: "get the Job", Name: "job", UID: "job-uid"}}},
		{Answer: &Answer{To: 1, Job: "7"}},
		{Requests: []Request{{ID: 2, Verb: "list the pods"}}},
		{Answer: &Answer{To: 2, List: list}},
		{Requests: []Request{{ID: 3, Verb: "create pod", Pod: []byte(`{"metadata":{"annotations":{"batch.kubernetes.io/job-completion-index":"0"}}}`)}}},
	}
	const want = "step 5: index 3 is created, the vector says index 0\n  rule: the failed pod of an index is replaced after the delay of that index"
	if told := d.Replay(); !strings.HasPrefix(told, want) {
		t.Errorf("got %s\nwant %s", told, want)
	}
}

// A part of a step that no field has is not overlooked.
func TestDifference_ofTheRest(t *testing.T) {
	want, got := Step{Result: &Result{}}, Step{Result: &Result{}, Feed: &Feed{Name: "a"}}
	if told := difference(fieldsOfStep(want), fieldsOfStep(got), situation{}); !strings.HasPrefix(told, "the rest of it differs") {
		t.Errorf("got %q", told)
	}
}

// Each field of a case and of a dialogue has a rule of its own, not only the last row of the table.
func TestRules_coverEachField(t *testing.T) {
	has := func(field string) bool {
		r, _ := ruleFor([]string{field}, func(string) []string { return nil }, situation{})
		return r.field != ""
	}
	check := func(f fields, what string) {
		for field := range f {
			if field != whole && field != "order" && field != "uid" && field != "pod" && !has(field) {
				t.Errorf("%s: no rule for %s", what, field)
			}
		}
	}
	for line, err := range Lines[Case]("*.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		if line.Case.Jobfate != nil {
			check(fieldsOf(line.Case.Jobfate), line.Case.ID)
		}
	}
	for line, err := range Lines[Dialogue]("dialogues/*.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range line.Case.Steps {
			check(fieldsOfStep(s), line.Case.ID)
		}
	}
}

// Each document that the table names exists: a section in docs/kep-coverage.tsv, a field of the API, or
// a heading of a page.
func TestRules_documents(t *testing.T) {
	coverage := page(t, "docs/kep-coverage.tsv")
	for function := range Functions {
		if functionRules[function].rule == "" {
			t.Errorf("the function %s has no rule", function)
		}
	}
	for _, r := range slices.Concat(rules, slices.Collect(maps.Values(functionRules))) {
		document, section, _ := strings.Cut(r.source, " § ")
		var found bool
		switch name, isField := strings.CutPrefix(r.source, "API, "); {
		case isField:
			kind, field, _ := strings.Cut(name, ".")
			of := map[string]reflect.Type{"JobSpec": reflect.TypeFor[batchv1.JobSpec](), "JobStatus": reflect.TypeFor[batchv1.JobStatus]()}[kind]
			_, found = of.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, field) })
		case strings.HasPrefix(document, "KEP-"):
			found = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(document) + `: [^\t]*\t` + regexp.QuoteMeta(section) + `\t`).MatchString(coverage)
		default:
			found = section == "" || regexp.MustCompile(`(?m)^##+ `+regexp.QuoteMeta(section)+`$`).MatchString(page(t, document))
		}
		if !found {
			t.Errorf("%q: %s does not exist", r.rule, r.source)
		}
	}
}

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
