//go:build ignore

package real_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// 1.37 has removed these gates. The package suites runs this test with 1.36.

func TestGatesOff(t *testing.T) {
	j := newJob(t, size(2, 2), indexed, perIndex(5))
	failed := newPod(j, "a", corev1.PodFailed, index(0), failures(0), exit(1, 0))
	in := real.Input{Job: j, Pods: []*corev1.Pod{failed}, Now: at(100)}
	if s := lastStatus(t, mustSync(t, in)); s.FailedIndexes == nil || s.Terminating == nil {
		t.Errorf("all gates on: failedIndexes %v, terminating %v, want both", s.FailedIndexes, s.Terminating)
	}
	in.Off = []featuregate.Feature{features.JobBackoffLimitPerIndex}
	out := mustSync(t, in)
	if s := lastStatus(t, out); s.FailedIndexes != nil || s.Terminating == nil {
		t.Errorf("per-index backoff off: failedIndexes %v, terminating %v, want only the latter", s.FailedIndexes, s.Terminating)
	}
	if _, ok := out.Created()[0].Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		t.Error("per-index backoff off: the new pod counts failures")
	}
	in.Off = []featuregate.Feature{features.JobPodReplacementPolicy}
	if s := lastStatus(t, mustSync(t, in)); s.FailedIndexes == nil || s.Terminating != nil {
		t.Errorf("replacement policy off: failedIndexes %v, terminating %v, want only the former", s.FailedIndexes, s.Terminating)
	}
	in.Off = nil
	if s := lastStatus(t, mustSync(t, in)); s.FailedIndexes == nil || s.Terminating == nil {
		t.Error("the gates stay off")
	}
}
