package stories

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/test/stories/script"
	"github.com/jobfate/jobfate/test/vectors"
	"github.com/jobfate/jobfate/tracking"
)

// builtin holds the keys of the built-in Job controller.
var builtin tracking.Keys

// world is the world of package script in virtual time: a simulated cluster with one Job, a controller that
// carries out the decisions of jobfate, a log of its writes, and a kubelet. A referee checks the writes. Events
// happen only while a test waits.
type world struct {
	*script.World
	*cluster.Cluster  // nil before the Job is created
	opts              []decide.Option
	caller            *cluster.Caller
	cache             *cluster.Cache
	lagsPods, lagsJob bool   // the cache of pods, or of Jobs, is not updated
	stale             string // what each sync leaves unobserved, while two more follow
	stopped           bool   // the controller

	fault     fault
	lastFault faultKind // the fault of the last write, if any
	writes    int       // writes tried so far
	made      int       // pods created so far
	next      time.Time // when to sync next; zero: only after a change
	last      decide.Decision
	planned   *batchv1.JobStatus // of the last decision of the sync
	unsaved   bool               // the status of the last decision is not stored yet

	ghost referee.Ghost
	rules *referee.Rules // nil if the referee cannot know the rules

	recordedEvents, recordedMetrics int // how many events and metrics of the sync are recorded

	log     []string
	metrics map[string]int64
	events  []decide.Event

	scenario script.Scenario // says how new pods live
	lives    map[types.UID]script.Life
	attempts map[attempt]int
}

// attempt is the key by which pods are counted.
type attempt struct {
	job   types.UID
	index int32
}

// fault is a fault of one write.
type fault struct {
	at   int // the number of the write
	kind faultKind
}

type faultKind string

const (
	crashBefore faultKind = "crash-before"
	crashAfter  faultKind = "crash-after"
	refuse      faultKind = "refuse" // the write has no effect and fails
	lose        faultKind = "lose"   // the write takes effect but returns an error
)

var faults = map[faultKind]cluster.Fault{
	crashBefore: {Killed: true},
	crashAfter:  {Killed: true, Lost: true},
	refuse:      {Err: errors.New("refused")},
	lose:        {Err: errors.New("the answer was lost"), Lost: true},
}

// newWorld returns a world without a Job.
func newWorld(t testing.TB, opts ...decide.Option) *world {
	w := &world{opts: opts, rules: &referee.Rules{}, metrics: map[string]int64{},
		lives: map[types.UID]script.Life{}, attempts: map[attempt]int{}}
	w.World = &script.World{T: t, Clock: w, Actors: w}
	return w
}

// newWorldOf returns a world with a Job.
func newWorldOf(t testing.TB, manifest string, opts ...decide.Option) *world {
	t.Helper()
	w := newWorld(t, opts...)
	w.begin(parseJob(t, manifest))
	return w
}

// begin creates the cluster with its Job.
func (w *world) begin(job *batchv1.Job) {
	w.T.Helper()
	w.Cluster = newCluster(job)
	w.cache = w.NewCache(false)
	w.Intercept, w.Watch = w.intercept, w.watch
	w.ghost.Started(w.Job())
	w.restart()
}

