package explore

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// maxPods is the largest number of pods at a time.
const maxPods = 5

// config configures a search.
type config struct {
	// Job is the initial Job, without a status.
	Job *batchv1.Job
	// New returns a reference caller with an empty memory; nil means one without options.
	New func() *cluster.Caller
	// Bug, if set, makes a sync instead of the caller.
	Bug func(*cluster.Caller, *cluster.Client) (time.Duration, error)
	// Rules holds the settings of the controller that the referee needs.
	Rules referee.Rules

	// Pods is the largest number of pods at the same time, from 1 to maxPods. The API
	// server rejects more.
	Pods int
	// Codes lists the possible exit codes of containers, at least one. Pods go directly from pending to their end.
	Codes []int32
	// Ticks lists the durations by which time may advance; the default is one hour. Old is
	// the largest age; the default is one hour. It must exceed every delay and deadline.
	Ticks []time.Duration
	Old   time.Duration
	// AnyTime lets time pass at any time between two syncs. Otherwise it passes only while
	// the controller waits for it, with up-to-date caches.
	AnyTime bool

	// Faults is the largest number of faults, of the kinds in Kinds, in one lifetime.
	Faults int
	Kinds  []faultKind
	// Edits lists changes of the spec by the user. They happen in this order, each at any
	// time.
	Edits []func(*batchv1.JobSpec)

	// AllOrders tries all orders of events, even of independent ones. It finds the same
	// violations, and visits many more states.
	AllOrders bool

	// Observe is that of NamedSearch.Run. Limit ends the search after this number of states, except for the paths
	// from its last states; zero means no limit.
	Observe func(Observed) (more bool)
	Limit   int
}

// faultKind is a kind of fault.
type faultKind uint8

// The faults.
const (
	killBefore          faultKind = iota // the controller is killed before a request
	killAfter                            // the controller is killed after a request
	refuse                               // a request fails with 500
	lose                                 // a request takes effect, and its answer is lost
	giveUp                               // the controller abandons a sync before a request
	giveUpAfter                          // the controller abandons a sync after a request, without its answer
	deletePod                            // a user deletes a pod
	force                                // a user deletes a pod by force
	disrupt                              // a pod is about to be evicted
	loseNode                             // a pod is marked failed and disrupted, and deleted by force
	orphan                               // a user removes the owner of a pod
	strip                                // a user removes the finalizer of a pod
	deleteJob                            // a user deletes the Job in the background
	deleteJobForeground                  // in the foreground
	deleteJobOrphan                      // with the policy Orphan
	otherLeader                          // the leader freezes; a second one starts, or the frozen one continues
)

var kindNames = [...]string{
	"kill before", "kill after", "refuse", "lose the answer", "give up before", "give up after", "delete",
	"delete by force", "disrupt", "lose the node",
	"orphan", "strip", "delete the Job", "delete the Job in the foreground", "delete the Job, orphan its pods",
	"another leader",
}

// String names the kind.
func (k faultKind) String() string { return kindNames[k] }

// caller is the reference caller as a value of a search.
type caller struct {
	*cluster.Caller
	bug func(*cluster.Caller, *cluster.Client) (time.Duration, error)
}

// Sync implements cluster.Controller.
func (c caller) Sync(client *cluster.Client) (time.Duration, error) {
	sync := (*cluster.Caller).Sync
	if c.bug != nil {
		sync = c.bug
	}
	wait, err := sync(c.Caller, client)
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

// ofLastingJob returns an equal caller without what matters only if the Job is gone or replaced: the newest version
// of the Job in a cache is needed only when the cache shows another Job or none.
func (c caller) ofLastingJob() caller {
	next := c.clone()
	m := inside.Memory(next.Machine)
	m.Shown = m.Known
	return next
}

// clone returns an equal caller. The two share only immutable data.
func (c caller) clone() caller { return caller{c.Caller.Clone(), c.bug} }
