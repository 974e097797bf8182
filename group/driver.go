package group

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Driver carries out plans. It takes what the caches show, and returns the requests to send, one batch after another.
// It remembers nothing from one sync to the next, so the zero Driver is ready to use, one may serve all groups, and a
// crash loses nothing. It is not safe for concurrent use, and must not be copied.
type Driver struct {
	view   View // what the plan is made of; of the caches only until the owner was read live
	policy prepared
	plan   Plan
	step   driverStep
	batch  []driverExchange // the requests of the step
	// confirmed says that the owner was read again, because a member is of a later attempt.
	confirmed bool
	created   int // how many creations were sent
	lastID    uint64
	result    Result
}

// View is what the caller has read: all that the caches hold for Begin, and in an answer what was asked for.
type View struct {
	// Owner is the object that holds the state.
	Owner Owner
	// Members has one element for each member of the group, whether or not it has an object. The objects are those
	// that the owner controls, by its UID.
	Members []Object
	// Now is the one reading of the clock of a sync. Answers need none.
	Now time.Time
}

// Verb is the kind of a [Request].
type Verb uint8

// The verbs. Reads must be live, never from a cache.
const (
	GetOwner    Verb = iota + 1 // answer with View.Owner
	ListMembers                 // answer with View.Members, for the owner that was read last
	StoreState                  // answer with View.Owner.ResourceVersion
	DeleteMember
	CreateMember
)

var verbNames = [...]string{"", "get the owner", "list the members", "store the state", "delete a member",
	"create a member"}

// String names the verb.
func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return fmt.Sprintf("Verb(%d)", uint8(v))
}

// Request is a request to the API server, with everything that the call needs.
type Request struct {
	// ID is unique among the requests of a Driver.
	ID   uint64
	Verb Verb
	// UID is that of the owner or, for DeleteMember, of the object. StoreState and DeleteMember must fail if the
	// object has another one.
	UID types.UID
	// ResourceVersion is the version that the owner must have for StoreState to succeed.
	ResourceVersion string
	// Plan has the State to store, why it changes and, for the rest of a status, what the members do. It is valid until
	// the next call of Next. For another verb than StoreState it is nil.
	Plan *Plan
	// Member is the member to delete or create, Object the object to delete, and Attempt the attempt that the new
	// object belongs to.
	Member  Member
	Object  Object
	Attempt int32
}

// Result is the result of a sync.
type Result struct {
	// Plan is the last plan of the sync. It says what the members do, and is valid until the next Begin.
	Plan *Plan
	// Requeue is the longest time until the next sync; 0 when none is needed until the owner or a member changes.
	Requeue time.Duration
	// Err says why the sync did not do everything that was due. Retry soon. An *UnknownVersionError, an invalid policy
	// and a state that was lost are for people: report them.
	Err error
	// Lost says that the state was lost, and why. Err has it too.
	Lost *OldStateError
	// RetryAfter is the least time to wait before that retry, as the API server asked.
	RetryAfter time.Duration
	// Gone says that there is no owner, or that it is being deleted.
	Gone bool
}

// driverExchange is a request and its answer.
type driverExchange struct {
	Request
	answer   View
	err      error
	answered bool
}

// driverStep is what the requests of a batch are for.
type driverStep uint8

const (
	over driverStep = iota
	readOwner
	listMembers
	confirmOwner
	storeState
	deleteMembers
	createMembers
)

var (
	errNoAnswer  = errors.New("the request was not answered")
	errReplaced  = errors.New("the owner was replaced while it was read")
	errNoVersion = errors.New("the owner has no resource version: no state can be stored")
)

