package jobfate

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

	"github.com/jobfate/jobfate/internal/memory"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func jobAt(version string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "job", ResourceVersion: version}}
}

func podAt(version string, change ...func(*corev1.Pod)) []*corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a", ResourceVersion: version, Finalizers: []string{batchv1.JobTrackingFinalizer}}}
	for _, f := range change {
		f(pod)
	}
	return []*corev1.Pod{pod}
}

// viewOf returns a view whose caches are fresh.
func viewOf(job *batchv1.Job, pods []*corev1.Pod, podsVersion string) View {
	return View{Job: job, Pods: pods, Now: noon, JobsVersion: "1", PodsVersion: podsVersion, Barrier: "1"}
}

// remembering returns a machine with a memory, and the input of its last decision.
func remembering(of memory.Memory) (*Machine, *Snapshot) {
	in := new(Snapshot)
	of.Deleted, of.Stripped = maps.Clone(of.Deleted), maps.Clone(of.Stripped)
	m := &Machine{memory: of, config: configure(nil)}
	m.decider = func(seen Snapshot, _ Option, usual func(Snapshot) (Decision, error)) (Decision, error) {
		*in = seen
		return usual(seen)
	}
	return m, in
}

// A write is in flight until the view shows its effect, and forgotten when every later
// view shows it.
func TestMemory_forgetsWhatIsObserved(t *testing.T) {
	created := memory.Memory{Created: []memory.Created{{UID: "a", Name: "a", Version: "5", At: noon}}}
	removed := memory.Memory{Deleted: map[types.UID]memory.Deleted{"a": {Version: "3"}}}
	freed := memory.Memory{Stripped: map[types.UID]memory.Stripped{"a": {Version: "5", Without: "6"}}}
	goneWithIt := memory.Memory{Stripped: map[types.UID]memory.Stripped{"a": {Version: "5"}}}
	for _, test := range []struct {
		name    string
		memory  memory.Memory
		pods    []*corev1.Pod
		version string // up to which the cache of pods is complete
		want    InFlight
		forgets bool
	}{
		{"created, not shown", created, nil, "4", InFlight{Creations: 1, Pods: []PodInFlight{{UID: "a"}}}, false},
		{"created, shown by a cache that is not complete up to that version", created, podAt("5"), "4", InFlight{}, false},
		{"created, shown", created, podAt("5"), "5", InFlight{}, true},
		{"created, and deleted before it was ever shown", created, nil, "6", InFlight{}, true},
		{"deleted, shown unchanged", removed, podAt("3"), "3", InFlight{Deletions: 1, Pods: []PodInFlight{{UID: "a", Deleted: true}}}, false},
		{"deleted, shown with a later status but not terminating", removed, podAt("4"), "4", InFlight{Deletions: 1, Pods: []PodInFlight{{UID: "a", Deleted: true}}}, false},
		{"deleted, terminating in a cache that is not complete", removed, podAt("5", Deleted), "4", InFlight{}, false},
		{"deleted, terminating", removed, podAt("5", Deleted), "5", InFlight{}, true},
		{"deleted, the pod itself not shown yet", removed, nil, "2", InFlight{Deletions: 1, Pods: []PodInFlight{{UID: "a", Deleted: true}}}, false},
		{"deleted, gone", removed, nil, "4", InFlight{}, true},
		{"finalizer removed, shown with it", freed, podAt("5"), "5", InFlight{Stripped: []types.UID{"a"}}, false},
		{"finalizer removed, shown without it by a cache that is not complete", freed, podAt("6", Released), "5", InFlight{}, false},
		{"finalizer removed, shown without it", freed, podAt("6", Released), "6", InFlight{}, true},
		{"finalizer removed, and put back by others", freed, podAt("7"), "6", InFlight{}, true},
		{"finalizer removed, the pod itself not shown yet", freed, nil, "4", InFlight{}, false},
		{"finalizer removed, gone from a cache that is not complete", freed, nil, "5", InFlight{}, false},
		{"finalizer removed, gone", freed, nil, "6", InFlight{}, true},
		{"gone with its finalizer, shown with it", goneWithIt, podAt("5"), "5", InFlight{Stripped: []types.UID{"a"}}, false},
		{"gone with its finalizer, the pod itself not shown yet", goneWithIt, nil, "4", InFlight{}, false},
		{"gone with its finalizer, gone", goneWithIt, nil, "5", InFlight{}, true},
	} {
		test.memory.Job = "job"
		m, in := remembering(test.memory)
		if m.Idle() {
			t.Errorf("%s: idle before", test.name)
		}
		begin(t, m, viewOf(jobAt("1"), test.pods, test.version))
		Same(t, test.name+": in flight", in.InFlight, test.want)
		Same(t, test.name+": idle with "+m.memory.String(), m.Idle(), test.forgets)
	}
}

