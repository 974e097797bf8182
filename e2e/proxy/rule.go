package proxy

import (
	"math/rand/v2"
	"time"
)

// Rule disturbs some of the requests. Of several that match one, the first that
// was added and is due does.
type Rule struct {
	// Call is the kind of request that the rule is for; an empty field stands for
	// all.
	Call Call
	// Nth, if set, is the one request of the kind to disturb, counted from 1 when
	// the rule is added. Otherwise each is disturbed with a probability.
	Nth         int
	Probability float64
	// Seed of the probability.
	Seed uint64
	// Do is what happens to the request.
	Do Fault
}

// Fault is what happens to a request.
type Fault struct {
	kind  kind
	code  int
	delay time.Duration
	call  func()
	look  func(body []byte)
}

type kind uint8

const (
	refuse    kind = iota // answered with an error; the server never sees it
	drop                  // the connection is cut; the server never sees it
	loseReply             // the server carries it out, and the connection is cut
	loseLate              // the server carries it out, and the answer is a time-out
	slow                  // the server sees it later
	before                // something else happens first
	after                 // the server carries it out, something else happens, and then it is answered
	looked                // its body is looked at first
)

var (
	// Conflict, TooMany and Internal are answers in the server's stead: 409, 429
	// and 500. Clients of Kubernetes try again by themselves after a 429.
	Conflict = Fault{kind: refuse, code: 409}
	TooMany  = Fault{kind: refuse, code: 429}
	Internal = Fault{kind: refuse, code: 500}
	// Drop cuts the connection before the request reaches the server.
	Drop = Fault{kind: drop}
	// LoseReply has the server carry out the request, and cuts the connection.
	LoseReply = Fault{kind: loseReply}
	// TimeOut has the server carry out the request, and answers that it took too
	// long (504).
	TimeOut = Fault{kind: loseLate, code: 504}
)

// Delay passes a request on later.
func Delay(d time.Duration) Fault { return Fault{kind: slow, delay: d} }

// Before calls a function and then passes the request on.
func Before(f func()) Fault { return Fault{kind: before, call: f} }

// After has the server carry out the request, calls a function, and then passes
// the answer on.
func After(f func()) Fault { return Fault{kind: after, call: f} }

// Looking calls a function with the body of the request, and then passes it on.
func Looking(f func(body []byte)) Fault { return Fault{kind: looked, look: f} }

// Handle is a rule that was added.
type Handle struct {
	rule      Rule
	random    *rand.Rand
	met, hits int
}

func newHandle(r Rule) *Handle {
	return &Handle{rule: r, random: rand.New(rand.NewPCG(r.Seed, r.Seed))}
}

// due counts a request that the rule is for, and reports whether it is to be
// disturbed.
func (h *Handle) due() bool {
	h.met++
	due := h.met == h.rule.Nth
	if h.rule.Nth == 0 {
		due = h.random.Float64() < h.rule.Probability
	}
	if due {
		h.hits++
	}
	return due
}
