package decisions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/fuzztest"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/internal/slowpath"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// observer is a tally with a slow and simple record of its inputs.
type observer struct {
	tally  decide.Tally
	pods   []*corev1.Pod
	inputs []decide.Input // the changes are drawn from these inputs
	in     decide.Input
	config decide.Config
}

func (o *observer) list(pods []*corev1.Pod) {
	o.tally.List(pods)
	o.pods = slices.Clone(pods)
}

// feed replaces all pods with a name, and the pods with the UID of the new one.
func (o *observer) feed(name string, pod *corev1.Pod) {
	o.tally.Feed(name, pod)
	o.pods = slices.DeleteFunc(o.pods, func(p *corev1.Pod) bool { return p.Name == name || pod != nil && p.UID == pod.UID })
	if pod != nil {
		o.pods = append(o.pods, pod)
	}
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
		o.config = inside.MachineOf(jobfate.NewMachine(drawOptions(t)...)).Config
	}
}

func drawOptions(t *rapid.T) (opts []jobfate.Option) {
	for i, opt := range []jobfate.Option{
		jobfate.FillFreeSlots(), jobfate.MaxUncounted(2), jobfate.MaxChanges(2), jobfate.MaxRemovals(2),
		jobfate.WithoutPerIndexBackoff(), jobfate.WithoutFailurePolicy(), jobfate.WithoutReplacementPolicy(),
	} {
		if rapid.IntRange(0, 4).Draw(t, fmt.Sprint("option ", i)) == 0 {
			opts = append(opts, opt)
		}
	}
	return opts
}

// decide compares the decision of the tally with a decision from scratch. In some runs it
// then carries the decision out.
func (o *observer) decide(t *rapid.T) {
	in := o.in
	got, err := o.tally.Decide(in, &o.config)
	in.Pods = o.pods
	want, wantErr := decide.Decide(in, o.config)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("the tally: %v, from scratch: %v", err, wantErr)
	}
	if err != nil {
		return
	}
	if diff := slowpath.Diff(got, want); diff != "" {
		t.Fatal(diff)
	}
	if rapid.Bool().Draw(t, "stored") && got.Planned() {
		job := o.in.Job.DeepCopy()
		job.Status = *got.Status.DeepCopy()
		for _, pod := range got.Strip {
			stripped := pod.DeepCopy()
			stripped.Finalizers = nil
			o.feed(pod.Name, stripped)
		}
		if settled := got.Settle(podUIDs(got.Strip)); settled.Status != nil {
			job.Status = *settled.Status
		}
		o.in.Job = job
	}
}

// tallyIsLikeDecide: after any sequence of inputs, the decision of a tally is the same as a
// decision from scratch.
func tallyIsLikeDecide(inputs *rapid.Generator[decide.Input]) func(*rapid.T) {
	return func(t *rapid.T) {
		o := &observer{inputs: rapid.SliceOfN(inputs, 1, 3).Draw(t, "inputs"), config: decide.DefaultConfig()}
		for i := range o.inputs {
			o.inputs[i].Pods = named(o.inputs[i].Pods)
		}
		o.in = o.inputs[0]
		o.list(o.in.Pods)
		o.decide(t)
		for range rapid.IntRange(1, 8).Draw(t, "syncs") {
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				o.step(t)
			}
			o.decide(t)
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

func TestTally_isLikeDecide(t *testing.T) {
	for name, inputs := range snapshotsOf {
		t.Run(name, func(t *testing.T) { rapid.Check(t, tallyIsLikeDecide(inputs)) })
	}
}

func FuzzTally(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(tallyIsLikeDecide(decidetest.Inputs(jobtest.Wild())))))
}

// During the lives of Jobs with lagging caches and interfering users, with lists and with fed
// pods, the caller compares every decision of its Machine with a decision from scratch.
func livesAreLikeDecide(t *rapid.T) {
	caller := cluster.NewCaller(drawOptions(t)...)
	caller.Feeding = rapid.Bool().Draw(t, "feeding")
	jobtest.Lead(t, caller)
}

func TestMachine_isLikeDecide(t *testing.T) { rapid.Check(t, livesAreLikeDecide) }

