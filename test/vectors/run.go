package vectors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
)

// Run runs one sync of a Machine with the faults of the case, and returns the outcome. The
// memory of the Machine contains the pending writes. Run fails if jobfate rejects the
// snapshot.
func (c *Case) Run() (*Outcome, error) {
	r := run{Case: c, machine: machine.New(c.JobfateOptions()...), patched: map[types.UID]int{}}
	c.Remember(r.machine)
	inside.Decide(r.machine, inside.DeletingFirst)
	s := &c.Snapshot
	err := r.machine.Begin(machine.View{Job: Stored(s.Job), Pods: s.Pods, Now: s.Now, JobsVersion: shown,
		PodsVersion: shown, Barrier: shown})
	if err != nil {
		return nil, err
	}
	return r.outcome(r.machine.Run(r.answer))
}

// Stored returns a Job of a case as a cache shows it: with a resource version, also if the case
// leaves it out.
func Stored(job *batchv1.Job) *batchv1.Job {
	if job == nil || job.ResourceVersion != "" {
		return job
	}
	stored := *job
	stored.ResourceVersion = shown
	return &stored
}

// RefusedField returns the field of an error of Run. It is empty for other errors, and for errors
// about several fields.
func RefusedField(err error) string {
	if errors.Is(err, decide.ErrNotManaged) {
		return "spec.managedBy"
	}
	var input *decide.InputError
	if !errors.As(err, &input) || len(input.Fields) != 1 {
		return ""
	}
	return input.Fields[0].Field
}

