package machine

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// remembering returns a machine with a memory, and the input of its last decision.
func remembering(of memory.Memory) (*Machine, *decide.Snapshot) {
	in := new(decide.Snapshot)
	of.Deleted, of.Stripped = maps.Clone(of.Deleted), maps.Clone(of.Stripped)
	m := &Machine{memory: of, options: decide.Options()}
	m.Decider = func(pods *decide.Pods, seen decide.Snapshot, o decide.Option) (decide.Decision, error) {
		*in = seen
		return pods.Decide(seen, o)
	}
	return m, in
}

// A decision knows the writes that no view has shown, of all kinds, until one shows them.
func TestMemory_isInFlight(t *testing.T) {
	job := Train(3)
	m, in := remembering(memory.Memory{Job: job.UID, Known: "11", LastStatus: noon, Created: []memory.Created{{UID: "a", Version: "1500", At: noon}},
		Deleted: map[types.UID]memory.Deleted{"b": {Version: "12"}}, Stripped: map[types.UID]memory.Stripped{"c": {Version: "13", Without: "14"}}})
	v := fresh(job, PodOf(job, "b", "12"), PodOf(job, "c", "13"))
	v.PodsVersion = "13"
	begin(t, m, v)
	Same(t, "in flight", in.InFlight, decide.InFlight{Status: true, Creations: 1, Deletions: 1, Stripped: UIDs("c"),
		Pods: []decide.PodInFlight{{UID: "a"}, {UID: "b", Deleted: true}}})
	Same(t, "the last status", in.LastStatus, noon)
	Same(t, "idle", m.Idle(), false)

	job = job.DeepCopy()
	job.ResourceVersion = "11"
	v = fresh(job, PodOf(job, "a", "1500"), PodOf(job, "b", "1600", Deleted), PodOf(job, "c", "14", Released))
	v.PodsVersion = "1600"
	begin(t, m, v)
	Same(t, "in flight", in.InFlight, decide.InFlight{})
	Same(t, "idle", m.Idle(), true)
}

// Between two lists, a cache may hold more than its version says. A Job that is older than the one
// before is not decided on.
func TestFreshness_ofAnOlderJob(t *testing.T) {
	m, s := New(), &server{job: Train(1)}
	v := fresh(s.job, PodOf(s.job, "a", "11"))
	run(t, m, v, s.answer) // stores the status
	newer, older := s.job.DeepCopy(), s.job.DeepCopy()
	newer.ResourceVersion, older.ResourceVersion = "3020", "3018"
	for _, next := range []struct {
		job         *batchv1.Job
		jobsVersion string
		requeue     time.Duration
	}{{newer, "3015", 0}, {older, "3016", time.Second}} {
		v.Job, v.JobsVersion = next.job, next.jobsVersion
		Same(t, "requests", run(t, m, v, s.answer), nil)
		Same(t, "Requeue", m.Result().Requeue, next.requeue)
	}
}

// Requests that Next never returned were never sent, so none of them is lost.
func TestAbandoned_beforeNext(t *testing.T) {
	m := New()
	for range 2 {
		begin(t, m, fresh(Train(3)))
	}
	Same(t, "lost, and a read to do", []any{len(m.memory.Lost), m.memory.ReadFirst}, []any{0, false})
	Same(t, "requests", []string{text(m.Next()[0])}, []string{"create pod train-"})
}

