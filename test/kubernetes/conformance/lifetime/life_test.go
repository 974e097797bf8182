package lifetime

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// A life is a Job with one controller, in virtual time. Events of the Job and its pods follow a
// plan that does not depend on the controller.
type life struct {
	*cluster.Cluster
	plan       *plan
	controller lifeController
	jobs, pods watch
	job        *batchv1.Job // as the watches show them
	shown      map[types.UID]*corev1.Pod
	made       map[int]int // the number of pods so far, by index
	acts       []act
	next       time.Time // when the next sync is due; zero if none is
	failures   int       // of syncs since the last success
	written    []statusWrite
	writes     int    // how many more writes the controller may send before it is killed; any number if negative
	verdicts   int    // the deletions of pods for a verdict
	violation  string // of a property
	story      story
}

// A statusWrite is a status that the controller has stored.
type statusWrite struct {
	at     time.Time
	status *batchv1.JobStatus
}

// A lifeController is jobfate or the real controller.
type lifeController interface {
	// sync returns the delays of the next syncs, and an error if the sync must be retried.
	sync(*life) ([]time.Duration, error)
	// observe gets each pod that the watch shows, before and after the change.
	observe(before, after *corev1.Pod)
}

// A plan says what happens to a Job and its pods.
type plan struct {
	job      *batchv1.Job
	seed     uint64
	stalls   map[string][]stall // of the watches of jobs and pods
	edits    []edit
	succeeds int           // percent of the pods
	attempts int           // after which every pod of an index succeeds
	delay    time.Duration // with which the watches show a change, if they do not stall
	limits   real.Limits
	slowest  time.Duration // of the pods
}

// A stall is a time in which a watch shows nothing.
type stall struct{ from, length time.Duration }

type edit struct {
	at  time.Duration
	how func(*batchv1.JobSpec)
}

// An act is something that happens at a time.
type act struct {
	at time.Time
	do func()
}

// A watch shows the changes of the Job or of the pods in order, each after a delay.
type watch struct {
	stalls []stall
	events []event
}

type event struct {
	at      time.Time // when it is shown
	version int
	job     *batchv1.Job
	uid     types.UID // of the pod
	pod     *corev1.Pod
}

// wrote records that the controller has stored a status.
func (l *life) wrote() { l.written = append(l.written, statusWrite{l.Now, &l.Job().Status}) }

// mostTurns is above the turns of any life that makes progress.
const mostTurns = 200_000

func newLife(p *plan, controller lifeController) *life {
	c := podtest.Must(cluster.New(p.job, jobtest.Noon()))
	l := &life{
		Cluster: c, plan: p, controller: controller, next: c.Now,
		job: c.Job(), shown: map[types.UID]*corev1.Pod{}, made: map[int]int{},
		jobs: watch{stalls: p.stalls["jobs"]}, pods: watch{stalls: p.stalls["pods"]},
	}
	l.writes = -1
	writes := []cluster.Verb{cluster.Create, cluster.Delete, cluster.Patch, cluster.Status}
	c.Watch, c.Intercept = l.watch, func(q *cluster.Request) cluster.Fault {
		return cluster.Fault{Killed: slices.Contains(writes, q.Verb) && l.killed()}
	}
	for _, e := range p.edits {
		l.at(e.at, func() {
			if job := l.Job(); job != nil && jobstatus.Finished(job) == nil {
				_ = l.EditJob(e.how) // the API server may reject it
			}
		})
	}
	return l
}

// killed reports whether the controller is killed before its next write.
func (l *life) killed() bool {
	if l.writes > 0 {
		l.writes--
		return false
	}
	return l.writes == 0
}

// at adds an act at a time after now.
func (l *life) at(after time.Duration, do func()) {
	a := act{l.Now.Add(after), do}
	i := slices.IndexFunc(l.acts, func(o act) bool { return o.at.After(a.at) })
	if i < 0 {
		i = len(l.acts)
	}
	l.acts = slices.Insert(l.acts, i, a)
}

