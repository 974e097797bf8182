package sync

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

const defaultLives = 1500

var lives = flag.Int("lives", defaultLives, "the number of lives of TestLived; each has about 12 decisions")

// TestLived compares each decision in the simulated lives of Jobs, in the same way as TestSync. The caches lag, writes
// fail or get no answer, and the controller is killed. So the snapshots have states that no generator draws.
func TestLived(t *testing.T) {
	fixture.Checks(t, *lives)
	var all reach
	rapid.Check(t, func(t *rapid.T) { jobtest.Lead(t, newLived(t, &all)) })
	all.print(os.Stdout)
	if t.Failed() || *lives < defaultLives {
		return
	}
	for _, floor := range livedFloors {
		if n := all.features[floor.name] + all.actions[floor.name] + all.excuses[floor.name]; n < floor.n {
			t.Errorf("%s: reached %d times in %d lives, want at least %d", floor.name, n, *lives, floor.n)
		}
	}
}

// livedFloors has what the default number of lives must reach, and how often: about a third of the usual numbers.
var livedFloors = []struct {
	name string
	n    int
}{
	{"a status in flight", 200}, {"a creation in flight", 300}, {"a deletion in flight of a cached pod", 40},
	{"removals in flight", 200}, {"uncounted failed", 40}, {"uncounted succeeded", 8}, {"remembered backoff", 1000},
	{"FailureTarget", 500}, {"SuccessCriteriaMet", 400}, {"Suspended", 500}, {"pod with duplicate index", 100},
	{"a refused write", 100}, {"a write without an answer", 100}, {"a kill", 100},
	{"create a replacement", 20}, {"delete, because the Job ends", 10}, {"adopt", 2}, {"release", 10}, {"settle", 1000},
	{"unobserved-counts", 300}, {"in-flight-end", 1}, {"kept-verdict", 2}, {"work-left", 200},
}

// lived is the controller of a life. It is a caller whose decisions are compared with those of the real controller.
type lived struct {
	*cluster.Caller
	*reach
	t        *rapid.T
	settings trial // a trial without a snapshot
	faulty   bool
	seen     []decide.Snapshot // of the current sync
	ended    int               // decisions after the end of the Job
}

func newLived(t *rapid.T, r *reach) *lived {
	l := &lived{reach: r, t: t, faulty: chance(t, 40, "faulty life")}
	drawSettings(t, &l.settings)
	l.start()
	return l
}

// start starts a caller without a memory.
func (l *lived) start() {
	l.Caller = cluster.NewCaller(caseOf(&l.settings).JobfateOptions()...)
	inside.Decide(l.Machine, func(s decide.Snapshot, _ decide.Option, usual inside.Usual) (decide.Decision, error) {
		d, err := usual(s)
		s.Pods = slices.Clone(s.Pods)
		l.seen = append(l.seen, s)
		return d, err
	})
}

// Sync implements cluster.Controller.
func (l *lived) Sync(client *cluster.Client) (time.Duration, error) {
	send := client.Send
	client.Send = func(r *cluster.Request) (cluster.Answer, error) {
		if !l.faulty || !chance(l.t, 10, "fault") {
			return send(r)
		}
		switch rapid.IntRange(0, 2).Draw(l.t, "which fault") {
		case 0:
			l.features.add("a refused write")
			return cluster.Answer{}, real.ErrInternal
		case 1:
			l.features.add("a write without an answer")
			_, _ = send(r)
			return cluster.Answer{}, cluster.ErrNoAnswer
		}
		l.features.add("a kill")
		l.start()
		return cluster.Answer{}, cluster.ErrGivenUp
	}
	l.seen = nil
	after, err := l.Caller.Sync(client)
	for _, s := range l.seen {
		l.compare(s)
	}
	return after, err
}

// compare compares the decision on a snapshot. In some trials writes fail that did not fail in the life.
func (l *lived) compare(s decide.Snapshot) {
	if isFinished(s.Job) {
		l.ended++
	}
	if l.ended > 3 { // nothing new happens
		return
	}
	c := l.settings
	c.snapshot = s
	c.snapshot.Job = s.Job.DeepCopy()
	gates.RLock()
	c.snapshot.Job.Spec.Template = apiserver.Default(s.Job).Spec.Template // to compare whole pods
	gates.RUnlock()
	if chance(l.t, 35, "faults") {
		drawFaults(l.t, &c)
	}
	l.inFlight(&s)
	compare(l.t, &c, l.reach)
}

