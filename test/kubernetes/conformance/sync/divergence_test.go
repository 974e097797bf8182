package sync

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/machine/route"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// A divergence is a trial that shows what each side does. testdata/divergences.txt contains both
// outcomes, so the test fails if either side changes.
type divergence struct {
	name  string // the heading in docs/divergences.md
	trial *trial
}

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/divergences.txt")

const pinned = "testdata/divergences.txt"

func uncounted(succeeded, failed []types.UID) func(*trial) {
	return onJob(func(j *batchv1.Job) { j.Status.UncountedTerminatedPods = Lists(succeeded, failed) })
}

// conditions adds conditions of one type.
func conditions(kind batchv1.JobConditionType, statuses ...corev1.ConditionStatus) func(*trial) {
	return onJob(func(j *batchv1.Job) {
		for _, status := range statuses {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: status, Reason: batchv1.JobReasonPodFailurePolicy})
		}
	})
}

func TestDivergences(t *testing.T) {
	want := map[string]string{}
	file, err := os.ReadFile(pinned)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	for _, part := range strings.SplitAfter(string(file), "\n\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(part, "== "), "\n")
		want[name] = strings.TrimSuffix(part, "\n")
	}
	var got []string
	for _, d := range divergent() {
		t.Run(d.name, func(t *testing.T) {
			us, them := mustDecide(t, d.trial), newRun(d.trial)
			both := fmt.Sprintf("== %s\n---- Kubernetes\n%s\n---- jobfate\n%s\n", d.name,
				formatOutcome(d.trial, them.outcome), formatOutcome(d.trial, us.out))
			got = append(got, both)
			if hasEnded(d.name) {
				if diff := cmp.Diff(them.outcome, us.out); diff != "" {
					t.Errorf("in %s, which no longer has the divergence (-real +jobfate):\n%s", kubernetes.Version(), diff)
				}
				delete(want, d.name)
				return
			}
			if diff := cmp.Diff(strings.TrimSpace(want[d.name]), strings.TrimSpace(both)); diff != "" && !*rewrite {
				t.Errorf("%s (-want +got):\n%s", pinned, diff)
			}
			delete(want, d.name)
			names, diff := explain(us, them)
			if diff != "" || !slices.Contains(names, d.name) {
				t.Errorf("explained by %v, want %s; left of the difference:\n%s", names, d.name, diff)
			}
			accepted(t, d.trial, us)
		})
	}
	for name := range want {
		if !*rewrite {
			t.Errorf("%s: no test has the divergence %q", pinned, name)
		}
	}
	if *rewrite {
		NoError(t, os.WriteFile(pinned, []byte(strings.Join(got, "\n")), 0o644))
	}
}

