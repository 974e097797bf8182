package group

import (
	"fmt"
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
	// Phase is empty while the group runs.
	Phase Phase `json:"phase,omitempty"`
	// Group counts restarts of the whole group, those after suspensions included.
	// +optional
	Group Part `json:"group,omitzero"`
	// Templates counts restarts of whole templates, by their names.
	Templates map[string]Part `json:"templates,omitempty"`
	// Members counts restarts of single members, by their names.
	Members map[string]Part `json:"members,omitempty"`
}

// Part is what has been decided about the group, a template or a member.
type Part struct {
	// Restarts is the number of restarts of this part as a whole.
	Restarts int32 `json:"restarts,omitempty"`
	// NotBefore is when the Jobs of the last of these restarts may be created.
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// Left is the attempt of a member that is left failed.
	Left *int64 `json:"left,omitempty"`
	// Used is what has been charged to the budgets, by their names.
	Used map[string]Use `json:"used,omitempty"`
}

// Use is what has been charged to a budget.
type Use struct {
	// Count is the number of charges, if the budget has no window.
	Count int32 `json:"count,omitempty"`
	// Times has the time of each of the last charges in increasing order, if the budget has a window.
	Times []metav1.Time `json:"times,omitempty"`
}

// Phase says whether a group is suspended or has ended.
type Phase string

// The phases. A group that runs has none.
const (
	Suspended Phase = "Suspended"
	Complete  Phase = "Complete"
	Failed    Phase = "Failed"
)

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
	Attempt, State int64
}

func (e *OldStateError) Error() string {
	return fmt.Sprintf("a Job of member %q is of attempt %d, and the state has attempt %d: the state is old",
		e.Member.Name, e.Attempt, e.State)
}

// Attempt returns the attempt of a member: the number of its restarts, of restarts of its template
// and of the group. A Job of an earlier attempt must be deleted.
func (s *State) Attempt(m Member) int64 {
	sum := s.Group.restarts()
	if m.Template != "" {
		sum += s.Templates[m.Template].restarts()
	}
	if m.Name != "" {
		sum += s.Members[m.Name].restarts()
	}
	return sum
}

// Restarts returns the number of all restarts: of the group, of its templates and of its members.
func (s *State) Restarts() int64 {
	sum := s.Group.restarts()
	for _, parts := range [...]map[string]Part{s.Templates, s.Members} {
		for _, part := range parts {
			sum += part.restarts()
		}
	}
	return sum
}

// restarts returns the number of restarts. A negative one, which only another client can write, is
// none.
func (p Part) restarts() int64 { return max(int64(p.Restarts), 0) }

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

func (s *State) left(m Member, attempt int64) bool {
	left := s.Members[m.Name].Left
	return left != nil && m.Name != "" && *left == attempt
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
