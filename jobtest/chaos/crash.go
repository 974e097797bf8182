package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// CrashReport is the result of the crashes for one Job.
type CrashReport struct {
	// Writes is the number of writes of the undisturbed run.
	Writes int
	// Runs is the number of runs with a crash, Pairs how many of them had two. Excused is
	// how many of them ended differently and are accepted (see Crashes).
	Runs, Pairs, Excused int
	// Violation is the first violated property, or nil. If a crash has changed the end,
	// the property is "crash".
	Violation *referee.Violation
	// Story describes the steps to the violation.
	Story string
}

// Crashes runs a Job through a lifetime determined by Config.Seed. Then it runs the same
// lifetime again for every write, and kills the controller before or after that write. A
// new controller without memory takes over. If there are at most pairs writes, Crashes also
// kills the controller at every pair of writes. In each run the Job must end, unless its
// parallelism is 0. Then no pod may have its finalizer, and the Job must have ended in the
// same way as without a crash.
//
// The lifetime fixes what happens to each pod in advance: for an Indexed Job by index and
// attempt, otherwise by the order of creation. Users delete pods, and suspend and resume
// the Job, at fixed times.
//
// The following must be equal: the counters, the sets of indexes, the types and reasons of
// the conditions, and the outcome of each pod. The times of the conditions are not
// compared. Three things are left out because they may legitimately change the end:
//
//   - Deadlines, because a crash delays the Job.
//   - Deletions of pods by users, in a Job without completions. Such a pod counts as
//     failed when its deletion begins. A restarted controller uses the time at which it
//     ended, and waits longer, so a success may come before the next pod does.
//   - The deletion of failed pods, without a backoff limit per index. A restarted
//     controller knows a failure only from its pod. If the pod were gone, it would wait
//     less. So another finalizer keeps the pods of such a Job, including
//     deleted ones.
//
// One difference is accepted, because Kubernetes has it too. When a Job succeeds, the
// controller deletes the pods that still run and does not count them. If it is killed
// before it has removed their finalizers, its successor observes them as terminating and
// counts them as failed. Similarly, while a pod exists that a controller has deleted
// because the Job was suspended, a successor cannot distinguish it from a failure, and
// waits longer.
func Crashes(cfg Config, pairs int) CrashReport {
	cfg = cfg.orDefault()
	cfg.Job = cfg.Job.DeepCopy()
	cfg.Job.Spec.ActiveDeadlineSeconds = nil
	if cfg.Job.Spec.BackoffLimitPerIndex == nil {
		cfg.Job.Spec.Template.Finalizers = append(cfg.Job.Spec.Template.Finalizers, "example.com/keep")
	}
	undisturbed := runScript(cfg, false)
	report := CrashReport{Writes: undisturbed.writes, Violation: undisturbed.broken}
	if report.Violation != nil {
		report.Story = fmt.Sprintf("%v\n%s", report.Violation, logLife(cfg))
		return report
	}
	try := func(crashes ...crash) bool {
		l := runScript(cfg, false, crashes...)
		report.Runs++
		if len(crashes) > 1 {
			report.Pairs++
		}
		if got, want := l.end(), undisturbed.end(); l.broken == nil && got != want && l.excused {
			report.Excused++
		} else if l.broken == nil && got != want {
			l.broken = &referee.Violation{Property: "crash",
				Text: fmt.Sprintf("killed at %v, the Job ends with\n  %s\nundisturbed, it ends with\n  %s",
					crashes, got, want)}
		}
		if l.broken != nil {
			report.Violation, report.Story = l.broken, fmt.Sprintf("%v\n%s", l.broken, logLife(cfg, crashes...))
		}
		return l.broken == nil
	}
	for i := range 2 * report.Writes {
		first := crash{i / 2, i%2 == 1}
		if !try(first) {
			return report
		}
		if report.Writes > pairs {
			continue
		}
		// The number of the second write is counted from the first crash, because the
		// writes after it may differ from those of the undisturbed run.
		for j := i + 1; j < 2*(report.Writes+1); j++ {
			if !try(first, crash{j / 2, j%2 == 1}) {
				return report
			}
		}
	}
	return report
}

// crash kills the controller before or after the n-th write.
type crash struct {
	write int
	after bool
}

