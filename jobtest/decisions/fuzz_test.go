package decisions

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/fuzztest"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// fuzzOptions lists the sets of options that checkDecision decides with.
var fuzzOptions = [][]decide.Option{
	nil,
	{decide.WithoutPerIndexBackoff(), decide.WithoutReplacementPolicy()},
	{decide.WithoutFailurePolicy()},
	{decide.FailLostPods(time.Second), decide.SucceedOnExitZero()},
	{decide.FillFreeSlots(), decide.GranularReasons(), decide.MaxUncounted(1), decide.MaxChanges(1)},
}

// checkDecision checks properties that hold for any input. Decide returns either an error
// and an empty decision, or a decision. The API server accepts the statuses of a decision
// if it accepts the status before.
func checkDecision(t rapid.TB, s decide.Snapshot) {
	for i, opts := range fuzzOptions {
		d, err := decide.Job(s, opts...)
		if err != nil {
			if !d.Idle() || d.Requeue != 0 || len(d.Metrics)+len(d.Events) != 0 {
				t.Fatalf("options %d: an error and a decision that is not empty: %v", i, err)
			}
			continue
		}
		if len(d.Create) > 0 && len(d.Delete) > 0 || d.Requeue < 0 {
			t.Fatalf("options %d: %d to create, %d to delete, requeue %s", i, len(d.Create), len(d.Delete), d.Requeue)
		}
		for _, m := range d.Metrics {
			if m.Add <= 0 {
				t.Fatalf("options %d: %v", i, m)
			}
		}
		decidetest.Explanation(d)
		checkStatuses(t, s.Job, d, decidetest.Settle(d, d.Strip...))
		checkVerdictFirst(t, s, d, opts)
		half := d.Revise(decide.Undone{Creations: len(d.Create) / 2})
		checkStatuses(t, s.Job, half, decidetest.Settle(half, half.Strip[:len(half.Strip)/2]...))
	}
}

// checkVerdictFirst checks that a verdict that is stored first changes the order of the writes, and nothing else: the
// decision on the Job as it is then stored leads to the same status, and deletes and counts the same pods.
func checkVerdictFirst(t rapid.TB, s decide.Snapshot, d decide.Decision, opts []decide.Option) {
	first, _ := d.VerdictFirst()
	checkStatuses(t, s.Job, first, decide.Settled{})
	ends := len(d.Delete) > 0 && d.Delete[0].Cause == decide.CauseJobEnds
	if !ends || d.Facts().EndStored() {
		if len(first.Delete) != len(d.Delete) || len(first.Strip) != len(d.Strip) {
			t.Fatalf("nothing has to be stored first, but %d and %d pods become %d and %d", len(d.Delete), len(d.Strip),
				len(first.Delete), len(first.Strip))
		}
		return
	}
	if len(first.Delete) > 0 {
		t.Fatalf("%d pods are deleted before the verdict is stored", len(first.Delete))
	}
	unobserved := s.InFlight.Creations > 0 || s.InFlight.Deletions > 0
	if unobserved || d.Deferred.Strip > 0 { // the deletions wait, or the new indexes have used up a cap
		return
	}
	s.Job = s.Job.DeepCopy()
	s.Job.Status = *first.Status
	next, err := decide.Job(s, opts...)
	if err != nil {
		t.Fatalf("after the verdict: %v", err)
	}
	writes := func(d decide.Decision, before ...decide.Metric) []any {
		return []any{d.Delete, d.Strip, d.Backoff, d.Events, sum(before, d.Metrics), decidetest.Settle(d, d.Strip...), d.Facts().Status}
	}
	if diff := cmp.Diff(writes(d), writes(next, first.Metrics...), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-without storing the verdict +once it is stored)\n%s", diff)
	}
}

// sum adds the increments up by the counter.
func sum(all ...[]decide.Metric) map[string]int64 {
	counts := map[string]int64{}
	for _, m := range slices.Concat(all...) {
		counts[fmt.Sprint(m.Name, m.Labels)] += m.Add
	}
	return counts
}

func checkStatuses(t rapid.TB, job *batchv1.Job, d decide.Decision, s decide.Settled) {
	stored := defaulting.Job(job)
	stored.ResourceVersion = "1"
	if len(validation.Status(stored)) > 0 || len(validation.StatusUpdate(stored, stored)) > 0 {
		return
	}
	for _, status := range []*batchv1.JobStatus{d.Status, s.Status} {
		if status == nil {
			continue
		}
		next := stored.DeepCopy()
		next.Status = *status
		if errs := validation.StatusUpdate(next, stored); len(errs) > 0 {
			t.Fatalf("the API server rejects %s\nafter %s\n%v", decidetest.ToJSON(next.Status), decidetest.ToJSON(stored), errs.ToAggregate())
		}
		stored = next
	}
}

// garble changes a snapshot into one that no API server would accept: with fields that are
// unset, at the end of their range, or contradictory.
func garble(t *rapid.T, s decide.Snapshot) decide.Snapshot {
	from := podtest.DrawJob(t)
	garbleFields(t, &s.Job.Spec, &from.Spec)
	garbleFields(t, &s.Job.Status, &from.Status)
	instant := podtest.OneOf(t, "instant", s.Now, s.Now.Add(time.Hour), time.Unix(1<<40, 0), time.Unix(-1<<40, 0))
	at := new(metav1.NewTime(instant))
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		s.Job.Spec.ActiveDeadlineSeconds = new(podtest.OneOf[int64](t, "deadline", 0, math.MaxInt64))
	case 1:
		s.Job.Status.StartTime = at
	case 2:
		s.Job.Status.CompletionTime = at
	case 3:
		for _, pod := range s.Pods {
			pod.Annotations, pod.CreationTimestamp, pod.DeletionTimestamp = nil, metav1.Time{}, podtest.OneOf(t, "deletion", nil, at)
		}
	case 4:
		s.Now = instant
	case 5:
		s.Job.Spec.Selector, s.Job.Spec.Template = nil, corev1.PodTemplateSpec{}
	}
	return s
}

// garbleFields replaces some fields of a struct.
func garbleFields[T any](t *rapid.T, of, with *T) {
	fields, others := reflect.ValueOf(of).Elem(), reflect.ValueOf(with).Elem()
	for i := range fields.NumField() {
		if podtest.OneIn(t, 8, "garble "+fields.Type().Field(i).Name) {
			fields.Field(i).Set(others.Field(i))
		}
	}
}

// decisionHolds draws a snapshot as the API server would store it, and garbles half of them.
func decisionHolds(t *rapid.T) {
	s := decidetest.Inputs(jobtest.Wild()).Draw(t, "snapshot")
	if rapid.Bool().Draw(t, "garbled") {
		s = garble(t, s)
	}
	checkDecision(t, s)
}

func TestDecide_garbledInput(t *testing.T) { rapid.Check(t, decisionHolds) }

func FuzzDecide(f *testing.F) { f.Fuzz(fuzztest.Target(rapid.MakeFuzz(decisionHolds))) }

// FuzzDecideJSON decodes a Job and pods from any JSON, so it reaches inputs that no API server
// would accept.
func FuzzDecideJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobJSON, podsJSON []byte, seconds int64) {
		var job batchv1.Job
		var pods []*corev1.Pod
		if json.Unmarshal(jobJSON, &job) != nil || json.Unmarshal(podsJSON, &pods) != nil {
			return
		}
		checkDecision(t, decide.Snapshot{Job: &job, Pods: pods, Now: jobtest.Noon().Add(time.Duration(seconds) * time.Second)})
	})
}
