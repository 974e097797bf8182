package stories

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/stories/script"
)

// TestScripts runs the scenarios of testdata/scenarios, which e2e/scenario runs on a real API
// server, in the simulated cluster. The result of a scenario is the last status.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				s, err := script.Parse(d.Input)
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				w := &simulated{t: t, pos: d.Pos, script: s, lives: map[types.UID]script.Life{}}
				end := d.Expected
				if d.Rewrite {
					end = ""
				}
				s.Run(t, w, end)
				w.Observed()
				return script.Text(w.State()) + "\n"
			})
		})
	}
}

// simulated is a world with a kubelet. Whatever can happen happens when the scenario waits.
type simulated struct {
	*world
	t       *testing.T
	pos     string
	script  script.Scenario
	lives   map[types.UID]script.Life
	always  []func()
	stopped bool
}

func (w *simulated) Create(spec batchv1.JobSpec) {
	w.t.Helper()
	w.world = &world{}
	w.beginJob(w.t, &batchv1.Job{Spec: spec})
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
		next, err := cluster.PatchPod(p, patch)
		if err != nil {
			w.t.Fatal(err)
		}
		*p = *next
	})
}

func (w *simulated) Stop()     { w.stopped = true }
func (w *simulated) Start()    { w.stopped = false; w.restart(); w.next = w.Now }
func (w *simulated) Observed() { w.settle() }

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
		if w.stopped || w.next.IsZero() {
			w.t.Fatalf("%s: the status stays\n%s\nwant\n%s\n%s", w.pos, script.Text(w.State()), what, strings.Join(w.log, "\n"))
		}
		w.Now, w.next = w.next, time.Time{}
	}
}

// act lets the kubelet do what is due, which takes a second, and reports whether it did anything.
func (w *simulated) act() bool {
	before := w.Version()
	for n, pod := range w.Pods() {
		l, ok := w.lives[pod.UID]
		if !ok {
			index := builtin.IndexOf(pod)
			earlier := slices.DeleteFunc(w.Pods()[:n:n], func(p *corev1.Pod) bool { return builtin.IndexOf(p) != index })
			l = w.script.Life(int(index), len(earlier))
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
	switch {
	case cluster.HasEnded(pod) || l.Waits && pod.DeletionTimestamp == nil:
	case pod.DeletionTimestamp != nil && l.Lingers:
	case pod.DeletionTimestamp != nil:
		w.End(pod.UID, l.Dies)
	case l.Runs:
		w.world.Start(pod.UID)
		if l.Unready {
			w.Ready(pod.UID, corev1.ConditionFalse)
		}
	default:
		if l.Disrupted {
			w.Disrupt(pod.UID)
		}
		w.End(pod.UID, l.Exit)
	}
}
