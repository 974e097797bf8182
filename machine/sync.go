package machine

import (
	"cmp"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
)

// sync is one sync under way.
type sync struct {
	*Machine
	*memory.Memory
	options decide.Option
	batch   []*exchange // the requests of the step
	step    step
	ready   bool // Next has yet to return the batch

	view    View
	pods    *decide.Pods // the pods that the sync decides on; those of the caches unless they are read live
	pending memory.Pending
	behind  bool           // the Job of the view is older than the last status write
	claims  []decide.Claim // the claims to send
	// adopted has the versions of the pods that the sync has adopted; nil until the claims were sent,
	// which happens once in a sync.
	adopted map[types.UID]string
	writes  writes                 // the writes of the decision
	owner   *metav1.OwnerReference // the controller of orphans
}

// step is a row of the table of steps.
type step uint8

const (
	readOwner step = iota // the first step of a Machine that frees orphans
	freePods
	readJob // the first step of every other sync
	listPods
	findPods
	decideNow
	checkJob
	claimPods
	storeVerdict
	stripFirst
	deletePods
	createPods
	storeStatus
	stripPods
	settleStatus
	conclude
	over
)

// steps is the table of the steps, in order. ask returns the requests of a step; a step
// without requests is skipped. handle takes their answers and returns the next step.
var steps = [over]struct {
	ask    func(*sync) []*exchange
	handle func(*sync, []*exchange) step
}{
	readOwner:    {(*sync).askOwner, (*sync).handleOwner},
	freePods:     {(*sync).askFree, (*sync).handleFree},
	readJob:      {(*sync).askJob, (*sync).handleJob},
	listPods:     {(*sync).askPods, (*sync).handlePods},
	findPods:     {(*sync).askUnobserved, (*sync).handleUnobserved},
	decideNow:    {(*sync).decide, nil},
	checkJob:     {(*sync).askBeforeAdoption, (*sync).handleBeforeAdoption},
	claimPods:    {(*sync).askClaims, (*sync).handleClaims},
	storeVerdict: {(*sync).askVerdict, (*sync).handleVerdict},
	stripFirst:   {(*sync).askStripFirst, (*sync).handleStripFirst},
	deletePods:   {(*sync).askDeletions, (*sync).handleDeletions},
	createPods:   {(*sync).askCreations, (*sync).handleCreations},
	storeStatus:  {(*sync).askStatus, (*sync).handleStatus},
	stripPods:    {(*sync).askStrips, (*sync).handleStrips},
	settleStatus: {(*sync).askSettle, (*sync).handleStatus},
	conclude:     {(*sync).conclude, nil},
}

// proceed handles the answers to the last requests, and makes the next requests.
func (s *sync) proceed() {
	if s.ready {
		return
	}
	if batch := s.batch; len(batch) > 0 {
		s.batch = nil
		s.take(batch)
		s.step = steps[s.step].handle(s, batch)
	}
	for s.step != over && !s.ready {
		at := s.step
		s.batch = steps[at].ask(s)
		s.ready = len(s.batch) > 0
		if s.step == at && !s.ready {
			s.step++
		}
	}
	for _, x := range s.batch {
		s.lastID++
		x.ID, x.Namespace, x.err = uint64(s.lastID), s.Key.Namespace, errNoAnswer
	}
}

// end ends the sync, with an error if err is not nil.
func (s *sync) end(err error) step {
	s.fail(err)
	s.step = over
	return over
}

// wait ends the sync and requeues it, so that the caches can catch up.
func (s *sync) wait() step {
	s.result.Requeue = cmp.Or(max(s.options.BatchPeriod(), 0), time.Second)
	return s.end(nil)
}

// leave ends the sync of a Job that is gone, and forgets the Job.
func (s *sync) leave() step {
	s.Forget("")
	s.result.Gone = true
	return s.end(nil)
}

// fail adds an error to the result, unless it is nil.
func (s *sync) fail(err error) {
	seconds, _ := apierrors.SuggestsClientDelay(err) // 0 if it does not
	s.result.RetryAfter = max(s.result.RetryAfter, time.Duration(seconds)*time.Second)
	s.result.Err = errors.Join(s.result.Err, err)
}
