package machine

import (
	"errors"
	"fmt"
	"slices"
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

func notFound(r Request) error {
	return apierrors.NewNotFound(corev1.Resource("things"), r.Name)
}

var errTimeout = errors.New("the connection broke")

// Every request has the namespace, and those about the Job its name, also in the first sync.
func TestRequests_nameTheJob(t *testing.T) {
	job, open := Train(1), fresh(Train(1))
	open.Barrier = ""
	for name, v := range map[string]View{"cached": fresh(job), "read live": unversioned(fresh(job)), "without a barrier": open} {
		s := &server{job: job}
		run(t, New(), v, func(r Request) (runtime.Object, error) {
			ofJob := r.Verb != CreatePod && r.Verb != ListPods
			if r.Namespace != job.Namespace || ofJob && r.Name != job.Name {
				t.Errorf("%s: %s: namespace %q, name %q", name, r.Verb, r.Namespace, r.Name)
			}
			return s.answer(r)
		})
	}
}

// A sync waits while the Job is older than the answer to the last status write.
func TestStaleJob(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	Same(t, "requests", run(t, m, fresh(job, PodOf(job, "a", "11")), s.answer), nil)
	Same(t, "requeue, error", Pair(m.Result().Requeue, m.Result().Err), Pair(time.Second, nil))
	Same(t, "idle before its status is observed", m.Idle(), false)
}

// A creation is in flight until its pod is observed, or until the cache is complete up to
// its version.
func TestCreation_inFlight(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.answer) // the pod is at version 2002
	job = job.DeepCopy()
	job.ResourceVersion, job.Status = "2100", *m.result.Decision.Facts().Status
	s.job = job
	v := fresh(job)
	Same(t, "requests before it is observed", run(t, m, v, s.answer), nil) // the status counts the pod already
	Same(t, "Requeue, to read the pod by name", m.Result().Requeue, 10*time.Second)
	v.PodsVersion, v.Job = "2003", job.DeepCopy()
	v.Job.ResourceVersion = "2200"
	Same(t, "requests when the cache has passed its version", run(t, m, v, s.answer)[:1], []string{"create pod train-"})
}

// A creation that is not observed after some seconds is resolved by a read by name.
func TestCreation_readByName(t *testing.T) {
	for _, found := range []string{"the pod", "nothing", "another pod of the Job"} {
		job := Train(1)
		m := New()
		s := &server{job: job}
		var made *corev1.Pod
		run(t, m, fresh(job), s.except(CreatePod, func(r Request) (runtime.Object, error) {
			object, err := s.answer(r)
			made = object.(*corev1.Pod)
			return object, err
		}))
		job = job.DeepCopy()
		job.ResourceVersion, job.Status = "2100", *m.result.Decision.Facts().Status
		v := fresh(job)
		v.Now = noon.Add(10 * time.Second)
		want := []string{"get pod " + made.Name, "create pod train-"}
		switch found {
		case "the pod":
			s.pods, want = []*corev1.Pod{made}, want[:1]
		case "another pod of the Job":
			s.pods = []*corev1.Pod{PodOf(job, "b", "2050", func(pod *corev1.Pod) { pod.Name = made.Name })}
		}
		got := run(t, m, v, s.answer)
		Same(t, "first requests if the read finds "+found, got[:min(2, len(got))], want)
	}
}

// After a lost creation, the Machine reads the pod by name. If the API server generates the
// name, the Machine lists the pods live before the next creation.
func TestCreation_lost(t *testing.T) {
	for _, named := range []bool{false, true} {
		job := Train(1)
		m := New()
		want := []string{"get the Job", "list the pods"}
		if named {
			m.Names = func(prefix string) string { return prefix + "abcde" }
			want = []string{"get pod train-abcde"}
		}
		s := &server{job: job}
		run(t, m, fresh(job), s.except(CreatePod, func(r Request) (runtime.Object, error) {
			s.pods = append(s.pods, PodOf(job, "abcde", "2001"))
			return nil, errTimeout
		}))
		if m.Result().Err == nil || len(m.memory.Lost) != 1 {
			t.Fatalf("named %t: %v, %d lost creations; want an error and one", named, m.Result().Err, len(m.memory.Lost))
		}
		got := run(t, m, fresh(job), s.answer)
		if len(got) < len(want) {
			t.Fatalf("named %t: requests %v, want %v first", named, got, want)
		}
		Same(t, "first requests", got[:len(want)], want)
		Same(t, "second pods that are created", creations(got), 0)
		Same(t, fmt.Sprintf("named %t: still lost", named), len(m.memory.Lost), 0)
	}
}

