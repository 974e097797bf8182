package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Fault is a disturbance of a request: it answers, or passes the request on to the server.
type Fault func(w http.ResponseWriter, r *http.Request, server http.Handler)

var (
	// Conflict is the answer 409 in place of the server's.
	Conflict = refuse(http.StatusConflict)
	// TooMany is the answer 429. Clients of Kubernetes retry by themselves.
	TooMany = refuse(http.StatusTooManyRequests)
	// Internal is the answer 500.
	Internal = refuse(http.StatusInternalServerError)
)

func refuse(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		answer(w, code, "the proxy answers instead of the server")
	}
}

// Drop cuts the connection before the request reaches the server.
func Drop(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// LoseReply lets the server carry out the request, and cuts the connection.
func LoseReply(_ http.ResponseWriter, r *http.Request, server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// TimeOut lets the server carry out the request, and answers with a time-out (504).
func TimeOut(w http.ResponseWriter, r *http.Request, server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), r)
	answer(w, http.StatusGatewayTimeout, "the proxy has lost the answer")
}

// Delay delays a request.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		select {
		case <-time.After(d):
			server.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Before calls a function and then passes the request on.
func Before(f func()) Fault {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		f()
		server.ServeHTTP(w, r)
	}
}

// After lets the server carry out the request, calls a function, and then passes the answer on.
func After(f func()) Fault {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		f()
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w) // the client may be gone
	}
}

// Inspect calls a function with the body of the request, and then passes the request on.
func Inspect(f func(body []byte)) Fault {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		f(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}
}

// answer writes an error as the API server does.
func answer(w http.ResponseWriter, code int, message string) {
	status := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, true).Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(status); err != nil {
		panic(fmt.Sprintf("writing an answer: %v", err))
	}
}

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