// divergent returns the divergences that one trial can show. The others have separate tests below.
func divergent() []divergence {
	return []divergence{
		{
			name: "hidden-condition",
			trial: newTrial(size(1, 1), conditions(batchv1.JobFailureTarget, corev1.ConditionFalse, corev1.ConditionTrue),
				rule(batchv1.PodFailurePolicyActionFailJob)),
		},
		{
			name:  "disjoint-indexes",
			trial: newTrial(size(0, 2), limitPerIndex(0), pod("a", corev1.PodSucceeded, index(0)), pod("b", corev1.PodFailed, index(0))),
		},
		{
			name:  "first-classification",
			trial: newTrial(size(0, 3), uncounted([]types.UID{"a"}, nil), pod("a", corev1.PodFailed)),
		},
		{
			name:  "uncounted-lists",
			trial: newTrial(uncounted(nil, []types.UID{"gone", "gone"})),
		},
		{
			name: "full-lists",
			trial: newTrial(uncounted(nil, []types.UID{"b", "c"}), pod("a", corev1.PodFailed), pod("b", corev1.PodFailed), pod("c", corev1.PodFailed),
				func(c *trial) { c.limits.MaxUncounted, c.limits.MaxCreateDelete = 2, 2 }),
		},
		{
			name: "kept-verdict",
			trial: newTrial(rule(batchv1.PodFailurePolicyActionFailJob), pod("a", corev1.PodFailed, finished(1, -10)),
				func(c *trial) { c.snapshot.InFlight.Creations = 1 }),
		},
		{
			name: "canonical-indexes",
			trial: newTrial(size(0, 4), onJob(func(j *batchv1.Job) {
				byIndex(j)
				j.Status.CompletedIndexes, j.Status.Succeeded = "2,2", 2
			}), size(4, 4), func(c *trial) { c.snapshot.InFlight.Creations = 1 }),
		},
		{
			name:  "saturation",
			trial: newTrial(onJob(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1 << 62)) })),
		},
		{
			name: "in-flight-end",
			trial: newTrial(onJob(func(j *batchv1.Job) { j.Status.Succeeded = 1 }),
				func(c *trial) { c.snapshot.InFlight.Creations = 1 }),
		},
		{
			name: "unobserved-counts",
			trial: newTrial(size(0, 3), onJob(func(j *batchv1.Job) { j.Status.Active = 3 }), pod("a", corev1.PodRunning),
				func(c *trial) { c.snapshot.InFlight.Creations = 2 }),
		},
		{
			name: "start-time",
			trial: newTrial(onJob(func(j *batchv1.Job) {
				j.Spec.Suspend, j.Status.StartTime, j.Status.Succeeded = new(true), nil, 1
			})),
		},
		{
			name: "completion-time",
			trial: newTrial(onJob(func(j *batchv1.Job) {
				j.Status.StartTime, j.Status.Succeeded = new(at(30)), 1
			})),
		},
		{
			name: "resume-start-time",
			trial: newTrial(onJob(func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "Other"}}
			})),
		},
		{
			name: "stuck-succeeded",
			trial: newTrial(size(0, 3), onJob(func(j *batchv1.Job) {
				byIndex(j)
				j.Status.CompletedIndexes, j.Status.Succeeded, j.Status.Active = "0", 3, 1
			})),
		},
		{
			name:  "whole-status",
			trial: newTrial(onJob(func(j *batchv1.Job) { j.Status.StartTime = nil })),
		},
		{
			name:  "indexed-succeeded-list",
			trial: newTrial(size(0, 2), onJob(byIndex), uncounted([]types.UID{"a"}, nil), pod("a", corev1.PodSucceeded, index(0))),
		},
		{
			name:  "remembered-backoff",
			trial: newTrial(rule(batchv1.PodFailurePolicyActionIgnore), pod("a", corev1.PodFailed)),
		},
		{
			name:  "per-index-record",
			trial: newTrial(size(1, 1), limitPerIndex(3), pod("a", corev1.PodFailed, index(0), failures(0))),
		},
		{
			name: "predecessor",
			trial: newTrial(size(1, 1), limitPerIndex(5),
				pod("a", corev1.PodFailed, index(0), failures(0), finished(1, -100)),
				pod("b", corev1.PodFailed, index(0), failures(2), finished(1, -200))),
		},
		{
			name:  "least-delay",
			trial: newTrial(size(2, 2), limitPerIndex(1), pod("a", corev1.PodFailed, index(0), failures(0))),
		},
		{
			name: "base-above-cap",
			trial: newTrial(size(1, 1), pod("a", corev1.PodFailed), func(c *trial) {
				c.limits.Base, c.limits.Cap = 60*time.Second, 40*time.Second
			}),
		},
		{
			name: "adopted-and-deleted",
			trial: newTrial(size(0, 3), pod("a", corev1.PodRunning, func(p *corev1.Pod) {
				p.Finalizers, p.OwnerReferences[0].Controller = nil, nil
			})),
		},
		{
			name: "work-left",
			trial: newTrial(size(2, 4), pod("a", corev1.PodSucceeded), pod("b", corev1.PodSucceeded),
				func(c *trial) { c.limits.MaxUncounted = 1 }),
		},
		{
			name: "failed-deletion",
			trial: newTrial(pod("a", corev1.PodRunning, isReady),
				func(c *trial) { c.fail.Delete = map[string]error{"a": real.ErrInternal} }),
		},
		{
			name: "gone-deletion",
			trial: newTrial(size(0, 1), pod("a", corev1.PodRunning, isReady),
				func(c *trial) { c.fail.StripToDelete = map[string]error{"a": real.ErrNotFound} }),
		},
		{
			name:  "early-metric",
			trial: newTrial(size(3, 3), func(c *trial) { c.fail.Status = map[int]error{0: real.ErrInternal} }),
		},
		{
			name:  "creation-metric",
			trial: newTrial(size(3, 3), func(c *trial) { c.fail.Create = map[int]error{1: real.ErrInternal} }),
		},
		{
			name:  "terminating-namespace",
			trial: newTrial(size(3, 3), func(c *trial) { c.fail.Create = refusedFrom(0) }),
		},
		{
			name: "settle-metric",
			trial: newTrial(pod("a", corev1.PodFailed), pod("b", corev1.PodFailed),
				func(c *trial) { c.fail.Strip = map[string]error{"b": real.ErrInternal} }),
		},
		{
			name: "early-events",
			trial: newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }),
				func(c *trial) { c.fail.Status = map[int]error{0: real.ErrInternal} }),
		},
		{
			name:  "stale-job",
			trial: newTrial(func(c *trial) { c.snapshot.InFlight.Status = true }),
		},
		{
			name: "failed-claim",
			trial: newTrial(size(2, 2), pod("a", corev1.PodRunning, orphaned),
				func(c *trial) { c.fail.Adopt = map[string]error{"a": real.ErrInternal} }),
		},
	}
}

