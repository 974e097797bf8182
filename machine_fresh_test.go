package jobfate

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// If the versions of both caches are at least the barrier, no live read is needed. If not,
// or if they are empty, the Machine reads live.
func TestFreshness(t *testing.T) {
	cached, live := []string{"create pod train-", "patch the status"}, []string{"get the Job", "list the pods", "create pod train-", "patch the status"}
	for _, test := range []struct {
		name                string
		jobs, pods, barrier string
		want                []string
	}{
		{"both at the barrier", "100", "100", "100", cached},
		{"both beyond it", "101", "1000", "99", cached},
		{"Jobs behind it", "99", "100", "100", live},
		{"pods behind it", "100", "99", "100", live},
		{"no versions", "", "", "100", live},
		{"no version of the pods", "100", "", "100", live},
		{"no barrier", "100", "100", "", live},
		{"versions that cannot be compared", "abc", "abd", "abc", live},
		{"versions longer than any integer", "100000000000000000000001", "100000000000000000000001", "100000000000000000000000", cached},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{job: train(1)}
			v := fresh(train(1))
			v.JobsVersion, v.PodsVersion, v.Barrier = test.jobs, test.pods, test.barrier
			Same(t, "requests", run(t, newMachine(), v, s.answer), test.want)
		})
	}
}

// Another process, such as a leader that has lost its lease without noticing, may have counted
// a pod and removed its finalizer. A pod cache that is older than the stored status still shows
// the finalizer. The pods are then read live.
func TestFreshness_ofAForeignStatus(t *testing.T) {
	job := train(2)
	failed := podOf(job, "a", "11", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	for _, test := range []struct {
		name   string
		status func(*batchv1.JobStatus)
		pods   string
		live   bool
	}{
		{"the pods are older", func(s *batchv1.JobStatus) { s.Failed = 1 }, "2999", true},
		{"the pods are as new", func(s *batchv1.JobStatus) { s.Failed = 1 }, "3000", false},
		{"the status has not changed", func(*batchv1.JobStatus) {}, "2999", false},
		{"a success was counted", func(s *batchv1.JobStatus) { s.Succeeded = 1 }, "2999", true},
		{"a pod was listed", func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"b"}}
		}, "2999", true},
		{"the lists are empty", func(s *batchv1.JobStatus) { s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{} }, "2999", false},
		{"other counts have changed", func(s *batchv1.JobStatus) { s.Active = 5 }, "2999", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := newMachine(), &server{job: job}
			run(t, m, fresh(job), s.answer)
			foreign := s.job.DeepCopy()
			foreign.ResourceVersion = "3000"
			test.status(&foreign.Status)
			v := fresh(foreign, failed)
			v.JobsVersion, v.PodsVersion, s.job = "3000", test.pods, foreign
			asked := run(t, m, v, s.answer)
			Same(t, "live reads in "+strings.Join(asked, "; "), slices.Contains(asked, "list the pods"), test.live)
		})
	}
}

