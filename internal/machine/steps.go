package machine

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
)

// sync is one sync under way.
type sync struct {
	*Machine
	view  View
	tally *decide.Tally // the pods that the sync is about
	step  step
	batch []exchange // the requests of the step
	ready bool       // they have not been handed out yet

	pending    unobserved
	live       bool // the Job and its pods are read live
	claimed    bool // the claims were sent
	adoptsNone bool // the Job must not adopt
	deletions  []deletion
	creations  []creation
	stop       bool // create no more
	batchSize  int
	done       decide.Done
	version    string // of the object that holds the status
	gone       []types.UID
	settled    decide.Settled
}

// step is a place in the table of steps.
type step int

const (
	readJob step = iota
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

// handlers are what a step does. Ask returns its requests; a step without any is
// passed over. Hear takes what became of them, and returns the next step.
type handlers struct {
	ask  func(*sync) []exchange
	hear func(*sync, []exchange) step
}

// handlers returns the handlers of a step. This is the table of the steps, in order.
func (at step) handlers() handlers {
	return [over]handlers{
		readJob:      {(*sync).askJob, (*sync).hearJob},
		listPods:     {(*sync).askPods, (*sync).hearPods},
		findPods:     {(*sync).askUnobserved, (*sync).hearUnobserved},
		decideNow:    {(*sync).decide, nil},
		checkJob:     {(*sync).askBeforeAdoption, (*sync).hearBeforeAdoption},
		claimPods:    {(*sync).askClaims, (*sync).hearClaims},
		stripFirst:   {(*sync).askStripFirst, (*sync).hearStripFirst},
		deletePods:   {(*sync).askDeletions, (*sync).hearDeletions},
		createPods:   {(*sync).askCreations, (*sync).hearCreations},
		storeStatus:  {(*sync).askStatus, (*sync).hearStatus},
		stripPods:    {(*sync).askStrips, (*sync).hearStrips},
		settleStatus: {(*sync).askSettle, (*sync).hearSettle},
	}[at]
}

// proceed hears what became of the last requests, and goes on to the next.
func (s *sync) proceed() {
	if s.ready {
		return
	}
	if batch := s.batch; len(batch) > 0 {
		s.batch = nil
		for i := range batch {
			if batch[i].fate() == unknown {
				s.lose(&batch[i])
			}
		}
		s.step = s.step.handlers().hear(s, batch)
	}
	for s.step != over {
		at := s.step
		if s.batch = at.handlers().ask(s); len(s.batch) > 0 {
			s.number()
			s.ready = true
			return
		}
		if s.step == at {
			s.step++
		}
	}
}

// number completes the requests of a batch.
func (s *sync) number() {
	for i := range s.batch {
		x := &s.batch[i]
		s.lastID++
		x.ID, x.job, x.Namespace = s.lastID, s.Job, s.Key.Namespace
	}
}

// end ends the sync with an error; nil is none.
func (s *sync) end(err error) step {
	s.fail(err)
	s.step = over
	return over
}

// wait ends the sync until the caches have caught up.
func (s *sync) wait() step {
	s.result.Requeue = s.Config.BatchPeriod
	if s.result.Requeue == 0 {
		s.result.Requeue = time.Second
	}
	return s.end(nil)
}

// leave ends the sync of a Job that is gone, and forgets it.
func (s *sync) leave() step {
	s.forget("")
	s.result.Gone = true
	return s.end(nil)
}

// fail notes an error of the sync.
func (s *sync) fail(err error) {
	if err == nil {
		return
	}
	s.result.RetryAfter = max(s.result.RetryAfter, retryAfter(err))
	if s.result.Err != nil {
		err = errors.Join(s.result.Err, err)
	}
	s.result.Err = err
}
