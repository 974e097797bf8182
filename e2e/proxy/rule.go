package proxy

import (
	"math/rand/v2"
	"time"
)

// Rule disturbs some of the requests. If several rules match a request, the first added one
// that is due applies.
type Rule struct {
	// Call is the kind of request that the rule matches. An empty field matches any value.
	Call Call
	// Nth, if set, is the number of the only request of the kind to disturb, counted from 1
	// when the rule is added. Otherwise each request is disturbed with a probability.
	Nth         int
	Probability float64
	// Seed of the probability.
	Seed uint64
	// Do is the fault.
	Do Fault
}

// Fault is a disturbance of a request.
type Fault struct {
	kind  kind
	code  int
	delay time.Duration
	call  func()
	look  func(body []byte)
}

type kind uint8

const (
	refuse    kind = iota // answered with an error; does not reach the server
	drop                  // the connection is cut; does not reach the server
	loseReply             // the server carries it out, and the connection is cut
	loseLate              // the server carries it out, and the answer is a time-out
	slow                  // reaches the server later
	before                // something else happens first
	after                 // the server carries it out, something else happens, then the answer is passed on
	inspect               // the body is passed to a function first
)

var (
	// Conflict is the answer 409 in place of the server's.
	Conflict = Fault{kind: refuse, code: 409}
	// TooMany is the answer 429. Clients of Kubernetes retry by themselves.
	TooMany = Fault{kind: refuse, code: 429}
	// Internal is the answer 500.
	Internal = Fault{kind: refuse, code: 500}
	// Drop cuts the connection before the request reaches the server.
	Drop = Fault{kind: drop}
	// LoseReply lets the server carry out the request, and cuts the connection.
	LoseReply = Fault{kind: loseReply}
	// TimeOut lets the server carry out the request, and answers with a time-out (504).
	TimeOut = Fault{kind: loseLate, code: 504}
)

// Delay delays a request.
func Delay(d time.Duration) Fault { return Fault{kind: slow, delay: d} }

// Before calls a function and then passes the request on.
func Before(f func()) Fault { return Fault{kind: before, call: f} }

// After lets the server carry out the request, calls a function, and then passes the answer on.
func After(f func()) Fault { return Fault{kind: after, call: f} }

// Inspect calls a function with the body of the request, and then passes the request on.
func Inspect(f func(body []byte)) Fault { return Fault{kind: inspect, look: f} }

// Handle is a rule that was added.
type Handle struct {
	rule      Rule
	random    *rand.Rand
	met, hits int
}

// due counts a request that the rule matches, and reports whether to disturb it.
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