// inFlight counts which writes are in flight.
func (l *lived) inFlight(s *decide.Snapshot) {
	if s.InFlight.Status {
		l.features.add("a status in flight")
	}
	if s.InFlight.Creations > 0 {
		l.features.add("a creation in flight")
	}
	if slices.ContainsFunc(s.InFlight.Pods, func(f decide.PodInFlight) bool {
		return f.Deleted && slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool { return p.UID == f.UID })
	}) {
		l.features.add("a deletion in flight of a cached pod")
	}
}

// KEP-5307 and KEP-5532 restart containers in place. Neither Kubernetes nor jobfate reads the rules: with
// the restart policy Never restarts do not count and do not delay the finish time of a pod that fails
// later; with OnFailure each restart of each container counts.
func TestRestartsInPlace(t *testing.T) {
	limit := onJob(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(3)) })
	onFailure := onJob(func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
	// restarted has two containers, each restarted n times. Their earlier runs have ended at noon.
	restarted := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			earlier := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: at(0)}}
			for _, name := range []string{"main", "helper"} {
				s := corev1.ContainerStatus{Name: name, RestartCount: n, LastTerminationState: earlier}
				if p.Status.Phase == corev1.PodFailed {
					s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(-8)}
				}
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			}
			// The condition of KEP-5532 while all containers restart.
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "AllContainersRestarting", Status: corev1.ConditionTrue})
		}
	}
	clean := func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }
	for _, c := range []struct {
		name  string
		trial *trial
		want  string // a part of the outcome
	}{
		{"Never, running", newTrial(size(1, 1), limit, pod("a", corev1.PodRunning, restarted(50))), "active=1 ready=0 terminating=0 succeeded=0 failed=0 start=-60s"},
		{"Never, failed: 2 s are left of the delay", newTrial(size(1, 1), limit, pod("a", corev1.PodFailed, clean, restarted(50))), "requeue after 2s"},
		{"OnFailure, 2 restarts", newTrial(size(1, 1), limit, onFailure, pod("a", corev1.PodRunning, restarted(1))), "active=1 ready=0 terminating=0 succeeded=0 failed=0 start=-60s"},
		{"OnFailure, 4 restarts", newTrial(size(1, 1), limit, onFailure, pod("a", corev1.PodRunning, restarted(2))), "FailureTarget=True"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := formatOutcome(c.trial, sameOnBothSides(t, c.trial)); !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant in it: %s", got, c.want)
			}
		})
	}
}

// The divergence whole-status can change the verdict. A Job that was created suspended is being
// deleted when it is resumed. It keeps its condition Suspended, so only its start time changes. The
// real controller does not write that, so for it the deadline never passes. jobfate stores it, and
// the Job fails at its deadline, as with the real controller if the start time is stored.
func TestDivergence_deadlineOfADeletedJobThatIsResumed(t *testing.T) {
	resumed := func(change ...func(*trial)) *trial {
		suspended := conditions(batchv1.JobSuspended, corev1.ConditionTrue)
		return newTrial(append([]func(*trial){suspended, onJob(func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(at(-10)), []string{"example.com/keep"}
			j.Spec.ActiveDeadlineSeconds, j.Status.StartTime = new(int64(60)), nil
		})}, change...)...)
	}
	late := func(c *trial) { c.snapshot.Now = c.snapshot.Now.Add(time.Hour) }
	for name, change := range map[string]func(*trial){"resumed": func(*trial) {}, "an hour later": late} {
		if out := real.Sync(resumed(change).input()); len(out.Statuses()) > 0 || len(out.Events) > 0 {
			t.Errorf("%s: the real controller writes %+v, events %v; want nothing", name, out.Statuses(), out.Events)
		}
	}
	stored := mustDecide(t, resumed()).decision.Status
	if stored == nil || !stored.StartTime.Equal(new(at(0))) || len(stored.Conditions) != 1 {
		t.Fatalf("jobfate stores %+v, want the start time alone", stored)
	}
	c := resumed(late, func(c *trial) { c.snapshot.Job.Status = *stored.DeepCopy() })
	o := sameOnBothSides(t, c)
	conditions := o.Statuses[len(o.Statuses)-1].Status.Conditions
	if end := conditions[len(conditions)-1]; end.Type != batchv1.JobFailed || end.Reason != batchv1.JobReasonDeadlineExceeded || len(o.Events) == 0 {
		t.Errorf("an hour later jobfate stores %+v, events %v; want Failed with DeadlineExceeded", end, o.Events)
	}
}