// A created pod that a view has shown after its end, or after its deletion began, is not active when
// a later view does not show it. The patch of its finalizer may have had no answer, and the cache
// may not be complete up to the creation.
func TestMemory_createdPodThatHasStopped(t *testing.T) {
	active := []PodInFlight{{UID: "a"}}
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want []PodInFlight
	}{"ended": {podAt("6", Succeeded), nil}, "deleted": {podAt("6", Deleted), nil}, "running": {podAt("6"), active}} {
		m, in := remembering(memory.Memory{Job: "job", Created: []memory.Created{{UID: "a", Name: "a", Version: "5", At: noon}}})
		begin(t, m, viewOf(jobAt("1"), test.pods, "4"))
		begin(t, m, viewOf(jobAt("1"), nil, "4"))
		Same(t, name+": in flight", in.InFlight, InFlight{Creations: 1, Pods: test.want})
	}
}

// Between two lists, a cache may hold more than its version says. A Job that is older than the one
// before is not decided on.
func TestFreshness_ofAnOlderJob(t *testing.T) {
	m, s := newMachine(), &server{job: train(1)}
	v := fresh(s.job, podOf(s.job, "a", "11"))
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

// A status write is in flight until the Job has its version or a later one.
func TestMemory_status(t *testing.T) {
	for _, test := range []struct {
		known, shown string
		inFlight     bool
	}{
		{"9", "8", true}, {"9", "9", false}, {"9", "10", false}, {"10", "9", true}, {"", "9", false},
		{"99999999999999999999", "100000000000000000000", false}, // more than 64 bits
		// Versions that are not numbers have no order. Only the same version is the stored one.
		{"b", "a", true}, {"a", "b", true}, {"b", "b", false}, {"7", "a", true}, {"a", "7", true}, {"a", "77", true}, {"7-", "8-", true},
	} {
		m, in := remembering(memory.Memory{Job: "job", Known: test.known, LastStatus: noon})
		begin(t, m, viewOf(jobAt(test.shown), nil, "1"))
		if in.InFlight.Status != test.inFlight || !in.LastStatus.Equal(noon) {
			t.Errorf("known %q, shown %q: in flight %v, stored at %s", test.known, test.shown, in.InFlight.Status, in.LastStatus)
		}
		if m.Idle() == test.inFlight {
			t.Errorf("known %q, shown %q: idle %t", test.known, test.shown, m.Idle())
		}
	}
}

// Requests that Next never returned were never sent, so none of them is lost.
func TestAbandoned_beforeNext(t *testing.T) {
	m := newMachine()
	for range 2 {
		begin(t, m, fresh(train(3)))
	}
	if len(m.memory.Lost) != 0 || m.memory.ReadFirst {
		t.Errorf("%s", m.memory.String())
	}
	Same(t, "requests", []string{text(m.Next()[0])}, []string{"create pod train-"})
}

// A live read has shown that a Job is gone: the Machine creates no pod for it if the cache still
// shows it, and forgets nothing of the next Job of that name.
func TestGone_isRemembered(t *testing.T) {
	adoptable := podOf(train(2), "a", "11", Ownerless)
	for name, test := range map[string]struct {
		learn func(*testing.T, *Machine, *server) // that the Job is gone
	}{
		"after a status write without an answer": {learn: func(t *testing.T, m *Machine, s *server) {
			run(t, m, fresh(train(2)), s.except(PatchStatus, refusal(errTimeout)))
			s.job = nil
			Same(t, "requests", run(t, m, fresh(train(2)), s.answer), []string{"get the Job"})
		}},
		"before an adoption": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = nil
			Same(t, "requests", run(t, m, fresh(train(2), adoptable), s.answer), []string{"get the Job"})
		}},
		"there is another Job": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = train(2)
			s.job.UID = "another"
			Same(t, "requests", run(t, m, unversioned(fresh(train(2))), s.answer), []string{"get the Job"})
		}},
		"with writes for an earlier Job pending": {learn: func(t *testing.T, m *Machine, s *server) {
			s.job = train(2)
			s.job.UID = "earlier"
			run(t, m, fresh(s.job), s.answer)
			s.job = nil
			Same(t, "requests", run(t, m, fresh(train(2)), s.answer), []string{"get the Job"})
		}},
		"and the cache showed none": {learn: func(t *testing.T, m *Machine, s *server) {
			run(t, m, fresh(train(2)), s.answer)
			s.job = nil
			Same(t, "requests", run(t, m, fresh(nil), s.answer), []string{"get the Job"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := newMachine(), &server{job: train(2)}
			test.learn(t, m, s)
			for range 2 {
				Same(t, "requests for the old view", run(t, m, fresh(train(2)), s.answer), nil)
				if r := m.Result(); !r.Gone || r.Err != nil || !m.Idle() {
					t.Errorf("gone %t, error %v, %s; want gone, and nothing pending", r.Gone, r.Err, m.memory.String())
				}
			}
			next := train(1)
			next.UID, next.ResourceVersion = "next", "900"
			s.job = next
			Same(t, "requests for the next Job", run(t, m, fresh(next), s.answer), []string{"create pod train-", "patch the status"})
			pending := m.memory.String()
			Same(t, "requests for the old view", run(t, m, fresh(train(2)), s.answer), nil)
			if m.memory.Job != next.UID || m.memory.String() != pending {
				t.Errorf("the Machine remembers %s, %s; want %s, %s", m.memory.Job, m.memory.String(), next.UID, pending)
			}
		})
	}
}