func (c crash) String() string {
	if c.after {
		return fmt.Sprintf("after write %d", c.write)
	}
	return fmt.Sprintf("before write %d", c.write)
}

// scriptedRun runs a Job by a script.
type scriptedRun struct {
	cfg     Config
	c       *cluster.Cluster
	ghost   referee.Ghost
	crashes []crash
	writes  int
	excused bool
	doomed  map[types.UID]bool // pods that the controller has deleted
	broken  *referee.Violation
	plans   map[string]podPlan // by the name of the pod in the script
	names   map[types.UID]string
	made    map[string]int // the number of pods so far, by index
	events  []event        // of users
	log     runLog
}

// podPlan is what happens to a pod.
type podPlan struct {
	starts, ends time.Duration // after its creation
	code         int32
	lost         bool // it fails with its node, and is removed
	deleted      bool // a user deletes it before it ends
}

// event is something that happens to the Job or to a pod.
type event struct {
	at     time.Time
	happen func()
}

// runScript runs a Job with some crashes, and logs the run or not.
func runScript(cfg Config, logged bool, crashes ...crash) *scriptedRun {
	l := &scriptedRun{cfg: cfg, crashes: crashes, plans: map[string]podPlan{}, names: map[types.UID]string{},
		made: map[string]int{}, doomed: map[types.UID]bool{}}
	l.log.keys, l.log.On = cfg.keys(), logged
	l.run()
	return l
}

// planOf derives what happens to a pod from its name, so that it is the same in every run.
func (l *scriptedRun) planOf(name string) podPlan {
	var salt uint64
	for _, c := range []byte(name) {
		salt = salt*131 + uint64(c)
	}
	d := dice(l.cfg.Seed, salt)
	f := podPlan{starts: time.Duration(1+d.IntN(3)) * time.Second}
	f.ends = f.starts + time.Duration(1+d.IntN(20))*time.Second
	switch n := d.IntN(100); {
	case n < 55 || strings.HasSuffix(name, "#9"):
	case n < 90:
		f.code = driver.Pick(d, int32(1), 42, 137)
	case n < 95:
		f.lost = true
	default:
		f.deleted, f.code = l.cfg.Job.Spec.Completions != nil, driver.Pick(d, int32(0), 137)
	}
	return f
}

func (l *scriptedRun) run() {
	c, err := cluster.New(l.cfg.Job, jobtest.Noon())
	if err != nil {
		l.broken = &referee.Violation{Property: "Job", Text: err.Error()}
		return
	}
	l.c = c
	c.Watch, c.Intercept = l.watch, l.intercept
	l.ghost.Started(c.Job())
	l.scriptUsers()
	controller, cache := l.cfg.Controller(), c.NewCache(true)
	for range 2000 + 100*size(c.Job()) {
		before := l.writes
		l.log.Say("%s  sync", c.Now.Format("15:04:05"))
		out := c.Run(controller, cache)
		switch {
		case l.broken != nil:
			return
		case out.Killed:
			l.log.Say("     the controller is killed, and another one is started")
			controller = l.cfg.Controller()
		case out.Err != nil || l.writes != before:
		case !l.moveOn(out.At):
			l.checkEnd()
			return
		}
	}
	l.broken = &referee.Violation{Property: "L1", Text: "the run does not end"}
}

// checkEnd is called when no more events are due. It checks that the Job has ended, unless
// it is suspended or has a parallelism of 0 (L2), and that no pod has the finalizer (L3).
func (l *scriptedRun) checkEnd() {
	job := l.c.Job()
	switch {
	case referee.Ended(job):
		l.broken = checkFinalizers(l.cfg.keys(), l.c.Pods())
	case *job.Spec.Parallelism > 0 && !*job.Spec.Suspend:
		l.broken = &referee.Violation{Property: "L2",
			Text: fmt.Sprintf("no more events are due, but the Job has not ended: %s", story.Status(&job.Status))}
	}
}

