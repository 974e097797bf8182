package scenario

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
	"github.com/jobfate/jobfate/stories/script"
)

// TestScripts plays the scenarios that stories runs in the simulated cluster with each controller, many
// at the same time.
func TestScripts(t *testing.T) {
	t.Parallel()
	playScripts(t, groups(t)[""], side{Side: world.Jobfate(jobfate)}, side{Side: world.BuiltIn(builtIn)})
}

// TestScriptsTogether plays those that do something to a controller: all of a group do it together.
func TestScriptsTogether(t *testing.T) {
	groups, ours, theirs := groups(t), side{Side: world.Jobfate(jobfate)}, side{Side: world.BuiltIn(builtIn)}
	t.Run("stop", func(t *testing.T) { playScripts(t, groups["stop"], ours.stopping(), theirs.stopping()) })
	t.Run("alone", func(t *testing.T) {
		for _, sides := range [][]side{{ours.stopping(), theirs}, {theirs.stopping(), ours}} {
			t.Run(sides[0].Name, func(t *testing.T) {
				standAside(t, sides[1].Controller)
				playScripts(t, groups["alone"], sides[0])
			})
		}
	})
	t.Run("lag", func(t *testing.T) {
		ours, theirs := jobfateProxied(t, "jobfate-late"), builtInProxied(t)
		for _, what := range []string{"jobs", "pods"} {
			t.Run(what, func(t *testing.T) {
				playScripts(t, groups["lag "+what], ours.lagging(what), theirs.lagging(what))
			})
		}
	})
}

// groups returns the scenarios by what they do to a controller.
func groups(t *testing.T) map[string][]datadriven.TestData {
	groups := map[string][]datadriven.TestData{}
	files, err := filepath.Glob("../../stories/testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		datadriven.RunTest(t, file, func(_ *testing.T, d *datadriven.TestData) string {
			group := ""
			for _, step := range []string{"stop", "lag jobs", "lag pods"} {
				if strings.Contains(d.Input, "\n"+step+"\n") {
					group = step
				}
			}
			if d.HasArg("alone") {
				group = "alone"
			}
			d.Cmd = strings.TrimSuffix(filepath.Base(file), ".txt") + " " + d.CmdArgs[0].Key
			groups[group] = append(groups[group], *d)
			return d.Expected
		})
	}
	return groups
}

// side is a controller, and what all scenarios do to it together.
type side struct {
	world.Side
	turns *turns
}

// lagging returns a controller whose events about a resource can be held back.
func (p proxied) lagging(resource string) side {
	var release func()
	return side{p.Side, newTurns(func() error { release = hold(p.Proxy, resource); return nil }, func() error { release(); return nil })}
}

// stopping returns a controller that can be stopped, and started with an empty memory.
func (s side) stopping() side {
	return side{s.Side, newTurns(func() error { return s.Stop() }, func() error { return s.Start() })} // of each process
}

// playScripts plays scenarios with some controllers at the same time.
func playScripts(t *testing.T, scripts []datadriven.TestData, sides ...side) {
	if len(scripts) == 0 {
		t.Fatal("no scenario")
	}
	for _, d := range scripts {
		t.Run(d.Cmd, func(t *testing.T) {
			t.Parallel()
			playScript(t, d, sides)
		})
	}
}

// playScript plays a scenario with some controllers, and compares the final states of the Job.
func playScript(t *testing.T, d datadriven.TestData, sides []side) {
	s, err := script.Parse(d.Input)
	if err != nil || d.Expected == "" {
		t.Fatalf("%s: no end, or %v", d.Pos, err)
	}
	turnsOf, plays := map[*server.Controller]*turns{}, []world.Side{}
	for _, side := range sides {
		only := "built-in"
		if side.ManagedBy != nil {
			only = "jobfate"
		}
		if !d.HasArg("only") || d.CmdArgs[1].Vals[0] == only {
			turnsOf[side.Controller], plays = side.turns, append(plays, side.Side)
		}
	}
	lives := func(p kubelet.Pod) kubelet.Life { return lifeOf(s.Life(p.Index, p.Attempt)) }
	play(t, lives, compare.Ends, func(w *world.World) {
		turns := turnsOf[w.Side.Controller]
		turns.join()
		w.T.Cleanup(turns.leave)
		s.Run(w.T, &scripted{World: w, turns: turns}, d.Expected)
	}, plays...)
}

