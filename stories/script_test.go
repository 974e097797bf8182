package stories

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/stories/script"
)

// TestScripts runs the texts of testdata in the simulated cluster. A directive is followed by steps, in the
// words of the package script. Those of testdata/scenarios also run on a real API server: they are scenarios,
// and their result is the last status. The others continue with the same Job, unless they create one. They
// print:
//
//	log      what the controller writes until all is at rest, when it syncs next, why, and the status
//	why      what its next decision explains
//	status, pods, metrics, events
//
// The simulated cluster knows more steps:
//
//	options NAME ...  decide with these options from here on
//	wait              until the next sync is due
//	pass N            N seconds pass
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	more, _ := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 || len(more) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range append(files, more...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var w *simulated
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.HasArg("only") && d.CmdArgs[1].Vals[0] != "jobfate" {
					return d.Expected
				}
				s, err := script.Parse(d.Input)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				if w == nil || strings.Contains("\n"+d.Input, "\ncreate ") {
					w = &simulated{script: s, lives: map[types.UID]script.Life{}, attempts: map[attempt]int{}}
				}
				w.t, w.pos = t, d.Pos
				return strings.Join(w.play(s, d), "\n") + "\n"
			})
		})
	}
}

// play runs the steps of a directive, and returns what it prints.
func (w *simulated) play(s script.Scenario, d *datadriven.TestData) []string {
	w.t.Helper()
	if d.Cmd == "scenario" {
		w.options = []jobfate.Option{jobfate.FillFreeSlots()} // as jobfate-controller
		s.Run(w.t, w, d.Expected)
		w.Observed()
		return []string{script.Text(w.State())}
	}
	if w.world != nil {
		w.log, w.events = nil, nil
	}
	s.Run(w.t, w, "")
	switch d.Cmd {
	case "log":
		w.Observed()
		out := joined(w.log)
		if !w.next.IsZero() {
			out = append(out, "next sync at "+clock(w.next))
		}
		out = append(out, explained(explain.Of(w.last).Job()))
		if state := script.Text(w.State()); state != "" {
			out = append(out, state)
		}
		return out
	case "why":
		for w.act() {
		}
		d := mustDecide(w.t, w.snapshot(), w.opts...)
		out := explanation(explain.Of(d))
		if d.Action != "" {
			out = append(out, "action "+d.Action)
		}
		return out
	case "status":
		return showStatus(&w.Job().Status)
	case "pods":
		return showPods(w.Pods())
	case "metrics":
		return w.counted()
	case "events":
		w.Observed()
		return w.events
	}
	w.t.Fatalf("%s: no directive %s", d.Pos, d.Cmd)
	return nil
}

// explanation lists what an explanation says.
func explanation(e explain.Explanation) []string {
	lines := []string{explained(e.Job()), "prospect " + explained(e.Prospect())}
	for _, r := range e.Waits() {
		lines = append(lines, "waits for "+explained(r))
	}
	for r := range e.Indexes() {
		lines = append(lines, string(r.Code)+": "+r.String())
	}
	for _, r := range e.Notes() {
		lines = append(lines, "note "+explained(r))
	}
	return lines
}

// explained returns a reason as text, with the time until it holds.
func explained(r explain.Reason) string {
	if r.Until.IsZero() {
		return fmt.Sprintf("%s: %s", r.Code, r.Text)
	}
	return fmt.Sprintf("%s until %s: %s", r.Code, clock(r.Until), r.Text)
}

// simulated is a world with a kubelet. Events happen only while the scenario waits.
type simulated struct {
	*world
	t        *testing.T
	pos      string
	script   script.Scenario
	options  []jobfate.Option
	unruled  bool // the referee does not support the options
	judged   referee.Rules
	lives    map[types.UID]script.Life
	attempts map[attempt]int
	always   []func()
	stopped  bool

	fault fault
	stale string // what each sync leaves unobserved, while two more follow
}

// attempt is the key by which pods are counted.
type attempt struct {
	job   types.UID
	index int32
}

// Do runs the steps that only this world has.
func (w *simulated) Do(word, rest string) bool {
	switch word {
	case "options":
		w.setOptions(strings.Fields(rest))
	case "wait":
		if w.next.IsZero() {
			w.t.Fatalf("%s: no sync is due", w.pos)
		}
		w.jump(w.next)
	case "pass":
		n, err := strconv.Atoi(rest)
		if err != nil {
			w.t.Fatalf("%s: %v", w.pos, err)
		}
		w.Observed()
		w.jump(w.Now.Add(time.Duration(n) * time.Second))
	default:
		return false
	}
	return true
}