// restart replaces the controller by one with an empty memory.
func (w *world) restart() {
	w.caller = jobtest.NewCaller(w.opts...)
	w.caller.Progress = w.progress
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// progress records the decision, and the events and metrics since the last call.
func (w *world) progress(r machine.Result) {
	if f := r.Decision.Facts(); f != nil && f.Status != w.planned { // a new decision
		w.last, w.planned, w.unsaved = r.Decision, f.Status, r.Decision.Status != nil
	}
	if w.isCrashed() {
		return
	}
	for ; w.recordedEvents < len(r.Events); w.recordedEvents++ {
		w.recordEvent(r.Events[w.recordedEvents])
	}
	for ; w.recordedMetrics < len(r.Metrics); w.recordedMetrics++ {
		for name, n := range vectors.CountsOf(r.Metrics[w.recordedMetrics : w.recordedMetrics+1]) {
			w.metrics[name] += n
		}
	}
}

func (w *world) recordEvent(e decide.Event) {
	w.events = append(w.events, e)
	if !strings.HasSuffix(e.Reason, "Create") && !strings.HasSuffix(e.Reason, "Delete") {
		w.logf("event %s", render(e))
	}
}

func (w *world) isCrashed() bool { return w.lastFault == crashBefore || w.lastFault == crashAfter }

// watch fails the test if the API server rejects a status. jobfate must never write such a
// status.
func (w *world) watch(s cluster.Step) {
	w.T.Helper()
	if s.Refused != nil {
		w.T.Fatalf("the API server rejects a status after %s\n%v", toJSON(s.Job.Status), s.Refused)
	}
	if s.OldPod == nil && s.Pod != nil {
		w.made++
	}
	if w.rules != nil {
		if v := w.rules.See(&w.ghost, &s); v != nil {
			w.T.Errorf("%v\n%s", v, w.Story())
		}
	}
	w.Check()
}

func (w *world) intercept(r *cluster.Request) (f cluster.Fault) {
	if !r.Writes() {
		return f
	}
	w.writes++
	if w.fault.at == w.writes {
		w.lastFault = w.fault.kind
	}
	return faults[w.lastFault]
}

// Sync runs a sync of the caller, and logs every write.
func (w *world) Sync(client *cluster.Client) (time.Duration, error) {
	send := client.Send
	client.Send = func(r *cluster.Request) (cluster.Answer, error) {
		if w.isCrashed() || !r.Writes() {
			return send(r)
		}
		w.lastFault = ""
		what := w.describe(r)
		a, err := send(r)
		switch {
		case w.lastFault == crashBefore:
			w.logf("crash before: %s", what)
		case w.lastFault == "" && err != nil, w.lastFault == refuse:
			w.logf("%v: %s", err, what)
		default:
			w.logf("%s", what)
		}
		switch w.lastFault {
		case crashAfter:
			w.logf("crash")
		case lose:
			w.logf("the answer is lost")
		}
		return a, err
	}
	return w.caller.Sync(client)
}

// describe describes a request, with its cause.
func (w *world) describe(r *cluster.Request) string {
	d := &w.last
	switch r.Verb {
	case cluster.Create:
		i := slices.IndexFunc(d.Create, func(c decide.Creation) bool { return c.Index == builtin.IndexOf(r.Pod) })
		return "create " + w.describeCreation(d.Create[i])
	case cluster.Status:
		what := "settled"
		if w.unsaved {
			what, w.unsaved = "status", false
		}
		if next, err := cluster.PatchStatus(w.Job(), r.Patch); err == nil {
			what += " " + diffStatus(&w.Job().Status, &next.Status)
		}
		return what
	}
	for _, del := range d.Delete {
		switch {
		case del.Pod.UID != r.UID:
		case r.Verb == cluster.Delete:
			return fmt.Sprintf("delete %s, %s", shortName(del.Pod), del.Cause)
		case del.StripFirst:
			return fmt.Sprintf("free %s, %s", shortName(del.Pod), del.Cause)
		}
	}
	for _, c := range d.Claim {
		if c.Pod.UID == r.UID {
			return c.Action + " " + shortName(c.Pod)
		}
	}
	for _, pod := range d.Strip {
		if pod.UID == r.UID {
			return "strip " + shortName(pod)
		}
	}
	return "free " + nameOfUID(r.UID) // its Job is gone
}

// sync runs a sync. It reports whether another sync is due because the controller sent a write. With stale caches,
// more syncs change no pods: the controller knows its writes in flight.
func (w *world) sync() bool {
	w.T.Helper()
	if w.stale == "" {
		return w.syncOnce()
	}
	w.Lag(w.stale)
	again := w.syncOnce()
	made, pods := w.made, len(w.Pods())
	w.syncOnce()
	w.syncOnce()
	w.lagsPods, w.lagsJob = false, false
	if w.made != made || len(w.Pods()) != pods {
		w.T.Fatalf("syncs with stale caches changed pods\n%s", w.Story())
	}
	return w.syncOnce() || again
}

func (w *world) syncOnce() (again bool) {
	w.T.Helper()
	w.catchUp()
	before := w.writes
	w.caller.Options = w.opts
	w.lastFault, w.planned, w.recordedEvents, w.recordedMetrics = "", nil, 0, 0
	out := w.Run(w, w.cache)
	w.next = out.At
	if out.Killed {
		w.restart()
	} else if again = w.writes > before; !again && out.Err != nil {
		w.logf("error: %v", out.Err)
	}
	return again || out.Killed
}

// snapshot returns the input of the controller's next decision.
func (w *world) snapshot() decide.Snapshot {
	w.T.Helper()
	w.catchUp()
	w.caller.Options = w.opts
	var in decide.Snapshot
	caller := w.caller.Clone()
	inside.Decide(caller.Machine, func(seen decide.Snapshot, c decide.Option, _ inside.Usual) (decide.Decision, error) {
		in = seen
		return decide.Job(seen, c)
	})
	v := w.cache.View()
	_, err := caller.Sync(&cluster.Client{View: v, Send: func(r *cluster.Request) (cluster.Answer, error) {
		switch {
		case in.Job != nil:
		case r.Verb == cluster.Get:
			return cluster.Answer{Job: v.Job}, nil
		case r.Verb == cluster.List:
			return cluster.Answer{Pods: v.Pods, Version: v.PodsVersion}, nil
		}
		return cluster.Answer{}, cluster.ErrGivenUp
	}})
	podtest.NoError(w.T, err)
	return in
}

// Lag stops updating the cache of pods, of jobs, or both.
func (w *world) Lag(what string) {
	w.cache.ShowAll()
	w.lagsPods, w.lagsJob = strings.Contains(what, "pods"), strings.Contains(what, "jobs")
}

func (w *world) catchUp() {
	if !w.lagsPods {
		w.cache.ShowPods()
	}
	for _, n := w.cache.Lagging(); n > 0 && !w.lagsJob; n-- {
		w.cache.ShowJob()
	}
}

// counted lists the metrics, in order.
func (w *world) counted() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(w.metrics)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, w.metrics[name]))
	}
	return lines
}