// Begin begins a sync. It abandons an earlier one that is not finished.
func (d *Driver) Begin(v View) {
	d.view, d.policy, d.step, d.batch = v, prepared{policy: v.Owner.Policy}, over, d.batch[:0]
	d.confirmed, d.created, d.result = false, 0, Result{}
	if d.gone() {
		return
	}
	err := d.plan.look(v.Owner.State, v.Members, v.Now)
	p := &d.plan
	switch {
	case err != nil && lost(err) == nil:
		d.end(err)
	case err != nil, d.invalid(), p.Changed, len(p.failed)+len(p.Delete)+len(p.Create) > 0, p.done(v.Members):
		d.step = readOwner // caches lag: nothing is done before live reads say the same
	}
}

// lost returns the error that says that the state was lost; nil for another error.
func lost(err error) *OldStateError {
	old, _ := errors.AsType[*OldStateError](err)
	return old
}

// invalid reports whether the group has to fail because it cannot be created.
func (d *Driver) invalid() bool {
	return d.view.Owner.Invalid != nil && !d.view.Owner.State.Phase.ended()
}

// Next returns the requests to send next, in any order or concurrently; none when the sync is over. A request without
// an answer counts as one whose answer was lost.
func (d *Driver) Next() (requests []Request) {
	if len(d.batch) > 0 {
		d.handle()
		d.batch = d.batch[:0]
	}
	d.ask()
	for i := range d.batch {
		requests = append(requests, d.batch[i].Request)
	}
	return requests
}

// Answer takes what the client returned for a request: what was read, or the error, unchanged. An answer to a request
// that Next has not just returned, or a second one, is an error and does no harm.
func (d *Driver) Answer(r Request, answer View, err error) error {
	for i := range d.batch {
		if x := &d.batch[i]; x.ID == r.ID && !x.answered {
			x.answer, x.err, x.answered = answer, err, true
			return nil
		}
	}
	return fmt.Errorf("no answer is expected to request %d", r.ID)
}

// Run sends all requests of the sync, one after another, and returns the result. To stop between two requests, or to
// send those of a batch concurrently, call Next and Answer as Run does.
func (d *Driver) Run(send func(Request) (View, error)) Result {
	for batch := d.Next(); len(batch) > 0; batch = d.Next() {
		for _, r := range batch {
			answer, err := send(r)
			_ = d.Answer(r, answer, err) // r is known: Next has just returned it
		}
	}
	return d.Result()
}

// Result returns the result of the sync.
func (d *Driver) Result() Result {
	r := d.result
	r.Plan, r.Requeue = &d.plan, d.plan.Wait
	return r
}

// ask makes the requests of the step.
func (d *Driver) ask() {
	owner := &d.view.Owner
	if d.step == deleteMembers && len(d.plan.Delete) == 0 {
		d.step = createMembers
	}
	switch d.step {
	case readOwner, confirmOwner:
		d.request(Request{Verb: GetOwner, UID: owner.UID})
	case listMembers:
		d.request(Request{Verb: ListMembers, UID: owner.UID})
	case storeState:
		d.request(Request{Verb: StoreState, UID: owner.UID, ResourceVersion: owner.ResourceVersion, Plan: &d.plan})
	case deleteMembers:
		for _, o := range d.plan.Delete {
			d.request(Request{Verb: DeleteMember, UID: o.UID(), Member: o.Of(), Object: o})
		}
	case createMembers: // 1, 2, 4 and so on: a quota that refuses one refuses the others too
		rest := d.plan.Create[d.created:]
		for _, m := range rest[:min(d.created+1, len(rest))] {
			d.request(Request{Verb: CreateMember, UID: owner.UID, Member: m, Attempt: owner.State.Attempt(m)})
		}
	}
}

func (d *Driver) request(r Request) {
	d.lastID++
	r.ID = d.lastID
	d.batch = append(d.batch, driverExchange{Request: r, err: errNoAnswer})
}