// The message of the real controller depends on the order of the pods; jobfate's does not.
func TestDivergence_order(t *testing.T) {
	c := newTrial(rule(batchv1.PodFailurePolicyActionFailJob), pod("a", corev1.PodFailed), pod("b", corev1.PodFailed))
	message := func(o outcome) string { return condition(o.Statuses[0].Status, batchv1.JobFailureTarget).Message }
	for _, first := range []string{"a", "b"} {
		r := &run{in: c.input()}
		if first == "b" {
			slices.Reverse(r.in.Pods)
		}
		r.sync()
		if want := "for pod ns/" + first; !strings.Contains(message(r.outcome), want) {
			t.Errorf("the real controller, given %s first: got %q, want %q in it", first, message(r.outcome), want)
		}
		if got, want := message(mustDecide(t, c).out), "for pod ns/a"; !strings.Contains(got, want) {
			t.Errorf("jobfate: got %q, want %q in it", got, want)
		}
		slices.Reverse(c.snapshot.Pods)
	}
}

// The selector of the Job does not match its own pods.
func TestDivergence_impossibleInput(t *testing.T) {
	c := newTrial(size(1, 1), onJob(func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"other": "label"} }))
	if got := formatOutcome(c, newRun(c).outcome); !strings.HasPrefix(got, "create job-00000\n") {
		t.Errorf("the real controller: got %q, want it to create a pod", got)
	}
	c.impossible = "spec.template.metadata.labels"
	refuses(t, c)
	for _, i := range impossibles {
		c := newTrial()
		i.make(&c.snapshot)
		c.impossible = i.field
		refuses(t, c)
	}
}

func TestDivergence_guardedPatches(t *testing.T) {
	c := newTrial(pod("a", corev1.PodRunning))
	const plain = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`
	Same(t, "the real controller", string(real.Sync(c.input()).Calls[0].Patch), plain)
	const want = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"],"resourceVersion":"1","uid":"a"}}`
	Same(t, "jobfate", mustDecide(t, c).out.Deletions[0].Patch, want)
	orphan := newTrial(pod("a", corev1.PodRunning, orphaned))
	const version = `"resourceVersion":"1"`
	if got := string(real.Sync(orphan.input()).Calls[0].Patch); strings.Contains(got, version) {
		t.Errorf("the real controller adopts with %s, which names a version", got)
	}
	if got := mustDecide(t, orphan).out.Claims[0].Patch; !strings.Contains(got, version) {
		t.Errorf("jobfate adopts with %s, want %s in it", got, version)
	}
}

// Kubernetes counts the pods of a Job whose template has no labels, but creates none.
func TestDivergence_noLabels(t *testing.T) {
	c := newTrial(size(1, 2), pod("a", corev1.PodSucceeded), onJob(func(j *batchv1.Job) {
		j.Spec.ManualSelector, j.Spec.Selector, j.Spec.Template.Labels = new(true), &metav1.LabelSelector{}, nil
	}))
	them := newRun(c)
	if err := fmt.Sprint(them.out.Err); err != "unable to create pods, no labels" || len(them.outcome.PodEvents) > 0 {
		t.Errorf("the real controller: error %s, events %v", err, them.outcome.PodEvents)
	}
	const counted = "strip a\nstatus active=%d ready=0 terminating=0 succeeded=0 failed=0 uncounted=[a][] start=-60s\n" +
		"status active=%[1]d ready=0 terminating=0 succeeded=1 failed=0 start=-60s\n"
	if got := formatOutcome(c, them.outcome); !strings.HasPrefix(got, fmt.Sprintf(counted, 0)) {
		t.Errorf("the real controller: got\n%s", got)
	}
	if got := formatOutcome(c, mustDecide(t, c).out); !strings.HasPrefix(got, "create job-00000\n"+fmt.Sprintf(counted, 1)) {
		t.Errorf("jobfate: got\n%s", got)
	}
}

// Another pod has the name of the first created one.
func TestDivergence_nameTaken(t *testing.T) {
	c := newTrial(size(1, 1), func(c *trial) {
		c.fail.Create = map[int]error{0: apierrors.NewAlreadyExists(corev1.Resource("pods"), "job-00000")}
	})
	const theirs, ours = "create job-00000 fails\ncount the sync", "create job-00000 fails\ncreate job-00001\nstatus active=1 "
	them := newRun(c).outcome
	if got := formatOutcome(c, them); !strings.HasPrefix(got, theirs) || !them.Failed || them.PodEvents[0].Reason != "FailedCreate" {
		t.Errorf("the real controller: failed=%v, events %v, got\n%s", them.Failed, them.PodEvents, got)
	}
	if got := formatOutcome(c, mustDecide(t, c).out); !strings.HasPrefix(got, ours) {
		t.Errorf("jobfate: got\n%s", got)
	}
}

