package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// KEP-2307 § Algorithm: "The algorithm assumes that the Job controller could be
// stopped at any point and executed again from the first step without losing
// information."

// story is a sequence of events until a Job ends.
type story struct {
	name, spec string
	happens    func(w *world)
	end        string // the shape of the last status
}

var stories = []story{
	{
		name: "a failure among successes",
		spec: "completions: 3\nparallelism: 2",
		happens: func(w *world) {
			w.runAll()
			w.End(w.alive()[0].UID, 1)
			w.settle()
			w.End(w.alive()[0].UID, 0)
		},
		end: `active=0 ready=0 terminating=0 succeeded=3 failed=1 completedIndexes="" failedIndexes=none uncounted=0 Complete=True:CompletionsReached SuccessCriteriaMet=True:CompletionsReached`,
	},
	{
		name: "an index that fails permanently",
		spec: "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1",
		happens: func(w *world) {
			w.runAll()
			w.exitIndexes(1, 1)
			w.pass()
			w.exitIndexes(1, 1)
			w.settle()
			w.exitIndexes(0, 0)
		},
		end: `active=0 ready=0 terminating=0 succeeded=2 failed=2 completedIndexes="0,2" failedIndexes="1" uncounted=0 Failed=True:FailedIndexes FailureTarget=True:FailedIndexes`,
	},
	{
		name: "suspended, resumed and scaled",
		spec: "completions: 3\nparallelism: 3\ncompletionMode: Indexed",
		happens: func(w *world) {
			w.runAll()
			w.exitIndexes(0, 1)
			w.edit("suspend: true")
			w.pass()
			w.edit("suspend: false")
			w.settle()
			w.edit("parallelism: 1")
			w.pass()
		},
		end: `active=0 ready=0 terminating=0 succeeded=3 failed=0 completedIndexes="0-2" failedIndexes=none uncounted=0 Complete=True:CompletionsReached SuccessCriteriaMet=True:CompletionsReached Suspended=False:JobResumed`,
	},
	{
		name: "failed by a rule while pods run",
		spec: `
completions: 3
parallelism: 3
podFailurePolicy:
  rules:
  - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
  - {action: FailJob, onExitCodes: {operator: In, values: [42]}}`,
		happens: func(w *world) {
			w.runAll()
			w.Disrupt(w.alive()[0].UID)
			w.End(w.alive()[0].UID, 137)
			w.pass()
			w.End(w.alive()[0].UID, 42)
			w.settle()
		},
		// One pod failed by the rule, and two were deleted because of it.
		end: `active=0 ready=0 terminating=0 succeeded=0 failed=3 completedIndexes="" failedIndexes=none uncounted=0 Failed=True:PodFailurePolicy FailureTarget=True:PodFailurePolicy`,
	},
	{
		name: "pods that are deleted, adopted and released",
		spec: "completions: 3\nparallelism: 3",
		happens: func(w *world) {
			w.runAll()
			pods := w.alive()
			w.Delete(pods[0].UID, 30)
			w.Edit(pods[1].UID, func(pod *corev1.Pod) { pod.OwnerReferences, pod.Finalizers = nil, nil })
			w.Edit(pods[2].UID, func(pod *corev1.Pod) { pod.Labels = map[string]string{"taken": "over"} })
			w.pass()
		},
		end: `active=0 ready=0 terminating=0 succeeded=3 failed=1 completedIndexes="" failedIndexes=none uncounted=0 Complete=True:CompletionsReached SuccessCriteriaMet=True:CompletionsReached`,
	},
	{
		name: "enough indexes for the success policy",
		spec: "completions: 4\nparallelism: 3\ncompletionMode: Indexed\nsuccessPolicy: {rules: [{succeededCount: 2}]}\npodReplacementPolicy: Failed",
		happens: func(w *world) {
			w.runAll()
			w.Delete(w.ofIndex(2), 30)
			w.settle()
			w.End(w.ofIndex(2), 143)
			w.pass()
			w.exitIndexes(0, 0, 1)
			w.settle()
		},
		end: `active=0 ready=0 terminating=0 succeeded=2 failed=1 completedIndexes="0,1" failedIndexes=none uncounted=0 Complete=True:SuccessPolicy SuccessCriteriaMet=True:SuccessPolicy`,
	},
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

// pass settles, waits for a delay if there is one, and ends terminating pods.
func (w *world) pass() {
	w.settle()
	if !w.next.IsZero() {
		w.wait()
	}
	for _, pod := range w.alive() {
		if pod.DeletionTimestamp != nil {
			w.End(pod.UID, 143)
		}
	}
	w.settle()
}

// play runs a story with a fault until the Job ends.
func (s story) play(t *testing.T, f fault) *world {
	t.Helper()
	w := newWorld(t, s.spec)
	w.fault = f
	s.happens(w)
	for range 20 {
		w.pass()
		if jobstatus.Finished(w.Job()) != nil {
			break
		}
		for _, pod := range w.alive() {
			if builtin.HasFinalizer(pod) {
				w.End(pod.UID, 0)
			}
		}
	}
	return w
}

func TestAlgorithm_anyWriteMayFail(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			undisturbed := s.play(t, fault{})
			if got := shape(&undisturbed.Job().Status); got != s.end {
				t.Fatalf("the end is\n%s\nwant\n%s\n%s", got, s.end, strings.Join(undisturbed.log, "\n"))
			}
			for at := 1; at <= undisturbed.writes; at++ {
				for _, kind := range []faultKind{crashBefore, crashAfter, refuse, lose} {
					t.Run(fmt.Sprintf("%s %d", kind, at), func(t *testing.T) {
						w := s.play(t, fault{at, kind})
						if got := shape(&w.Job().Status); got != s.end {
							t.Errorf("the end is\n%s\nwant\n%s\n%s", got, s.end, strings.Join(w.log, "\n"))
						}
						if held := slices.IndexFunc(w.Pods(), builtin.HasFinalizer); held >= 0 {
							t.Errorf("%s still has its finalizer\n%s", shortName(w.Pods()[held]), strings.Join(w.log, "\n"))
						}
					})
				}
			}
		})
	}
}

// The caches of Jobs and pods lag behind the writes of the controller. The controller creates,
// deletes and counts nothing twice, because it knows its writes in flight.
func TestAlgorithm_laggingViews(t *testing.T) {
	for _, jobToo := range []bool{true, false} {
		for _, s := range stories {
			t.Run(fmt.Sprintf("%s, Job too %t", s.name, jobToo), func(t *testing.T) {
				w := newWorld(t, s.spec)
				w.syncStale(jobToo)
				s.happens(w)
				for range 20 {
					w.syncStale(jobToo)
					w.pass()
					if jobstatus.Finished(w.Job()) != nil {
						break
					}
					for _, pod := range w.alive() {
						if builtin.HasFinalizer(pod) {
							w.End(pod.UID, 0)
						}
					}
				}
				if got := shape(&w.Job().Status); got != s.end {
					t.Errorf("the end is\n%s\nwant\n%s\n%s", got, s.end, strings.Join(w.log, "\n"))
				}
			})
		}
	}
}

// syncStale syncs once, and then twice more with the same stale caches.
func (w *world) syncStale(jobToo bool) {
	w.t.Helper()
	w.lag(jobToo)
	w.sync()
	made, pods := w.made, len(w.Pods())
	w.sync()
	w.sync()
	w.lags = false
	if w.made != made || len(w.Pods()) != pods {
		w.t.Fatalf("syncs with stale caches changed pods\n%s", strings.Join(w.log, "\n"))
	}
}