// scripted is a world for scripts.
type scripted struct {
	*world.World
	turns    *turns
	endClock func() // while Jobs lag: ends a Job that is not the scenario's
}

func lifeOf(l script.Life) kubelet.Life {
	k := kubelet.Life{Stuck: l.Waits, Forever: l.Runs, Unready: l.Unready, Undying: l.Lingers,
		Restarts: l.Restarts, Running: time.Duration(l.After) * time.Second, End: kubelet.End{Exit: l.Exit, Lost: l.Lost}}
	k = k.Dying(l.Dies, 0)
	if l.Disrupted {
		k = k.Disrupted()
		k.Stop.Conditions = k.End.Conditions
	}
	return k
}

func (w *scripted) Create(spec batchv1.JobSpec) { w.World.Create(spec) }

func (w *scripted) Edit(change func(*batchv1.JobSpec)) {
	w.Update(func(job *batchv1.Job) { change(&job.Spec) })
}

func (w *scripted) DeleteJob(how metav1.DeletionPropagation) { w.Delete(how) }

func (w *scripted) Become(l script.Life, pods []*corev1.Pod) {
	if l.Runs && l.Restarts > 0 {
		for _, pod := range pods {
			restart(w.World, pod, l.Restarts)
		}
	}
	w.World.Become(lifeOf(l), pods...)
}

// restart restarts the containers of a pod, as its kubelet does.
func restart(w *world.World, pod *corev1.Pod, times int32) {
	w.T.Helper()
	pods := w.Client.CoreV1().Pods(w.Namespace)
	pod, err := pods.Get(w.T.Context(), pod.Name, metav1.GetOptions{})
	w.Must(err)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].RestartCount = times
	}
	_, err = pods.UpdateStatus(w.T.Context(), pod, metav1.UpdateOptions{})
	w.Must(err)
}

func (w *scripted) DeletePod(pod *corev1.Pod, force bool) {
	var o metav1.DeleteOptions
	if force {
		o.GracePeriodSeconds = new(int64(0))
	}
	w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, o))
}

func (w *scripted) Patch(pod *corev1.Pod, patch []byte) { patchPod(w.World, pod, string(patch)) }
func (w *scripted) Observed()                           { marker(w.World) }

func (w *scripted) Stop()  { w.Must(w.turns.take()) }
func (w *scripted) Start() { w.Must(w.turns.take()) }
func (w *scripted) Event(reason string) {
	w.When("event "+reason, func(*batchv1.Job, []*corev1.Pod) bool { return w.View.State().Event(reason) != nil })
}

// Lag holds back all events about Jobs, or about pods. Before, it begins another Job.
func (w *scripted) Lag(what string) {
	if what == "jobs" {
		w.endClock = beginClock(w.World)
	}
	w.Must(w.turns.take())
}

// CatchUp releases the events when the controller has handled all others.
func (w *scripted) CatchUp() {
	w.T.Helper()
	if w.endClock != nil {
		w.endClock()
		w.Must(w.turns.take())
		return
	}
	_, end := beginMarker(w.World)
	w.Must(w.turns.take())
	end()
}

func (w *scripted) State() (*batchv1.Job, []*corev1.Pod) { return parts(w.View.State()) }

func (w *scripted) When(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.World.When(what, func(s observe.State) bool { return holds(parts(s)) })
}

func (w *scripted) Always(what string, holds func(*batchv1.Job, []*corev1.Pod) bool) {
	w.View.Always(what, func(s observe.State) bool { return holds(parts(s)) })
}

// parts returns the Job and its pods, without those of markers.
func parts(s observe.State) (*batchv1.Job, []*corev1.Pod) {
	pods := slices.Collect(maps.Values(s.All))
	return s.Job, slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owner.Name != world.JobName
	})
}