// settle syncs until the controller sends no more writes, without advancing the clock.
func (w *world) settle() {
	w.T.Helper()
	for range 50 {
		if !w.sync() {
			return
		}
	}
	w.T.Fatalf("the controller does not stop writing:\n%s", w.Story())
}

// advance advances the clock.
func (w *world) advance(d time.Duration) { w.Now = w.Now.Add(d) }

// wait advances the clock to the next sync, and settles.
func (w *world) wait() {
	w.T.Helper()
	if w.next.IsZero() {
		w.T.Fatalf("no sync is due:\n%s", w.Story())
	}
	w.Now = w.next
	w.settle()
}

// alive returns the pods that have not ended, in the order of their creation.
func (w *world) alive() []*corev1.Pod { return slices.DeleteFunc(w.Pods(), cluster.HasEnded) }

// ofIndex returns the newest pod of an index that has not ended.
func (w *world) ofIndex(index int32) types.UID {
	w.T.Helper()
	for _, pod := range slices.Backward(w.alive()) {
		if builtin.IndexOf(pod) == index {
			return pod.UID
		}
	}
	w.T.Fatalf("index %d has no pod that has not ended", index)
	return ""
}

// Short names for functions that every story needs.
var (
	parseJob    = decidetest.ParseJob
	specJob     = decidetest.SpecJob
	newCluster  = decidetest.NewCluster
	podIn       = decidetest.PodIn
	without     = decidetest.WithoutFinalizers
	toJSON      = decidetest.ToJSON
	explanation = decidetest.Explanation
)

