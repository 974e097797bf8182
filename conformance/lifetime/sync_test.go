package lifetime

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/tracking"
)

// habits are what both controllers do alike throughout a lifetime.
type habits struct {
	limits real.Limits
	// endsInFlight says that the deletions with which a Job ends are in flight
	// until they are seen, as jobfate's protocol has it. The real controller
	// does not wait for them.
	endsInFlight bool
}

func (h habits) options() []jobfate.Option {
	return []jobfate.Option{jobfate.WithCaps(h.limits.MaxUncounted, h.limits.MaxCreateDelete)}
}

// faults are the writes that the API server refuses in one sync.
type faults struct {
	create   int // ordinal of the creation that fails; -1: none
	pods     uids
	deletion bool // whether the deletions of pods fail
	strip    bool // whether the removals of their finalizers fail
	status   int  // ordinal of the status write that fails; -1: none
}

func noFaults() faults { return faults{create: -1, status: -1} }

func (f faults) any() bool { return f.create >= 0 || f.status >= 0 || len(f.pods) > 0 }

// What is gone already cannot fail to go.

func (f faults) failsDeletion(w *world, uid types.UID) bool {
	return f.deletion && f.pods[uid] && w.pods[uid] != nil
}

func (f faults) failsStrip(w *world, uid types.UID) bool {
	return f.strip && f.pods[uid] && tracking.HasFinalizer(w.pods[uid])
}

// An outcome is what a sync leaves behind.
type outcome struct {
	world   *world
	requeue time.Duration
	events  []real.Event
	// What it did, in so far as it succeeded.
	created, deleted, stripped []types.UID
	statuses                   []*batchv1.JobStatus // sent, stored or not
	refused                    field.ErrorList      // by the API server's validation
	claimed                    int
	stale                      bool // a guarded patch met a pod that had changed
}

func (o *outcome) storeStatus(st *batchv1.JobStatus) bool {
	o.statuses = append(o.statuses, st)
	next := *o.world.job
	next.Status = *st
	stored, errs := apiserver.UpdateStatus(o.world.job, &next)
	if len(errs) > 0 {
		o.refused = errs
		return false
	}
	o.world.job = stored
	return true
}

func (o *outcome) create(sent *corev1.Pod) {
	uid := o.world.create(sent)
	o.world.created[uid] = true
	o.created = append(o.created, uid)
}

func (o *outcome) delete(uid types.UID, inFlight bool) {
	o.world.remove(uid, 30)
	if inFlight {
		o.world.deleted[uid] = true
	}
	o.deleted = append(o.deleted, uid)
}

func (o *outcome) strip(uid types.UID) {
	o.world.strip(uid)
	o.world.stripped[uid] = true
	o.stripped = append(o.stripped, uid)
}

// jobfateSyncs carries out one decision of jobfate, as doc.go of jobfate says.
func jobfateSyncs(before *world, h habits, f faults) (*outcome, jobfate.Decision, error) {
	o := &outcome{world: before.clone()}
	d, err := jobfate.Decide(snapshot(before), h.options()...)
	if err != nil {
		return o, d, err
	}
	if gone := o.claim(d); gone != "" {
		again := before.clone()
		again.observe(gone)
		return jobfateSyncs(again, h, f)
	}
	d = d.Revise(o.act(before, d, h, f))
	o.requeue = d.Requeue
	o.tell(d.Events)
	// Events and Requeue of a decision whose status cannot be stored mean
	// nothing to a caller of jobfate. They are kept to be compared: the real
	// controller has sent them by then.
	if d.Status != nil && (f.status == 0 || !o.storeStatus(d.Status)) {
		return o, d, nil
	}
	o.world.memory = d.Backoff
	var gone []*corev1.Pod
	for _, pod := range d.Strip {
		if !f.failsStrip(before, pod.UID) {
			o.strip(pod.UID)
			gone = append(gone, pod)
		}
	}
	settled := d.Settle(gone...)
	if settled.Status != nil && f.status != len(o.statuses) && o.storeStatus(settled.Status) {
		o.tell(settled.Events)
	}
	return o, d, nil
}

// claim adopts and releases pods, and frees orphans. It returns a pod that is
// gone, if it meets one: then the caller starts again.
func (o *outcome) claim(d jobfate.Decision) (gone types.UID) {
	for _, c := range d.Claim {
		o.claimed++
		switch uid := c.Pod.UID; c.Relation {
		case tracking.Adoptable:
			if o.world.pods[uid] == nil {
				return uid
			}
			o.world.adopt(uid)
		case tracking.Releasable:
			o.world.release(uid)
		case tracking.Orphaned:
			o.world.strip(uid)
		}
	}
	return ""
}

func snapshot(w *world) jobfate.Snapshot {
	s := jobfate.Snapshot{
		Job: w.job, Pods: w.view(), Now: w.now, Backoff: w.memory,
		InFlight: jobfate.InFlight{Job: w.job.UID, Creations: len(w.created), Deletions: len(w.deleted)},
	}
	for uid := range w.stripped {
		s.InFlight.Stripped = append(s.InFlight.Stripped, uid)
	}
	slices.Sort(s.InFlight.Stripped)
	return s
}

