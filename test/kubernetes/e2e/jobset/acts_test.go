package jobset

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/stories/script"
)

// create creates the JobSet. The controller of this side runs its Jobs.
func (s *stage) create(js *jobset.JobSet) {
	s.t.Helper()
	_, err := s.sets.Create(s.t.Context(), untyped(s.managed(js)), metav1.CreateOptions{})
	s.must(err)
	s.until("the JobSet exists", func() bool { return s.set != nil })
}

// managed returns a copy of a JobSet whose Jobs name the controller of this side.
func (s *stage) managed(js *jobset.JobSet) *jobset.JobSet {
	js = js.DeepCopy()
	for i := range js.Spec.ReplicatedJobs {
		js.Spec.ReplicatedJobs[i].Template.Spec.ManagedBy = s.side.managedBy
	}
	return js
}

// update changes the JobSet, as a user does.
func (s *stage) update(change func(*jobset.JobSet)) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := s.sets.Get(s.t.Context(), setName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		js, err := typed(object)
		if err != nil {
			return err
		}
		change(js)
		_, err = s.sets.Update(s.t.Context(), untyped(js), metav1.UpdateOptions{})
		return err
	}))
}

// become changes the script of the pods of some Jobs. It first waits for the pods, which may be
// observed later than their Job.
func (s *stage) become(life kubelet.Life, jobs ...string) {
	s.t.Helper()
	s.lives = append(s.lives, strings.Join(jobs, ", ")+" "+told(life))
	for _, job := range jobs {
		s.until(job+" has its pods", func() bool {
			return s.jobs[job] != nil && len(s.podsOf(job)) >= int(*s.jobs[job].Spec.Parallelism)
		})
		s.kubelet.Become(life, s.podsOf(job)...)
	}
}

// becomes changes the script of single pods.
func (s *stage) becomes(life kubelet.Life, pods ...*corev1.Pod) {
	s.t.Helper()
	var names []string
	for _, pod := range pods {
		names = append(names, strings.TrimSpace("pod "+pod.Labels[batchv1.JobCompletionIndexAnnotation])+" of "+
			pod.Labels[batchv1.JobNameLabel])
	}
	slices.Sort(names)
	s.lives = append(s.lives, strings.Join(names, ", ")+" "+told(life))
	s.kubelet.Become(life, pods...)
}

// told describes what pods do.
func told(l kubelet.Life) string {
	switch {
	case l.Undying:
		return "run, even if they are deleted"
	case l.Forever:
		return "run"
	}
	return fmt.Sprintf("exit with %d", l.End.Exit)
}

// podsOf returns the pods of the current Job with a name, ordered by index.
func (s *stage) podsOf(job string) []*corev1.Pod {
	return s.stateOf(job).Pods()
}

// stateOf returns a Job and all pods of the namespace.
func (s *stage) stateOf(job string) script.State {
	return script.State{Job: s.jobs[job], All: s.pods}
}

// untilReady waits until all pods of some Jobs are ready, and each of these Jobs has been created
// the given number of times.
func (s *stage) untilReady(times int, jobs ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("the Jobs %v, created %d times, are ready", jobs, times), func() bool {
		return !slices.ContainsFunc(jobs, func(name string) bool {
			job := s.jobs[name]
			return job == nil || len(s.created[name]) != times || job.Status.Ready == nil || *job.Status.Ready != *job.Spec.Parallelism ||
				len(s.stateOf(name).Active()) != int(*job.Spec.Parallelism)
		})
	})
}

// untilCondition waits until the JobSet has a condition, written as Type=Status/Reason.
func (s *stage) untilCondition(want string) {
	s.t.Helper()
	s.until(want, func() bool { return s.set != nil && slices.Contains(conditions(s.set), want) })
}

const (
	completed = "Completed=True/AllJobsCompleted"
	anyFailed = "Failed=True/FailedJobs"
	tooMany   = "Failed=True/ReachedMaxRestarts"
	byRule    = "Failed=True/FailJobSetFailurePolicyAction"
	paused    = "Suspended=True/SuspendedJobs"
	resumed   = "Suspended=False/ResumeJobs"
	starting  = "StartupPolicyInProgress=True/InOrderStartupPolicyInProgress"
	started   = "StartupPolicyCompleted=True/InOrderStartupPolicyCompleted"
)

// counted is the status of a replicated Job: the number of Jobs in each state.
type counted = jobset.ReplicatedJobStatus

// untilCounted waits until the JobSet has these statuses of its replicated Jobs.
func (s *stage) untilCounted(want ...counted) {
	s.t.Helper()
	s.until(fmt.Sprintf("the replicated Jobs have the statuses %v", want), func() bool {
		return s.set != nil && reflect.DeepEqual(counts(s.set), want)
	})
}

// counts returns the statuses of the replicated Jobs in the order of the spec. JobSet writes them
// in any order.
func counts(js *jobset.JobSet) (in []counted) {
	for _, r := range js.Spec.ReplicatedJobs {
		for _, status := range js.Status.ReplicatedJobsStatus {
			if status.Name == r.Name {
				in = append(in, status)
			}
		}
	}
	return in
}

// wantRunning checks that the JobSet has not ended. Call it after a wait for counts: JobSet writes
// the counts together with the conditions that follow from them.
func (s *stage) wantRunning() {
	s.t.Helper()
	if s.set.Status.TerminalState != "" {
		s.t.Errorf("the JobSet has ended: %v; history:\n%s", conditions(s.set), s.Story())
	}
}

// untilRestarted waits until all Jobs are ready after a number of restarts. counting is the number
// of restarts that count towards the maximum.
func (s *stage) untilRestarted(restarts, counting int32, jobs ...string) {
	s.t.Helper()
	s.untilReady(int(restarts)+1, jobs...)
	s.wantRestarts(restarts, counting)
}

// wantRestarts waits until the status of the JobSet has these numbers of restarts. The update of
// the JobSet may be observed later than its new Jobs.
func (s *stage) wantRestarts(restarts, counting int32) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d restarts, %d of which count", restarts, counting), func() bool {
		return s.set != nil && s.set.Status.Restarts == restarts && s.set.Status.RestartsCountTowardsMax == counting
	})
}

// wantStuck checks that a Job of the first run is still being deleted.
func (s *stage) wantStuck(name string) {
	s.t.Helper()
	if job := s.jobs[name]; job == nil || job.DeletionTimestamp == nil || job.Labels[restartAttempt] != "0" {
		s.t.Errorf("%s: want the Job of the first run, still being deleted; history:\n%s", name, s.Story())
	}
}

// untilOnly waits until only the given Jobs exist.
func (s *stage) untilOnly(jobs ...string) {
	s.t.Helper()
	slices.Sort(jobs)
	s.until(fmt.Sprintf("only the Jobs %v exist", jobs), func() bool {
		return slices.Equal(slices.Sorted(maps.Keys(s.jobs)), jobs)
	})
}

// failedWith checks the reason of a failed Job.
func (s *stage) failedWith(reason, job string) {
	s.t.Helper()
	if got := script.Conditions(s.jobs[job]); !slices.Contains(got, string(batchv1.JobFailed)+"/"+reason) {
		s.t.Errorf("%s: got the conditions %v, want it failed with %s", job, got, reason)
	}
}

// wantManaged checks that all Jobs name the controller of this side.
func (s *stage) wantManaged() {
	s.t.Helper()
	for name, job := range s.jobs {
		if got, want := job.Spec.ManagedBy, s.side.managedBy; (got == nil) != (want == nil) || got != nil && *got != *want {
			s.t.Errorf("%s: spec.managedBy is %v, want %v", name, got, want)
		}
	}
}