// S12 with two leaders: a failure that another process has counted delays the next pod, also if the
// last status write before that was made by this process.
func TestForeignStatus_bringsTheRecordInDoubt(t *testing.T) {
	for name, read := range map[string]func(View) View{"cached": func(v View) View { return v }, "live": unversioned} {
		m, s := newMachine(), &server{job: train(1)}
		run(t, m, fresh(s.job), s.answer)
		v := fresh(s.job, podOf(s.job, "new-2001", "2002", runs))
		v.JobsVersion, v.PodsVersion = "3000", "3000"
		if asked := run(t, m, v, s.answer); len(asked) > 0 || !m.Idle() {
			t.Fatalf("%s: got the requests %v, %s; want none", name, asked, m)
		}
		s.job = s.job.DeepCopy() // another process counts a failure
		s.job.ResourceVersion, s.job.Status.Failed, s.job.Status.Active = "4000", 1, 0
		s.pods = []*corev1.Pod{podOf(s.job, "new-2001", "4001", func(pod *corev1.Pod) {
			pod.Finalizers, pod.Status.Phase = nil, corev1.PodFailed
			pod.CreationTimestamp = metav1.NewTime(noon) // it also ended then
		})}
		v = fresh(s.job, s.pods...)
		v.JobsVersion, v.PodsVersion, v.Now = "5000", "5000", noon.Add(time.Second)
		for _, r := range run(t, m, read(v), s.answer) {
			if r == "create pod train-" {
				t.Errorf("%s: a pod is created one second after the failure", name)
			}
		}
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
	failed := podOf(job, "a", "11", Failed)
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
	failed := podOf(job, "a", "11", Failed)
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
// later version need no newer pods. A live read does not make them known.
func TestFreshness_ofTheSameForeignCounts(t *testing.T) {
	for pods, want := range map[string][]string{"3000": nil, "2999": {"get the Job", "list the pods"}} {
		m, s := newMachine(), &server{job: train(1)}
		s.pods = []*corev1.Pod{podOf(s.job, "a", "11")}
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
	job := train(2)
	m, s := newMachine(), &server{job: job}
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
