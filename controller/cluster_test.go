package controller

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// The default handlers wait for decades in a bubble: see the package kube.
func init() { utilruntime.ErrorHandlers = nil }

// cluster is an API server that records the requests and the logged errors of the controllers.
// Use it in a synctest bubble.
type cluster struct {
	*kube.Server
	client kubernetes.Interface // the client of a user

	mu     sync.Mutex
	asked  map[string]int
	first  string                // the first request
	before func(r *kube.Request) // called before a request of a controller takes effect
	errors []string
}

func newCluster(t *testing.T, kinds ...kube.Kind) *cluster {
	t.Helper()
	c := &cluster{Server: kube.New(kube.Options{Kinds: kinds}), asked: map[string]int{}}
	c.client = Must(kubernetes.NewForConfig(c.Config()))
	c.Intercept(func(r *kube.Request) kube.Verdict {
		if r.UserAgent == agent {
			c.mu.Lock()
			what := r.Verb + " " + r.Resource.Resource
			c.asked[what]++
			c.first = cmp.Or(c.first, what+" "+r.Query.Get("limit"))
			before := c.before
			c.mu.Unlock()
			if before != nil {
				before(r)
			}
		}
		return kube.Verdict{}
	})
	return c
}

// beforeEach calls a function before each request of a controller takes effect.
func (c *cluster) beforeEach(happens func(*kube.Request)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = happens
}

const agent = "controller"

// logger returns a logger that records errors.
func (c *cluster) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		if strings.Contains(line, `"error"=`) {
			c.mu.Lock()
			c.errors = append(c.errors, line)
			c.mu.Unlock()
		}
	}, funcr.Options{})
}

// manager returns a manager whose requests the cluster counts.
func (c *cluster) manager(t *testing.T, scheme *runtime.Scheme) manager.Manager {
	t.Helper()
	config := c.Config()
	config.UserAgent = agent
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: c.logger(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // a test may start several of the same name
	})
	NoError(t, err)
	return mgr
}

// run starts a manager, and returns a function that stops it.
func run(t *testing.T, mgr manager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	time.Sleep(time.Second)
	return func() {
		synctest.Wait() // a queue that hands out an item when it shuts down may block forever
		cancel()
		NoError(t, <-ended)
	}
}

// start starts a controller with default limits.
func (c *cluster) start(t *testing.T) (stop func()) {
	t.Helper()
	mgr := c.manager(t, nil)
	NoError(t, Add(mgr, Options{}))
	return run(t, mgr)
}

// create stores Jobs.
func (c *cluster) create(t *testing.T, names ...string) {
	t.Helper()
	c.createWith(t, "default", batchv1.JobSpec{}, names...)
}

func (c *cluster) createNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Must(c.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))
}

// createWith stores Jobs with a spec, to which it adds the required fields.
func (c *cluster) createWith(t *testing.T, namespace string, spec batchv1.JobSpec, names ...string) {
	t.Helper()
	spec.ManagedBy = new(managedBy)
	spec.Template.Spec = MinimalPodSpec()
	for _, name := range names {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
		Must(c.client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}))
	}
}

// work ends all pods, and waits until the controller has observed their ends.
func (c *cluster) work() {
	kubelet := kube.Kubelet{Server: c.Server}
	for kubelet.Step(func(*corev1.Pod) (int32, bool) { return 0, true }) {
		time.Sleep(2 * defaultBatchPeriod)
	}
	time.Sleep(10 * defaultBatchPeriod)
}

func (c *cluster) noErrors(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.errors {
		t.Errorf("logged: %s", line)
	}
}
