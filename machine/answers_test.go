package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// upTo begins a sync and answers its requests until one has the verb. It returns that
// batch, unanswered.
func upTo(t *testing.T, m *Machine, v View, s *server, verb Verb) []Request {
	t.Helper()
	begin(t, m, v)
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		if batch[0].Verb == verb {
			return batch
		}
		for _, r := range batch {
			object, err := s.answer(r)
			Same(t, "taking the answer", m.Answer(r, object, err), nil)
		}
	}
	t.Fatalf("the sync ends without a request to %v", verb)
	return nil
}

// An abandoned sync leaves the writes that were answered with success, and none that was
// refused or had no answer.
func TestAbandoned_answers(t *testing.T) {
	job := suspended(Train(1))
	for _, err := range []error{nil, notFound(Request{}), errConflict, errTimeout} {
		m, s := New(), &server{job: job}
		batch := upTo(t, m, fresh(job, PodOf(job, "a", "11")), s, DeletePod)
		_ = m.Answer(batch[0], nil, err)
		m.Abandon()
		Same(t, fmt.Sprintf("answered with %v: the deletion is remembered", err), len(m.memory.Deleted) == 1,
			err == nil || err.Error() == notFound(Request{}).Error())
		Same(t, "requests of an abandoned sync", m.Next(), nil)
	}
}

// A live read that fails ends the sync before anything is written.
func TestLiveRead_fails(t *testing.T) {
	job := Train(1)
	for name, how := range map[string]answers{
		"the list is refused":      refusal(errConflict),
		"the answer is not a list": func(Request) (runtime.Object, error) { return job, nil },
		"the answer is nil":        func(Request) (runtime.Object, error) { return (*corev1.PodList)(nil), nil },
	} {
		m, s := New(), &server{job: job}
		Same(t, name, run(t, m, unversioned(fresh(job)), s.except(ListPods, how)), []string{"get the Job", "list the pods"})
		if err := m.Result().Err; err == nil || errors.Is(err, errConflict) != (name == "the list is refused") {
			t.Errorf("%s: the error is %v", name, err)
		}
		Same(t, name+": the version of the Job", m.memory.Known, "10")
	}

	// An answer without an object says that the Job is gone. One with another object is an error.
	partial := &metav1.PartialObjectMetadata{ObjectMeta: job.ObjectMeta}
	for name, test := range map[string]struct {
		object runtime.Object
		gone   bool
	}{
		"no object": {nil, true}, "a nil Job": {(*batchv1.Job)(nil), true},
		"a Job without a UID": {&batchv1.Job{}, false}, "a pod": {PodOf(job, "a", "11"), false}, "only the metadata": {partial, false},
	} {
		m, s := New(), &server{job: job}
		Same(t, name, run(t, m, unversioned(fresh(job)), s.except(GetJob, func(Request) (runtime.Object, error) { return test.object, nil })), []string{"get the Job"})
		if r := m.Result(); r.Gone != test.gone || r.Requeue != 0 || (r.Err == nil) != test.gone {
			t.Errorf("%s: gone %t, requeue %s, error %v; want gone %t, and no other sync", name, r.Gone, r.Requeue, r.Err, test.gone)
		}
	}

	// A nil pointer as an error is an error without an answer: the request may have been carried out.
	wrong, api := New(), &server{job: job}
	run(t, wrong, fresh(job), api.except(CreatePod, func(Request) (runtime.Object, error) { return nil, (*apierrors.StatusError)(nil) }))
	if err := wrong.Result().Err; len(wrong.memory.Lost) != 1 || err == nil || !strings.Contains(err.Error(), "nil *errors.StatusError") {
		t.Errorf("a nil error: lost %v, error %v", wrong.memory.Lost, err)
	}

	// An answer to a creation without a pod, or with one without a UID, leaves it in doubt.
	for _, pod := range []*corev1.Pod{nil, {}} {
		m, s := New(), &server{job: job}
		run(t, m, fresh(job), s.except(CreatePod, func(Request) (runtime.Object, error) { return pod, nil }))
		if !errors.Is(m.Result().Err, errNoObject) || len(m.memory.Lost) != 1 {
			t.Errorf("the answer is %v: lost %v, error %v", pod, m.memory.Lost, m.Result().Err)
		}
	}

	// A failed read by name does not resolve a creation.
	m, s := New(), &server{job: job}
	m.Names = func(prefix string) string { return prefix + "abcde" }
	run(t, m, fresh(job), s.except(CreatePod, func(r Request) (runtime.Object, error) {
		r.Pod.Name = "another" // the caller owns the request
		return nil, errTimeout
	}))
	Same(t, "requests", run(t, m, fresh(job), s.except(GetPod, refusal(errTimeout))),
		[]string{"get pod train-abcde"})
	if len(m.memory.Lost) != 1 || !errors.Is(m.Result().Err, errTimeout) {
		t.Errorf("lost %v, error %v", m.memory.Lost, m.Result().Err)
	}
}