// handle handles the answers to the requests of the step, and sets the next one.
func (d *Driver) handle() {
	x := &d.batch[0]
	switch d.step {
	case readOwner, confirmOwner:
		d.handleOwner(x)
	case listMembers:
		if x.err != nil {
			d.end(fmt.Errorf("listing the members: %w", x.err))
			return
		}
		d.view.Members = x.answer.Members
		d.replan()
	case storeState:
		if x.err != nil {
			d.end(fmt.Errorf("storing the state: %w", x.err))
			return
		}
		d.view.Owner.State, d.view.Owner.ResourceVersion = d.plan.State, x.answer.Owner.ResourceVersion
		if d.plan.invalid != "" {
			d.replan()
			return
		}
		d.plan.Decision = undecided(d.plan.State)
		d.advance()
	case deleteMembers:
		d.step = createMembers
		for i := range d.batch {
			x := &d.batch[i]
			if !apierrors.IsNotFound(x.err) && !apierrors.IsConflict(x.err) { // otherwise the object is gone
				d.fail("deleting", x)
			}
		}
	case createMembers:
		for i := range d.batch {
			x := &d.batch[i]
			if apierrors.IsInvalid(x.err) { // it will be invalid again
				d.plan.fail(d.view.Owner.State, x.err, d.view.Now)
				d.store()
				return
			}
			d.fail("creating", x)
		}
		d.created += len(d.batch)
	}
}

// handleOwner goes on with the owner as it is now, which may be another one than that of the caches.
func (d *Driver) handleOwner(x *driverExchange) {
	if x.err != nil && !apierrors.IsNotFound(x.err) {
		d.end(fmt.Errorf("reading the owner: %w", x.err))
		return
	}
	before := d.view.Owner.UID
	d.view.Owner = x.answer.Owner
	if x.err != nil {
		d.view.Owner = Owner{}
	}
	d.policy = prepared{policy: d.view.Owner.Policy}
	switch {
	case d.gone():
	case d.step == readOwner:
		d.step = listMembers
	case d.view.Owner.UID != before:
		d.end(errReplaced)
	default:
		d.replan()
	}
}

// gone ends the sync if the owner does not exist, or is being deleted.
func (d *Driver) gone() bool {
	d.result.Gone = d.view.Owner.UID == "" || d.view.Owner.Deleting
	if d.result.Gone {
		d.plan.clear(d.view.Owner.State)
		d.end(nil)
	}
	return d.result.Gone
}

// replan makes a plan of what was read live.
func (d *Driver) replan() {
	err := d.plan.look(d.view.Owner.State, d.view.Members, d.view.Now)
	switch {
	case lost(err) != nil && !d.confirmed: // another process may have stored a state and created the member
		d.confirmed, d.step = true, confirmOwner
	case err != nil:
		d.result.Lost = lost(err)
		d.end(err)
	case d.invalid():
		d.plan.fail(d.view.Owner.State, d.view.Owner.Invalid, d.view.Now)
		d.store()
	default:
		d.advance()
	}
}

// advance sets the step that follows: to store what is decided next, or else to delete and create members.
func (d *Driver) advance() {
	err := d.plan.next(&d.policy, d.view.Owner.State, d.view.Members, d.view.Now)
	switch {
	case err != nil:
		d.end(err)
	case d.plan.Changed:
		d.store()
	default:
		d.step = deleteMembers
	}
}

func (d *Driver) store() {
	d.step = storeState
	if d.view.Owner.ResourceVersion == "" {
		d.end(errNoVersion)
	}
}

// end ends the sync, with an error if err is not nil.
func (d *Driver) end(err error) {
	d.step = over
	if err != nil {
		seconds, _ := apierrors.SuggestsClientDelay(err) // 0 if it does not
		d.result.RetryAfter = max(d.result.RetryAfter, time.Duration(seconds)*time.Second)
		d.result.Err = errors.Join(d.result.Err, err)
	}
}

// fail adds the error of a request to the result.
func (d *Driver) fail(doing string, x *driverExchange) {
	if x.err != nil {
		d.end(fmt.Errorf("%s %s: %w", doing, x.Member.Name, x.err))
	}
}
