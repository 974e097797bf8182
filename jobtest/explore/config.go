package explore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// MaxPods is the largest number of pods at a time.
const MaxPods = 5

// Searchable is a controller whose memory is a value.
type Searchable interface {
	cluster.Controller
	// Clone returns an equal controller that shares nothing that changes.
	Clone() Searchable
	// Key returns all that it remembers: with equal keys it acts alike. The UID of
	// a pod that it remembers must appear in it as it is: by the UIDs in its text
	// the search knows which pods are still referred to.
	Key() string
	// Age makes all that it remembers older, but nothing older than the limit.
	Age(by time.Duration, limit time.Time)
}

// Config configures a search.
type Config struct {
	// Job is the initial Job, without a status.
	Job *batchv1.Job
	// New returns a controller without memory; nil means the reference caller of jobfate.
	New func() Searchable
	// Rules are what the referee must know about the controller.
	Rules referee.Rules

	// Pods is the largest number of pods at the same time, from 1 to MaxPods. The API
	// server rejects more.
	Pods int
	// Codes are the possible exit codes of containers, at least one.
	Codes []int32
	// Runs lets pods be observed as running. Otherwise they go from pending directly to
	// their end.
	Runs bool
	// Ticks are the steps by which time may pass, by default an hour. Old is the largest
	// age, by default an hour; it must be above every delay and deadline.
	Ticks []time.Duration
	Old   time.Duration
	// AnyTime lets time pass at any time between two syncs. Otherwise it passes only while
	// the controller waits for it, with up-to-date caches.
	AnyTime bool

	// Faults is the largest number of faults, of the kinds in Kinds, in one lifetime.
	Faults int
	Kinds  []Kind
	// Edits are changes of the spec by the user, in this order, each at any time.
	Edits []func(*batchv1.JobSpec)
	// Lies lets the caches claim to be complete when they are not. That violates the
	// assumptions of decisions; it is for tests that show the consequences.
	Lies bool

	// AllOrders tries all orders of events, even of independent ones. It finds the same
	// violations, and visits many times the states.
	AllOrders bool

	// Limit ends the search after this number of states, except for the paths from its
	// last states; zero means no limit.
	Limit int
}

// Kind is a kind of fault.
type Kind uint8

// The faults.
const (
	KillBefore          Kind = iota // the controller dies before a request
	KillAfter                       // and after one
	Refuse                          // a request fails with 500
	Lose                            // a request has its effect, and its answer is lost
	GiveUp                          // the controller gives a sync up before a request
	GiveUpAfter                     // and after one, whose answer it never gets
	Delete                          // a user deletes a pod
	Force                           // a user deletes a pod by force
	Disrupt                         // a pod is about to be evicted
	LoseNode                        // a pod is marked failed and disrupted, and deleted by force
	Orphan                          // a user takes the owner from a pod
	Strip                           // a user takes the finalizer from a pod
	DeleteJob                       // a user deletes the Job in the background
	DeleteJobForeground             // in the foreground
	DeleteJobOrphan                 // so that its pods stay
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
	"kill before", "kill after", "refuse", "lose the answer", "give up before", "give up after", "delete", "delete by force", "disrupt", "lose the node",
	"orphan", "strip", "delete the Job", "delete the Job in the foreground", "delete the Job, orphan its pods",
}

// String names the kind.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// The most that states and moves have room for. The code 255 stands for none.
const (
	maxFaults = 255
	maxEdits  = 255
	maxCodes  = 254
	maxTicks  = 255
)

// check finds what cannot be searched, in a configuration with its defaults.
func (c *Config) check() error {
	if c.Job == nil {
		return errors.New("config: Job is nil, and must be one")
	}
	for _, n := range []struct {
		name             string
		got, least, most int
	}{
		{"Pods is", c.Pods, 1, MaxPods},
		{"Faults is", c.Faults, 0, maxFaults},
		{"the number of Edits is", len(c.Edits), 0, maxEdits},
		{"the number of Codes is", len(c.Codes), 1, maxCodes}, // without any no pod ends, and no Job
		{"the number of Ticks is", len(c.Ticks), 1, maxTicks},
	} {
		if n.got < n.least || n.got > n.most {
			return fmt.Errorf("config: %s %d, and must be %d to %d", n.name, n.got, n.least, n.most)
		}
	}
	for _, kind := range c.Kinds {
		if kind >= kinds {
			return fmt.Errorf("config: Kinds has %v, and must have none but those of Faults()", kind)
		}
	}
	for _, tick := range c.Ticks {
		if tick <= 0 {
			return fmt.Errorf("config: Ticks has %v, and must have none but positive ones", tick)
		}
	}
	if c.Old <= 0 {
		return fmt.Errorf("config: Old is %v, and must be positive", c.Old)
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
	return wait, err
}

// rest renames the versions that are remembered, so that memories that differ in
// nothing else are equal. It keeps how they compare with those that the next sync
// meets.
func (c caller) rest() {
	m := &inside.MachineOf(c.Machine).Memory
	if shown := m.Shown == m.Known; m.Known != "" {
		m.Known, m.Shown = versionKnown, versionFloor
		if shown {
			m.Shown = versionKnown
		}
	}
	// The caches of a search never go back in time, so what a pod was at does not matter.
	m.Deleted, m.Stripped = slices.Clone(m.Deleted), slices.Clone(m.Stripped)
	for i := range m.Deleted {
		m.Deleted[i].Version = versionFloor
	}
	for i := range m.Stripped {
		m.Stripped[i].Version = versionFloor
	}
	// An adoption that the cache does not show yet is newer than all that it shows.
	for _, floor := range []*string{&m.JobsFloor, &m.PodsFloor} {
		if *floor != "" && *floor != versionOwn {
			*floor = versionFloor
		}
	}
}

// heedless is a controller that reads nothing of the answer to a patch or deletion
// of a pod but the error, so that such answers need not be told apart.
type heedless interface{ heedsNoPods() }

func (caller) heedsNoPods() {}

func (c caller) Clone() Searchable { return caller{c.Caller.Clone()} }