// After a lost creation the name may belong to a pod that another client has created. It does not
// count as a creation of the Job: the Job gets its own pod at once.
func TestCreation_lostAndTheNameIsTaken(t *testing.T) {
	job, other := Train(1), Train(1)
	other.UID = "another"
	for name, taken := range map[string]*corev1.Pod{
		"by a pod without a controller": PodOf(job, "abcde", "2001", Ownerless),
		"by a pod of another Job":       PodOf(other, "abcde", "2001"),
	} {
		t.Run(name, func(t *testing.T) {
			m, s := New(), &server{job: job, pods: []*corev1.Pod{taken}}
			m.Names = func(prefix string) string { return prefix + "abcde" }
			run(t, m, fresh(job), s.except(CreatePod, refusal(errTimeout)))
			asked := run(t, m, fresh(s.job), s.answer)
			Same(t, "requests", asked, []string{"get pod train-abcde", "create pod train-abcde", "patch the status"})
			if len(m.memory.Created) != 1 || m.memory.Created[0].UID == taken.UID {
				t.Errorf("the machine waits to observe %v, want its own pod", m.memory.Created)
			}
		})
	}
}

// After a lost status write, the Machine reads live before any write.
func TestStatus_lost(t *testing.T) {
	job := Train(1)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job, PodOf(job, "a", "11")), s.except(PatchStatus, refusal(apierrors.NewTimeoutError("no answer", 3))))
	if r := m.Result(); r.Err == nil || r.RetryAfter != 3*time.Second || m.memory.Sure {
		t.Errorf("the result is %+v, Sure = %t; want an error, 3s and false", r, m.memory.Sure)
	}
	got := run(t, m, fresh(job, PodOf(job, "a", "11")), s.answer)
	Same(t, "first requests", got[:1], []string{"get the Job"})
}

// A successful answer without its object counts as no answer.
func TestAnswers_withoutObject(t *testing.T) {
	job := Train(1)
	for verb, want := range map[Verb]string{
		CreatePod:   "creations without an answer",
		PatchStatus: "a status write without an answer",
	} {
		m, s := New(), &server{job: job}
		run(t, m, fresh(job), s.except(verb, func(Request) (runtime.Object, error) { return (*corev1.Pod)(nil), nil }))
		if got := m.String(); m.Result().Err == nil || !strings.Contains(got, want) {
			t.Errorf("%v: %v, %s; want an error and %s", verb, m.Result().Err, got, want)
		}
	}
}

// A live read that returns another Job, a Job of another manager, an invalid Job or none
// ends the sync with Result.Err or Result.Gone.
func TestLiveRead(t *testing.T) {
	another, foreign, invalid := Train(1), Train(1), Train(1)
	another.UID = "another"
	foreign.Spec.ManagedBy, invalid.Spec.Parallelism = new("example.com/other"), new(int32(-1))
	for name, test := range map[string]struct {
		live *batchv1.Job
		err  error
		gone bool
		is   func(error) bool
	}{
		"none":      {live: nil, gone: true},
		"another":   {live: another, gone: true},
		"foreign":   {live: foreign, is: func(err error) bool { return errors.Is(err, decide.ErrNotManaged) }},
		"invalid":   {live: invalid, is: func(err error) bool { var in *decide.InputError; return errors.As(err, &in) }},
		"no answer": {err: errTimeout, is: func(err error) bool { return errors.Is(err, errTimeout) }},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := New(), &server{job: test.live}
			asked := run(t, m, unversioned(fresh(Train(1))), s.except(GetJob, func(r Request) (runtime.Object, error) {
				if test.err != nil {
					return nil, test.err
				}
				return s.answer(r)
			}))
			for _, r := range asked {
				if !strings.HasPrefix(r, "get") && !strings.HasPrefix(r, "list") {
					t.Errorf("the machine writes: %v", asked)
				}
			}
			r := m.Result()
			if r.Gone != test.gone || (test.is == nil) != (r.Err == nil) || test.is != nil && !test.is(r.Err) {
				t.Errorf("gone %t, error %v", r.Gone, r.Err)
			}
		})
	}
}

