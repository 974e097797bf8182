package group

import "k8s.io/apimachinery/pkg/types"

// Object is what exists of a member. Package jobs has that of a Job, and [Nested] is a group within the group; write
// your own for any other kind. Its methods are called often, so they should only look at the object.
type Object interface {
	// Of returns the member.
	Of() Member
	// UID returns the UID of the object; empty if the member has none.
	UID() types.UID
	// CreatedFor returns the attempt that the object was created for.
	CreatedFor() int32
	// Deleting reports whether the object is being deleted.
	Deleting() bool
	// Phase returns Complete, Failed or Ending. Any other phase says that the object runs.
	Phase() Phase
	// Failure returns the failure of an object that has failed.
	Failure() Failure
}

// Of returns the member itself, for types that embed it.
func (m Member) Of() Member { return m }

// Owner is the object that holds the state of a group. The zero Owner is that of none.
type Owner struct {
	UID types.UID
	// ResourceVersion is the version at which the object was read: a write of the state names it.
	ResourceVersion string
	// Deleting says that the object is being deleted. Garbage collection then deletes the members.
	Deleting bool
	State    State
	Policy   *Policy
	// Invalid says that members cannot be created, for example because of what [Policy.Check] has found. The [Driver]
	// then fails the group.
	Invalid error
}

// Nested is a member that is a group itself. It fails as its State says: with the reason, the rule of its policy, and
// the time of its end. Its restart is a new owner with the zero State, so its own budgets are full again.
type Nested struct {
	Member
	Owner Owner
	// Attempt is the attempt of the outer group that the Owner was created for.
	Attempt int32
	// Class and Progress are those of the failure, if the caller gives it some.
	Class    string
	Progress int64
}

// UID returns the UID of the owner.
func (n *Nested) UID() types.UID { return n.Owner.UID }

// CreatedFor returns the Attempt.
func (n *Nested) CreatedFor() int32 { return n.Attempt }

// Deleting reports whether the owner is being deleted.
func (n *Nested) Deleting() bool { return n.Owner.Deleting }

// Phase returns the phase of the inner group.
func (n *Nested) Phase() Phase { return n.Owner.State.Phase }

// Failure returns the end of the inner group as a failure.
func (n *Nested) Failure() Failure {
	f := Failure{Member: n.Member, Attempt: n.Attempt, Class: n.Class, Progress: n.Progress}
	if end := n.Owner.State.End; end != nil {
		f.At, f.Reason, f.RuleName = end.Time.Time, end.Reason, end.Rule
	}
	return f
}