// JobfateOptions returns the options of a case as options of jobfate.
func (c *Case) JobfateOptions() []decide.Option {
	o := &c.Options
	opts := []decide.Option{
		decide.MaxUncounted(o.MaxUncounted), decide.MaxChanges(o.MaxChanges), decide.MaxRemovals(o.MaxRemovals),
		decide.Backoff(backoff.Policy{Base: milliseconds(o.BackoffBaseMs), Cap: milliseconds(o.BackoffCapMs)}),
		decide.Throttle(milliseconds(o.Throttle.EveryMs), o.Throttle.Share),
	}
	for _, opt := range []struct {
		set    bool
		option decide.Option
	}{
		{o.BatchPeriodMs != 0, decide.BatchPeriod(milliseconds(o.BatchPeriodMs))},
		{o.WithoutPerIndex, decide.WithoutPerIndexBackoff()},
		{o.WithoutReplacement, decide.WithoutReplacementPolicy()},
		{o.FillFreeSlots, decide.FillFreeSlots()},
		{o.GranularReasons, decide.GranularReasons()},
		{len(o.RuleNames) > 0, decide.RuleNames(o.RuleNames...)},
		{o.WithoutFailurePolicy, decide.WithoutFailurePolicy()},
	} {
		if opt.set {
			opts = append(opts, opt.option)
		}
	}
	return opts
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (b *Backoff) record() backoff.Record {
	r := backoff.Record{Failures: b.Failures}
	if b.LastFailure != nil {
		r.LastFailure = *b.LastFailure
	}
	return r
}

// BackoffOf returns a record in the form of a case.
func BackoffOf(r backoff.Record) Backoff {
	b := Backoff{Failures: r.Failures}
	if !r.LastFailure.IsZero() {
		last := r.LastFailure.UTC()
		b.LastFailure = &last
	}
	return b
}

// run is one sync of a Machine, with an API server that injects the faults.
type run struct {
	*Case
	machine           *machine.Machine
	writes            Writes
	created, statuses int // the numbers of requests so far
	claimFailed       bool
	patched           map[types.UID]int // the number of patches of each pod
}

// answer records a request, and answers it.
func (r *run) answer(request machine.Request) (runtime.Object, error) {
	switch request.Verb {
	case machine.GetJob: // the live read before the first adoption
		r.claimFailed = r.Faults.Get != ""
		return Stored(r.Snapshot.Job).DeepCopy(), errorOf(r.Faults.Get)
	case machine.PatchPod:
		return r.patch(request)
	case machine.DeletePod:
		return nil, r.send(Write{Verb: Delete, Pod: request.Name}, r.Faults.Delete[request.Name])
	case machine.CreatePod:
		created, ordinal := request.Pod.DeepCopy(), r.created
		r.created++
		created.Name = fmt.Sprintf("%s%05d", created.GenerateName, ordinal)
		created.UID, created.ResourceVersion = types.UID(created.Name), pending
		return created, r.send(Write{Verb: Create, New: NewPodOf(request.Pod)}, r.Faults.Create[ordinal])
	case machine.PatchStatus:
		stored, ordinal := r.Snapshot.Job.DeepCopy(), r.statuses
		r.statuses++
		stored.Status, stored.ResourceVersion = *request.Status.DeepCopy(), pending
		return stored, r.send(Write{Verb: Status, Status: Normal(request.Status)}, r.Faults.Status[ordinal])
	}
	return nil, fmt.Errorf("a Machine with fresh caches sends the request %s", request.Verb)
}

// send records a write and returns its fault as an error.
func (r *run) send(w Write, fault string) error {
	r.writes.Add(w)
	return errorOf(fault)
}

func (r *run) patch(request machine.Request) (runtime.Object, error) {
	i := slices.IndexFunc(r.Snapshot.Pods, func(p *corev1.Pod) bool { return p.UID == request.UID })
	if i < 0 {
		return nil, fmt.Errorf("there is no pod %s to patch", request.UID)
	}
	pod := r.Snapshot.Pods[i].DeepCopy()
	pod.ResourceVersion = pending
	w := Write{Verb: r.purpose(request), Pod: request.Name}
	if w.Verb != Free {
		w.Patch = PatchOf(request.Patch)
	}
	fault := map[Verb]map[string]string{
		Adopt: r.Faults.Adopt, Release: r.Faults.Release, Untrack: r.Faults.Untrack, Strip: r.Faults.Strip,
	}[w.Verb][w.Pod]
	if w.Verb == Adopt || w.Verb == Release {
		r.claimFailed = r.claimFailed || fault != "" && fault != NotFound
	}
	return pod, r.send(w, fault)
}

// purpose returns the purpose of a patch of a pod: the first patch that the decision requires for
// the pod, in the order of a sync, and that has not been sent yet.
func (r *run) purpose(request machine.Request) Verb {
	if jobstatus.Finished(r.Snapshot.Job) != nil {
		return Free
	}
	d, due := r.machine.Result().Decision, []Verb(nil)
	for _, claim := range d.Claim {
		if claim.Pod.UID == request.UID {
			due = append(due, Verb(claim.Action))
		}
	}
	if slices.ContainsFunc(d.Delete, func(d decide.Deletion) bool {
		return d.StripFirst &&
			d.Pod.UID == request.UID
	}) {
		due = append(due, Untrack)
	}
	due = append(due, Strip)
	at := r.patched[request.UID]
	r.patched[request.UID]++
	return due[min(at, len(due)-1)]
}

// outcome returns the outcome of the sync.
func (r *run) outcome(result machine.Result) (*Outcome, error) {
	d := result.Decision
	if d.Facts() == nil { // the sync has come to no decision
		return nil, result.Err
	}
	out := &Outcome{Writes: r.writes.InOrder(), Action: d.Action, Finished: result.Ended, Left: Left(d.Deferred)}
	if !r.claimFailed {
		out.Requeue = d.Requeue.Milliseconds()
	}
	if jobstatus.Finished(r.Snapshot.Job) == nil { // the record of a finished Job is deleted
		out.Backoff = BackoffOf(inside.Memory(r.machine).Backoff)
	}
	for _, e := range result.Events {
		// skip the events about single pods
		if !strings.HasSuffix(e.Reason, "Create") && !strings.HasSuffix(e.Reason, "Delete") {
			out.Events = append(out.Events, Event{e.Type, e.Reason, e.Message})
		}
	}
	out.Metrics = CountsOf(result.Metrics)
	return out, nil
}

// CountsOf adds up the increments of each counter, by its name and labels.
func CountsOf(metrics []decide.Metric) (counts map[string]int64) {
	for _, m := range metrics {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			labels = append(labels, fmt.Sprintf("%s=%q", name, m.Labels[name]))
		}
		if counts == nil {
			counts = map[string]int64{}
		}
		counts[m.Name+"{"+strings.Join(labels, ",")+"}"] += m.Add
	}
	return counts
}

// errorOf returns a fault as an error of the API server; nil for no fault.
func errorOf(fault string) error {
	resource := schema.GroupResource{Resource: "objects"}
	switch fault {
	case "":
		return nil
	case NotFound:
		return apierrors.NewNotFound(resource, "name")
	case Conflict:
		return apierrors.NewConflict(resource, "name", errors.New("injected"))
	}
	return apierrors.NewInternalError(errors.New("injected"))
}
