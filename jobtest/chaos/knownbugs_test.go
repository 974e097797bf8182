package chaos

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest"
)

// wrong is the reference caller with a bug. The bug changes its view, its decisions or its
// requests.
type wrong struct {
	*cluster.Caller
	before func(*wrong)
	view   func(*cluster.View)
	ask    func(*cluster.Request)
	answer func(*cluster.Request, cluster.Answer, error) (cluster.Answer, error)
	after  func(time.Duration) time.Duration
}

// Sync implements cluster.Controller.
func (w *wrong) Sync(client *cluster.Client) (time.Duration, error) {
	if w.before != nil {
		w.before(w)
	}
	seen := *client
	if w.view != nil {
		seen.Pods = slices.Clone(seen.Pods)
		w.view(&seen.View)
	}
	seen.Send = func(q *cluster.Request) (cluster.Answer, error) {
		sent := *q
		if w.ask != nil {
			w.ask(&sent)
		}
		a, err := client.Send(&sent)
		if w.answer != nil {
			return w.answer(q, a, err)
		}
		return a, err
	}
	wait, err := w.Caller.Sync(&seen)
	if w.after != nil {
		wait = w.after(wait)
	}
	return wait, err
}

// syncing is a controller that is a function.
type syncing func(*cluster.Client) (time.Duration, error)

// Sync implements cluster.Controller.
func (s syncing) Sync(client *cluster.Client) (time.Duration, error) { return s(client) }

// amended is a caller with changed decisions.
func amended(how func(jobfate.Snapshot, *jobfate.Decision)) func() cluster.Controller {
	return func() cluster.Controller {
		caller := jobtest.NewCaller()
		caller.Guard = nil // the referee is to find it
		inside.Amend(caller.Machine, how)
		return caller
	}
}

// asking is a caller with changed requests.
func asking(how func(*cluster.Request)) func() cluster.Controller {
	return func() cluster.Controller { return &wrong{Caller: jobtest.NewCaller(), ask: how} }
}

// looking is a caller with a changed view.
func looking(how func(*cluster.View)) func() cluster.Controller {
	return func() cluster.Controller { return &wrong{Caller: jobtest.NewCaller(), view: how} }
}

// rewriting is a caller with changed status patches.
func rewriting(how func(map[string]any)) func() cluster.Controller {
	return asking(func(q *cluster.Request) {
		if q.Verb == cluster.Status {
			var p map[string]any
			if json.Unmarshal(q.Patch, &p) == nil {
				how(p["status"].(map[string]any))
				q.Patch, _ = json.Marshal(p)
			}
		}
	})
}

// changed applies a change to a copy of each pod of a view.
func changed(how func(*batchv1.Job, *corev1.Pod)) func(*cluster.View) {
	return func(v *cluster.View) {
		for i, pod := range v.Pods {
			if v.Job != nil {
				v.Pods[i] = pod.DeepCopy()
				how(v.Job, v.Pods[i])
			}
		}
	}
}

// spec is a caller that sees another spec than the stored one.
func spec(how func(*batchv1.JobSpec)) func() cluster.Controller {
	return looking(func(v *cluster.View) {
		if v.Job != nil {
			v.Job = v.Job.DeepCopy()
			how(&v.Job.Spec)
		}
	})
}

// foundBy has a seed for each bug that few runs find. The test tries it first. If the
// generator has changed since, the test must find another seed, which takes longer.
var foundBy = map[string]uint64{
	"maxFailedIndexes is ignored": 1809,
	"FailJob is read as Count":    137,
	"seen, a pod that fails the Job is counted before the verdict is stored":         1559,
	"k131917, k142142, memory is keyed by the name":                                  965,
	"seen, k125410, k111646, a counted pod is classified again when its phase flips": 483,
	"a creation is sent again and counted although its pod has finished":             479,
	"a lost creation is reported as rejected":                                        249,
	"KEP-3329, a rule other than the first match decides":                            195,
}

// seedsFor returns the seeds to try. A run with one of them must find the bug.
func seedsFor(bug string) []uint64 {
	const runs = 3000
	all := []uint64{foundBy[bug]}
	for seed := range uint64(runs) {
		all = append(all, seed)
	}
	return all
}

// TestPutBack injects known bugs, one at a time, and requires that a run finds each. The
// names refer to issues and pull requests of kubernetes/kubernetes; "seen" marks bugs of
// release 1.37.
func TestPutBack(t *testing.T) {
	for _, bug := range slices.Concat(knownBugs, misread) {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range seedsFor(bug.name) {
				cfg := Config{Seed: seed, Mode: Liveness, Controller: bug.controller, Retries: -1}
				if bug.job != nil {
					cfg.Job = Job(seed)
					bug.job(&cfg.Job.Spec)
				}
				if v := Run(cfg).Violation; v != nil && slices.Contains(strings.Fields(bug.property), v.Property) {
					t.Logf("seed %d: %v", seed, v)
					return
				}
			}
			t.Error("no run finds it")
		})
	}
}
