package jobfate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/tracking"
)

// world is a cluster with one Job: an API server (server_test.go), a clock that
// stands still until it is moved, and a controller that keeps to the protocol
// in doc.go, step by step. It writes down what happens.
type world struct {
	t    testing.TB
	now  time.Time
	job  *batchv1.Job  // as stored; nil once it is gone
	pods []*corev1.Pod // as stored, in the order of their creation
	made int           // pods made so far: part of names and UIDs
	rv   int           // the last resource version

	// What the controller has and remembers.
	opts       []jobfate.Option
	backoff    backoff.Record
	forgotten  bool // the memory is lost and is to be rebuilt
	lastStatus time.Time
	sight      *sight

	fault  fault
	writes int       // writes tried so far
	look   time.Time // when to look again; zero when only a change is worth it
	last   jobfate.Decision

	log     []string
	metrics map[string]int64
	events  []string
}

// sight is what the controller sees while its caches lag behind, and what it
// has written since. Without a job it sees the Job as it is.
type sight struct {
	job                        *batchv1.Job
	pods                       []*corev1.Pod
	created, deleted, stripped []types.UID
	status                     bool
}

// fault is what happens to one write, counted from the beginning of the world.
type fault struct {
	at   int
	kind faultKind
}

type faultKind string

const (
	crashBefore faultKind = "crash-before"
	crashAfter  faultKind = "crash-after"
	refuse      faultKind = "refuse" // the write has no effect and fails
	lose        faultKind = "lose"   // the write has its effect and seems to fail
)

var (
	errRefused  = errors.New("refused")
	errLost     = errors.New("the answer was lost")
	errGone     = errors.New("not found")
	errConflict = errors.New("conflict")
)

// crash is panicked with when the controller dies.
type crash struct{}

func newWorld(t testing.TB, manifest string, opts ...jobfate.Option) *world {
	w := &world{t: t, now: jobtest.Noon(), metrics: map[string]int64{}, opts: opts}
	w.create(manifest)
	return w
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// write does one write of the controller, unless a fault prevents it.
func (w *world) write(what string, do func() error) error {
	w.writes++
	kind := w.fault.kind
	if w.fault.at != w.writes {
		kind = ""
	}
	switch kind {
	case crashBefore:
		w.logf("crash before: %s", what)
		panic(crash{})
	case refuse:
		w.logf("refused: %s", what)
		return errRefused
	}
	if err := do(); err != nil {
		w.logf("%v: %s", err, what)
		return err
	}
	w.logf("%s", what)
	switch kind {
	case crashAfter:
		w.logf("crash")
		panic(crash{})
	case lose:
		w.logf("the answer is lost")
		return errLost
	}
	return nil
}

// sync carries one decision out. It reports whether something was asked for, or
// failed, so that another look is due at once.
func (w *world) sync() (again bool) {
	w.t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if _, dead := r.(crash); !dead {
				panic(r)
			}
			w.forgotten, again = true, true
		}
	}()
	s := w.snapshot() // 1
	d, err := jobfate.Decide(s, w.opts...)
	if err != nil { // 2
		w.logf("error: %v", err)
		return false
	}
	w.last = d
	if !w.claim(d) { // 3
		return true
	}
	done := w.act(d)   // 4
	d = d.Revise(done) // 5
	w.last, w.look = d, time.Time{}
	if d.Requeue > 0 { // 10
		w.look = w.now.Add(d.Requeue)
	}
	if !w.store(d.StatusPatch(s.Job.ResourceVersion), "status") { // 6
		return true
	}
	w.backoff = d.Backoff // 7
	w.tell(d.Events, d.Metrics)
	gone := w.strip(d.Strip)     // 8
	settled := d.Settle(gone...) // 9
	if !w.store(settled.StatusPatch(w.job.ResourceVersion), "settled") {
		return true
	}
	w.tell(settled.Events, settled.Metrics)
	return !d.Idle() || settled.Status != nil
}

func (w *world) snapshot() jobfate.Snapshot {
	s := jobfate.Snapshot{Job: w.job, Pods: slices.Clone(w.pods), Now: w.now, Backoff: w.backoff, LastStatus: w.lastStatus}
	if v := w.sight; v != nil {
		if v.job != nil {
			s.Job = v.job
		}
		s.Pods = slices.Clone(v.pods)
		s.InFlight = jobfate.InFlight{Job: s.Job.UID, Status: v.status, Creations: len(v.created), Deletions: len(v.deleted), Stripped: v.stripped}
	}
	if w.forgotten {
		record, err := jobfate.RebuildBackoff(s, w.opts...)
		if err != nil {
			w.t.Fatalf("RebuildBackoff: %v", err)
		}
		w.forgotten, s.Backoff = false, record
	}
	return s
}

