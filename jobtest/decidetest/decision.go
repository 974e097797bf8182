package decidetest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
)

// MustDecide decides on a snapshot. It ends the test if there is an error.
func MustDecide(t testing.TB, s decide.Snapshot, opts ...decide.Option) decide.Decision {
	t.Helper()
	d, err := decide.Job(s, opts...)
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return d
}

// Settle returns the result of removing the finalizers of some pods after a decision.
func Settle(d decide.Decision, gone ...*corev1.Pod) decide.Settled {
	uids := make([]types.UID, len(gone))
	for i, pod := range gone {
		uids[i] = pod.UID
	}
	return d.Settle(uids...)
}