// act deletes and creates pods, and tells what became of it.
func (o *outcome) act(before *world, d jobfate.Decision, h habits, f faults) (done jobfate.Done) {
	for _, del := range d.Delete {
		pod := o.world.pods[del.Pod.UID]
		changed := del.StripFirst && pod != nil && pod.ResourceVersion != del.Pod.ResourceVersion
		o.stale = o.stale || changed
		if changed || f.failsDeletion(before, del.Pod.UID) {
			if !changed && del.StripFirst {
				o.world.strip(pod.UID)
			}
			done.NotDeleted = append(done.NotDeleted, del.Pod.UID)
			continue
		}
		if del.StripFirst {
			o.world.strip(del.Pod.UID)
		}
		o.delete(del.Pod.UID, pod != nil && (h.endsInFlight || del.Cause != jobfate.CauseJobEnds))
	}
	tried := 0
	for batch := 1; tried < len(d.Create) && done.NotCreated == 0; batch *= 2 {
		for range min(batch, len(d.Create)-tried) {
			if tried == f.create {
				done.NotCreated++
			} else {
				o.create(d.Create[tried].Pod)
			}
			tried++
		}
	}
	done.NotCreated += len(d.Create) - tried
	return done
}

func (o *outcome) tell(events []jobfate.Event) {
	for _, e := range events {
		o.events = append(o.events, real.Event{Type: string(e.Type), Reason: e.Reason, Message: e.Message})
	}
}

// kubernetesSyncs runs one sync of the real controller and lets its writes come
// true.
func kubernetesSyncs(before *world, h habits, f faults) (*outcome, real.Output) {
	o := &outcome{world: before.clone()}
	in := real.Input{
		Job: before.job, Pods: before.view(), Now: before.now, Validate: true, Limits: h.limits,
		Memory: real.Memory{Creations: len(before.created), Deletions: len(before.deleted), Stripped: snapshot(before).InFlight.Stripped},
	}
	if m := before.memory; m.Failures > 0 {
		in.Backoff = &real.Record{Failures: m.Failures, LastFailure: &m.LastFailure}
	}
	in.Fail = f.toReal(before)
	out := real.Sync(in)
	byName, adopted := map[string]types.UID{}, uids{}
	for uid, pod := range before.seen {
		byName[pod.Name] = uid
	}
	expected := out.Deletions > len(before.deleted) // those with which a Job ends are not
	for _, c := range out.Calls {
		uid := byName[c.Pod]
		gone := before.pods[uid] == nil
		switch {
		case c.Kind == real.WriteStatus:
			o.recordWrite(c)
		case c.Err != nil && !(gone && c.Err == real.ErrNotFound):
		case c.Kind == real.Adopt:
			o.world.adopt(uid)
			adopted[uid] = true
		case c.Kind == real.Release:
			o.world.release(uid)
		case c.Kind == real.Create:
			o.create(c.Object)
		case c.Kind == real.Delete, c.Kind == real.StripToDelete && gone:
			o.delete(uid, !gone && (h.endsInFlight || expected))
		case c.Kind == real.StripToDelete:
			o.world.strip(uid)
		case c.Kind == real.Strip:
			o.strip(uid)
		}
	}
	o.freeOrphans(before, adopted)
	for _, delay := range out.Requeues {
		if o.requeue == 0 || delay < o.requeue {
			o.requeue = delay
		}
	}
	o.events = out.Events
	o.world.memory = backoff.Record{Job: before.job.UID}
	if r := out.Backoff; r != nil && r.LastFailure != nil {
		o.world.memory.Failures, o.world.memory.LastFailure = r.Failures, *r.LastFailure
	}
	return o, out
}

// freeOrphans does what the real controller does from another queue: pods that
// nobody owns, and that it did not adopt, lose their finalizer.
func (o *outcome) freeOrphans(before *world, adopted uids) {
	for uid, pod := range before.seen {
		if len(pod.OwnerReferences) == 0 && !adopted[uid] && real.StripsOrphan(pod, nil) {
			o.world.strip(uid)
		}
	}
}

func (o *outcome) recordWrite(c real.Call) {
	if c.Err == nil {
		o.storeStatus(c.Status)
		return
	}
	o.statuses = append(o.statuses, c.Status)
	if c.Err != real.ErrConflict {
		o.refused = field.ErrorList{field.Invalid(nil, nil, c.Err.Error())}
	}
}

// toReal spells the faults as the real controller's client wants them. A pod
// that is gone, and that the cache still shows, is not found.
func (f faults) toReal(w *world) real.Faults {
	r := real.Faults{
		Create: map[int]error{}, Delete: map[string]error{}, Strip: map[string]error{},
		StripToDelete: map[string]error{}, Status: map[int]error{},
		Adopt: map[string]error{}, Release: map[string]error{},
	}
	if f.create >= 0 {
		r.Create[f.create] = real.ErrInternal
	}
	if f.status >= 0 {
		r.Status[f.status] = real.ErrConflict
	}
	for uid, pod := range w.seen {
		if w.pods[uid] == nil {
			r.Delete[pod.Name], r.Strip[pod.Name], r.StripToDelete[pod.Name] = real.ErrNotFound, real.ErrNotFound, real.ErrNotFound
			r.Adopt[pod.Name], r.Release[pod.Name] = real.ErrNotFound, real.ErrNotFound
		}
		if f.failsStrip(w, uid) {
			r.Strip[pod.Name] = real.ErrInternal
		}
		if f.failsDeletion(w, uid) {
			r.Delete[pod.Name] = real.ErrInternal
		}
	}
	return r
}