func FuzzMachine_isLikeDecide(f *testing.F) {
	f.Fuzz(fuzztest.Target(rapid.MakeFuzz(livesAreLikeDecide)))
}

// After a pod without a UID is fed, Begin returns an error, as for a list with such a pod,
// until a valid pod with its name is fed.
func TestFeed_withoutUID(t *testing.T) {
	m, job := jobfate.NewMachine(), decidetest.SpecJob(t, "completions: 1")
	view := jobfate.View{Job: job, Now: jobtest.Noon(), Fed: true, JobsVersion: "9", PodsVersion: "9", Barrier: "9"}
	m.Feed("a", &corev1.Pod{})
	pod := decidetest.PodIn(job, 1, corev1.PodRunning)
	broken := pod.DeepCopy()
	broken.UID = ""
	for _, tc := range []struct {
		pod   *corev1.Pod
		wrong bool
	}{{broken, true}, {broken, true}, {pod, false}} {
		m = jobfate.NewMachine()
		m.Feed(pod.Name, tc.pod)
		if err := m.Begin(view); (err != nil) != tc.wrong {
			t.Errorf("Begin: %v, want an error: %t", err, tc.wrong)
		}
	}
	m = jobfate.NewMachine()
	m.Feed(pod.Name, broken)
	if err := m.Begin(view); err == nil {
		t.Fatal("a pod without a UID was accepted")
	}
	m.Feed(pod.Name, pod)
	if err := m.Begin(view); err != nil {
		t.Errorf("with a valid pod: %v", err)
	}
	if got := fmt.Sprint(inside.MachineOf(m).Cached()[0].UID); got != string(pod.UID) {
		t.Errorf("the Machine knows %s, want %s", got, pod.UID)
	}
}

// A later list replaces the pods that were fed, and feeding a pod twice changes nothing.
func TestFeed_listReplaces(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 2\nparallelism: 2")
	pods := []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodRunning), decidetest.PodIn(job, 2, corev1.PodRunning)}
	pods[0].Name, pods[1].Name = "a", "b"
	view := jobfate.View{Job: job, Now: jobtest.Noon(), Fed: true, JobsVersion: "9", PodsVersion: "9", Barrier: "9"}
	m := jobfate.NewMachine()
	active := func(view jobfate.View) int32 {
		t.Helper()
		if err := m.Begin(view); err != nil {
			t.Fatal(err)
		}
		return inside.OutcomeOf(m.Result().Decision).View.Census.Active
	}
	list := view
	list.Fed, list.Pods = false, pods[:1]
	for _, tc := range []struct {
		what string
		feed func()
		view jobfate.View
		want int32
	}{
		{"nothing fed", func() {}, view, 0},
		{"one fed", func() { m.Feed("a", pods[0]) }, view, 1},
		{"fed again", func() { m.Feed("a", pods[0]); m.Feed("a", pods[0]) }, view, 1},
		{"another fed", func() { m.Feed("b", pods[1]) }, view, 2},
		{"a list", func() { m.Feed("b", pods[1]) }, list, 1},
		{"nothing fed after the list", func() {}, view, 1},
		{"one fed after the list", func() { m.Feed("b", pods[1]) }, view, 2},
		{"absent", func() { m.Feed("a", nil); m.Feed("none", nil) }, view, 1},
	} {
		tc.feed()
		if got := active(tc.view); got != tc.want {
			t.Errorf("%s: %d active pods, want %d", tc.what, got, tc.want)
		}
	}
}

func podUIDs(pods []*corev1.Pod) (uids []types.UID) {
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return uids
}

// The decisions are right for long lists of copies, as from a cache that copies its
// objects.
func TestTally_longLists(t *testing.T) {
	s := decidetest.Input(largeJob(300, true, failedJustNow))
	var tally decide.Tally
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
		tally.List(pods)
		config := decide.DefaultConfig()
		got, err := tally.Decide(s, &config)
		want, wantErr := decide.Decide(s, decide.DefaultConfig())
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		if diff := slowpath.Diff(got, want); diff != "" {
			t.Errorf("look %d: %s", look, diff)
		}
	}
}
