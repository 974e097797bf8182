package stories

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/test/stories/script"
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
			var w *world
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.HasArg("only") && d.CmdArgs[1].Vals[0] != "jobfate" {
					return d.Expected
				}
				s, err := script.Parse(d.Input)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				if w == nil || strings.Contains("\n"+d.Input, "\ncreate ") {
					w = newWorld(t)
					w.scenario = s
				}
				w.T = t
				return strings.Join(w.play(s, d), "\n") + "\n"
			})
		})
	}
}

// play runs the steps of a directive, and returns what it prints.
func (w *world) play(s script.Scenario, d *datadriven.TestData) []string {
	w.T.Helper()
	defer func() {
		if w.T.Failed() {
			w.T.Log("in the directive at ", d.Pos)
		}
	}()
	if d.Cmd == "scenario" {
		w.opts = []decide.Option{decide.FillFreeSlots()} // as jobfate-controller
		s.Run(w.World, d.Expected)
		w.Observed()
		return []string{w.Current().Text()}
	}
	w.log, w.events = nil, nil
	s.Run(w.World, "")
	switch d.Cmd {
	case "log":
		w.Observed()
		out := joined(w.log)
		if !w.next.IsZero() {
			out = append(out, "next sync at "+clock(w.next))
		}
		out = append(out, explanation(w.last)[0])
		if state := w.Current().Text(); state != "" {
			out = append(out, state)
		}
		return out
	case "why":
		for w.act() {
		}
		d := podtest.Must(decide.Job(w.snapshot(), w.opts...))
		out := explanation(d)
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
		return podtest.Each(w.events, render)
	}
	w.T.Fatalf("%s: no directive %s", d.Pos, d.Cmd)
	return nil
}

// Do runs the steps that only this world has.
func (w *world) Do(word, rest string) bool {
	switch word {
	case "options":
		w.setOptions(strings.Fields(rest))
	case "wait":
		if w.next.IsZero() {
			w.T.Fatal("no sync is due")
		}
		w.jump(w.next)
	case "pass":
		n := podtest.Must(strconv.Atoi(rest))
		w.Observed()
		w.jump(w.Now.Add(time.Duration(n) * time.Second))
	default:
		return false
	}
	return true
}

// jump advances the clock.
func (w *world) jump(to time.Time) {
	w.Now, w.next = to, time.Time{}
	w.logf("at %s", clock(to))
}

func (w *world) setOptions(names []string) {
	unruled, judged := false, referee.Rules{}
	w.opts = nil
	for _, name := range names {
		name, value, _ := strings.Cut(name, "=")
		after, _ := time.ParseDuration(value)
		opt, ok := map[string]decide.Option{
			"WithoutPerIndexBackoff":   decide.WithoutPerIndexBackoff(),
			"WithoutReplacementPolicy": decide.WithoutReplacementPolicy(),
			"GranularReasons":          decide.GranularReasons(),
			"FillFreeSlots":            decide.FillFreeSlots(),
			"RuleNames":                decide.RuleNames(strings.Split(value, ",")...),
			"FailLostPods":             decide.FailLostPods(after),
			"SucceedOnExitZero":        decide.SucceedOnExitZero(),
		}[name]
		if !ok {
			w.T.Fatalf("no option %s", name)
		}
		w.opts = append(w.opts, opt)
		unruled = unruled || strings.HasPrefix(name, "Without")
		judged.LostAfter += after
		judged.ExitZero = judged.ExitZero || name == "SucceedOnExitZero"
	}
	if unruled { // the referee does not support these options
		w.rules = nil
	} else if w.rules != nil { // otherwise the ghost has not seen all
		w.rules = &judged
	}
}

// Create creates the Job, or another one of its name after it was deleted.
func (w *world) Create(spec batchv1.JobSpec) {
	w.T.Helper()
	if w.Cluster == nil {
		w.begin(&batchv1.Job{Spec: spec})
		return
	}
	name := w.Focused()
	podtest.NoError(w.T, w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace}, Spec: spec}))
	w.ghost.Started(w.Job())
	w.next = w.Now
}

func (w *world) Lead(l script.Life, pods []*corev1.Pod) {
	for _, pod := range pods {
		w.lives[pod.UID] = l
	}
}

func (w *world) DeletePod(pod *corev1.Pod, force bool) {
	if force {
		w.Delete(pod.UID, 0)
	} else {
		w.Delete(pod.UID, 30)
	}
}

func (w *world) Patch(pod *corev1.Pod, patch []byte) {
	w.Edit(pod.UID, func(p *corev1.Pod) {
		podtest.NoError(w.T, json.Unmarshal(patch, p))
	})
}

func (w *world) StopController()  { w.stopped = true }
func (w *world) StartController() { w.stopped = false; w.restart(); w.next = w.Now }

func (w *world) Observed() {
	for w.happens() {
	}
}

func (w *world) CatchUp() {
	w.Observed()
	w.lagsPods, w.lagsJob = false, false
}

// Current returns the state of the cluster.
func (w *world) Current() script.State {
	if w.Cluster == nil {
		return script.State{}
	}
	s := script.State{Job: w.Job(), All: map[string]*corev1.Pod{}, Events: map[string]*corev1.Event{}}
	for _, pod := range w.Pods() {
		s.All[pod.Name] = pod
	}
	for _, e := range w.events {
		s.Events[e.Reason] = &corev1.Event{Reason: e.Reason}
	}
	return s
}

// Story returns the log.
func (w *world) Story() string { return strings.Join(w.log, "\n") }

// happens lets the kubelet, the controller or the garbage collector do what is due now.
func (w *world) happens() bool {
	w.T.Helper()
	return w.act() || !w.stopped && w.sync() || w.CollectGarbage()
}

// Next lets something happen. If nothing is due now, the clock advances to when a sync is due, or a pod ends.
func (w *world) Next() bool {
	w.T.Helper()
	if w.happens() {
		return true
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
		return false
	}
	w.jump(w.next)
	return true
}

// act lets the kubelet do what is due, which takes a second, and reports whether it did anything.
func (w *world) act() bool {
	before := w.Version()
	for _, pod := range w.Pods() {
		l, ok := w.lives[pod.UID]
		if !ok {
			of := attempt{index: builtin.IndexOf(pod)}
			if owner := metav1.GetControllerOf(pod); owner != nil {
				of.job = owner.UID
			}
			l = w.scenario.Life(int(of.index), w.attempts[of])
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

func (w *world) live(pod *corev1.Pod, l script.Life) {
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
		w.Edit(pod.UID, func(p *corev1.Pod) { *p = *cluster.FailPod(p) })
	case l.Runs, l.After > 0 && (began == nil || w.Now.Before(began.Add(time.Duration(l.After)*time.Second))):
		w.Start(pod.UID)
		if l.Unready {
			w.Ready(pod.UID, corev1.ConditionFalse)
		}
		if l.Restarts > restarts(pod) {
			w.Edit(pod.UID, func(p *corev1.Pod) { restartContainers(p, w.Now, l.Restarts) })
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