// Without a batch period, a sync that waits for the caches is still requeued.
func TestWait_withoutBatchPeriod(t *testing.T) {
	job, next := Train(1), Train(1)
	next.UID = "next"
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	for _, period := range []time.Duration{0, -1} {
		m.options = decide.BatchPeriod(period)
		run(t, m, fresh(next), s.answer)
		Same(t, "Requeue", m.Result().Requeue, time.Second)
	}
}

// A status that was stored before the sync was abandoned is remembered: an older Job is not decided on.
func TestAbandoned_afterTheStatus(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	pod := PodOf(job, "a", "11", Succeeded)
	batch := upTo(t, m, fresh(job, pod), s, PatchStatus)
	object, err := s.answer(batch[0])
	Same(t, "taking the answer", m.Answer(batch[0], object, err), nil)
	m.Abandon()
	Same(t, "sure, and the known version", []any{m.memory.Sure, m.memory.Known}, []any{false, s.job.ResourceVersion})
	Same(t, "requests about the older Job", run(t, m, fresh(job, pod), s.answer), nil)
}

// An invalid view is an error at once, also while writes are unobserved: no pod is read for it.
func TestInputError_sendsNothing(t *testing.T) {
	job := Train(2)
	m, s := New(), &server{job: job}
	m.Names = func(prefix string) string { return prefix + "abcde" }
	run(t, m, fresh(job), s.except(CreatePod, refusal(errTimeout)))
	var input *decide.InputError
	if err := m.Begin(fresh(job, nil)); !errors.As(err, &input) {
		t.Errorf("Begin: %v, want an InputError", err)
	}
	Same(t, "an answer without a request is an error", m.Answer(Request{ID: 1}, nil, nil) != nil, true)
	if r := m.Result(); len(m.Next()) > 0 || !errors.As(r.Err, &input) || r.Requeue != 0 {
		t.Errorf("got %+v, want the error and no request", r)
	}
}

// A clone has the same memory, and is independent.
func TestClone(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	c := m.Clone()
	if c.String() != m.String() || len(c.memory.Created) != 1 || c.Result().Decision.Facts() != nil {
		t.Errorf("the clone is %v, want %v and no result", c.String(), m.String())
	}
	before := m.Memory().Clone()
	Same(t, "what is remembered", []string{before.String(), c.Memory().String()}, []string{m.String(), m.String()})
	gone := Train(1)
	s.job = nil
	run(t, c, unversioned(fresh(gone)), s.answer)
	if len(m.memory.Created) != 1 || !m.Memory().Equal(before) {
		t.Error("the clone has changed the original")
	}
	Same(t, "the clone remembers what it has forgotten", c.Memory().Equal(before), false)
}

func TestVerb_String(t *testing.T) {
	for verb, want := range map[Verb]string{DeletePod: "delete pod", 8: "Verb(8)", 99: "Verb(99)"} {
		Same(t, "name", verb.String(), want)
	}
}

// "The caller owns the lists, Status and the results of Creation.Pod": what it changes in a result
// is not in the next one.
func TestResult_isTheCallers(t *testing.T) {
	a, b := &corev1.Pod{}, &corev1.Pod{}
	made := func(pod *corev1.Pod) Result {
		metrics := []decide.Metric{{Name: "m", Labels: map[string]string{"label": "own"}, Add: 1}}
		return Result{
			Decision: decide.Decision{
				Claim: []decide.Claim{{Pod: pod, Action: decide.ClaimAdopt}}, Delete: []decide.Deletion{{Pod: pod}}, Create: []decide.Creation{{Index: 1}},
				Strip: []*corev1.Pod{pod}, Status: &batchv1.JobStatus{Active: 1},
				Events: []decide.Event{{Reason: "own"}}, Metrics: decide.Decision{Metrics: metrics}.Clone().Metrics,
			},
			Events: []decide.Event{{Reason: "own"}}, Metrics: metrics,
		}
	}
	m := &Machine{synced: true, result: made(a)}
	r := m.Result()
	d := &r.Decision
	d.Claim[0].Pod, d.Delete[0].Pod, d.Create[0].Index, d.Strip[0] = b, b, 2, b
	d.Status.Active, d.Events[0].Reason, r.Events[0].Reason = 2, "changed", "changed"
	for _, metrics := range [][]decide.Metric{d.Metrics, r.Metrics} {
		metrics[0].Labels["label"] = "changed"
		metrics[0].Add = 2
	}
	got := m.Result()
	Same(t, "pods", got.Decision.Claim[0].Pod == a && got.Decision.Delete[0].Pod == a && got.Decision.Strip[0] == a, true)
	got.Decision.Claim, got.Decision.Delete, got.Decision.Strip = nil, nil, nil
	want := made(a)
	want.Decision.Claim, want.Decision.Delete, want.Decision.Strip = nil, nil, nil
	Same(t, "result", got, want)
}