// jump advances the clock.
func (w *simulated) jump(to time.Time) {
	w.Now, w.next = to, time.Time{}
	w.logf("at %s", clock(to))
}

func (w *simulated) setOptions(names []string) {
	w.options, w.unruled, w.judged = nil, false, referee.Rules{}
	for _, name := range names {
		name, value, _ := strings.Cut(name, "=")
		after, _ := time.ParseDuration(value)
		opt, ok := map[string]jobfate.Option{
			"WithoutPerIndexBackoff":   jobfate.WithoutPerIndexBackoff(),
			"WithoutReplacementPolicy": jobfate.WithoutReplacementPolicy(),
			"GranularReasons":          jobfate.GranularReasons(),
			"FillFreeSlots":            jobfate.FillFreeSlots(),
			"RuleNames":                jobfate.RuleNames(strings.Split(value, ",")...),
			"FailLostPods":             jobfate.FailLostPods(after),
			"SucceedOnExitZero":        jobfate.SucceedOnExitZero(),
		}[name]
		if !ok {
			w.t.Fatalf("%s: no option %s", w.pos, name)
		}
		w.options = append(w.options, opt)
		w.unruled = w.unruled || strings.HasPrefix(name, "Without")
		w.judged.LostAfter += after
		w.judged.ExitZero = w.judged.ExitZero || name == "SucceedOnExitZero"
	}
	w.apply()
}

// apply decides with the options from here on.
func (w *simulated) apply() {
	if w.world == nil {
		return
	}
	if w.opts = w.options; w.unruled {
		w.rules = nil
	} else if w.rules != nil { // otherwise the ghost has not seen all
		w.rules = &w.judged
	}
}

func (w *simulated) Create(spec batchv1.JobSpec) {
	w.t.Helper()
	if w.world != nil { // again, after it was deleted
		if err := w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: w.Focused().Name, Namespace: w.Focused().Namespace}, Spec: spec}); err != nil {
			w.t.Fatal(err)
		}
		w.ghost.Started(w.Job())
		w.next = w.Now
		return
	}
	w.world = newWorldOf(w.t, &batchv1.Job{Spec: spec}, w.options...)
	w.apply()
	w.world.fault = w.fault
	checked := w.Watch
	w.Watch = func(s cluster.Step) {
		checked(s)
		for _, check := range w.always {
			check()
		}
	}
}

func (w *simulated) Edit(change func(*batchv1.JobSpec)) {
	if err := w.EditJob(change); err != nil {
		w.t.Fatal(err)
	}
}

func (w *simulated) DeleteJob(how metav1.DeletionPropagation) { w.world.DeleteJob(how) }

func (w *simulated) Become(l script.Life, pods []*corev1.Pod) {
	for _, pod := range pods {
		w.lives[pod.UID] = l
	}
}

func (w *simulated) DeletePod(pod *corev1.Pod, force bool) {
	if force {
		w.Delete(pod.UID, 0)
	} else {
		w.Delete(pod.UID, 30)
	}
}

func (w *simulated) Patch(pod *corev1.Pod, patch []byte) {
	w.world.Edit(pod.UID, func(p *corev1.Pod) {
		if err := json.Unmarshal(patch, p); err != nil {
			w.t.Fatal(err)
		}
	})
}

func (w *simulated) Stop()  { w.stopped = true }
func (w *simulated) Start() { w.stopped = false; w.restart(); w.next = w.Now }

func (w *simulated) Observed() {
	for w.act() || !w.stopped && w.sync() || w.CollectGarbage() {
	}
}

func (w *simulated) CatchUp() {
	w.Observed()
	w.lagsPods, w.lagsJob = false, false
}

// sync runs a sync. With stale caches, more syncs change no pods: the controller knows its writes in flight.
func (w *simulated) sync() bool {
	w.t.Helper()
	if w.stale == "" {
		return w.world.sync()
	}
	w.Lag(w.stale)
	again := w.world.sync()
	made, pods := w.made, len(w.Pods())
	w.world.sync()
	w.world.sync()
	w.lagsPods, w.lagsJob = false, false
	if w.made != made || len(w.Pods()) != pods {
		w.t.Fatalf("syncs with stale caches changed pods\n%s", strings.Join(w.log, "\n"))
	}
	return w.world.sync() || again
}