// A pod without a controller has the finalizer, and the Job may adopt it.
func TestDivergence_selectedOrphan(t *testing.T) {
	c := newTrial(size(1, 1), pod("a", corev1.PodRunning, orphaned))
	job, pods := c.snapshot.Job, c.snapshot.Pods
	if !real.StripsOrphan(pods[0], job) {
		t.Error("the real controller leaves the finalizer")
	}
	if all := route.OrphansIn(pods, []*batchv1.Job{job}); len(all) != 0 {
		t.Errorf("jobfate: OrphansIn returns %d, want none", len(all))
	}
	sameOnBothSides(t, c) // the Job adopts the pod
}

// The options that improve a decision: without them the sides are equal.
func TestDivergence_options(t *testing.T) {
	throttled := newTrial(size(4, 4), pod("a", corev1.PodFailed), func(c *trial) {
		c.snapshot.LastStatus = c.snapshot.Now
	})
	tests := []struct {
		name    string
		trial   *trial
		option  decide.Option
		changes func(without, with decide.Decision) bool
	}{
		{
			"FillFreeSlots", newTrial(size(1, 2), limitPerIndex(1), pod("a", corev1.PodFailed, index(0), failures(0))),
			decide.FillFreeSlots(),
			func(without, with decide.Decision) bool { return len(without.Create) == 0 && len(with.Create) == 1 },
		},
		{
			"FailLostPods", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionCount), pod("a", corev1.PodRunning, func(p *corev1.Pod) {
				p.Spec.NodeName, p.DeletionTimestamp = "lost", new(at(-3600))
			})),
			decide.FailLostPods(time.Hour), func(without, with decide.Decision) bool {
				return *without.Status.Terminating == 1 && len(without.Create) == 0 && *with.Status.Terminating == 0 && len(with.Create) == 1
			},
		},
		{
			"SucceedOnExitZero", newTrial(size(1, 1), pod("a", corev1.PodFailed, finished(0, 0))),
			decide.SucceedOnExitZero(), func(without, with decide.Decision) bool {
				u, v := without.Status.UncountedTerminatedPods, with.Status.UncountedTerminatedPods
				return len(u.Failed) == 1 && len(u.Succeeded) == 0 && len(v.Failed) == 0 && len(v.Succeeded) == 1
			},
		},
		{
			"GranularReasons", newTrial(rule(batchv1.PodFailurePolicyActionFailJob), pod("a", corev1.PodFailed)),
			decide.GranularReasons(), reasons("PodFailurePolicy", "PodFailurePolicy_0"),
		},
		{
			"RuleNames", newTrial(rule(batchv1.PodFailurePolicyActionFailJob), pod("a", corev1.PodFailed)),
			decide.RuleNames("Broken"), reasons("PodFailurePolicy", "PodFailurePolicy_Broken"),
		},
		{
			"Throttle", throttled, decide.Throttle(time.Minute, 0.5),
			func(without, with decide.Decision) bool { return without.Status != nil && with.Status == nil },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sameOnBothSides(t, tt.trial, "per-index-record") // the trial of FillFreeSlots has a limit per index
			without, _ := decide.Job(tt.trial.snapshot)
			with, _ := decide.Job(tt.trial.snapshot, tt.option)
			if !tt.changes(without, with) {
				t.Errorf("the option does not have the expected effect:\nwithout %s\nwith %s", text(without), text(with))
			}
		})
	}
}

func reasons(without, with string) func(a, b decide.Decision) bool {
	return func(a, b decide.Decision) bool {
		return condition(a.Status, batchv1.JobFailureTarget).Reason == without && condition(b.Status, batchv1.JobFailureTarget).Reason == with
	}
}

// docs/divergences.md and the code list the same divergences, and each has a test.
func TestDivergencesAreListed(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/divergences.md")
	NoError(t, err)
	head, _, ok := strings.Cut(string(page), "\n## Decisions that an option improves")
	if !ok {
		t.Fatal("the page has no part about options")
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(head, -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, divergences()); diff != "" {
		t.Errorf("divergences (-docs/divergences.md +code):\n%s", diff)
	}
	for _, e := range excuses {
		_, text, _ := strings.Cut(head, "\n### "+e.name+"\n")
		text, _, _ = strings.Cut(text, "\n### ")
		if until := fmt.Sprintf("Until 1.%d", e.until); e.until > 0 && e.in(36) && !strings.Contains(text, until) {
			t.Errorf("docs/divergences.md does not say of %s: %s", e.name, until)
		}
	}
	tested := slices.Clone(apart)
	for _, d := range divergent() {
		tested = append(tested, d.name)
	}
	slices.Sort(tested)
	if diff := cmp.Diff(listed, tested); diff != "" {
		t.Errorf("divergences (-docs/divergences.md +tests with both sides):\n%s", diff)
	}
}
