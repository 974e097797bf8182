//go:build ignore

package job

import (
	batch "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Some tests switch off gates that 1.36 has locked, by emulating an older release. jobfate has
// options for two of these gates. The code below reproduces the effects of the others, before and
// after the decision, and the list of results names them for each test.

// The gates. In a release without a gate, the feature is always on, or does not exist yet.
var (
	managedBy         = gate{"JobManagedBy", true}
	perIndex          = gate{"JobBackoffLimitPerIndex", true}
	replacementPolicy = gate{"JobPodReplacementPolicy", true}
	successPolicy     = gate{"JobSuccessPolicy", true}
	mutableSuspended  = gate{"MutableSchedulingDirectivesForSuspendedJobs", false}
)

type gate struct {
	name    featuregate.Feature
	without bool // whether the feature is on in a release without the gate
}

func (g gate) on() bool {
	if _, known := feature.DefaultMutableFeatureGate.GetAll()[g.name]; !known {
		return g.without
	}
	return feature.DefaultFeatureGate.Enabled(g.name)
}

// delayed reports whether the terminal condition waits for terminating pods and comes
// after an interim one.
func delayed() bool { return managedBy.on() || replacementPolicy.on() }

// options returns the limits and gates that the tests set.
func options() []decide.Option {
	all := []decide.Option{
		decide.Backoff(backoff.Policy{Base: DefaultJobPodFailureBackOff, Cap: MaxJobPodFailureBackOff}),
		decide.MaxUncounted(MaxUncountedPods), decide.MaxChanges(MaxPodCreateDeletePerSync),
		decide.BatchPeriod(SyncJobBatchPeriod),
	}
	if !perIndex.on() {
		all = append(all, decide.WithoutPerIndexBackoff())
	}
	if !replacementPolicy.on() {
		all = append(all, decide.WithoutReplacementPolicy())
	}
	return all
}

// translateInput removes the fields that the emulated release ignores, and completes
// pods that no API server stores.
func (l *jobSync) translateInput() {
	l.job = l.job.DeepCopy()
	spec := &l.job.Spec
	if spec.ManagedBy != nil && !managedBy.on() {
		spec.ManagedBy = nil
		l.translated("managedBy")
	}
	if spec.SuccessPolicy != nil && !successPolicy.on() {
		spec.SuccessPolicy = nil
		l.translated("successPolicy")
	}
	for i, pod := range l.pods {
		if pod.UID == "" {
			l.pods[i] = pod.DeepCopy()
			l.pods[i].UID = types.UID(pod.Name)
			l.translated("uid")
		}
	}
}

// endAtOnce makes a Job end without waiting for terminating pods.
func (l *jobSync) endAtOnce(settled *decide.Settled, gone []types.UID) {
	f := l.decision.Facts()
	if delayed() || f.Plan.Terminating == 0 || !f.End.Settled || settled.Finished || len(gone) < len(l.decision.Strip) {
		return
	}
	status := f.Status.DeepCopy()
	if settled.Status != nil {
		status = settled.Status
	}
	end := lifecycle.End{Interim: f.End.Condition.Type, Decided: f.EndStored()}
	end.Reason, end.Message = f.End.Condition.Reason, f.End.Condition.Message
	settled.Finished = lifecycle.EnterTerminal(status, end, 0, f.Now)
	settled.Status = status
	l.translated("terminating")
}

// translateStatus returns the status as the emulated release stores it.
func (l *jobSync) translateStatus(st batch.JobStatus) batch.JobStatus {
	st = *st.DeepCopy()
	f := l.decision.Facts()
	// These two verdicts have an interim condition in the emulated releases too.
	if f.End.Settled && !f.EndStored() && !delayed() && f.End.Condition.Reason != batch.JobReasonPodFailurePolicy &&
		f.End.Condition.Reason != batch.JobReasonSuccessPolicy {
		st.Conditions = without(st.Conditions, f.End.Condition.Type)
		l.translated("interim")
	}
	if c := findConditionByType(st.Conditions, batch.JobComplete); c != nil && !successPolicy.on() {
		c.Reason, c.Message = "", ""
		l.translated("reason")
	}
	if started := l.job.Status.StartTime; started != nil && st.StartTime == nil && !mutableSuspended.on() {
		st.StartTime = started
		l.translated("startTime")
	}
	return st
}

func without(all []batch.JobCondition, drop batch.JobConditionType) (left []batch.JobCondition) {
	for _, c := range all {
		if c.Type != drop {
			left = append(left, c)
		}
	}
	return left
}
