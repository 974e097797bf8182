package proxy

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobfate/jobfate/internal/podtest"
)

// start starts a proxy in front of a server.
func start(t *testing.T, server http.HandlerFunc) (*Proxy, kubernetes.Interface) {
	s := httptest.NewTLSServer(server)
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	p, err := Start(config)
	podtest.NoError(t, err)
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
		comes int32 // how many requests reach the server
	}{
		"conflict":   {Conflict, apierrors.IsConflict, 0},
		"internal":   {Internal, apierrors.IsInternalError, 0},
		"drop":       {Drop, func(err error) bool { return err != nil && apierrors.ReasonForError(err) == "" }, 0},
		"lose reply": {LoseReply, func(err error) bool { return err != nil && apierrors.ReasonForError(err) == "" }, 1},
		"time out":   {TimeOut, apierrors.IsTimeout, 1},
		"delay":      {Delay(time.Millisecond), func(err error) bool { return err == nil }, 1},
		"before":     {Before(func() {}), func(err error) bool { return err == nil }, 1},
		"after":      {After(func() {}), func(err error) bool { return err == nil }, 1},
		// The client retries by itself.
		"too many": {TooMany, func(err error) bool { return err == nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int32
			p, client := start(t, func(w http.ResponseWriter, _ *http.Request) {
				seen.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.Write([]byte(`{"kind":"Pod","apiVersion":"v1"}`))
			})
			rule := p.Add(Rule{Call: Call{"create", "pods"}, Nth: 1, Do: test.do})
			if err := create(t, client); !test.is(err) {
				t.Errorf("the client got the wrong error: %v", err)
			}
			podtest.Same(t, "requests that the server saw", seen.Load(), test.comes)
			podtest.Same(t, "requests that the rule disturbed", p.Hits(rule), 1)
			if err := create(t, client); err != nil {
				t.Errorf("the rule does not apply to the second request, got %v", err)
			}
		})
	}
}

// A watch that lags passes on all events, in order and late.
func TestLag(t *testing.T) {
	const lag = 300 * time.Millisecond
	p, client := start(t, func(w http.ResponseWriter, _ *http.Request) {
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
	podtest.Same(t, "answers", p.Answers(Call{Verb: "watch"}, 200), 2)
}
