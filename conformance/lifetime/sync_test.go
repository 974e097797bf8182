package lifetime

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/internal/memory"
)

// settings holds the settings of both controllers for a whole lifetime.
type settings struct {
	limits real.Limits
	// endsInFlight says that the deletions at the end of a Job are in flight until they are
	// observed, as in jobfate's protocol. The real controller does not wait for them.
	endsInFlight bool
}

func (h settings) options() []jobfate.Option {
	return []jobfate.Option{jobfate.MaxUncounted(h.limits.MaxUncounted), jobfate.MaxChanges(h.limits.MaxCreateDelete)}
}

// faults holds the writes that fail in one sync.
type faults struct {
	create   int // the number of the creation that fails, from 0; -1: none
	pods     uids
	deletion bool // whether the deletions of pods fail
	strip    bool // whether the removals of their finalizers fail
	status   int  // the number of the status write that fails, from 0; -1: none
}

func noFaults() faults { return faults{create: -1, status: -1} }

func (f faults) any() bool { return f.create >= 0 || f.status >= 0 || len(f.pods) > 0 }

// The deletion of a pod that is already gone cannot fail.

func (f faults) failsDeletion(w *world, uid types.UID) bool {
	return f.deletion && f.pods[uid] && w.Pod(uid) != nil
}

func (f faults) failsStrip(w *world, uid types.UID) bool {
	return f.strip && f.pods[uid] && builtin.HasFinalizer(w.Pod(uid))
}

