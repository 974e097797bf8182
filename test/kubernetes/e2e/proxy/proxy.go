package proxy

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is a running proxy.
type Proxy struct {
	server *httptest.Server
	behind *httputil.ReverseProxy

	mu      sync.Mutex
	counts  Counts
	answers map[Call]map[int]int
	lags    map[string]time.Duration // by resource
	rules   []*Handle
	next    int
	watches map[int]context.CancelFunc
}

// Start starts a proxy in front of a server.
func Start(target *rest.Config) (*Proxy, error) {
	host, err := url.Parse(target.Host)
	if err != nil {
		return nil, err
	}
	trusted, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: target.TLSClientConfig})
	if err != nil {
		return nil, err
	}
	p := &Proxy{counts: Counts{}, answers: map[Call]map[int]int{}, lags: map[string]time.Duration{},
		watches: map[int]context.CancelFunc{}}
	quiet := log.New(io.Discard, "", 0) // connections are cut on purpose
	p.behind = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(host) },
		Transport:     &http.Transport{TLSClientConfig: trusted, ForceAttemptHTTP2: true, DisableCompression: true},
		FlushInterval: -1, // a watch is passed on event by event
		ErrorLog:      quiet,
		// The server is down: the client gets a cut connection.
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: p.answered,
	}
	p.server = httptest.NewUnstartedServer(p)
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = quiet
	p.server.TLS = &tls.Config{}
	p.server.StartTLS()
	return p, nil
}

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() {
	p.server.Listener.Close() // so that no client comes back
	p.server.CloseClientConnections()
	p.server.Close()
}

// Config returns the configuration of a client that connects through the proxy.
func (p *Proxy) Config(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = p.server.URL
	c.TLSClientConfig = rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw,
	})}
	return c
}

// Counts returns the number of requests so far, disturbed or not.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Answers returns how many requests of a kind the server has answered with a status code.
func (p *Proxy) Answers(call Call, code int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, codes := range p.answers {
		if call.matches(other) {
			n += codes[code]
		}
	}
	return n
}

func (p *Proxy) answered(r *http.Response) error {
	call := callOf(r.Request)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers[call] == nil {
		p.answers[call] = map[int]int{}
	}
	p.answers[call][r.StatusCode]++
	if by := p.lags[call.Resource]; call.Verb == "watch" && by > 0 {
		r.Body = late(r.Body, by)
	}
	return nil
}

// Lag delays the events of a resource. It applies to watches that begin afterwards.
func (p *Proxy) Lag(resource string, by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lags[resource] = by
}

// Add adds a rule.
func (p *Proxy) Add(r Rule) *Handle {
	h := &Handle{rule: r, random: rand.New(rand.NewPCG(r.Seed, r.Seed))}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, h)
	return h
}

// Remove removes rules.
func (p *Proxy) Remove(handles ...*Handle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(h *Handle) bool { return slices.Contains(handles, h) })
}

// Hits returns how many requests a rule has disturbed. A test must check it, because a fault
// that never happened proves nothing.
func (p *Proxy) Hits(h *Handle) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return h.hits
}

// CutWatches ends all watches, and returns their number. The clients start new ones.
func (p *Proxy) CutWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.watches {
		cancel()
	}
	return len(p.watches)
}

// ServeHTTP counts a request, disturbs it if a rule applies, and passes it on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := callOf(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id, fault := p.admit(call, cancel)
	defer p.leave(id)
	r = r.WithContext(ctx)
	if fault == nil {
		p.behind.ServeHTTP(w, r)
		return
	}
	fault(w, r, p.behind)
}

// admit counts a call and returns the fault for it.
func (p *Proxy) admit(call Call, cancel context.CancelFunc) (id int, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[call]++
	p.next++
	if call.Verb == "watch" {
		p.watches[p.next] = cancel
	}
	for _, h := range p.rules {
		// Each rule counts each request that it matches.
		if h.rule.Call.matches(call) && h.due() && fault == nil {
			fault = h.rule.Do
		}
	}
	return p.next, fault
}

func (p *Proxy) leave(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watches, id)
}

// chunk is data that is passed on later.
type chunk struct {
	due  time.Time
	data []byte
}

// chunksHeld is the number of chunks that are held. Further data waits in the connection.
const chunksHeld = 10_000

// late passes data on after a delay, in order.
func late(body io.ReadCloser, by time.Duration) io.ReadCloser {
	out, in := io.Pipe()
	held, closed := make(chan chunk, chunksHeld), make(chan struct{})
	go func() {
		defer close(held)
		for {
			data := make([]byte, 32<<10)
			n, err := body.Read(data)
			select {
			case held <- chunk{time.Now().Add(by), data[:n]}:
			case <-closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer body.Close()
		defer close(closed)
		for c := range held {
			time.Sleep(time.Until(c.due))
			if _, err := in.Write(c.data); err != nil {
				return // the reader has closed the pipe
			}
		}
		in.Close()
	}()
	return out
}
