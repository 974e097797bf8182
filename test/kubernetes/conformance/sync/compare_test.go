package sync

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var decisions = flag.Int("decisions", 104_000, "the number of trials of TestSync; about one in a hundred is impossible input")

// TestSync compares one sync with one decision, for many trials. It prints what the trials reached.
// The long run uses other seeds to find more.
func TestSync(t *testing.T) {
	fixture.Checks(t, *decisions)
	var all reach
	rapid.Check(t, func(t *rapid.T) { compare(t, drawTrial(t), &all) })
	all.print(os.Stdout)
	if !t.Failed() {
		all.check(t)
	}
}

// FuzzSync is TestSync for native fuzzing.
func FuzzSync(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		var r reach
		compare(t, drawTrial(t), &r)
	}))
}

// gates guards the feature gates. While a trial has one of them off, no other trial runs: the API
// server's defaults depend on the gates too.
var gates sync.RWMutex

// hold locks the gates for a trial, and returns a function that unlocks them.
func (c *trial) hold() func() {
	if c.noPerIndex || c.noReplace {
		gates.Lock()
		return gates.Unlock
	}
	gates.RLock()
	return gates.RUnlock
}

// compare runs both sides of a trial. It fails if they differ in more than the divergences.
func compare(t rapid.TB, c *trial, r *reach) {
	t.Helper()
	defer c.hold()()
	if c.impossible != "" {
		refuses(t, c)
		r.excuses.add("impossible-input")
		return
	}
	us := mustDecide(t, c)
	accepted(t, c, us)
	them := newRun(c)
	r.note(c, us)
	if same(them.outcome, us.out) {
		return
	}
	r.differed++
	used, diff := explain(us, them)
	if diff != "" {
		t.Fatalf("-real +jobfate\n%s\nexcuses tried: %v\nwithout any:\n%s\n%s",
			diff, used, cmp.Diff(them.outcome, us.out), describe(c))
	}
	for _, name := range used {
		r.excuses.add(name)
	}
}

// same returns the same as cmp.Equal in less time: it first checks for deep equality and for semantic
// inequality. This halves the time of a trial.
func same[T any](a, b T) bool {
	return reflect.DeepEqual(a, b) || semantic.DeepEqual(a, b) && cmp.Equal(a, b)
}

var semantic = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	if err := e.AddFunc(time.Time.Equal); err != nil {
		panic(err)
	}
	return e
}()

// refuses fails unless jobfate rejects the input with an error that names the field.
func refuses(t rapid.TB, c *trial) {
	t.Helper()
	_, err := syncOnce(c)
	if err == nil || !strings.Contains(err.Error(), c.impossible) {
		t.Fatalf("got error %v, want one that names %s\n%s", err, c.impossible, describe(c))
	}
}

// accepted fails unless the API server accepts every status of jobfate.
func accepted(t rapid.TB, c *trial, us *caller) {
	t.Helper()
	job := c.snapshot.Job
	for i, status := range []*batchv1.JobStatus{us.decision.Status, us.settlement.Status} {
		if status == nil {
			continue
		}
		next := job.DeepCopy()
		next.Status = *status
		if errs := apiserver.AcceptStatus(job, next); len(errs) > 0 {
			t.Fatalf("the API server rejects status %d of jobfate: %v\nbefore: %s\nafter: %s\n%s",
				i, errs, text(job.Status), text(status), describe(c))
		}
		job = next
	}
}

// A run is one sync of the real controller.
type run struct {
	in      real.Input
	out     real.Output
	outcome outcome
}

func newRun(c *trial) *run {
	r := &run{in: c.input()}
	r.sync()
	return r
}

// panicEvent is the type of the event that stands for a panic.
const panicEvent = "Panic"

// sync runs the controller. A panic becomes an outcome that never equals an outcome of jobfate.
func (r *run) sync() {
	r.out = real.Sync(r.in)
	r.outcome = newOutcome(&r.in, &r.out)
	if r.out.Panic != nil {
		r.outcome.Events = append(r.outcome.Events, real.Event{Type: panicEvent, Message: fmt.Sprint(r.out.Panic)})
	}
	r.free()
}

// free adds the orphans whose finalizer the controller removes outside a sync. The controller does
// that for every orphan. jobfate does it only for the orphans in its snapshot, which the Job
// selects and may not adopt: the divergence selected-orphan.
func (r *run) free() {
	finished := isFinished(r.in.Job)
	for _, pod := range r.in.Pods {
		switch {
		case metav1.GetControllerOf(pod) == nil && selects(r.in.Job, pod) && (finished || r.in.Job.DeletionTimestamp != nil || pod.DeletionTimestamp != nil):
		case controls(r.in.Job, pod) && finished && !(selects(r.in.Job, pod) && slices.Contains(r.in.Stripped, pod.UID)):
		default:
			continue
		}
		if real.StripsOrphan(pod, r.in.Job) {
			r.outcome.Freed = append(r.outcome.Freed, pod.Name)
		}
	}
	r.outcome.finish()
}

// describe prints a trial.
func describe(c *trial) string {
	var b strings.Builder
	s := &c.snapshot
	spec := s.Job.Spec
	spec.Template, spec.Selector = corev1.PodTemplateSpec{}, nil
	fmt.Fprintf(&b, "now %s restartPolicy %s deleted %v\nspec %s\nstatus %s\nin flight %+v\nbackoff %+v\nlimits %+v noPerIndex %v noReplace %v\nfail %+v\n",
		s.Now, s.Job.Spec.Template.Spec.RestartPolicy, s.Job.DeletionTimestamp, text(spec), text(s.Job.Status), s.InFlight, s.Backoff, c.limits, c.noPerIndex, c.noReplace, c.fail)
	for _, p := range inOrder(s) {
		fmt.Fprintf(&b, "  %s %q deleted=%v finalizers=%v owners=%d labels=%d annotations=%v created=%s node=%q %s\n",
			p.UID, p.Status.Phase, p.DeletionTimestamp, p.Finalizers, len(p.OwnerReferences), len(p.Labels), p.Annotations, p.CreationTimestamp, p.Spec.NodeName, text(p.Status))
	}
	return b.String()
}