// run lets the time pass until the Job ends, but no longer than a duration. It reports whether the
// Job has ended.
func (l *life) run(atMost time.Duration) bool {
	until := l.Now.Add(atMost)
	for turns := 0; jobstatus.Finished(l.Job()) == nil; turns++ {
		if turns > mostTurns {
			return false
		}
		next := until
		for _, at := range []time.Time{
			first(l.acts, act.when), first(l.jobs.events, event.when), first(l.pods.events, event.when), l.next,
		} {
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		if !next.Before(until) {
			l.Now = until
			return false
		}
		l.Now = next
		l.turn()
	}
	return true
}

func (a act) when() time.Time   { return a.at }
func (e event) when() time.Time { return e.at }

func first[T any](list []T, at func(T) time.Time) time.Time {
	if len(list) == 0 {
		return time.Time{}
	}
	return at(list[0])
}

// turn does what is due now: acts, then what the watches show, then a sync.
func (l *life) turn() {
	due := func(at time.Time) bool { return !at.IsZero() && !at.After(l.Now) }
	for due(first(l.acts, act.when)) {
		a := l.acts[0]
		l.acts = l.acts[1:]
		a.do()
	}
	for due(first(l.jobs.events, event.when)) {
		e := l.jobs.events[0]
		l.jobs.events = l.jobs.events[1:]
		if e.job.Generation == l.job.Generation { // the real controller then waits for the batch period
			l.enqueue(time.Second)
		} else {
			l.enqueue(0)
		}
		l.job = e.job
	}
	for due(first(l.pods.events, event.when)) {
		e := l.pods.events[0]
		l.pods.events = l.pods.events[1:]
		l.show(e)
		l.enqueue(time.Second) // the batch period
	}
	if !due(l.next) || jobstatus.Finished(l.Job()) != nil {
		return
	}
	l.next = time.Time{}
	waits, err := l.controller.sync(l)
	for _, wait := range waits {
		l.enqueue(wait)
	}
	if l.failures++; err == nil {
		l.failures = 0
		return
	}
	l.enqueue(min(time.Second<<min(l.failures-1, 10), time.Minute)) // as in Kubernetes
}

// enqueue makes a sync due after some time, unless one is due earlier. A work queue does the same.
func (l *life) enqueue(wait time.Duration) {
	if at := l.Now.Add(wait); l.next.IsZero() || at.Before(l.next) {
		l.next = at
	}
}

func (l *life) show(e event) {
	before := l.shown[e.uid]
	if e.pod == nil {
		delete(l.shown, e.uid)
	} else {
		l.shown[e.uid] = e.pod
	}
	l.controller.observe(before, e.pod)
}

// upTo returns the version up to which a watch has shown everything.
func (l *life) upTo(w *watch) string {
	if len(w.events) > 0 {
		return strconv.Itoa(w.events[0].version - 1)
	}
	return strconv.Itoa(l.Version())
}

// seen returns the pods that the watch shows, in the order of jobfate.
func (l *life) seen() []*corev1.Pod {
	return fixture.InOrder(l.job, slices.Collect(maps.Values(l.shown)))
}

// watch adds a change to the watches, and lets the kubelet act on it.
func (l *life) watch(s cluster.Step) {
	if s.Refused != nil {
		return
	}
	version := l.Version()
	l.tell(&s)
	if s.Pod == nil && s.OldPod == nil {
		l.jobs.add(l, event{version: version, job: s.Job})
		return
	}
	pod := s.Pod
	l.pods.add(l, event{version: version, uid: cmp.Or(s.Pod, s.OldPod).UID, pod: pod})
	switch {
	case pod == nil:
	case s.OldPod == nil:
		l.starts(pod)
	case s.OldPod.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
		l.at(2*time.Second, func() { l.stop(pod.UID) })
	}
}

// tell adds a change to the story.
func (l *life) tell(s *cluster.Step) {
	what := ""
	switch {
	case s.Pod != nil:
		what = describe(s.Pod)
	case s.OldPod != nil:
		what = string(s.OldPod.UID) + " gone"
	default:
		st := s.Job.Status
		st.StartTime = nil
		what = fmt.Sprintf("parallelism %d suspend %t %s", *s.Job.Spec.Parallelism, *s.Job.Spec.Suspend, text(st))
	}
	l.story = append(l.story, fmt.Sprintf("%9.3f  %s", l.Now.Sub(jobtest.Noon()).Seconds(), what))
}

// add adds an event. It is shown after the events before it.
func (w *watch) add(l *life, e event) {
	e.at = l.Now.Add(l.plan.delay)
	for _, s := range w.stalls {
		from := jobtest.Noon().Add(s.from)
		if to := from.Add(s.length); !e.at.Before(from) && e.at.Before(to) {
			e.at = to
		}
	}
	if n := len(w.events); n > 0 && e.at.Before(w.events[n-1].at) {
		e.at = w.events[n-1].at
	}
	w.events = append(w.events, e)
}

// starts plans the life of a pod. It depends on its index and on how many pods the index has had.
func (l *life) starts(pod *corev1.Pod) {
	index := int(builtin.IndexOf(pod))
	n := l.made[index]
	l.made[index]++
	dice := rand.New(rand.NewPCG(l.plan.seed, uint64(index+1)<<32|uint64(n)))
	start := time.Duration(100+dice.IntN(2000)) * time.Millisecond
	run := time.Duration(500+dice.IntN(int(l.plan.slowest.Milliseconds()))) * time.Millisecond
	code := int32(0)
	if dice.IntN(100) >= l.plan.succeeds && n < l.plan.attempts {
		code = []int32{1, 42, 137}[dice.IntN(3)]
	}
	uid := pod.UID
	l.at(start, func() { l.Start(uid) })
	if code != 0 && pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		l.at(start+run/2, func() { l.Restart(uid) })
		code = 0
	}
	l.at(start+run, func() {
		if p := l.Pod(uid); p != nil && p.DeletionTimestamp == nil {
			l.End(uid, code)
		}
	})
}

