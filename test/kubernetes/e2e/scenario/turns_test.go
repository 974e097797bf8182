package scenario

import (
	"sync"
)

// turns lets scenarios that share a controller do the same to it at the same time: stop it and start it
// again, or hold back its events and release them. Nil has no turns to take.
type turns struct {
	steps [2]func() error

	mu             sync.Mutex
	moved          *sync.Cond
	users, waiting int
	taken          int // turns so far
	err            error
}

// newTurns returns turns that alternate between two steps.
func newTurns(off, on func() error) *turns {
	u := &turns{steps: [2]func() error{off, on}}
	u.moved = sync.NewCond(&u.mu)
	return u
}

// join adds a scenario, which waits until the controller is on.
func (u *turns) join() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.taken%2 == 1 {
		u.moved.Wait()
	}
	u.users++
}

// take waits until all scenarios take the turn, or have left, and the step is done.
func (u *turns) take() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	mine := u.taken
	u.waiting++
	u.move()
	for u.taken == mine {
		u.moved.Wait()
	}
	return u.err
}

// leave removes a scenario. The last one leaves the controller on.
func (u *turns) leave() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users--
	u.move()
}

func (u *turns) move() {
	if u.waiting < u.users || u.waiting == 0 && u.taken%2 == 0 {
		return
	}
	u.err = u.steps[u.taken%2]()
	u.taken++
	u.waiting = 0
	u.moved.Broadcast()
}
