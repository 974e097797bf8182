package machine

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/decide"
)

// sync is one sync under way.
type sync struct {
	*Machine
	config *decide.Config
	step   step
	batch  []exchange // the requests of the step
	ready  bool       // Next has yet to return the batch

	view    View
	tally   *decide.Tally // the pods that the sync decides on
	live    bool          // the Job and its pods are read live
	pending unobserved
	claims  []decide.Claim         // the claims to send
	claimed bool                   // the claims were sent; another decision of the sync sends none
	writes  writes                 // the writes of the decision
	owner   *metav1.OwnerReference // the controller of orphans
}

// step is a row of the table of steps.
type step int

const (
	readOwner step = iota // the first step of a Machine that frees orphans
	freePods
	readJob // the first step of every other sync
	listPods
	findPods
	decideNow
	checkJob
	claimPods
	stripFirst
	deletePods
	createPods
	storeStatus
	stripPods
	settleStatus
	over
)

// functions are the two functions of a step. ask returns its requests; a step without
// requests is skipped. handle takes their answers and returns the next step.
type functions struct {
	ask    func(*sync) []exchange
	handle func(*sync, []exchange) step
}

// functions returns the functions of a step. This is the table of the steps, in order.
func (at step) functions() functions {
	return [over]functions{
		readOwner:    {(*sync).askOwner, (*sync).handleOwner},
		freePods:     {(*sync).askFree, (*sync).handleFree},
		readJob:      {(*sync).askJob, (*sync).handleJob},
		listPods:     {(*sync).askPods, (*sync).handlePods},
		findPods:     {(*sync).askUnobserved, (*sync).handleUnobserved},
		decideNow:    {(*sync).decide, nil},
		checkJob:     {(*sync).askBeforeAdoption, (*sync).handleBeforeAdoption},
		claimPods:    {(*sync).askClaims, (*sync).handleClaims},
		stripFirst:   {(*sync).askStripFirst, (*sync).handleStripFirst},
		deletePods:   {(*sync).askDeletions, (*sync).handleDeletions},
		createPods:   {(*sync).askCreations, (*sync).handleCreations},
		storeStatus:  {(*sync).askStatus, (*sync).handleStatus},
		stripPods:    {(*sync).askStrips, (*sync).handleStrips},
		settleStatus: {(*sync).askSettle, (*sync).handleSettle},
	}[at]
}

// proceed handles the answers to the last requests, and makes the next requests.
func (s *sync) proceed() {
	if s.ready {
		return
	}
	if batch := s.batch; len(batch) > 0 {
		s.batch = nil
		s.take(batch)
		s.step = s.step.functions().handle(s, batch)
	}
	for s.step != over {
		at := s.step
		if s.batch = at.functions().ask(s); len(s.batch) > 0 {
			s.number()
			s.ready = true
			return
		}
		if s.step == at {
			s.step++
		}
	}
}

// number sets the IDs of a batch, and the Job and namespace of its requests. They have no
// answer yet.
func (s *sync) number() {
	for i := range s.batch {
		x := &s.batch[i]
		s.lastID++
		x.ID, x.sender, x.Namespace, x.err = s.lastID, s.Job, s.Key.Namespace, ErrNoAnswer
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
	s.result.Requeue = s.config.BatchPeriod
	if s.result.Requeue == 0 {
		s.result.Requeue = time.Second
	}
	return s.end(nil)
}

// leave ends the sync of a Job that is gone, and forgets the Job.
func (s *sync) leave() step {
	s.forget("")
	s.result.Gone = true
	return s.end(nil)
}

// fail adds an error to the result.
func (s *sync) fail(err error) {
	if err == nil {
		return
	}
	seconds, _ := apierrors.SuggestsClientDelay(err) // 0 if it does not
	s.result.RetryAfter = max(s.result.RetryAfter, time.Duration(seconds)*time.Second)
	if s.result.Err != nil {
		err = errors.Join(s.result.Err, err)
	}
	s.result.Err = err
}