// The status that the Machine itself has stored does not require newer pods, also after a cache
// has shown an older one again.
func TestFreshness_ofItsOwnStatus(t *testing.T) {
	job := train(2)
	failed := podOf(job, "a", "11", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	m, s := newMachine(), &server{job: job}
	run(t, m, fresh(job, failed), func(r Request) (runtime.Object, error) {
		stored, err := s.answer(r)
		if r.Status != nil {
			*r.Status = batchv1.JobStatus{} // the caller owns the request
		}
		return stored, err
	})
	if s.job.Status.Failed != 1 {
		t.Fatalf("the status counts %d failures, want 1", s.job.Status.Failed)
	}
	for _, shown := range []*batchv1.Job{job, s.job} {
		v := fresh(shown, failed)
		if asked := run(t, m, v, s.answer); slices.Contains(asked, "list the pods") {
			t.Errorf("version %s: the requests are %q, want no live read", shown.ResourceVersion, asked)
		}
	}
}

// The counts of another process are known once they were used with pods as new: the same counts at a
// later version need no newer pods.
func TestFreshness_ofTheSameForeignCounts(t *testing.T) {
	m, s := newMachine(), &server{job: train(1)}
	v := fresh(s.job, podOf(s.job, "a", "11"))
	run(t, m, v, s.answer) // stores the status
	foreign := s.job.DeepCopy()
	foreign.Status.Failed = 1
	for _, next := range []struct{ job, pods string }{{"3000", "3000"}, {"5000", "4000"}} {
		v.Job = foreign.DeepCopy()
		v.Job.ResourceVersion, v.JobsVersion, v.PodsVersion = next.job, next.job, next.pods
		Same(t, "requests at version "+next.job, run(t, m, v, s.answer), nil)
	}
}

// Counts that only a live read has shown are still those of another process in the next view: its pods
// must be as new.
func TestFreshness_ofForeignCountsAfterALiveRead(t *testing.T) {
	m, s := newMachine(), &server{job: train(1)}
	v := fresh(s.job, podOf(s.job, "a", "11"))
	s.pods = v.Pods
	run(t, m, v, s.answer) // stores the status
	s.job = s.job.DeepCopy()
	s.job.Status.Failed = 1
	for _, at := range []struct{ job, pods string }{{"3000", "2000"}, {"5000", "4000"}} {
		s.job = s.job.DeepCopy()
		s.job.ResourceVersion = at.job
		v.Job, v.JobsVersion, v.PodsVersion = s.job, at.job, at.pods
		Same(t, "requests at version "+at.job, run(t, m, v, s.answer), []string{"get the Job", "list the pods"})
	}
}

// A status of another process is remembered only once pods were read that are as new.
func TestFreshness_ofAForeignStatusAfterAFailedRead(t *testing.T) {
	job := train(2)
	m, s := newMachine(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	s.job = s.job.DeepCopy()
	s.job.ResourceVersion, s.job.Status.Failed = "3000", 1
	v := fresh(s.job)
	v.JobsVersion, v.PodsVersion = "3000", "2999"
	for range 2 {
		asked := run(t, m, v, s.except(ListPods, func(Request) (runtime.Object, error) { return nil, errTimeout }))
		Same(t, "requests", asked, []string{"get the Job", "list the pods"})
	}
}

// A view that is older than one that was used is not used.
func TestFreshness_backInTime(t *testing.T) {
	job := train(1)
	s := &server{job: job}
	m := newMachine()
	run(t, m, fresh(job, podOf(job, "a", "11")), s.answer)
	v := fresh(job)
	v.PodsVersion = "999"
	s.pods = []*corev1.Pod{podOf(job, "a", "11")}
	asked := run(t, m, v, s.answer)
	Same(t, "requests", asked[:2], []string{"get the Job", "list the pods"})
	for _, r := range asked {
		if strings.HasPrefix(r, "create") {
			t.Errorf("a pod is created because of an older view: %v", asked)
		}
	}
}

// A Job of the same name follows one that is gone. Its first decision needs caches that are as new
// as those that the decisions about the earlier Job used: older ones may lack pods, or show their
// finalizers.
func TestFreshness_backInTimeOfAnEarlierJob(t *testing.T) {
	for _, test := range []struct {
		name                     string
		jobsVersion, podsVersion string
		live                     bool
	}{
		{"both caches as new", "1000", "1000", false},
		{"older pods", "1000", "999", true},
		{"older Jobs", "999", "1000", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			earlier, job := train(1), train(1)
			job.UID = "later-uid"
			m, s := newMachine(), &server{job: earlier}
			run(t, m, fresh(earlier, podOf(earlier, "a", "11")), s.answer)
			s.job = nil
			gone := fresh(nil)
			run(t, m, gone, s.answer)
			if !m.Result().Gone {
				t.Fatalf("the earlier Job is not gone: %v", m.memory.String())
			}
			v := fresh(job)
			v.JobsVersion, v.PodsVersion, v.Barrier, s.job = test.jobsVersion, test.podsVersion, "1", job
			asked := run(t, m, v, s.answer)
			Same(t, "live reads in "+strings.Join(asked, "; "), slices.Contains(asked, "list the pods"), test.live)
		})
	}
}
