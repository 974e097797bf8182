package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

var noon = Noon()

// fresh returns a view of caches that are up to date.
func fresh(job *batchv1.Job, pods ...*corev1.Pod) View {
	return View{Job: job, Pods: pods, Now: noon, JobsVersion: "1000", PodsVersion: "1000", Barrier: "1"}
}

// unversioned removes the versions of the caches from a view.
func unversioned(v View) View {
	v.JobsVersion, v.PodsVersion, v.Barrier = "", "", ""
	return v
}

// answers answers requests.
type answers func(Request) (runtime.Object, error)

// refusal answers every request with an error.
func refusal(err error) answers {
	return func(Request) (runtime.Object, error) { return nil, err }
}

func begin(t testing.TB, m *Machine, v View) {
	t.Helper()
	if err := m.Begin(v); err != nil {
		t.Fatalf("Begin: %v", err)
	}
}

// text describes a request.
func text(r Request) string {
	name := r.Name
	if r.Pod != nil {
		name = r.Pod.Name
		if name == "" {
			name = r.Pod.GenerateName
		}
	}
	if name == "" || r.Verb == PatchStatus || r.Verb == GetJob {
		return r.Verb.String()
	}
	return r.Verb.String() + " " + name
}

// run runs a sync, and returns its requests. It checks that the Machine changes neither the view nor an answer.
func run(t testing.TB, m *Machine, v View, how answers) (asked []string) {
	t.Helper()
	var given Inputs
	given.AddView(v.Job, v.Pods)
	begin(t, m, v)
	asked = drive(t, m, func(r Request) (runtime.Object, error) {
		object, err := how(r)
		given.Add(object)
		return object, err
	})
	Same(t, fmt.Sprintf("after %q", asked), given.Changed(), "")
	return asked
}

func drive(t testing.TB, m interface {
	Next() []Request
	Answer(Request, runtime.Object, error) error
}, how answers) (asked []string) {
	t.Helper()
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			asked = append(asked, text(r))
			object, err := how(r)
			if err := m.Answer(r, object, err); err != nil {
				t.Errorf("%v: %v", r, err)
			}
		}
		if len(asked) > 100 {
			t.Fatalf("the sync does not end: %v", asked)
		}
	}
	return asked
}

// server answers like an API server whose writes all succeed. Its versions count up from
// 2000, and its lists return the given pods.
type server struct {
	job      *batchv1.Job
	pods     []*corev1.Pod
	version  int
	statuses []string
}

func (s *server) next() string {
	s.version++
	return fmt.Sprint(2000 + s.version)
}

func (s *server) answer(r Request) (runtime.Object, error) {
	switch r.Verb {
	case GetJob:
		if s.job == nil {
			return nil, notFound(r)
		}
		return s.job, nil
	case ListPods:
		list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: s.next()}}
		for _, pod := range s.pods {
			list.Items = append(list.Items, *pod)
		}
		return list, nil
	case GetPod:
		for _, pod := range s.pods {
			if pod.Name == r.Name {
				return pod, nil
			}
		}
		return nil, notFound(r)
	case CreatePod:
		pod := r.Pod.DeepCopy()
		pod.UID, pod.ResourceVersion = types.UID("new-"+s.next()), s.next()
		if pod.Name == "" {
			pod.Name = pod.GenerateName + string(pod.UID)
		}
		return pod, nil
	case PatchPod:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: r.Name, UID: r.UID, ResourceVersion: s.next()}}
		return pod, nil
	case PatchStatus:
		if s.job == nil {
			return nil, notFound(r)
		}
		s.statuses = append(s.statuses, string(r.Patch))
		job := s.job.DeepCopy()
		job.Status, job.ResourceVersion = *r.Status.DeepCopy(), s.next()
		s.job = job
		return job, nil
	}
	return nil, nil
}

// failing answers all requests but the nth one of a verb, which fails.
func (s *server) failing(nth int, verb Verb, err error) answers {
	n := 0
	return s.except(verb, func(r Request) (runtime.Object, error) {
		n++
		if n == nth {
			return nil, err
		}
		return s.answer(r)
	})
}

// creations returns how many of the requests create a pod.
func creations(asked []string) int {
	return len(slices.DeleteFunc(slices.Clone(asked), func(r string) bool { return !strings.HasPrefix(r, "create") }))
}

// except returns the answers of the server with other answers for one verb.
func (s *server) except(verb Verb, how answers) answers {
	return func(r Request) (runtime.Object, error) {
		if r.Verb == verb {
			return how(r)
		}
		return s.answer(r)
	}
}
