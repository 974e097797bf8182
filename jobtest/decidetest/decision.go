package decidetest

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
)

// Input returns the input of package decide for a snapshot, with nothing in flight.
func Input(s jobfate.Snapshot) decide.Input {
	return decide.Input{Job: s.Job, Pods: s.Pods, Now: s.Now, Backoff: s.Backoff, LastStatus: s.LastStatus}
}

// Decide decides like [jobfate.Decide], with the writes in flight of the input.
func Decide(in decide.Input, opts ...jobfate.Option) (jobfate.Decision, error) {
	return carriedOut(func(_ decide.Input, c decide.Config) (*decide.Outcome,
		error) {
		return decide.Decide(in, c)
	}, opts)
}

// MustDecide decides on a snapshot, or on one with writes in flight. It ends the test if there
// is an error.
func MustDecide[S jobfate.Snapshot | decide.Input](t testing.TB, s S, opts ...jobfate.Option) jobfate.Decision {
	t.Helper()
	var d jobfate.Decision
	var err error
	switch s := any(s).(type) {
	case jobfate.Snapshot:
		d, err = jobfate.Decide(s, opts...)
	case decide.Input:
		d, err = Decide(s, opts...)
	}
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return d
}

// Revise returns the decision that follows if some of its creations or deletions fail.
func Revise(d jobfate.Decision, done decide.Done) jobfate.Decision {
	outcome := inside.OutcomeOf(d).Close(done)
	revised, err := carriedOut(func(decide.Input, decide.Config) (*decide.Outcome, error) { return outcome, nil }, nil)
	if err != nil {
		panic(err) // cannot happen: the decider returns no error
	}
	return revised
}

// Settle returns the result of removing the finalizers of some pods after a decision.
func Settle(d jobfate.Decision, gone ...*corev1.Pod) decide.Settled {
	uids := make([]types.UID, len(gone))
	for i, pod := range gone {
		uids[i] = pod.UID
	}
	return inside.OutcomeOf(d).Settle(uids)
}

// carriedOut returns the decision of a Machine that decides with the given function.
func carriedOut(how func(decide.Input, decide.Config) (*decide.Outcome, error),
	opts []jobfate.Option) (jobfate.Decision, error) {
	m := jobfate.NewMachine(opts...)
	inside.MachineOf(m).Decide = func(_ *decide.Tally, in decide.Input, c *decide.Config) (*decide.Outcome,
		error) {
		return how(in, *c)
	}
	view := jobfate.View{
		Job:         &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "any", ResourceVersion: "1"}},
		Now:         time.Unix(1, 0),
		JobsVersion: "1", PodsVersion: "1", Barrier: "1",
	}
	if err := m.Begin(view); err != nil {
		return jobfate.Decision{}, err
	}
	return m.Result().Decision, nil
}
