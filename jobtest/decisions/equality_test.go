package decisions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/fuzztest"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/slowpath"
	"github.com/jobfate/jobfate/machine"
)

// observer is a Machine with a slow and simple record of what it is given.
type observer struct {
	machine *machine.Machine
	fed     bool // the list before the next decision has been passed
	pods    []*corev1.Pod
	inputs  []decide.Snapshot // the changes are drawn from these
	in      decide.Snapshot
	options []decide.Option
}

func (o *observer) list(pods []*corev1.Pod) {
	o.fed = false
	o.pods = slices.Clone(pods)
}

// feed replaces all pods with a name, and the pods with the UID of the new one.
func (o *observer) feed(name string, pod *corev1.Pod) {
	o.pods = slices.DeleteFunc(o.pods, func(p *corev1.Pod) bool { return p.Name == name || pod != nil && p.UID == pod.UID })
	if pod != nil {
		o.pods = append(o.pods, pod)
	}
	if o.fed {
		o.machine.Feed(name, pod)
	}
}

// decide returns the decision of the Machine, after comparing it with one from scratch.
func (o *observer) decide() (d decide.Decision, diff string) {
	inside.Decide(o.machine, func(s decide.Snapshot, option decide.Option, usual inside.Usual) (got decide.Decision, err error) {
		s.Pods, s.InFlight, s.Backoff, s.LastStatus = o.pods, o.in.InFlight, o.in.Backoff, o.in.LastStatus
		got, diff, err = slowpath.Compared(s, option, usual)
		return got, err
	})
	*inside.Memory(o.machine) = memory.Memory{Job: o.in.Job.UID}
	view := machine.View{Job: o.in.Job, Pods: o.pods, Fed: o.fed, Now: o.in.Now, JobsVersion: "9999",
		PodsVersion: "9999", Barrier: "1"}
	o.fed = o.machine.Begin(view, o.options...) == nil
	return o.machine.Result().Decision, diff
}

// step makes one change.
func (o *observer) step(t *rapid.T) {
	from := rapid.SampledFrom(o.inputs).Draw(t, "from")
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		o.list(from.Pods)
	case 1, 2, 3:
		if len(from.Pods) > 0 {
			pod := rapid.SampledFrom(from.Pods).Draw(t, "pod")
			if rapid.Bool().Draw(t, "copied") {
				pod = pod.DeepCopy()
			}
			o.feed(pod.Name, pod)
		}
	case 4:
		if len(o.pods) > 0 {
			o.feed(rapid.SampledFrom(o.pods).Draw(t, "gone").Name, nil)
		}
	case 5:
		o.in.Job = from.Job
	case 6:
		job := o.in.Job.DeepCopy()
		job.Status = from.Job.Status
		o.in.Job = job
	case 7:
		o.in.InFlight = from.InFlight
		o.in.InFlight.Status = rapid.IntRange(0, 4).Draw(t, "status in flight") == 0
		if o.in.Backoff = from.Backoff; rapid.Bool().Draw(t, "in doubt") {
			o.in.Backoff.Job = ""
		}
	case 8:
		o.in.Now = o.in.Now.Add(rapid.SampledFrom([]time.Duration{time.Second, -time.Second, time.Minute}).Draw(t, "time"))
	case 9:
		o.options = drawOptions(t)
	}
}

func drawOptions(t *rapid.T) (opts []decide.Option) {
	for i, opt := range []decide.Option{
		decide.FillFreeSlots(), decide.MaxUncounted(2), decide.MaxChanges(2), decide.MaxRemovals(2),
		decide.WithoutPerIndexBackoff(), decide.WithoutFailurePolicy(), decide.WithoutReplacementPolicy(),
		decide.FailLostPods(time.Second), decide.FailLostPods(time.Hour), decide.SucceedOnExitZero(),
	} {
		if rapid.IntRange(0, 4).Draw(t, fmt.Sprint("option ", i)) == 0 {
			opts = append(opts, opt)
		}
	}
	return opts
}

