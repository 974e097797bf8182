package machine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/machine"
)

// upTo begins a sync and answers its requests until one has the verb. It returns that
// batch, unanswered.
func upTo(t *testing.T, m *machine.Machine, v machine.View, s *server, verb machine.Verb) []machine.Request {
	t.Helper()
	if err := m.Begin(v, &m.Config); err != nil {
		t.Fatal(err)
	}
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		if batch[0].Verb == verb {
			return batch
		}
		for _, r := range batch {
			object, err := s.answer(r)
			if err := m.Answer(r.ID, object, err); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatalf("the sync ends without a request to %v", verb)
	return nil
}

// The machine remembers the writes of answers that arrive after their step.
func TestLateAnswers_ofEachVerb(t *testing.T) {
	for verb, remembers := range map[machine.Verb]func(*machine.Machine) bool{
		machine.DeletePod:   func(m *machine.Machine) bool { return len(m.Deleted) == 1 },
		machine.PatchPod:    func(m *machine.Machine) bool { return len(m.Stripped) == 1 },
		machine.PatchStatus: func(m *machine.Machine) bool { return m.Known == "2100" && !m.Sure },
	} {
		job := suspended(train(1))
		m, s := newMachine(), &server{job: job}
		batch := upTo(t, m, fresh(job, podOf(job, "a", "11")), s, verb)
		m.Next() // continues without the answer
		before := remembers(m)
		stored := job.DeepCopy()
		stored.ResourceVersion = "2100"
		if err := m.Answer(batch[0].ID, stored, nil); err != nil || before || !remembers(m) {
			t.Errorf("%v: %v, remembered before %t, after %t", verb, err, before, remembers(m))
		}
	}
}

// An abandoned sync leaves the writes that were answered with success, and none that was
// refused or had no answer.
func TestAbandoned_answers(t *testing.T) {
	job := suspended(train(1))
	for _, err := range []error{nil, notFound(machine.Request{}), errConflict, errTimeout} {
		m, s := newMachine(), &server{job: job}
		batch := upTo(t, m, fresh(job, podOf(job, "a", "11")), s, machine.DeletePod)
		_ = m.Answer(batch[0].ID, nil, err)
		m.Abandon()
		if want := err == nil || err.Error() == notFound(machine.Request{}).Error(); want != (len(m.Deleted) == 1) {
			t.Errorf("answered with %v: the machine remembers the deletions %v", err, m.Deleted)
		}
		if m.Next() != nil {
			t.Error("an abandoned sync has further requests")
		}
	}
}

// A live read that fails ends the sync before anything is written.
func TestLiveRead_fails(t *testing.T) {
	job := train(1)
	for name, how := range map[string]answers{
		"the list is refused":      func(machine.Request) (runtime.Object, error) { return nil, errConflict },
		"the answer is not a list": func(machine.Request) (runtime.Object, error) { return job, nil },
		"the answer is nil":        func(machine.Request) (runtime.Object, error) { return (*corev1.PodList)(nil), nil },
	} {
		m, s := newMachine(), &server{job: job}
		same(t, name, run(t, m, unversioned(fresh(job)), s.except(machine.ListPods, how)), []string{"get the Job", "list the pods"})
		if m.Result().Err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}

	// An answer without the Job says that it is gone.
	for name, object := range map[string]runtime.Object{"no object": nil, "a nil Job": (*batchv1.Job)(nil), "a Job without a UID": &batchv1.Job{}, "a pod": podOf(job, "a", "11")} {
		m, s := newMachine(), &server{job: job}
		same(t, name, run(t, m, unversioned(fresh(job)), s.except(machine.GetJob, func(machine.Request) (runtime.Object, error) { return object, nil })), []string{"get the Job"})
		if r := m.Result(); !r.Gone || r.Requeue != 0 {
			t.Errorf("%s: gone %t, requeue %s; want gone, and no other sync", name, r.Gone, r.Requeue)
		}
	}

	// A failed read by name does not resolve a creation.
	m, s := newMachine(), &server{job: job}
	m.Config.Names = func(prefix string) string { return prefix + "abcde" }
	run(t, m, fresh(job), s.except(machine.CreatePod, func(machine.Request) (runtime.Object, error) { return nil, errTimeout }))
	same(t, "requests", run(t, m, fresh(job), s.except(machine.GetPod, func(machine.Request) (runtime.Object, error) { return nil, errTimeout })),
		[]string{"get pod train-abcde"})
	if len(m.Lost) != 1 || !errors.Is(m.Result().Err, errTimeout) {
		t.Errorf("lost %v, error %v", m.Lost, m.Result().Err)
	}
}

// Without a batch period, a sync that waits for the caches is still requeued.
func TestWait_withoutBatchPeriod(t *testing.T) {
	job, next := train(1), train(1)
	next.UID = "next"
	m, s := newMachine(), &server{job: job}
	m.Config.BatchPeriod = 0
	run(t, m, fresh(job), s.answer)
	run(t, m, fresh(next), s.answer)
	if got := m.Result().Requeue; got != time.Second {
		t.Errorf("Requeue = %v, want 1s", got)
	}
}

// A clone has the same memory, and is independent.
func TestClone(t *testing.T) {
	job := train(1)
	m, s := newMachine(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	c := m.Clone()
	if c.String() != m.String() || len(c.Created) != 1 || c.Result().Outcome != nil {
		t.Errorf("the clone is %v, want %v and no result", c.String(), m.String())
	}
	gone := train(1)
	s.job = nil
	run(t, c, unversioned(fresh(gone)), s.answer)
	if len(m.Created) != 1 {
		t.Error("the clone has changed the original")
	}
	m.Deleted, m.Stripped = map[types.UID]string{"a": "11"}, map[types.UID]machine.Stripped{"a": {}}
	c = m.Clone()
	delete(c.Deleted, "a")
	delete(c.Stripped, "a")
	if len(m.Deleted) != 1 || len(m.Stripped) != 1 {
		t.Error("the clone shares maps with the original")
	}
}

func TestString(t *testing.T) {
	for r, want := range map[string]string{
		machine.DeletePod.String():             "delete pod",
		machine.Verb(8).String():               "Verb(8)",
		machine.Verb(99).String():              "Verb(99)",
		(&machine.Memory{}).String():           "nothing pending",
		(&machine.Memory{Known: "7"}).String(): "waiting to observe version 7 of the Job",
		(&machine.Memory{Deleted: map[types.UID]string{"": ""}, ReadFirst: true}).String(): "waiting to observe a status write without an answer, 1 deletions",
	} {
		if r != want {
			t.Errorf("got %q, want %q", r, want)
		}
	}
	if !strings.Contains((&machine.Memory{Lost: []string{""}}).String(), "1 creations without an answer") {
		t.Error("String does not mention a lost creation")
	}
}

// An answer is taken during the next sync, and not during the one after that.
func TestLateAnswers_areExpectedForOneMoreSync(t *testing.T) {
	for syncs, taken := range map[int]bool{1: true, 2: false} {
		job := suspended(train(1))
		m, s := newMachine(), &server{job: job}
		late := upTo(t, m, fresh(job, podOf(job, "a", "11")), s, machine.DeletePod)[0]
		for range syncs {
			upTo(t, m, fresh(job, podOf(job, "a", "11")), s, machine.DeletePod)
		}
		if err := m.Answer(late.ID, nil, nil); taken != (err == nil) {
			t.Errorf("%d syncs later: %v, want the answer taken: %t", syncs, err, taken)
		}
	}
}