// scriptUsers adds the actions of users to the script: a Job may be suspended and resumed.
func (l *scriptedRun) scriptUsers() {
	d := dice(l.cfg.Seed, 7)
	now := l.c.Now
	set := func(to bool) func() {
		return func() {
			_ = l.c.EditJob(func(s *batchv1.JobSpec) { s.Suspend = &to }) // rejected after the end of the Job
		}
	}
	if l.cfg.Job.Spec.Suspend != nil && *l.cfg.Job.Spec.Suspend {
		l.events = append(l.events, event{now.Add(5 * time.Second), set(false)})
	} else if d.Chance(20, "suspended") {
		at := now.Add(time.Duration(1+d.IntN(30))*time.Second + 500*time.Millisecond)
		l.events = append(l.events, event{at, set(true)}, event{at.Add(20 * time.Second), set(false)})
	}
}

// moveOn advances the time to the next event. It reports whether there is one.
func (l *scriptedRun) moveOn(requeue time.Time) bool {
	next := requeue
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for _, e := range l.events {
		sooner(e.at)
	}
	for _, pod := range l.c.Pods() {
		if e := l.nextOf(pod); e.happen != nil {
			sooner(e.at)
		}
	}
	if next.IsZero() {
		return false
	}
	if next.After(l.c.Now) {
		l.c.Now = next
	}
	for len(l.events) > 0 && !l.events[0].at.After(l.c.Now) {
		l.events[0].happen()
		l.events = l.events[1:]
	}
	for _, pod := range l.c.Pods() {
		if e := l.nextOf(pod); e.happen != nil && !e.at.After(l.c.Now) {
			e.happen()
		}
	}
	return true
}

// nextOf returns the next event of a pod; the zero event if it has ended.
func (l *scriptedRun) nextOf(pod *corev1.Pod) event {
	f, made := l.plans[l.names[pod.UID]], pod.CreationTimestamp.Time
	ends := func(code int32) func() { return func() { l.c.End(pod.UID, code) } }
	switch {
	case cluster.HasEnded(pod):
		return event{}
	case pod.DeletionTimestamp != nil && f.deleted:
		return event{pod.DeletionTimestamp.Time, ends(f.code)}
	case pod.DeletionTimestamp != nil:
		return event{pod.DeletionTimestamp.Time, ends(137)}
	case pod.Status.Phase != corev1.PodRunning:
		return event{made.Add(f.starts), func() { l.c.Start(pod.UID) }}
	case f.lost:
		return event{made.Add(f.ends), func() { l.c.Lose(pod.UID) }}
	case f.deleted:
		return event{made.Add(f.ends), func() { l.c.Delete(pod.UID, 5) }}
	}
	return event{made.Add(f.ends), ends(f.code)}
}

func (l *scriptedRun) watch(s cluster.Step) {
	if s.OldPod == nil && s.Pod != nil {
		key := s.Pod.Annotations[l.cfg.keys().Index]
		name := fmt.Sprintf("%s#%d", key, l.made[key])
		l.made[key]++
		l.names[s.Pod.UID] = name
		l.plans[name] = l.planOf(name)
	}
	l.log.logChange(&s)
	if v := l.cfg.Rules.See(&l.ghost, &s); v != nil && l.broken == nil {
		l.broken = v
	}
}

func (l *scriptedRun) intercept(q *cluster.Request) cluster.Fault {
	if !writes(q) {
		return cluster.Fault{}
	}
	n := l.writes
	l.writes++
	if q.Verb == cluster.Delete {
		l.doomed[q.UID] = true
	}
	for _, c := range l.crashes {
		if c.write == n {
			for uid := range l.doomed {
				l.excused = l.excused || l.c.Pod(uid) != nil
			}
			return cluster.Fault{Killed: true, Lost: c.after}
		}
	}
	return cluster.Fault{}
}

// end returns the part of the final state that must be the same after a crash.
func (l *scriptedRun) end() string {
	if l.c == nil || l.c.Job() == nil {
		return "no Job"
	}
	var pods []string
	for _, pod := range l.c.Pods() {
		line := l.names[pod.UID] + " " + string(pod.Status.Phase)
		if l.cfg.keys().HasFinalizer(pod) {
			line += " tracked"
		}
		pods = append(pods, line)
	}
	slices.Sort(pods)
	return story.Status(&l.c.Job().Status) + "; pods " + strings.Join(pods, ", ")
}

func logLife(cfg Config, crashes ...crash) string {
	return strings.Join(runScript(cfg, true, crashes...).log.Lines(story.Longest), "\n")
}