// stop ends a pod that is being deleted.
func (l *life) stop(uid types.UID) {
	switch pod := l.Pod(uid); {
	case pod == nil || cluster.HasEnded(pod):
	case pod.Spec.NodeName == "":
		l.Edit(uid, func(p *corev1.Pod) { p.Status.Phase, p.DeletionGracePeriodSeconds = corev1.PodFailed, new(int64) })
	default:
		l.End(uid, 137*int32(l.plan.seed%2)) // some programs end well when they are told to
	}
}

// While the pods of a large Job are created for an hour, and the watches lag, jobfate has at any time
// stored at least as many statuses as the real controller with its default gates. None of them omits
// a running pod that an earlier one counts.
func TestProgress_whileCreationsGoOn(t *testing.T) {
	for _, test := range []struct {
		name     string
		delay    time.Duration
		atOnce   int
		slowest  time.Duration
		succeeds int
	}{
		{"a lag of two seconds", 2 * time.Second, 1, 6 * time.Hour, 100},
		{"a lag of ten seconds", 10 * time.Second, 3, 6 * time.Hour, 100},
		{"a lag of a minute", time.Minute, 10, 6 * time.Hour, 100},
		{"a lag of a minute, and pods that end and fail", time.Minute, 10, time.Hour, 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			const hour = time.Hour
			many := int32(5000)
			job := &batchv1.Job{}
			job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &many, &many, &many
			job.Spec.Template.Spec = corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			}
			p := &plan{
				job: job, seed: 7, delay: test.delay, succeeds: test.succeeds, attempts: int(many),
				slowest: test.slowest, limits: real.Limits{MaxCreateDelete: test.atOnce},
			}
			us, them := newLife(p, newJobfateSide(p, 0)), &kubernetesSide{limits: p.limits}
			kubernetes := newLife(p, them)
			for _, l := range []*life{us, kubernetes} {
				if l.run(hour) || len(l.Pods()) == 0 || len(l.Pods()) >= int(many) {
					t.Fatalf("%T has created %d pods, want the creations to go on", l.controller, len(l.Pods()))
				}
			}
			for minute := range 61 {
				at := jobtest.Noon().Add(time.Duration(minute) * time.Minute)
				if a, b := us.writesBefore(at), kubernetes.writesBefore(at); a < b {
					t.Errorf("in %d minutes jobfate stores %d statuses, Kubernetes %d", minute, a, b)
				}
			}
			for i, w := range us.written {
				if i == 0 || test.slowest <= hour {
					continue
				}
				if before, now := us.written[i-1].status, w.status; now.Active+now.Succeeded < before.Active {
					t.Errorf("at %s active falls from %d to %d, and %d pods have succeeded", w.at, before.Active, now.Active, now.Succeeded)
				}
			}
			t.Logf("statuses: jobfate %d, Kubernetes %d; pods: %d and %d; Kubernetes skips %d of %d syncs",
				len(us.written), len(kubernetes.written), len(us.Pods()), len(kubernetes.Pods()), them.skips, them.syncs)
		})
	}
}

// writesBefore returns the number of syncs before a time that have stored a status. A sync that counts
// pods stores two.
func (l *life) writesBefore(at time.Time) (n int) {
	for i, w := range l.written {
		if w.at.Before(at) && (i == 0 || w.at.After(l.written[i-1].at)) {
			n++
		}
	}
	return n
}