// Functions that format the world and its decisions as text. The n-th pod is called pn.

func shortName(pod *corev1.Pod) string {
	name := nameOfUID(pod.UID)
	if i := builtin.IndexOf(pod); i != tracking.NoIndex {
		return fmt.Sprintf("%s(%d)", name, i)
	}
	return name
}

func nameOfUID(uid types.UID) string {
	return "p" + strings.TrimPrefix(string(uid), "pod-")
}

func render(e decide.Event) string { return fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message) }

func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// describeCreation describes a pod to create, with its failure counts.
func (w *world) describeCreation(c decide.Creation) string {
	text := fmt.Sprintf("p%d", w.made+1)
	if c.Index != tracking.NoIndex {
		text += fmt.Sprintf("(%d)", c.Index)
	}
	pod := c.Pod()
	if count, counts := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; counts {
		text += ", count " + count
		if ignored := pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]; ignored != "" {
			text += ", ignored " + ignored
		}
	}
	if c.Replaces != nil {
		text += ", for " + shortName(c.Replaces)
	}
	return text
}

// statusFields returns the fields of a status as text, in the order of the API.
func statusFields(st *batchv1.JobStatus) [][2]string {
	number := func(n *int32) string {
		if n == nil {
			return "none"
		}
		return fmt.Sprint(*n)
	}
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%q", *s)
	}
	at := func(t *metav1.Time) string {
		if t == nil {
			return "none"
		}
		return clock(t.Time)
	}
	var u batchv1.UncountedTerminatedPods
	if st.UncountedTerminatedPods != nil {
		u = *st.UncountedTerminatedPods
	}
	fields := [][2]string{
		{"startTime", at(st.StartTime)}, {"completionTime", at(st.CompletionTime)},
		{"active", fmt.Sprint(st.Active)}, {"ready", number(st.Ready)}, {"terminating", number(st.Terminating)},
		{"succeeded", fmt.Sprint(st.Succeeded)}, {"failed", fmt.Sprint(st.Failed)},
		{"completedIndexes", text(&st.CompletedIndexes)}, {"failedIndexes", text(st.FailedIndexes)},
		{"uncounted.succeeded", shortNames(u.Succeeded)}, {"uncounted.failed", shortNames(u.Failed)},
	}
	for _, c := range st.Conditions {
		fields = append(fields, [2]string{string(c.Type), fmt.Sprintf("%s %s %q", c.Status, c.Reason, c.Message)})
	}
	return fields
}

func shortNames(uids []types.UID) string {
	return "[" + strings.Join(podtest.Each(uids, nameOfUID), " ") + "]"
}

// diffStatus lists the changes from one status to the next.
func diffStatus(old, next *batchv1.JobStatus) string {
	before := map[string]string{}
	for _, f := range statusFields(old) {
		before[f[0]] = f[1]
	}
	var changes []string
	for _, f := range statusFields(next) {
		switch was, known := before[f[0]]; {
		case !known:
			changes = append(changes, fmt.Sprintf("+%s %s", f[0], f[1]))
		case was != f[1]:
			changes = append(changes, fmt.Sprintf("%s %s→%s", f[0], was, f[1]))
		}
	}
	return strings.Join(changes, ", ")
}

// showStatus lists the fields of a status that are not empty.
func showStatus(st *batchv1.JobStatus) (lines []string) {
	for _, f := range statusFields(st) {
		if f[1] != "none" && f[1] != "[]" && !(f[0] == "completedIndexes" && f[1] == `""`) {
			lines = append(lines, f[0]+": "+f[1])
		}
	}
	return lines
}

func showPods(pods []*corev1.Pod) (lines []string) {
	for _, pod := range pods {
		line := shortName(pod) + " " + string(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			line += ", terminating"
		}
		if !builtin.HasFinalizer(pod) {
			line += ", no finalizer"
		}
		lines = append(lines, line)
	}
	return lines
}
