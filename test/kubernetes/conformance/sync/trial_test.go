package sync

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/featuregate"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

// builtin holds the finalizer, labels and annotations of the built-in Job controller.
var builtin tracking.Keys

// names holds the same names.
var names = tracking.Keys{}.WithDefaults()

// A trial is one input for both sides. Neither side changes it.
type trial struct {
	snapshot decide.Snapshot // the input of jobfate
	fail     real.Faults
	limits   real.Limits
	noPerIndex,
	noReplace bool // the features that are off
	// impossible is the field that the error of jobfate must name. It is empty for a valid
	// input.
	impossible string
}

// The gates of the features that may be off in a trial. 1.37 has removed both.
const (
	perIndexGate    featuregate.Feature = "JobBackoffLimitPerIndex"
	replacementGate featuregate.Feature = "JobPodReplacementPolicy"
)

// gated says that the compared release has these gates.
var gated = real.HasGate(perIndexGate) && real.HasGate(replacementGate)

// input returns the input of the real controller.
func (t *trial) input() real.Input {
	s := &t.snapshot
	in := real.Input{
		Job:  apiserver.Default(s.Job),
		Pods: inOrder(s),
		Now:  s.Now,
		Memory: real.Memory{
			Creations: s.InFlight.Creations,
			Deletions: s.InFlight.Deletions,
			Stripped:  s.InFlight.Stripped,
			Finished:  s.InFlight.Status,
		},
		Fail:   t.fail,
		Limits: t.limits,
	}
	if s.Backoff.Failures != 0 || !s.Backoff.LastFailure.IsZero() {
		last := s.Backoff.LastFailure
		in.Backoff = &real.Record{Failures: s.Backoff.Failures, LastFailure: &last}
	}
	if t.noPerIndex {
		in.Off = append(in.Off, perIndexGate)
	}
	if t.noReplace {
		in.Off = append(in.Off, replacementGate)
	}
	return in
}

// inOrder returns the pods in the order that jobfate follows.
func inOrder(s *decide.Snapshot) []*corev1.Pod { return fixture.InOrder(s.Job, slices.Clone(s.Pods)) }

func indexed(job *batchv1.Job) bool { return jobstatus.IsIndexed(&job.Spec) }

// perIndex reports whether failures are counted per index.
func (t *trial) perIndex() bool {
	return indexed(t.snapshot.Job) && t.snapshot.Job.Spec.BackoffLimitPerIndex != nil && !t.noPerIndex
}

// onlyFailedReplaced reports whether a terminating pod does not count as failed yet.
func (t *trial) onlyFailedReplaced() bool {
	spec := &t.snapshot.Job.Spec
	return spec.PodFailurePolicy != nil ||
		!t.noReplace && spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy == batchv1.Failed
}

// uncountedCap returns the maximum number of UIDs in the lists.
func (t *trial) uncountedCap() int { return cmp.Or(t.limits.MaxUncounted, 500) }

func (t *trial) changesCap() int { return cmp.Or(t.limits.MaxCreateDelete, 500) }

func (t *trial) base() time.Duration  { return cmp.Or(t.limits.Base, 10*time.Second) }
func (t *trial) delay() time.Duration { return cmp.Or(t.limits.Cap, 10*time.Minute) }
