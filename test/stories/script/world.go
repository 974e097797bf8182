package script

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobName is the name of the Job of a scenario.
const JobName = "job"

// World is where scenarios run: a Job that a controller runs, with pods that a kubelet runs, in virtual or in
// real time. An error fails the test T.
type World struct {
	T testing.TB
	Clock
	Actors Actors

	always []invariant
}

type invariant struct {
	what  string
	holds func(State) bool
}

// Clock lets time pass.
type Clock interface {
	// Current returns the state now. It is valid until the next change.
	Current() State
	// Next waits for the next change. It returns false if there is none. The clock calls Check after each change.
	Next() bool
	// Story lists what has happened.
	Story() string
}

// Actors do what users and the kubelet do. A method that fails ends the test.
type Actors interface {
	Create(batchv1.JobSpec)
	EditJob(func(*batchv1.JobSpec)) error
	DeleteJob(metav1.DeletionPropagation)
	Lead(Life, []*corev1.Pod) // from now on
	DeletePod(pod *corev1.Pod, force bool)
	Patch(pod *corev1.Pod, json []byte) // a merge patch
	// Observed waits until the controller has observed everything.
	Observed()
}

// Operators are Actors who stop the controller, and let it lag.
type Operators interface {
	StopController()
	StartController()
	Lag(what string) // jobs or pods
	CatchUp()
}

// longest is the longest wait in real time while changes occur.
const longest = 8 * time.Minute

// State returns the current state.
func (w *World) State() State { return w.Current().clone() }

// When lets time pass until a function holds, and returns the state in which it holds. This may be the current
// state.
func (w *World) When(what string, holds func(State) bool) State {
	w.T.Helper()
	for began := time.Now(); !holds(w.Current()); {
		if !w.Next() || time.Since(began) > longest {
			w.T.Fatalf("not observed: %s\nthe status is %s\n%s", what, w.Current().Text(), w.Story())
		}
	}
	return w.State()
}

// Until lets time pass until the Job has a STATE, and nothing else, and returns the state.
func (w *World) Until(state string) State {
	w.T.Helper()
	return w.When(state+" and nothing else", func(s State) bool { return s.is(state) })
}

// Always checks an invariant in every later state.
func (w *World) Always(what string, holds func(State) bool) {
	w.always = append(w.always, invariant{what, holds})
}

// Check checks the invariants in the current state.
func (w *World) Check() {
	w.T.Helper()
	for _, a := range w.always {
		if s := w.Current(); !a.holds(s) {
			w.T.Fatalf("must always hold: %s\nthe status is %s\n%s", a.what, s.Text(), w.Story())
		}
	}
}

// Play runs the steps of a text, and returns the state after them. It does not change what new pods do.
func (w *World) Play(text string) State {
	w.T.Helper()
	s, err := Parse(text)
	if err != nil {
		w.T.Fatal(err)
	}
	s.Run(w, "")
	return w.State()
}