func (w *simulated) Event(reason string) {
	w.t.Helper()
	w.When("event "+reason, func(*batchv1.Job, []*corev1.Pod) bool {
		return slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, " "+reason+":") })
	})
}

func (w *simulated) State() (*batchv1.Job, []*corev1.Pod) {
	if w.world == nil {
		return nil, nil
	}
	return w.Job(), w.Pods()
}

func (w *simulated) Always(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.always = append(w.always, func() {
		if !holds(w.State()) {
			w.t.Fatalf("%s: %s does not hold: %s", w.pos, what, script.Text(w.State()))
		}
	})
}

func (w *simulated) When(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.t.Helper()
	for !holds(w.State()) {
		if w.act() || !w.stopped && w.sync() || w.CollectGarbage() {
			continue
		}
		if w.stopped {
			w.next = time.Time{}
		}
		for _, pod := range w.alive() {
			if l := w.lives[pod.UID]; l.After > 0 && pod.Status.StartTime != nil {
				if end := pod.Status.StartTime.Add(time.Duration(l.After) * time.Second); w.next.IsZero() || end.Before(w.next) {
					w.next = end
				}
			}
		}
		if w.next.IsZero() {
			w.t.Fatalf("%s: the status stays\n%s\nwant\n%s\n%s", w.pos, script.Text(w.State()), what, strings.Join(w.log, "\n"))
		}
		w.jump(w.next)
	}
}

// act lets the kubelet do what is due, which takes a second, and reports whether it did anything.
func (w *simulated) act() bool {
	before := w.Version()
	for _, pod := range w.Pods() {
		l, ok := w.lives[pod.UID]
		if !ok {
			of := attempt{index: builtin.IndexOf(pod)}
			if owner := metav1.GetControllerOf(pod); owner != nil {
				of.job = owner.UID
			}
			l = w.script.Life(int(of.index), w.attempts[of])
			w.attempts[of]++
			w.lives[pod.UID] = l
		}
		w.live(pod, l)
	}
	if w.Version() == before {
		return false
	}
	w.advance(time.Second)
	return true
}

func (w *simulated) live(pod *corev1.Pod, l script.Life) {
	began := pod.Status.StartTime
	switch {
	case cluster.HasEnded(pod) || l.Waits && pod.DeletionTimestamp == nil:
	case pod.DeletionTimestamp != nil && l.Lingers:
	case pod.DeletionTimestamp != nil:
		if l.Disrupted {
			w.Disrupt(pod.UID)
		}
		w.End(pod.UID, l.Dies)
	case l.Lost:
		w.world.Edit(pod.UID, func(p *corev1.Pod) { *p = *cluster.FailPod(p) })
	case l.Runs, l.After > 0 && (began == nil || w.Now.Before(began.Add(time.Duration(l.After)*time.Second))):
		w.world.Start(pod.UID)
		if l.Unready {
			w.Ready(pod.UID, corev1.ConditionFalse)
		}
		if l.Restarts > restarts(pod) {
			w.world.Edit(pod.UID, func(p *corev1.Pod) { restartContainers(p, w.Now, l.Restarts) })
		}
	default:
		if l.Disrupted {
			w.Disrupt(pod.UID)
		}
		w.End(pod.UID, l.Exit)
	}
}

// restarts returns how often the first container has restarted.
func restarts(pod *corev1.Pod) int32 {
	if len(pod.Status.ContainerStatuses) == 0 {
		return 0
	}
	return pod.Status.ContainerStatuses[0].RestartCount
}

// restartContainers restarts all containers of a pod in place, after they have ended with an exit code.
func restartContainers(pod *corev1.Pod, now time.Time, times int32) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		s.RestartCount = times
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: metav1.NewTime(now)}
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	}
}

// joined joins consecutive removals of finalizers into one line.
func joined(log []string) (lines []string) {
	for _, line := range log {
		verb, pod, _ := strings.Cut(line, " ")
		last := len(lines) - 1
		if verb == "strip" && last >= 0 && strings.HasPrefix(lines[last], verb) {
			lines[last] += " " + pod
			continue
		}
		lines = append(lines, line)
	}
	return lines
}
