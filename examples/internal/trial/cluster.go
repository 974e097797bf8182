// Package trial runs the programs of the examples on an API server in a synctest bubble, and checks the manifests
// in their folders deploy.
package trial

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/controller/live"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func init() {
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // the default ones wait for decades in a bubble: see the package kube
}

// Program is the program of an example. It runs in the namespace Name, as Name-controller.
type Program struct {
	Name       string
	Kind       schema.GroupVersionKind
	NewScheme  func() (*runtime.Scheme, error)
	Register   func(*flag.FlagSet) *ctrl.Options
	NewManager func(*rest.Config, ctrl.Options) (manager.Manager, error)
}

// Cluster is an API server that knows the kind of a program, with scripted pods.
type Cluster struct {
	*testing.T
	*kube.Server
	User    client.Client
	program Program
}

// Serve starts the API server.
func (p Program) Serve(t *testing.T, rules ...live.Rule) *Cluster {
	t.Helper()
	s := kube.New(kube.Options{Kinds: []kube.Kind{{GroupVersionKind: p.Kind, Status: true}}})
	live.Start(t, s.Config(), live.PodsOnly(), live.Pods(rules...))
	user := podtest.Must(client.New(s.Config(), client.Options{Scheme: podtest.Must(p.NewScheme())}))
	return &Cluster{t, s, user, p}
}

// Start starts the program, and returns a function that stops it.
func (c *Cluster) Start() (stop func()) {
	c.Helper()
	mgr := podtest.Must(c.program.NewManager(c.Config(), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		// One is started after the other.
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		podtest.NoError(c, <-ended)
	}
}

// ReadAfter reads an object after a time has passed.
func (c *Cluster) ReadAfter(pause time.Duration, object client.Object) {
	c.Helper()
	time.Sleep(pause)
	podtest.NoError(c, c.User.Get(c.Context(), client.ObjectKeyFromObject(object), object))
}

// WantFinalizers compares the finalizers of each pod, which it joins with commas.
func (c *Cluster) WantFinalizers(want string) {
	c.Helper()
	for _, pod := range kube.List[*corev1.Pod](c.Server, "default") {
		podtest.Same(c, "the finalizers of the pod "+pod.Name, strings.Join(pod.Finalizers, ","), want)
	}
}