// The memory is about one UID. Another UID, or no Job, resets it.
func TestAnotherJob(t *testing.T) {
	job := Train(1)
	next := Train(1)
	next.UID, next.ResourceVersion = "next", "3000"
	s := &server{job: job}
	m := New()
	run(t, m, fresh(job), s.answer) // a creation and a status are pending

	// Only a cache says that the first Job is gone, and it may be stale.
	asked := run(t, m, fresh(next), s.answer)
	Same(t, "requests while the first Job exists", asked, []string{"get the Job"})
	Same(t, "the Job and the creations that the machine remembers", Pair(m.memory.Job, len(m.memory.Created)), Pair(job.UID, 1))
	Same(t, "another sync", m.Result().Requeue > 0, true)

	s.job = next
	asked = run(t, m, fresh(next), s.answer)
	Same(t, "requests when it is gone", asked[:2], []string{"get the Job", "list the pods"})
	Same(t, "the Job that the machine remembers", m.memory.Job, next.UID)

	Same(t, "requests when only the cache has no Job", run(t, m, View{Now: noon}, s.answer), []string{"get the Job"})
	if r := m.Result(); r.Gone || r.Requeue == 0 || m.memory.Job != next.UID {
		t.Errorf("gone %t, requeue %s, remembers %s; want %s and another sync", r.Gone, r.Requeue, m.memory.Job, next.UID)
	}
	another := Train(1)
	another.UID = "another"
	other := m.Clone()
	run(t, other, View{Now: noon}, (&server{job: another}).answer)
	if r := other.Result(); !r.Gone || r.Requeue == 0 || !other.Idle() {
		t.Errorf("another Job of the name: gone %t, requeue %s, %s; want gone, and another sync", r.Gone, r.Requeue, other)
	}

	s.job = nil
	Same(t, "requests when there is no Job", run(t, m, View{Now: noon}, s.answer), []string{"get the Job"})
	Same(t, "gone, and idle", []bool{m.Result().Gone, m.Idle()}, []bool{true, true})
	Same(t, "requests of the next sync", run(t, m, View{Now: noon}, s.answer), nil)
}

// A Job without a UID is invalid. It is not a Job that is known to be gone.
func TestJobWithoutUID(t *testing.T) {
	m, v := New(), fresh(Train(1))
	v.Job.UID = ""
	var input *decide.InputError
	if err := m.Begin(v); !errors.As(err, &input) || m.Result().Gone {
		t.Errorf("got %v, gone %t; want an input error", err, m.Result().Gone)
	}
}

// Calls out of order return an error or do nothing.
func TestMisuse(t *testing.T) {
	m := New()
	Same(t, "requests before Begin", m.Next(), nil)
	Same(t, "a result before Begin has an error", m.Result().Err != nil, true)
	Same(t, "an answer before Begin is an error", m.Answer(Request{ID: 1}, nil, nil) != nil, true)
	Same(t, "Begin with a Job that must be read live", m.Begin(View{Job: &batchv1.Job{}}), nil)
	v := fresh(Train(1))
	v.Now = time.Time{}
	var input *decide.InputError
	if err := m.Begin(v); !errors.As(err, &input) {
		t.Errorf("Begin without a time: %v, want an input error", err)
	}
	Same(t, "requests after a failed Begin", len(m.Next()), 0)

	s := &server{job: Train(1)}
	batch := upTo(t, m, fresh(Train(1)), s, CreatePod)
	object, _ := s.answer(batch[0])
	Same(t, "taking an answer", m.Answer(batch[0], object, nil), nil)
	Same(t, "a second answer is an error", m.Answer(batch[0], nil, errTimeout) != nil, true)
	Same(t, "an unknown answer is an error", m.Answer(Request{ID: batch[0].ID + 100}, nil, nil) != nil, true)
	m.Next()
	Same(t, "creations after the first answer", len(m.memory.Created), 1)
}

// A sync can be abandoned at any request. The Machine remembers the answered writes, and
// treats the others as lost.
func TestAbandoned(t *testing.T) {
	m, s := New(), &server{job: Train(3)}
	first := upTo(t, m, fresh(Train(3)), s, CreatePod)
	object, _ := s.answer(first[0])
	_ = m.Answer(first[0], object, nil)
	second := m.Next()
	object, _ = s.answer(second[0])
	_ = m.Answer(second[0], object, nil)
	begin(t, m, fresh(Train(3)))
	Same(t, "created, lost", Pair(len(m.memory.Created), len(m.memory.Lost)), Pair(2, 1))
	// The last answer arrives too late.
	object, _ = s.answer(second[1])
	Same(t, "a late answer is an error", m.Answer(second[1], object, nil) != nil, true)
	Same(t, "created, lost after it", Pair(len(m.memory.Created), len(m.memory.Lost)), Pair(2, 1))
}

