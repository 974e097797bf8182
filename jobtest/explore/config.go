package explore

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// MaxPods is the largest number of pods at a time.
const MaxPods = 5

// Searchable is a controller whose memory is a value.
type Searchable interface {
	cluster.Controller
	// Clone returns an equal controller. The two share only immutable data.
	Clone() Searchable
	// Key returns the memory as text. Controllers with equal keys must behave the same. The
	// text must contain the UID of each pod that the controller remembers, because the
	// search reads from it which pods are still referenced.
	Key() string
	// Age subtracts a duration from all times that the controller remembers, but makes none
	// of them earlier than the limit.
	Age(by time.Duration, limit time.Time)
}

// Config configures a search.
type Config struct {
	// Job is the initial Job, without a status.
	Job *batchv1.Job
	// New returns a controller with an empty memory; nil means the reference caller of
	// jobfate.
	New func() Searchable
	// Rules holds the settings of the controller that the referee needs.
	Rules referee.Rules

	// Pods is the largest number of pods at the same time, from 1 to MaxPods. The API
	// server rejects more.
	Pods int
	// Codes lists the possible exit codes of containers, at least one.
	Codes []int32
	// Runs lets pods run. Otherwise they go directly from pending to their end.
	Runs bool
	// Ticks lists the durations by which time may advance; the default is one hour. Old is
	// the largest age; the default is one hour. It must exceed every delay and deadline.
	Ticks []time.Duration
	Old   time.Duration
	// AnyTime lets time pass at any time between two syncs. Otherwise it passes only while
	// the controller waits for it, with up-to-date caches.
	AnyTime bool

	// Faults is the largest number of faults, of the kinds in Kinds, in one lifetime.
	Faults int
	Kinds  []Kind
	// Edits lists changes of the spec by the user. They happen in this order, each at any
	// time.
	Edits []func(*batchv1.JobSpec)
	// FalseVersions lets the caches report versions that they have not reached. That violates an
	// assumption of decisions, for tests that show the consequences.
	FalseVersions bool

	// AllOrders tries all orders of events, even of independent ones. It finds the same
	// violations, and visits many more states.
	AllOrders bool

	// Observe, if set, is called for every move to another state, with the events that happen in it.
	// It is not called for the paths from the last states of a search that ends early.
	Observe func(Observed)

	// Limit ends the search after this number of states, except for the paths from its
	// last states; zero means no limit.
	Limit int
}

// Kind is a kind of fault.
type Kind uint8

// The faults.
const (
	KillBefore          Kind = iota // the controller is killed before a request
	KillAfter                       // the controller is killed after a request
	Refuse                          // a request fails with 500
	Lose                            // a request takes effect, and its answer is lost
	GiveUp                          // the controller abandons a sync before a request
	GiveUpAfter                     // the controller abandons a sync after a request, without its answer
	Delete                          // a user deletes a pod
	Force                           // a user deletes a pod by force
	Disrupt                         // a pod is about to be evicted
	LoseNode                        // a pod is marked failed and disrupted, and deleted by force
	Orphan                          // a user removes the owner of a pod
	Strip                           // a user removes the finalizer of a pod
	DeleteJob                       // a user deletes the Job in the background
	DeleteJobForeground             // in the foreground
	DeleteJobOrphan                 // with the policy Orphan
	OtherLeader                     // the leader freezes; a second one starts, or the frozen one continues
	kinds
)

// Faults returns all kinds of faults.
func Faults() []Kind {
	all := make([]Kind, kinds)
	for k := range all {
		all[k] = Kind(k)
	}
	return all
}

var kindNames = [kinds]string{
	"kill before", "kill after", "refuse", "lose the answer", "give up before", "give up after", "delete",
	"delete by force", "disrupt", "lose the node",
	"orphan", "strip", "delete the Job", "delete the Job in the foreground", "delete the Job, orphan its pods",
	"another leader",
}

// String names the kind.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// These are the largest values that states and moves can hold. The exit code number 255
// means no code.
const (
	maxFaults = 255
	maxEdits  = 255
	maxCodes  = 254
	maxTicks  = 255
)

// check returns an error if the search does not support the configuration, which has its
// defaults.
func (c *Config) check() error {
	if c.Job == nil {
		return errors.New("config: Job is nil")
	}
	for _, n := range []struct {
		name             string
		got, least, most int
	}{
		{"Pods is", c.Pods, 1, MaxPods},
		{"Faults is", c.Faults, 0, maxFaults},
		{"the number of Edits is", len(c.Edits), 0, maxEdits},
		{"the number of Codes is", len(c.Codes), 1, maxCodes}, // without an exit code no pod can end
		{"the number of Ticks is", len(c.Ticks), 1, maxTicks},
	} {
		if n.got < n.least || n.got > n.most {
			return fmt.Errorf("config: %s %d, but must be %d to %d", n.name, n.got, n.least, n.most)
		}
	}
	for _, kind := range c.Kinds {
		if kind >= kinds {
			return fmt.Errorf("config: Kinds has %v, which is not one of Faults()", kind)
		}
	}
	for _, tick := range c.Ticks {
		if tick <= 0 {
			return fmt.Errorf("config: Ticks has %v, but all must be positive", tick)
		}
	}
	if c.Old <= 0 {
		return fmt.Errorf("config: Old is %v, but must be positive", c.Old)
	}
	return nil
}

// FromCaller makes the reference caller searchable.
func FromCaller(c *cluster.Caller) Searchable { return caller{c} }

type caller struct{ *cluster.Caller }

// Sync implements cluster.Controller.
func (c caller) Sync(client *cluster.Client) (time.Duration, error) {
	wait, err := c.Caller.Sync(client)
	c.rest()
	if client.Job == nil { // the caches of a search never show a Job again
		inside.Memory(c.Machine).Gone = ""
	}
	return wait, err
}

// rest replaces the remembered versions by canonical ones, so that memories that differ
// only in versions become equal. The comparisons with the versions in the next sync keep
// their results.
func (c caller) rest() {
	m := inside.Memory(c.Machine)
	if shown := m.Shown == m.Known; m.Known != "" {
		m.Known, m.Shown = versionKnown, versionFloor
		if shown {
			m.Shown = versionKnown
		}
	}
	// The caches of a search never go back in time, so the versions of these pods do not
	// matter.
	for uid, d := range m.Deleted {
		m.Deleted[uid] = memory.Deleted{Version: versionFloor, ForEnd: d.ForEnd}
	}
	for uid, s := range m.Stripped {
		s.Version = versionFloor
		m.Stripped[uid] = s
	}
	// An adoption that the cache does not show yet is newer than everything that it shows.
	for _, floor := range []*string{&m.JobsFloor, &m.PodsFloor} {
		if *floor != "" && *floor != versionOwn {
			*floor = versionFloor
		}
	}
}

// podIgnorer is a controller that uses only the error of the answer to a patch or deletion
// of a pod. The search then need not distinguish the pods in such answers.
type podIgnorer interface{ ignoresPods() }

func (caller) ignoresPods() {}

// jobKeeper is a controller whose memory has data that matters only if the Job is gone or replaced.
// ofLastingJob returns an equal controller without that data.
type jobKeeper interface{ ofLastingJob() Searchable }

// ofLastingJob implements jobKeeper. The newest version of the Job in a cache is needed only
// when the cache shows another Job or none.
func (c caller) ofLastingJob() Searchable {
	next := caller{c.Caller.Clone()}
	m := inside.Memory(next.Machine)
	m.Shown = m.Known
	return next
}

func (c caller) Clone() Searchable { return caller{c.Caller.Clone()} }