// An outcome is the result of a sync.
type outcome struct {
	world   *world
	requeue time.Duration
	events  []real.Event
	// The writes that succeeded.
	created, deleted, stripped []types.UID
	statuses                   []*batchv1.JobStatus // sent, stored or not
	refused                    field.ErrorList      // by the API server's validation
	claimed                    int
	stale                      bool // a guarded patch was rejected because the pod had changed
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

// accept validates a status with the API server's own code.
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

// jobfateSync drives a Machine through one sync. The Machine starts with the memory of the world.
type jobfateSync struct {
	*outcome
	before   *world
	settings settings
	faults   faults
	machine  *jobfate.Machine
	decision jobfate.Decision // as it was carried out

	creations int         // sent so far
	counted   []types.UID // pods that have lost their finalizer and are counted
	ended     bool        // a status of the decision was not stored, which ended the sync
	broken    error       // an error that no correct request gets from an API server
}

func jobfateSyncs(before *world, h settings, f faults) (*outcome, jobfate.Decision, error) {
	j := &jobfateSync{outcome: &outcome{world: before.judged()}, before: before, settings: h, faults: f, machine: jobfate.NewMachine(h.options()...)}
	inside.DeleteFirst(j.machine) // single decisions are compared
	err := j.world.Run(j, j.world.cache).Err
	return j.outcome, j.decision, err
}

// The caches show everything up to version upTo, so that no status is newer than the pods. Writes
// in flight have the version later.
const upTo, later = "999999999", "1000000000"

// remembered returns the memory of a Machine with the writes in flight of the world.
func (w *world) remembered() memory.Memory {
	m := memory.Memory{
		Job: w.Job().UID, Backoff: w.memory, Sure: !w.inDoubt, Counted: memory.CountedBy(&w.Job().Status),
		Deleted: map[types.UID]memory.Deleted{}, Stripped: map[types.UID]memory.Stripped{},
	}
	for uid := range w.created {
		m.Created = append(m.Created, memory.Created{UID: uid, Version: later, At: w.Now})
	}
	for uid := range w.deleted {
		m.Deleted[uid] = memory.Deleted{Version: later}
	}
	for uid := range w.stripped {
		m.Stripped[uid] = memory.Stripped{Without: later}
	}
	return m
}

// Sync implements cluster.Controller.
func (j *jobfateSync) Sync(client *cluster.Client) (time.Duration, error) {
	*inside.Memory(j.machine) = j.before.remembered()
	err := j.machine.Begin(jobfate.View{
		Job: j.before.Job(), Pods: j.before.seen(), Now: j.before.Now, JobsVersion: upTo, PodsVersion: upTo, Barrier: upTo,
	})
	if err != nil {
		return 0, err
	}
	for batch := j.machine.Next(); len(batch) > 0; batch = j.machine.Next() {
		for _, r := range batch {
			object, err := j.send(client, r)
			if j.broken != nil {
				return 0, fmt.Errorf("%s %s: %w", r.Verb, r.Name, j.broken)
			}
			if err := j.machine.Answer(r, object, err); err != nil {
				return 0, err
			}
		}
	}
	d := j.machine.Result().Decision
	j.decision, j.requeue = d, d.Requeue
	// If the status cannot be stored, the Machine does not return the events and the requeue
	// of the decision. The comparison includes them, because the real controller has sent
	// its events by then.
	j.addEvents(d.Events)
	if j.ended {
		return 0, nil
	}
	j.world.memory, j.world.inDoubt = inside.Memory(j.machine).Backoff, false
	if j.machine.Result().Ended {
		j.addEvents(d.Settle(j.counted...).Events)
	}
	return d.Requeue, nil
}

// send sends a request, unless it must fail, and records the result.
func (j *jobfateSync) send(client *cluster.Client, r jobfate.Request) (runtime.Object, error) {
	switch r.Verb {
	case jobfate.GetJob:
		return client.GetJob()
	case jobfate.CreatePod:
		return j.create(client, r)
	case jobfate.DeletePod:
		return nil, j.delete(client, r)
	case jobfate.PatchPod:
		return j.patch(client, r)
	case jobfate.PatchStatus:
		return j.store(client, r)
	}
	j.broken = errors.New("a Machine with fresh caches does not send this request")
	return nil, j.broken
}

// store stores a status, unless the API server rejects it.
func (j *jobfateSync) store(client *cluster.Client, r jobfate.Request) (runtime.Object, error) {
	first := len(j.statuses) == 0 && j.machine.Result().Decision.Status != nil
	if j.faults.status == len(j.statuses) {
		j.ended = j.ended || first
		return nil, real.ErrConflict
	}
	if _, ok := j.accept(r.Status); !ok {
		j.ended = j.ended || first
		return nil, real.ErrInternal
	}
	job, err := client.PatchStatus(r.Patch)
	if err != nil {
		j.broken = err
	}
	return job, err
}

// patch adopts, releases or frees a pod, or removes its finalizer.
func (j *jobfateSync) patch(client *cluster.Client, r jobfate.Request) (runtime.Object, error) {
	claims := slices.ContainsFunc(j.machine.Result().Decision.Claim, func(c jobfate.Claim) bool { return c.Pod.UID == r.UID })
	guarded := bytes.Contains(r.Patch, []byte(`"resourceVersion"`))
	counts := !guarded && !bytes.Contains(r.Patch, []byte(`"ownerReferences"`))
	if counts && j.faults.failsStrip(j.before, r.UID) {
		return nil, real.ErrInternal
	}
	a, err := client.Send(&cluster.Request{Verb: cluster.Patch, Name: r.Name, UID: r.UID, Patch: r.Patch})
	if claims && !counts {
		j.claimed++
	}
	switch {
	case apierrors.IsConflict(err) && guarded && !claims:
		j.stale = true
	case err != nil && !apierrors.IsNotFound(err):
		j.broken = err
	case counts:
		j.noteStrip(r.UID)
		j.counted = append(j.counted, r.UID)
	}
	return a.Pod, err
}

func (j *jobfateSync) create(client *cluster.Client, r jobfate.Request) (runtime.Object, error) {
	j.creations++
	if j.creations-1 == j.faults.create {
		return nil, real.ErrInternal
	}
	pod, err := client.CreatePod(r.Pod)
	if err != nil {
		j.broken = err
		return nil, err
	}
	j.noteCreation(pod.UID)
	return pod, nil
}

func (j *jobfateSync) delete(client *cluster.Client, r jobfate.Request) error {
	if j.faults.failsDeletion(j.before, r.UID) {
		return real.ErrInternal
	}
	there := j.world.Pod(r.UID) != nil
	_, err := client.Send(&cluster.Request{Verb: cluster.Delete, Name: r.Name, UID: r.UID, Options: r.Options})
	if err != nil && !apierrors.IsNotFound(err) {
		j.broken = err
		return err
	}
	ends := slices.ContainsFunc(j.machine.Result().Decision.Delete, func(d jobfate.Deletion) bool { return d.Pod.UID == r.UID && inside.ForEnd(d) })
	j.noteDeletion(r.UID, there && (j.settings.endsInFlight || !ends))
	return err
}

// snapshot returns the input of a Machine's decision.
func snapshot(w *world) jobfate.Snapshot {
	s := jobfate.Snapshot{
		Job: w.Job(), Pods: w.seen(), Now: w.Now, Backoff: w.memory,
		InFlight: jobfate.InFlight{Creations: len(w.created), Deletions: len(w.deleted)},
	}
	s.InFlight.Stripped = slices.Sorted(maps.Keys(w.stripped))
	if w.inDoubt {
		s.Backoff.Job = ""
	}
	return s
}

func (o *outcome) addEvents(events []jobfate.Event) {
	for _, e := range events {
		o.events = append(o.events, real.Event{Type: e.Type, Reason: e.Reason, Message: e.Message})
	}
}

// kubernetesSyncs runs one sync of the real controller, and applies its writes to the world.
func kubernetesSyncs(before *world, h settings, f faults) (*outcome, real.Output) {
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
	expected := out.Deletions > len(before.deleted) // the controller does not expect the deletions at the end of a Job
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

// freeOrphans does what the real controller does from another queue: it removes the finalizer from
// pods that have no owner and were not adopted.
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

// toReal converts the faults for the client of the real controller. For a pod that is gone but still
// in the cache, the error is NotFound.
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