// A live read has shown that a Job is gone: the Machine creates no pod for it if the cache still
// shows it, and forgets nothing of the next Job of that name.
func TestGone_isRemembered(t *testing.T) {
	adoptable := PodOf(Train(2), "a", "11", Ownerless)
	for name, test := range map[string]struct {
		learn func(*testing.T, *Machine, *server) // that the Job is gone
	}{
		"after a status write without an answer": {learn: func(t *testing.T, m *Machine, s *server) {
			run(t, m, fresh(Train(2)), s.except(PatchStatus, refusal(errTimeout)))
			s.job = nil
			Same(t, "requests", run(t, m, fresh(Train(2)), s.answer), []string{"get the Job"})
		}},
		"before an adoption": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = nil
			Same(t, "requests", run(t, m, fresh(Train(2), adoptable), s.answer), []string{"get the Job"})
		}},
		"there is another Job": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = Train(2)
			s.job.UID = "another"
			Same(t, "requests", run(t, m, unversioned(fresh(Train(2))), s.answer), []string{"get the Job"})
		}},
		"with writes for an earlier Job pending": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = Train(2)
			s.job.UID = "earlier"
			run(t, m, fresh(s.job), s.answer)
			s.job = nil
			Same(t, "requests", run(t, m, fresh(Train(2)), s.answer), []string{"get the Job"})
		}},
		"and the cache showed none": {learn: func(t *testing.T, m *Machine, s *server) {
			run(t, m, fresh(Train(2)), s.answer)
			s.job = nil
			Same(t, "requests", run(t, m, fresh(nil), s.answer), []string{"get the Job"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := New(), &server{job: Train(2)}
			test.learn(t, m, s)
			for range 2 {
				Same(t, "requests for the old view", run(t, m, fresh(Train(2)), s.answer), nil)
				if r := m.Result(); !r.Gone || r.Err != nil || !m.Idle() {
					t.Errorf("gone %t, error %v, %s; want gone, and nothing pending", r.Gone, r.Err, m.memory.String())
				}
			}
			next := Train(1)
			next.UID, next.ResourceVersion = "next", "900"
			s.job = next
			Same(t, "requests for the next Job", run(t, m, fresh(next), s.answer), []string{"create pod train-", "patch the status"})
			pending := m.memory.String()
			Same(t, "requests for the old view", run(t, m, fresh(Train(2)), s.answer), nil)
			Same(t, "what the Machine remembers", []string{string(m.memory.Job), m.memory.String()}, []string{string(next.UID), pending})
		})
	}
}

// S12 with two leaders: a failure that another process has counted delays the next pod, also if the
// last status write before that was made by this process.
func TestForeignStatus_bringsTheRecordInDoubt(t *testing.T) {
	for name, read := range map[string]func(View) View{"cached": func(v View) View { return v }, "live": unversioned} {
		m, s := New(), &server{job: Train(1)}
		run(t, m, fresh(s.job), s.answer)
		v := fresh(s.job, PodOf(s.job, "new-2001", "2002", Phase(corev1.PodRunning)))
		v.JobsVersion, v.PodsVersion = "3000", "3000"
		if asked := run(t, m, v, s.answer); len(asked) > 0 || !m.Idle() {
			t.Fatalf("%s: got the requests %v, %s; want none", name, asked, m)
		}
		s.job = s.job.DeepCopy() // another process counts a failure
		s.job.ResourceVersion, s.job.Status.Failed, s.job.Status.Active = "4000", 1, 0
		s.pods = []*corev1.Pod{PodOf(s.job, "new-2001", "4001", func(pod *corev1.Pod) {
			pod.Finalizers, pod.Status.Phase = nil, corev1.PodFailed
			pod.CreationTimestamp = metav1.NewTime(noon) // it also ended then
		})}
		v = fresh(s.job, s.pods...)
		v.JobsVersion, v.PodsVersion, v.Now = "5000", "5000", noon.Add(time.Second)
		Same(t, name+": pods created one second after the failure", creations(run(t, m, read(v), s.answer)), 0)
		Same(t, name+": Requeue", m.Result().Requeue, 9*time.Second)
	}
}

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
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &server{job: Train(1)}
			v := fresh(Train(1))
			v.JobsVersion, v.PodsVersion, v.Barrier = test.jobs, test.pods, test.barrier
			Same(t, "requests", run(t, New(), v, s.answer), test.want)
		})
	}
}