// lag makes the controller see the pods as they are now, whatever comes, and the
// Job as well unless it is to see that afresh. A nil sight ends it.
func (w *world) lag(jobToo bool) {
	w.sight = &sight{pods: slices.Clone(w.pods)}
	if jobToo {
		w.sight.job = w.job
	}
}

func (w *world) claim(d jobfate.Decision) bool {
	for _, c := range d.Claim {
		what := map[tracking.Relation]string{tracking.Adoptable: "adopt", tracking.Releasable: "release", tracking.Orphaned: "free"}[c.Relation]
		err := w.write(what+" "+nick(c.Pod), func() error { return w.patchPod(c.Pod, c.Patch()) })
		if err != nil && !errors.Is(err, errGone) {
			return false
		}
	}
	return true
}

func (w *world) act(d jobfate.Decision) (done jobfate.Done) {
	for _, del := range d.Delete {
		if err := w.delete(del); err != nil && !errors.Is(err, errGone) {
			done.NotDeleted = append(done.NotDeleted, del.Pod.UID)
			w.events = append(w.events, render(del.Event(err)))
			continue
		}
		w.events = append(w.events, render(del.Event(nil)))
		if w.sight != nil {
			w.sight.deleted = append(w.sight.deleted, del.Pod.UID)
		}
	}
	left, failed := d.Create, false
	for batch := 1; len(left) > 0 && !failed; batch *= 2 {
		n := min(batch, len(left))
		for _, c := range left[:n] {
			var name string
			err := w.write("create "+w.describe(c), func() (err error) { name, err = w.createPod(c.Pod); return err })
			w.events = append(w.events, render(c.Event(name, err)))
			if err != nil {
				failed = true
				done.NotCreated++
			} else if w.sight != nil {
				w.sight.created = append(w.sight.created, w.pods[len(w.pods)-1].UID)
			}
		}
		left = left[n:]
	}
	done.NotCreated += len(left)
	done.Untried = len(left)
	return done
}

func (w *world) delete(del jobfate.Deletion) error {
	if patch := del.Patch(); patch != nil {
		err := w.write(fmt.Sprintf("free %s, %s", nick(del.Pod), del.Cause), func() error { return w.patchPod(del.Pod, patch) })
		if err != nil {
			return err
		}
	}
	return w.write(fmt.Sprintf("delete %s, %s", nick(del.Pod), del.Cause), func() error { return w.deletePod(del.Pod, del.Options()) })
}

// store stores a status; no patch is nothing to store.
func (w *world) store(raw []byte, what string) bool {
	w.t.Helper()
	if raw == nil {
		return true
	}
	var patch statusPatch
	if err := json.Unmarshal(raw, &patch); err != nil {
		w.t.Fatal(err)
	}
	status := merged(w.t, &w.job.Status, patch.Status)
	what = fmt.Sprintf("%s %s", what, diffStatus(&w.job.Status, status))
	if err := w.write(what, func() error { return w.patchStatus(patch, status) }); err != nil {
		return false
	}
	w.lastStatus = w.now
	if w.sight != nil {
		w.sight.status = w.sight.job != nil
	}
	return true
}

func (w *world) strip(pods []*corev1.Pod) (gone []*corev1.Pod) {
	for _, pod := range pods {
		err := w.write("strip "+nick(pod), func() error { return w.patchPod(pod, tracking.StripPatch(pod)) })
		if err == nil || errors.Is(err, errGone) {
			gone = append(gone, pod)
			if w.sight != nil {
				w.sight.stripped = append(w.sight.stripped, pod.UID)
			}
		}
	}
	return gone
}

func (w *world) tell(events []jobfate.Event, metrics []jobfate.Metric) {
	for _, e := range events {
		w.events = append(w.events, render(e))
		w.logf("event %s", render(e))
	}
	for _, m := range metrics {
		name, _, _ := strings.Cut(m.String(), " +")
		w.metrics[name] += m.Add
	}
}

// counted lists the metrics, in order.
func (w *world) counted() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(w.metrics)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, w.metrics[name]))
	}
	return lines
}

// settle syncs until nothing is asked for any more, without moving the clock.
func (w *world) settle() {
	w.t.Helper()
	for range 50 {
		if w.job == nil || !w.sync() {
			return
		}
	}
	w.t.Fatalf("no end of syncs:\n%s", strings.Join(w.log, "\n"))
}

// advance moves the clock.
func (w *world) advance(d time.Duration) { w.now = w.now.Add(d) }

// wait moves the clock to when the controller wants to look again, and settles.
func (w *world) wait() {
	w.t.Helper()
	if w.look.IsZero() {
		w.t.Fatalf("there is nothing to wait for:\n%s", strings.Join(w.log, "\n"))
	}
	w.now = w.look
	w.settle()
}
