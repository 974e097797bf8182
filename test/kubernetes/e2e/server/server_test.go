package server

import (
	"os"
	"path/filepath"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var api *Server

func TestMain(m *testing.M) { os.Exit(Run(m, &api, 0, nil)) }

// The server enforces permissions: the account of the built-in controller may create pods, but
// may not read secrets.
func TestAccountPermissions(t *testing.T) {
	config, err := api.Account(t.Context(), "kube-system", "job-controller")
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	for _, test := range []struct {
		verb, resource string
		want           bool
	}{
		{"create", "pods", true},
		{"get", "secrets", false},
	} {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: "default", Verb: test.verb, Resource: test.resource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := review.Status.Allowed; got != test.want {
			t.Errorf("may %s %s: got %t, want %t", test.verb, test.resource, got, test.want)
		}
	}
}

// A restarted server has the same address and objects.
func TestRestart(t *testing.T) {
	name, err := api.Namespace(t.Context(), "restart")
	if err != nil {
		t.Fatal(err)
	}
	before := api.Config().Host
	if err := api.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := api.Config().Host; after != before {
		t.Errorf("after the restart the server is at %s, want %s", after, before)
	}
	if _, err := api.Client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// A killed controller can be started again, and its usage can be read.
func TestControllerRestarts(t *testing.T) {
	c, err := api.BuiltIn(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Usage(); err != nil {
		t.Error(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	used, err := c.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if used.MaxRSS <= 0 {
		t.Errorf("the killed controller used %d bytes of memory, want more", used.MaxRSS)
	}
}

// With an empty file of authorities, a client would trust those of the system forever.
func TestReady_withoutACertificate(t *testing.T) {
	s := &Server{dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(s.certificate()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.certificate(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ready(t.Context()); err == nil || s.Client != nil {
		t.Errorf("got the error %v, want one, and no client", err)
	}
}
