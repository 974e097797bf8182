package proxy

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// start starts a proxy in front of a server that answers every request with an empty pod, and counts the requests. A
// watch lasts until it is cut.
func start(t *testing.T) (*Proxy, kubernetes.Interface, *atomic.Int32) {
	var seen atomic.Int32
	p, client := startBefore(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("watch") {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		w.Write([]byte(`{"kind":"Pod","apiVersion":"v1"}`))
	})
	return p, client, &seen
}

// startBefore starts a proxy in front of a server.
func startBefore(t *testing.T, server http.HandlerFunc) (*Proxy, kubernetes.Interface) {
	s := httptest.NewTLSServer(server)
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	p, err := Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, kubernetes.NewForConfigOrDie(p.Config(config))
}

func create(t *testing.T, c kubernetes.Interface) error {
	_, err := c.CoreV1().Pods("ns").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	return err
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		do    Fault
		is    func(error) bool
		comes bool // whether the request reaches the server
	}{
		"conflict":   {Conflict, apierrors.IsConflict, false},
		"internal":   {Internal, apierrors.IsInternalError, false},
		"drop":       {Drop, func(err error) bool { return err != nil && apierrors.ReasonForError(err) == "" }, false},
		"lose reply": {LoseReply, func(err error) bool { return err != nil && apierrors.ReasonForError(err) == "" }, true},
		"time out":   {TimeOut, apierrors.IsTimeout, true},
		"delay":      {Delay(time.Millisecond), func(err error) bool { return err == nil }, true},
		"before":     {Before(func() {}), func(err error) bool { return err == nil }, true},
		"after":      {After(func() {}), func(err error) bool { return err == nil }, true},
		// The client retries by itself.
		"too many": {TooMany, func(err error) bool { return err == nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, client, seen := start(t)
			rule := p.Add(Rule{Call: Call{"create", "pods"}, Nth: 1, Do: test.do})
			if err := create(t, client); !test.is(err) {
				t.Errorf("the client got the wrong error: %v", err)
			}
			want := int32(0)
			if test.comes {
				want = 1
			}
			if got := seen.Load(); got != want {
				t.Errorf("the server saw %d requests, want %d", got, want)
			}
			if got := p.Hits(rule); got != 1 {
				t.Errorf("the rule disturbed %d requests, want 1", got)
			}
			if err := create(t, client); err != nil {
				t.Errorf("the rule does not apply to the second request, got %v", err)
			}
		})
	}
}

func TestSeedDeterminesFaults(t *testing.T) {
	hits := func() (got []int) {
		p, client, _ := start(t)
		p.Add(Rule{Call: Call{Verb: "create"}, Probability: 0.3, Seed: 7, Do: Conflict})
		for i := range 20 {
			if create(t, client) != nil {
				got = append(got, i)
			}
		}
		return got
	}
	first, second := hits(), hits()
	if len(first) == 0 || len(first) == 20 {
		t.Errorf("of 20 requests with probability 0.3 %d were disturbed", len(first))
	}
	if !slices.Equal(first, second) {
		t.Errorf("the same seed disturbed %v, then %v", first, second)
	}
}

func TestCountsByVerbAndResource(t *testing.T) {
	p, client, _ := start(t)
	pods := client.CoreV1().Pods("ns")
	for range 2 {
		if err := create(t, client); err != nil {
			t.Fatal(err)
		}
	}
	pods.List(t.Context(), metav1.ListOptions{})
	pods.UpdateStatus(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
	counts := p.Counts()
	want := "     2 create pods\n     1 list pods\n     1 update pods/status\n"
	if got := counts.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := counts.Of(Call{Resource: "pods"}); got != 3 {
		t.Errorf("calls of pods: got %d, want 3", got)
	}
}

func TestCutWatches(t *testing.T) {
	p, client, _ := start(t)
	w, err := client.CoreV1().Pods("ns").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.CutWatches(); got != 1 {
		t.Errorf("cut %d watches, want 1", got)
	}
	for range w.ResultChan() { // until it is closed
	}
	if err := create(t, client); err != nil {
		t.Errorf("after the watch was cut: %v", err)
	}
}

// A watch that lags passes on all events, in order and late.
func TestLag(t *testing.T) {
	const lag = 300 * time.Millisecond
	p, client := startBefore(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range []string{"one\n", "two\n"} {
			_, _ = w.Write([]byte(line))
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	})
	p.Lag("pods", lag)
	for resource, late := range map[string]bool{"pods": true, "services": false} {
		began := time.Now()
		body, err := client.CoreV1().RESTClient().Get().Resource(resource).Namespace("ns").Param("watch", "1").DoRaw(t.Context())
		if err != nil || string(body) != "one\ntwo\n" {
			t.Errorf("%s: got %q, %v, want both lines", resource, body, err)
		}
		if took := time.Since(began); late && took < lag+50*time.Millisecond {
			t.Errorf("%s: it took %s, want later than %s", resource, took, lag)
		}
	}
	if n := p.Answers(Call{Verb: "watch"}, 200); n != 2 {
		t.Errorf("%d answers, want 2", n)
	}
}
