package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/decide"
)

// Cluster runs the Jobs of an API server with a Job controller, a kubelet and a garbage
// collector.
type Cluster struct {
	*kubelet.Kubelet
	client kubernetes.Interface
	t      testing.TB
}

// Option of a Cluster.
type Option func(*settings)

type settings struct {
	namespace  string
	pods       []Rule
	podsOnly   bool
	controller controller.Options
}

// Pods sets the rules for what happens to pods. The first matching rule decides. A pod
// without a matching rule succeeds at once, or runs until it is deleted if its restart
// policy is Always.
func Pods(rules ...Rule) Option {
	return func(s *settings) { s.pods = append(s.pods, rules...) }
}

// Namespace runs only the Jobs of one namespace. The default is all namespaces.
func Namespace(name string) Option {
	return func(s *settings) { s.namespace = name }
}

// Backoff sets the delay after the first failed pod of a Job, or of an index. It doubles
// with each failure. The default is that of Kubernetes, 10 s.
func Backoff(first time.Duration) Option {
	return Decide(decide.Backoff(backoff.Policy{Base: first}))
}

// BatchPeriod sets how long a Job waits for more of its pods to change before it is
// synced. The default is that of Kubernetes, 1 s.
func BatchPeriod(d time.Duration) Option {
	return func(s *settings) { s.controller.BatchPeriod = d }
}

// Decide adds options for the decisions about Jobs.
func Decide(options ...decide.Option) Option {
	return func(s *settings) { s.controller.Decide = append(s.controller.Decide, options...) }
}

// ManagedBy runs only the Jobs with this name in spec.managedBy. The default is the Jobs
// without spec.managedBy.
func ManagedBy(name string) Option {
	return func(s *settings) { s.controller.ManagedBy = name }
}

// PodsOnly runs pods and collects garbage, but starts no Job controller. It is for tests of
// another Job controller.
func PodsOnly() Option {
	return func(s *settings) { s.podsOnly = true }
}

// Start runs the Jobs of an API server until the test ends.
func Start(t testing.TB, cfg *rest.Config, options ...Option) *Cluster {
	t.Helper()
	s := settings{controller: controller.Options{QPS: -1}}
	for _, option := range options {
		option(&s)
	}
	s.controller.ReplaceBuiltIn = s.controller.ManagedBy == ""
	if s.namespace != "" {
		s.controller.Namespaces = []string{s.namespace}
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	typed, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := newManager(t, cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Cluster{kubelet.Start(ctx, typed, s.namespace, script(s.pods)), typed, t}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running Jobs: %v", err)
		}
		c.Wait()
	})
	return c
}

// newManager returns a manager with the Job controller and the garbage collector.
func newManager(t testing.TB, cfg *rest.Config, s settings) (manager.Manager, error) {
	o := ctrl.Options{
		Logger: funcr.New(func(_, line string) {
			if strings.Contains(line, `"error"=`) {
				t.Log(line)
			}
		}, funcr.Options{}),
		Metrics: metricsserver.Options{BindAddress: "0"},
		// The priority queue of controller-runtime 0.24 may leave a blocked goroutine behind
		// when it shuts down. A bubble panics then.
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	}
	if s.namespace != "" {
		o.Cache.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	}
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return nil, err
	}
	if !s.podsOnly {
		if err := controller.Add(mgr, s.controller); err != nil {
			return nil, err
		}
	}
	collector, err := newCollector(cfg, mgr.GetRESTMapper(), s.namespace)
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(addTTL(mgr), mgr.Add(collector))
}
