package sync

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

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
