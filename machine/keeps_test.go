package machine

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// idle makes a Machine decide that nothing is to be done.
func idle(m *Machine) {
	m.Decider = func(*decide.Pods, decide.Snapshot, decide.Option) (decide.Decision, error) {
		return decide.Decision{}, nil
	}
}

// A live read answers what was in doubt, and raises the floors to the newest version that is known.
func TestLiveRead_whatIsRemembered(t *testing.T) {
	for _, test := range []struct{ floor, barrier, read, want, known, knows string }{
		{"5000", "1", "2000", "5000", "9000", "9000"}, {"1", "6000", "2000", "6000", "9000", "9000"},
		{"1", "1", "2000", "2000", "1500", "2000"},
	} {
		m, s := New(), &server{job: Train(1)}
		idle(m)
		s.job.ResourceVersion = test.read
		m.memory = memory.Memory{Job: s.job.UID, JobsFloor: test.floor, PodsFloor: test.floor, ReadFirst: true, Lost: []string{""},
			Known: test.known, Created: []memory.Created{{UID: "a", Name: "a", Version: "1500", At: noon}}}
		v := fresh(Train(1))
		v.Barrier = test.barrier
		asked := run(t, m, v, s.except(ListPods, func(Request) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: test.read}}, nil
		}))
		Same(t, "requests", asked, []string{"get the Job", "list the pods"})
		Same(t, "the floors of Jobs and pods", []string{m.memory.JobsFloor, m.memory.PodsFloor}, []string{test.want, test.want})
		Same(t, "the versions of the Job: known, and shown by its cache", []string{m.memory.Known, m.memory.Shown}, []string{test.knows, ""})
		Same(t, "a read to do, lost and created", []any{m.memory.ReadFirst, len(m.memory.Lost), len(m.memory.Created)}, []any{false, 0, 0})
	}
}

// An older Job in the cache does not make the Machine forget that it has shown a newer one, and the time of the last status
// is part of the snapshot.
func TestBegin_olderJob(t *testing.T) {
	job := Train(1) // at version 10
	m, in := remembering(memory.Memory{Job: job.UID, Known: "20", Shown: "20", LastStatus: noon.Add(-time.Minute)})
	begin(t, m, fresh(job))
	Same(t, "the newest version in the cache", m.memory.Shown, "20")
	Same(t, "the last status", in.LastStatus, noon.Add(-time.Minute))
}

// What a sync leaves in the memory: the record, the time of the status, the pods that were gone, and the newest floor.
func TestSync_whatIsRemembered(t *testing.T) {
	m, s := New(), &server{job: Train(2)}
	pod := PodOf(s.job, "a", "11", Failed)
	run(t, m, fresh(s.job, pod), s.except(PatchPod, refusal(notFound(Request{}))))
	Same(t, "the pod that was gone", m.memory.Stripped, map[types.UID]memory.Stripped{"a": {Version: "11"}})
	Same(t, "the last status", m.memory.LastStatus, noon)
	Same(t, "the record", m.memory.Backoff, m.Result().Decision.Backoff)
	Same(t, "its failures", m.memory.Backoff.Failures, int32(1))

	m, s = New(), &server{job: Train(1)}
	v := fresh(s.job, PodOf(s.job, "a", "11", Ownerless))
	v.PodsVersion = "9999"
	run(t, m, v, s.answer)
	Same(t, "the floor after an adoption at an older version", m.memory.PodsFloor, "9999")
	Same(t, "metrics of an adoption", Texts(m.Result().Metrics), nil)
}

// A status write that is not answered, or whose answer is not used, brings the record in doubt.
func TestStatus_bringsTheRecordInDoubt(t *testing.T) {
	for name, how := range map[string]func(*Machine, *server, Request){
		"lost": func(m *Machine, _ *server, r Request) { _ = m.Answer(r, nil, errTimeout) },
		"answered": func(m *Machine, s *server, r Request) {
			object, err := s.answer(r)
			_ = m.Answer(r, object, err)
		},
	} {
		m, s := New(), &server{job: Train(1)}
		m.memory.Job, m.memory.Sure = s.job.UID, true
		batch := upTo(t, m, fresh(s.job, PodOf(s.job, "a", "11", Phase(corev1.PodRunning))), s, PatchStatus)
		how(m, s, batch[0])
		m.Abandon()
		Same(t, name+": sure", m.memory.Sure, false)
	}
}

// The batches of creations double.
func TestCreations_batches(t *testing.T) {
	m, s := New(), &server{job: Train(10)}
	var sizes []int
	begin(t, m, fresh(s.job))
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		sizes = append(sizes, len(batch))
		for _, r := range batch {
			object, err := s.answer(r)
			_ = m.Answer(r, object, err)
		}
	}
	Same(t, "the sizes, and that of the status", sizes, []int{1, 2, 4, 3, 1})
}

// After a request timeout or an error of the API server, a request may have been carried out.
func TestCreation_requestTimeout(t *testing.T) {
	for code, lost := range map[int32]int{408: 1, 499: 0, 500: 1} {
		m, s := New(), &server{job: Train(1)}
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}}
		run(t, m, fresh(s.job), s.except(CreatePod, refusal(err)))
		Same(t, fmt.Sprint("lost creations, code ", code), len(m.memory.Lost), lost)
	}
}

// The caller owns a request: changing its status changes no decision.
func TestRequest_statusIsTheCallers(t *testing.T) {
	m, s := New(), &server{job: Train(1)}
	run(t, m, fresh(s.job), func(r Request) (runtime.Object, error) {
		object, err := s.answer(r)
		if r.Status != nil {
			r.Status.Active = 99
		}
		return object, err
	})
	Same(t, "active pods in the decision", m.Result().Decision.Status.Active, int32(1))
}

// The options of a sync apply to no other sync, and to no other Machine.
func TestBegin_optionsOfOneSync(t *testing.T) {
	creates := func(m *Machine, opts ...decide.Option) int {
		Same(t, "Begin", m.Begin(fresh(Train(2)), opts...), nil)
		return len(m.Result().Decision.Create)
	}
	m := New()
	Same(t, "pods to create: with, without, and by another", []int{creates(m, decide.MaxChanges(1)), creates(m), creates(New())}, []int{1, 2, 2})
}

// A clone decides on the pods that the original has read, as the original would, and goes on with its numbers.
func TestClone_pods(t *testing.T) {
	m, s := New(), &server{job: Train(2)}
	watched := 0
	m.Decider = func(pods *decide.Pods, in decide.Snapshot, o decide.Option) (decide.Decision, error) {
		watched++
		return pods.Decide(in, o)
	}
	run(t, m, fresh(s.job, PodOf(s.job, "a", "11", Phase(corev1.PodRunning)), PodOf(s.job, "b", "12", Phase(corev1.PodRunning))), s.answer)
	c := m.Clone()
	v := fresh(s.job)
	v.Fed, v.JobsVersion, v.PodsVersion = true, "9000", "9000"
	before := watched
	begin(t, c, v)
	Same(t, "active pods", c.Result().Decision.Facts().Progress.Active, int32(2))
	Same(t, "decisions that were watched", watched-before, 1)
	Same(t, "the number of the last request", c.lastID >= m.lastID && m.lastID > 0, true)
}
