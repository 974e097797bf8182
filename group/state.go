package group

import (
	"fmt"
	"math"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateVersion is the version of the format of a State that this library writes.
const StateVersion int32 = 1

// State is what has been decided about a group. It is a field of the status of the object that
// outlives the Jobs. The zero State is that of a new group. [Decide] never changes a State: it
// returns another one.
type State struct {
	// Version is the version of the format. The zero State has none.
	Version int32 `json:"version,omitempty"`
	// Phase is Suspended, Complete or Failed; empty while the group runs.
	Phase Phase `json:"phase,omitempty"`
	// End says why and when the group has ended.
	End *End `json:"end,omitempty"`
	// Group counts restarts of the whole group, those after suspensions included.
	// +optional
	Group Part `json:"group,omitzero"`
	// Templates counts restarts of whole templates, by their names.
	Templates map[string]Part `json:"templates,omitempty"`
	// Members counts restarts of single members, by their names.
	Members map[string]Part `json:"members,omitempty"`
}

// End says why and when a group has ended.
type End struct {
	// Reason is that of the failure that ended the group, or one of those below. A reason that is longer than
	// Kubernetes' own, or has another form, is Unknown.
	Reason string `json:"reason,omitempty"`
	// Rule is the name of the rule that ended the group, or its position if it has none; empty if no rule did.
	Rule string `json:"rule,omitempty"`
	// Time is when the group ended: the time of the failure, if one ended it.
	Time metav1.Time `json:"time"`
}

// The reasons of a group that no failure ends.
const (
	ReasonAllSucceeded = "AllSucceeded"
	ReasonLeftFailed   = "LeftFailed"
	ReasonInvalid      = "Invalid" // the group cannot be created
)

// Part is what has been decided about the group, a template or a member.
type Part struct {
	// Restarts is the number of restarts of this part as a whole.
	Restarts int32 `json:"restarts,omitempty"`
	// NotBefore is when the Jobs of the last of these restarts may be created.
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// LeftAttempt is the attempt in which the member was left failed.
	LeftAttempt *int32 `json:"leftAttempt,omitempty"`
	// Used is what has been charged to the budgets, by their names.
	Used map[string]Use `json:"used,omitempty"`
}

// Use is what has been charged to a budget.
type Use struct {
	// Count is the number of charges, if the budget has no window.
	Count int32 `json:"count,omitempty"`
	// Times has the time of each of the last charges in increasing order, if the budget has a window.
	Times []metav1.Time `json:"times,omitempty"`
	// QuietSince is when the quiet time began that renews the budget: at its last charge, or when the restart that this
	// paid for could begin. Without it, no quiet time renews the budget.
	QuietSince *metav1.Time `json:"quietSince,omitempty"`
	// Progress is that from which the progress that renews the budget is counted. Without it, none renews the budget.
	Progress int64 `json:"progress,omitempty"`
}

// Phase says what a group does.
type Phase string

// The phases. A [State] has none while the group runs; a [Plan] then says which of the first two it is.
const (
	Running    Phase = "Running"
	Restarting Phase = "Restarting" // objects of earlier attempts still exist
	Suspended  Phase = "Suspended"
	Complete   Phase = "Complete"
	Failed     Phase = "Failed"
	// Ending is the phase of an [Object] that has no more to do, and ends by itself.
	Ending Phase = "Ending"
)

func (p Phase) ended() bool { return p == Complete || p == Failed }

// UnknownVersionError says that a newer library has written the state. This library must not
// decide, because it would lose a part of the state.
type UnknownVersionError struct{ Version int32 }

func (e *UnknownVersionError) Error() string {
	return fmt.Sprintf("the state has version %d, and this library knows %d", e.Version, StateVersion)
}

// OldStateError says that a Job or its failure belongs to an attempt after that of the state: the state
// is an old one, from a cache that lags or from a backup, or it was lost. The package comment says what to do.
type OldStateError struct {
	Member         Member
	Attempt, State int32
}

func (e *OldStateError) Error() string {
	return fmt.Sprintf("a Job of member %q is of attempt %d, and the state has attempt %d: the state is old",
		e.Member.Name, e.Attempt, e.State)
}

// Attempt returns the attempt of a member: the number of its restarts, of restarts of its template
// and of the group. A Job of an earlier attempt must be deleted.
func (s *State) Attempt(m Member) int32 {
	n := s.Group.restarts()
	if m.Template != "" {
		n = sum(n, s.Templates[m.Template].restarts())
	}
	if m.Name != "" {
		n = sum(n, s.Members[m.Name].restarts())
	}
	return n
}

// Restarts returns the number of all restarts: of the group, of its templates and of its members.
func (s *State) Restarts() int32 {
	n := s.Group.restarts()
	for _, parts := range [...]map[string]Part{s.Templates, s.Members} {
		for _, part := range parts {
			n = sum(n, part.restarts())
		}
	}
	return n
}

// sum returns a sum of restarts, at most the largest number that can be counted.
func sum(a, b int32) int32 { return int32(min(int64(a)+int64(b), math.MaxInt32)) }

// restarts returns the number of restarts. A negative one, which only another client can write, is
// none.
func (p Part) restarts() int32 { return max(p.Restarts, 0) }

// NotBefore returns when the Job of the current attempt of a member may be created: the zero time
// if it may at once. For a group that is suspended, it is when to resume it.
func (s *State) NotBefore(m Member) time.Time {
	latest := s.Group.notBefore()
	for _, t := range [...]time.Time{s.Templates[m.Template].notBefore(), s.Members[m.Name].notBefore()} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

func (p Part) notBefore() time.Time {
	if p.NotBefore == nil {
		return time.Time{}
	}
	return p.NotBefore.Time
}

// Left reports whether a member is left failed.
func (s *State) Left(m Member) bool { return s.left(m, s.Attempt(m)) }

func (s *State) left(m Member, attempt int32) bool {
	left := s.Members[m.Name].LeftAttempt
	return left != nil && m.Name != "" && *left == attempt
}

// Finish returns the state of a group that has ended: in the phase Complete or Failed, for a reason, at a time. A group
// that has ended stays as it is.
func (s State) Finish(phase Phase, reason string, at time.Time) State {
	if !s.Phase.ended() {
		s.Version, s.Phase = StateVersion, phase
		s.End = &End{Reason: storedReason(reason), Time: metav1.Time{Time: stored(at)}}
	}
	return s
}

// maxReason bounds the length of a reason. The Job controller's longest names a rule of a pod failure policy.
const maxReason = 256

var reasonForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_,:]*)?$`)

// storedReason returns a reason as a State holds it.
func storedReason(reason string) string {
	if len(reason) > maxReason || !reasonForm.MatchString(reason) {
		return "Unknown"
	}
	return reason
}

// Resume returns the state of a suspended group that runs again. Any other state is returned as it
// is.
func (s State) Resume() State {
	if s.Phase == Suspended {
		s.Phase = ""
	}
	return s
}

// part returns a part of the state.
func (s *State) part(scope Scope, m Member) Part {
	switch scope {
	case PerMember:
		return s.Members[m.Name]
	case PerTemplate:
		return s.Templates[m.Template]
	}
	return s.Group
}
