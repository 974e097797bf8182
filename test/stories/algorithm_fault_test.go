package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jobfate/jobfate/test/stories/script"
)

// Faults of writes, and stale caches, change the end of no scenario of these files. In other files they may: a crash
// delays the Job, and its successor counts the pods as failed that it finds terminating.
func TestAlgorithm_anyWriteMayFail(t *testing.T) {
	for _, file := range []string{"adoption", "algorithm", "backoff_delay", "deletion", "elastic", "freeing"} {
		datadriven.RunTest(t, "testdata/scenarios/"+file+".txt", func(t *testing.T, d *datadriven.TestData) string {
			if d.HasArg("only") && d.CmdArgs[1].Vals[0] != "jobfate" {
				return d.Expected
			}
			anyWriteMayFail(t, d)
			return d.Expected
		})
	}
}

func anyWriteMayFail(t *testing.T, d *datadriven.TestData) {
	s, err := script.Parse(d.Input)
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, f fault, stale string) (writes int) {
		t.Run(d.CmdArgs[0].Key+", "+name, func(t *testing.T) {
			w := newWorld(t)
			w.scenario, w.fault, w.stale = s, f, stale
			if got := w.play(s, d)[0]; got != strings.TrimSpace(d.Expected) {
				t.Errorf("the end is\n%s\nwant\n%s\n%s", got, d.Expected, w.Story())
			}
			if held := slices.IndexFunc(w.Pods(), builtin.HasFinalizer); held >= 0 {
				t.Errorf("%s still has its finalizer\n%s", shortName(w.Pods()[held]), w.Story())
			}
			writes = w.writes
		})
		return writes
	}
	for at := range run("no fault", fault{}, "") {
		for _, kind := range []faultKind{crashBefore, crashAfter, refuse, lose} {
			run(fmt.Sprintf("%s %d", kind, at+1), fault{at + 1, kind}, "")
		}
	}
	run("stale pods", fault{}, "pods")
	run("stale pods and Job", fault{}, "pods,jobs")
}

// runAll lets the controller create pods, and starts the pods.
func (w *world) runAll() {
	w.settle()
	for _, pod := range w.alive() {
		if pod.DeletionTimestamp == nil {
			w.Start(pod.UID)
		}
	}
	w.settle()
}
