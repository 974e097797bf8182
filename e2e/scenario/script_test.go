package scenario

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
	"github.com/jobfate/jobfate/stories/script"
)

// TestScripts plays the scenarios that stories runs in the simulated cluster with each controller.
// Those that stop a controller are in restart.txt.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("../../stories/testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if filepath.Base(file) != "restart.txt" {
				t.Parallel()
			}
			var found []datadriven.TestData
			datadriven.RunTest(t, file, func(_ *testing.T, d *datadriven.TestData) string {
				found = append(found, *d)
				return d.Expected
			})
			for _, d := range found {
				t.Run(d.CmdArgs[0].Key, func(t *testing.T) { playScript(t, d) })
			}
		})
	}
}

// playScript plays a scenario, at the same time as others unless it stops a controller.
func playScript(t *testing.T, d datadriven.TestData) {
	if !strings.Contains(d.Input, "\nstop\n") {
		t.Parallel()
	}
	s, err := script.Parse(d.Input)
	if err != nil || d.Expected == "" {
		t.Fatalf("%s: no end, or %v", d.Pos, err)
	}
	lives := func(p kubelet.Pod) kubelet.Life { return lifeOf(s.Life(p.Index, p.Attempt)) }
	run := func(w *world.World) { s.Run(w.T, &scripted{World: w}, d.Expected) }
	if d.HasArg("only") {
		onlyJobfate(t, lives, run)
	} else {
		both(t, lives, run)
	}
}

// scripted is a world for scripts.
type scripted struct {
	*world.World
	stopped bool
}

func lifeOf(l script.Life) kubelet.Life {
	k := kubelet.Life{Stuck: l.Waits, Forever: l.Runs, Unready: l.Unready, Undying: l.Lingers, End: kubelet.End{Exit: l.Exit}}
	if l.Disrupted {
		k = k.Disrupted()
	}
	return k.Dying(l.Dies, 0)
}

func (w *scripted) Create(spec batchv1.JobSpec) { w.World.Create(spec) }

func (w *scripted) Edit(change func(*batchv1.JobSpec)) {
	w.Update(func(job *batchv1.Job) { change(&job.Spec) })
}

func (w *scripted) DeleteJob(how metav1.DeletionPropagation) { w.Delete(how) }

func (w *scripted) Become(l script.Life, pods []*corev1.Pod) { w.World.Become(lifeOf(l), pods...) }

func (w *scripted) DeletePod(pod *corev1.Pod, force bool) {
	var o metav1.DeleteOptions
	if force {
		o.GracePeriodSeconds = new(int64(0))
	}
	w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, o))
}

func (w *scripted) Patch(pod *corev1.Pod, patch []byte) { patchPod(w.World, pod, string(patch)) }
func (w *scripted) Observed()                           { marker(w.World) }

// Stop stops the controller, at most until the test ends, because other tests need it.
func (w *scripted) Stop() {
	w.Must(w.Side.Stop())
	w.stopped = true
	w.T.Cleanup(w.Start)
}

func (w *scripted) Start() {
	if w.stopped {
		w.stopped = false
		if err := w.Side.Start(); err != nil {
			w.T.Error(err)
		}
	}
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