// Next treats requests without an answer as lost. A later answer is an error.
func TestNext_withoutAnswers(t *testing.T) {
	job := Train(1)
	done := PodOf(job, "a", "11", Succeeded)
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	m, s := New(), &server{job: job}
	strips := upTo(t, m, fresh(job, done), s, PatchPod)
	if rest := m.Next(); len(rest) != 0 || m.Result().Err == nil || !errors.Is(m.Result().Err, errNoAnswer) {
		t.Errorf("requests %v, error %v; want none and %v", rest, m.Result().Err, errNoAnswer)
	}
	object, _ := s.answer(strips[0])
	Same(t, "a late answer is an error", m.Answer(strips[0], object, nil) != nil, true)
	Same(t, "stripped", len(m.memory.Stripped), 0)
}

// A terminating namespace ends creations without an error or an event.
func TestNamespaceEnds(t *testing.T) {
	m, s := New(), &server{job: Train(3)}
	n := 0
	asked := run(t, m, fresh(Train(3)), s.except(CreatePod, func(r Request) (runtime.Object, error) {
		if n++; n == 1 {
			return s.answer(r)
		}
		err := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("the namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return nil, err
	}))
	Same(t, "requests", asked, []string{"create pod train-", "create pod train-", "create pod train-", "patch the status"})
	Same(t, "active pods in the status", m.result.Decision.Facts().Status.Active, 1)
	Same(t, "error, events", Pair(m.Result().Err, len(m.Result().Events)), Pair(nil, 1))
}

// When a quota refuses a pod of a batch, the rest of the batch is created, and no later
// batch.
func TestCreations_stop(t *testing.T) {
	m, s := New(), &server{job: Train(10)}
	exceeded := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
	asked := run(t, m, fresh(Train(10)), s.failing(2, CreatePod, exceeded))
	Same(t, "requests", asked, []string{"create pod train-", "create pod train-", "create pod train-", "patch the status"})
	Same(t, "lost creations", len(m.memory.Lost), 0)
	Same(t, "active pods in the status", m.result.Decision.Facts().Status.Active, 2)
	warnings := slices.DeleteFunc(m.Result().Events, func(e decide.Event) bool { return e.Reason != "FailedCreate" })
	Same(t, "warnings", len(warnings), 1)
	Same(t, "metrics: only the creations that were tried count as failed", Texts(m.Result().Metrics), []string{
		"job_pods_creation_total reason=new status=failed 1", "job_pods_creation_total reason=new status=succeeded 2"})
}

// A creation whose name is in use is retried with another name, a few times.
func TestCreations_collide(t *testing.T) {
	inUse := apierrors.NewAlreadyExists(corev1.Resource("pods"), "train-x")
	m, s := New(), &server{job: Train(1)}
	n, r := creations(run(t, m, fresh(Train(1)), s.failing(1, CreatePod, inUse))), m.Result()
	if n != 2 || r.Err != nil || len(r.Events) != 1 {
		t.Errorf("%d creations, error %v, events %v; want 2, no error and 1 event", n, r.Err, r.Events)
	}
	m = New()
	n = creations(run(t, m, fresh(Train(1)), s.except(CreatePod, refusal(inUse))))
	Same(t, "creations, and AlreadyExists", []any{n, apierrors.IsAlreadyExists(m.Result().Err)}, []any{4, true})
}

// A creation whose name is in use stays in front of the others: when a quota leaves room for one pod, the lowest
// index gets it.
func TestCreations_collideInOrder(t *testing.T) {
	job := Train(3)
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	m, s := New(), &server{job: job}
	var tried, made []string
	run(t, m, fresh(job), s.except(CreatePod, func(r Request) (runtime.Object, error) {
		index := r.Pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		tried = append(tried, index)
		switch {
		case len(tried) == 1:
			return nil, apierrors.NewAlreadyExists(corev1.Resource("pods"), "train-0-x")
		case len(made) == 1:
			return nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
		}
		made = append(made, index)
		return s.answer(r)
	}))
	Same(t, "the indexes that were tried", tried, []string{"0", "0", "1"})
	Same(t, "the index that has a pod", made, []string{"0"})
}