// Another process, such as a leader that has lost its lease without noticing, may have counted
// a pod and removed its finalizer. A pod cache that is older than the stored status still shows
// the finalizer. The pods are then read live.
func TestFreshness_ofAForeignStatus(t *testing.T) {
	job := Train(2)
	failed := PodOf(job, "a", "11", Failed)
	for _, test := range []struct {
		name   string
		status func(*batchv1.JobStatus)
		pods   string
		live   bool
	}{
		{"the pods are older", func(s *batchv1.JobStatus) { s.Failed = 1 }, "2999", true},
		{"the pods are as new", func(s *batchv1.JobStatus) { s.Failed = 1 }, "3000", false},
		{"the status has not changed", func(*batchv1.JobStatus) {}, "2999", false},
		{"other counts have changed", func(s *batchv1.JobStatus) { s.Active = 5 }, "2999", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, s := New(), &server{job: job}
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
	job := Train(2)
	failed := PodOf(job, "a", "11", Failed)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job, failed), func(r Request) (runtime.Object, error) {
		stored, err := s.answer(r)
		if r.Status != nil {
			*r.Status = batchv1.JobStatus{} // the caller owns the request
		}
		return stored, err
	})
	Same(t, "failures in the status", s.job.Status.Failed, 1)
	for _, shown := range []*batchv1.Job{job, s.job} {
		v := fresh(shown, failed)
		if asked := run(t, m, v, s.answer); slices.Contains(asked, "list the pods") {
			t.Errorf("version %s: the requests are %q, want no live read", shown.ResourceVersion, asked)
		}
	}
}

// The counts of another process are known once they were used with pods as new: the same counts at a
// later version need no newer pods. A live read does not make them known.
func TestFreshness_ofTheSameForeignCounts(t *testing.T) {
	for pods, want := range map[string][]string{"3000": nil, "2999": {"get the Job", "list the pods"}} {
		m, s := New(), &server{job: Train(1)}
		s.pods = []*corev1.Pod{PodOf(s.job, "a", "11")}
		run(t, m, fresh(s.job, s.pods...), s.answer) // stores the status
		for _, at := range []struct{ job, pods string }{{"3000", pods}, {"5000", "4000"}} {
			s.job = s.job.DeepCopy()
			s.job.ResourceVersion, s.job.Status.Failed = at.job, 1
			v := fresh(s.job, s.pods...)
			v.JobsVersion, v.PodsVersion = at.job, at.pods
			Same(t, "requests at version "+at.job+" after pods of "+pods, run(t, m, v, s.answer), want)
		}
	}
}

// A status of another process is remembered only once pods were read that are as new.
func TestFreshness_ofAForeignStatusAfterAFailedRead(t *testing.T) {
	job := Train(2)
	m, s := New(), &server{job: job}
	run(t, m, fresh(job), s.answer)
	s.job = s.job.DeepCopy()
	s.job.ResourceVersion, s.job.Status.Failed = "3000", 1
	v := fresh(s.job)
	v.JobsVersion, v.PodsVersion = "3000", "2999"
	for range 2 {
		asked := run(t, m, v, s.except(ListPods, refusal(errTimeout)))
		Same(t, "requests", asked, []string{"get the Job", "list the pods"})
	}
}

// A view that is older than one that was used is not used.
func TestFreshness_backInTime(t *testing.T) {
	job := Train(1)
	s := &server{job: job}
	m := New()
	run(t, m, fresh(job, PodOf(job, "a", "11")), s.answer)
	v := fresh(job)
	v.PodsVersion = "999"
	s.pods = []*corev1.Pod{PodOf(job, "a", "11")}
	asked := run(t, m, v, s.answer)
	Same(t, "requests", asked[:2], []string{"get the Job", "list the pods"})
	Same(t, "pods created because of an older view", creations(asked), 0)
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
			earlier, job := Train(1), Train(1)
			job.UID = "later-uid"
			m, s := New(), &server{job: earlier}
			run(t, m, fresh(earlier, PodOf(earlier, "a", "11")), s.answer)
			s.job = nil
			gone := fresh(nil)
			run(t, m, gone, s.answer)
			Same(t, "the earlier Job is gone", m.Result().Gone, true)
			v := fresh(job)
			v.JobsVersion, v.PodsVersion, v.Barrier, s.job = test.jobsVersion, test.podsVersion, "1", job
			asked := run(t, m, v, s.answer)
			Same(t, "live reads in "+strings.Join(asked, "; "), slices.Contains(asked, "list the pods"), test.live)
		})
	}
}
