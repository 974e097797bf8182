package lifetime

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/jobtest/cluster"
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
	return []jobfate.Option{jobfate.MaxUncounted(h.limits.MaxUncounted), jobfate.MaxChanges(h.limits.MaxCreateDelete)}
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
	return f.deletion && f.pods[uid] && w.Pod(uid) != nil
}

func (f faults) failsStrip(w *world, uid types.UID) bool {
	return f.strip && f.pods[uid] && builtin.HasFinalizer(w.Pod(uid))
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

func (o *outcome) noteCreation(uid types.UID) {
	o.world.created[uid] = true
	o.created = append(o.created, uid)
}

func (o *outcome) noteDeletion(uid types.UID, inFlight bool) {
	if inFlight {
		o.world.deleted[uid] = true
	}
	o.deleted = append(o.deleted, uid)
}

func (o *outcome) noteStrip(uid types.UID) {
	o.world.stripped[uid] = true
	o.stripped = append(o.stripped, uid)
}

// accept asks the API server's own validation about a status.
func (o *outcome) accept(st *batchv1.JobStatus) (*batchv1.JobStatus, bool) {
	o.statuses = append(o.statuses, st)
	next := *o.world.Job()
	next.Status = *st
	stored, errs := apiserver.UpdateStatus(o.world.Job(), &next)
	if len(errs) > 0 {
		o.refused = errs
		return nil, false
	}
	return &stored.Status, true
}

// jobfateSync carries out one decision of jobfate, as doc.go of jobfate says.
type jobfateSync struct {
	*outcome
	before   *world
	habits   habits
	faults   faults
	decision jobfate.Decision
	gone     types.UID // a pod to claim that is gone: then it starts again
}

func jobfateSyncs(before *world, h habits, f faults) (*outcome, jobfate.Decision, error) {
	j := &jobfateSync{outcome: &outcome{world: before.judged()}, before: before, habits: h, faults: f}
	err := j.world.Run(j, j.world.cache).Err
	if j.gone != "" {
		again := before.judged()
		again.observe(j.gone)
		return jobfateSyncs(again, h, f)
	}
	return j.outcome, j.decision, err
}

// Sync implements cluster.Controller.
func (j *jobfateSync) Sync(client *cluster.Client) (time.Duration, error) {
	d, err := jobfate.Decide(snapshot(j.before), j.habits.options()...)
	j.decision = d
	if err != nil {
		return 0, err
	}
	if err := j.claim(client, d); err != nil || j.gone != "" {
		return 0, err
	}
	done, err := j.act(client, d)
	if err != nil {
		return 0, err
	}
	d = d.Revise(done)
	j.decision, j.requeue = d, d.Requeue
	j.tell(d.Events)
	// Events and Requeue of a decision whose status cannot be stored mean
	// nothing to a caller of jobfate. They are kept to be compared: the real
	// controller has sent them by then.
	if ok, err := j.store(client, d.Status, d.StatusPatch(j.world.Job().ResourceVersion)); !ok {
		return 0, err
	}
	j.world.memory, j.world.inDoubt = d.Backoff, false
	var gone []*corev1.Pod
	for _, pod := range d.Strip {
		if j.faults.failsStrip(j.before, pod.UID) {
			continue
		}
		if _, err := client.PatchPod(pod, builtin.StripPatch(pod)); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		j.noteStrip(pod.UID)
		gone = append(gone, pod)
	}
	settled := d.Settle(gone...)
	ok, err := j.store(client, settled.Status, settled.StatusPatch(j.world.Job().ResourceVersion))
	if ok {
		j.tell(settled.Events)
	}
	return d.Requeue, err
}

// store stores a status, if there is one, and reports whether to go on.
func (j *jobfateSync) store(client *cluster.Client, st *batchv1.JobStatus, patch []byte) (bool, error) {
	if st == nil {
		return true, nil
	}
	if j.faults.status == len(j.statuses) {
		return false, nil
	}
	if _, ok := j.accept(st); !ok {
		return false, nil
	}
	_, err := client.PatchStatus(patch)
	return err == nil, err
}

// claim adopts and releases pods, and frees orphans.
func (j *jobfateSync) claim(client *cluster.Client, d jobfate.Decision) error {
	for _, c := range d.Claim {
		j.claimed++
		_, err := client.PatchPod(c.Pod, c.Patch())
		switch {
		case err == nil:
		case !apierrors.IsNotFound(err):
			return err
		case c.Relation == tracking.Adoptable:
			j.gone = c.Pod.UID
			return nil
		}
	}
	return nil
}

// act deletes and creates pods, and tells what became of it.
func (j *jobfateSync) act(client *cluster.Client, d jobfate.Decision) (done jobfate.Done, err error) {
	for _, del := range d.Delete {
		deleted, err := j.delete(client, del)
		if err != nil {
			return done, err
		}
		if !deleted {
			done.NotDeleted = append(done.NotDeleted, del.Pod.UID)
		}
	}
	tried := 0
	for batch := 1; tried < len(d.Create) && done.NotCreated == 0; batch *= 2 {
		for range min(batch, len(d.Create)-tried) {
			if tried == j.faults.create {
				done.NotCreated++
			} else if pod, err := client.CreatePod(d.Create[tried].Pod()); err != nil {
				return done, err
			} else {
				j.noteCreation(pod.UID)
			}
			tried++
		}
	}
	done.NotCreated += len(d.Create) - tried
	return done, nil
}

func (j *jobfateSync) delete(client *cluster.Client, del jobfate.Deletion) (bool, error) {
	uid := del.Pod.UID
	there := j.world.Pod(uid) != nil
	if del.StripFirst {
		_, err := client.PatchPod(del.Pod, del.Patch())
		switch {
		case apierrors.IsConflict(err):
			j.stale = true
			return false, nil
		case err != nil && !apierrors.IsNotFound(err):
			return false, err
		}
	}
	if j.faults.failsDeletion(j.before, uid) {
		return false, nil
	}
	if err := client.DeletePod(del.Pod, del.Options()); err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	j.noteDeletion(uid, there && (j.habits.endsInFlight || del.Cause != jobfate.CauseJobEnds))
	return true, nil
}

func snapshot(w *world) jobfate.Snapshot {
	s := jobfate.Snapshot{
		Job: w.Job(), Pods: w.seen(), Now: w.Now, Backoff: w.memory, BackoffInDoubt: w.inDoubt,
		InFlight: jobfate.InFlight{Job: w.Job().UID, Creations: len(w.created), Deletions: len(w.deleted)},
	}
	for uid := range w.stripped {
		s.InFlight.Stripped = append(s.InFlight.Stripped, uid)
	}
	slices.Sort(s.InFlight.Stripped)
	return s
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
		Job: before.Job(), Pods: before.seen(), Now: before.Now, Validate: true, Limits: h.limits,
		Memory: real.Memory{Creations: len(before.created), Deletions: len(before.deleted), Stripped: snapshot(before).InFlight.Stripped},
	}
	if m := before.memory; m.Failures > 0 {
		in.Backoff = &real.Record{Failures: m.Failures, LastFailure: &m.LastFailure}
	}
	in.Fail = f.toReal(before)
	out := real.Sync(in)
	byName, adopted := map[string]types.UID{}, uids{}
	for _, pod := range before.seen() {
		byName[pod.Name] = pod.UID
	}
	expected := out.Deletions > len(before.deleted) // those with which a Job ends are not
	for _, c := range out.Calls {
		uid := byName[c.Pod]
		gone := before.Pod(uid) == nil
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
			sent := c.Object.DeepCopy()
			sent.Namespace = before.Job().Namespace
			o.noteCreation(o.world.Add(sent).UID)
		case c.Kind == real.Delete, c.Kind == real.StripToDelete && gone:
			o.world.Delete(uid, cluster.DefaultGrace)
			o.noteDeletion(uid, !gone && (h.endsInFlight || expected))
		case c.Kind == real.StripToDelete:
			o.world.strip(uid)
		case c.Kind == real.Strip:
			o.world.strip(uid)
			o.noteStrip(uid)
		}
	}
	o.freeOrphans(before, adopted)
	for _, delay := range out.Requeues {
		if o.requeue == 0 || delay < o.requeue {
			o.requeue = delay
		}
	}
	o.events = out.Events
	o.world.memory = backoff.Record{Job: before.Job().UID}
	if r := out.Backoff; r != nil && r.LastFailure != nil {
		o.world.memory.Failures, o.world.memory.LastFailure = r.Failures, *r.LastFailure
	}
	return o, out
}

// freeOrphans does what the real controller does from another queue: pods that
// nobody owns, and that it did not adopt, lose their finalizer.
func (o *outcome) freeOrphans(before *world, adopted uids) {
	for _, pod := range before.seen() {
		if len(pod.OwnerReferences) == 0 && !adopted[pod.UID] && real.StripsOrphan(pod, nil) {
			o.world.strip(pod.UID)
		}
	}
}

func (o *outcome) recordWrite(c real.Call) {
	if c.Err == nil {
		if st, ok := o.accept(c.Status); ok {
			o.world.SetStatus(*st)
		}
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
	for _, pod := range w.seen() {
		uid := pod.UID
		if w.Pod(uid) == nil {
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