// check compares decisions. In some runs it then carries the decision out.
func (o *observer) check(t *rapid.T) {
	d, diff := o.decide()
	if diff != "" {
		t.Fatal(diff)
	}
	if f := d.Facts(); d.Action != "" && rapid.Bool().Draw(t, "stored") {
		job := o.in.Job.DeepCopy()
		job.Status = *f.Status.DeepCopy()
		for _, pod := range d.Strip {
			stripped := pod.DeepCopy()
			stripped.Finalizers = nil
			o.feed(pod.Name, stripped)
		}
		if settled := decidetest.Settle(d, d.Strip...); settled.Status != nil {
			job.Status = *settled.Status
		}
		o.in.Job = job
	}
}

// machineIsLikeDecide: after any sequence of inputs, the decision of a Machine is the same as a
// decision from scratch.
func machineIsLikeDecide(inputs *rapid.Generator[decide.Snapshot]) func(*rapid.T) {
	return func(t *rapid.T) {
		o := &observer{inputs: rapid.SliceOfN(inputs, 1, 3).Draw(t, "inputs"), machine: machine.New()}
		for i := range o.inputs {
			o.inputs[i].Pods = named(o.inputs[i].Pods)
		}
		o.in = o.inputs[0]
		o.list(o.in.Pods)
		o.check(t)
		for range rapid.IntRange(1, 8).Draw(t, "syncs") {
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				o.step(t)
			}
			o.check(t)
		}
	}
}

// named returns copies of pods with unique names.
func named(pods []*corev1.Pod) (out []*corev1.Pod) {
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.Name = "pod-" + string(pod.UID)
		out = append(out, pod)
	}
	return out
}

func TestSync_isLikeDecide(t *testing.T) {
	for name, inputs := range snapshotsOf {
		t.Run(name, func(t *testing.T) { rapid.Check(t, machineIsLikeDecide(inputs)) })
	}
}

func FuzzTally(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(machineIsLikeDecide(decidetest.Inputs(jobtest.Wild())))))
}

// During the lives of Jobs with lagging caches and interfering users, with lists and with fed
// pods, the caller compares every decision of its Machine with a decision from scratch.
func livesAreLikeDecide(t *rapid.T) {
	caller := jobtest.NewCaller(drawOptions(t)...)
	slowpath.Check(caller.Machine, 1)
	caller.Feeding = rapid.Bool().Draw(t, "feeding")
	caller.StatusElsewhere = rapid.Bool().Draw(t, "status elsewhere")
	jobtest.Lead(t, caller)
}

func TestMachine_isLikeDecide(t *testing.T) { rapid.Check(t, livesAreLikeDecide) }

func FuzzMachine_isLikeDecide(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(livesAreLikeDecide)))
}

// After a pod without a UID is fed, Begin returns an error, as for a list with such a pod,
// until a valid pod with its name is fed.
func TestFeed_withoutUID(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 1")
	view := fresh(job)
	view.Fed = true
	pod := decidetest.PodIn(job, 1, corev1.PodRunning)
	broken := pod.DeepCopy()
	broken.UID = ""
	m := machine.New()
	for _, tc := range []struct {
		pod   *corev1.Pod
		wrong bool
	}{{broken, true}, {pod, false}, {&corev1.Pod{}, true}} {
		m.Feed(pod.Name, tc.pod)
		if err := m.Begin(view); (err != nil) != tc.wrong {
			t.Errorf("Begin: %v, want an error: %t", err, tc.wrong)
		}
		if got := m.Result().Decision.Facts(); !tc.wrong && (len(got.Pods()) != 1 || got.Pods()[0].Pod != pod) {
			t.Errorf("the Machine knows %v, want the valid pod", got.Pods())
		}
	}
}

// The decisions are right for long lists of copies, as from a cache that copies its
// objects.
func TestSync_longLists(t *testing.T) {
	s := largeJob(300, true, failedJustNow)
	o := &observer{machine: machine.New(), in: s}
	for look := range 4 {
		pods := make([]*corev1.Pod, 0, len(s.Pods))
		for i, pod := range s.Pods {
			if look == 3 && i > 100 {
				pods = append(pods, pod) // from here on the same objects as before
				continue
			}
			pod = pod.DeepCopy()
			if i%7 == look {
				pod.Status.Phase = corev1.PodSucceeded
			}
			pods = append(pods, pod)
		}
		s.Pods = pods
		o.list(pods)
		if _, diff := o.decide(); diff != "" {
			t.Errorf("look %d: %s", look, diff)
		}
	}
}
