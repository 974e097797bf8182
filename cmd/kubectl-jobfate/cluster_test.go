package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/jobfate/jobfate/cmd/internal/cli"
	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

const (
	samples = "../testdata/samples"
	// userAgent distinguishes the requests of the plugin from those of a test.
	userAgent = "plugin"
)

func TestMain(m *testing.M) {
	silence()
	os.Exit(m.Run())
}

// stage is an in-process cluster with the plugin as a client.
type stage struct {
	*testing.T
	server *kube.Server
	client kubernetes.Interface
	now    func() time.Time
	// answer changes the bodies of responses; nil changes nothing.
	answer func(path string, body []byte) []byte

	// logs answers requests for logs.
	logs func(*http.Request) (status int, text string)

	mu       sync.Mutex
	accepts  map[string]string // the header Accept, by path
	requests []string          // "list jobs", with its selectors and page
}

func newStage(t *testing.T, kinds ...kube.Kind) *stage {
	t.Helper()
	s := &stage{T: t, server: kube.New(kube.Options{Kinds: append(kinds, kube.Kind{GroupVersionKind: cronJob})}), now: time.Now, accepts: map[string]string{}}
	client := Must(kubernetes.NewForConfig(s.server.Config()))
	s.client = client
	s.server.Intercept(func(r *kube.Request) kube.Verdict { s.note(r); return kube.Verdict{} })
	return s
}

// note records a request of the plugin.
func (s *stage) note(r *kube.Request) {
	if r.UserAgent != userAgent {
		return
	}
	text := r.Verb + " " + r.Resource.Resource
	for _, parameter := range []string{"labelSelector", "fieldSelector"} {
		if value := r.Query.Get(parameter); value != "" {
			text += " " + value
		}
	}
	if r.Query.Get("continue") != "" {
		text += " continued"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, text)
}

// RoundTrip passes a request on to the server.
func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/log") {
		s.mu.Lock()
		s.requests = append(s.requests, "get pods/log")
		s.mu.Unlock()
		status, text := s.logs(r)
		body := io.NopCloser(strings.NewReader(text))
		return &http.Response{StatusCode: status, Request: r, Header: http.Header{}, Body: body}, nil
	}
	s.mu.Lock()
	s.accepts[r.URL.Path] = r.Header.Get("Accept")
	s.mu.Unlock()
	response, err := s.server.RoundTrip(r)
	if err == nil && s.answer != nil {
		response.Body, response.ContentLength = &changedBody{ReadCloser: response.Body, change: func(body []byte) []byte { return s.answer(r.URL.Path, body) }}, -1
	}
	return response, err
}

// changedBody changes a body piece by piece. The server writes each page, and each event of a
// watch, in one piece.
type changedBody struct {
	io.ReadCloser
	change func([]byte) []byte
	rest   []byte
}

func (b *changedBody) Read(p []byte) (n int, err error) {
	if len(b.rest) == 0 {
		piece := make([]byte, 1<<20)
		n, err = b.ReadCloser.Read(piece)
		b.rest = b.change(piece[:n])
	}
	n = copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) > 0 {
		err = nil
	}
	return n, err
}

// kubeconfig has two contexts with different namespaces.
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: http://kube-apiserver}}]
users: [{name: test, user: {}}]
contexts:
- {name: here, context: {cluster: test, user: test}}
- {name: there, context: {cluster: test, user: test, namespace: elsewhere}}
current-context: here
`

// program returns the plugin and its output.
func (s *stage) program() (*program, *output) {
	s.Helper()
	file := filepath.Join(s.TempDir(), "kubeconfig")
	NoError(s, os.WriteFile(file, []byte(kubeconfig), 0o600))
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir = &file, new(s.TempDir())
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.Transport, config.UserAgent, config.QPS = s, userAgent, -1
		return config
	}
	out := &output{}
	return &program{flags: flags, env: cli.Environment{
		Name:   "kubectl jobfate",
		Stdin:  strings.NewReader(""),
		Stdout: &out.stdout,
		Stderr: &out.stderr,
		Getenv: func(string) string { return "" },
		Clock:  s.now,
		Catch:  func() (func() bool, func()) { return func() bool { return false }, func() {} },
	}}, out
}

// output is the output of a run, write by write.
type output struct{ stdout, stderr console.Writes }

// run runs the plugin to its end.
func (s *stage) run(args ...string) (status int, stdout, stderr string) {
	s.Helper()
	p, out := s.program()
	status = p.run(context.Background(), args)
	return status, out.stdout.String(), out.stderr.String()
}

// cause matches the code of a cause, with which the explanation of a Job begins. The codes of notes begin with Not.
var cause = regexp.MustCompile(`^([A-MO-Z]|No[^t])\w*: `)

// want runs the plugin, and checks the exit status and parts of the output. A part that
// begins with "!", and all parts after it, must be in stderr.
func (s *stage) want(status int, args []string, parts ...string) {
	s.Helper()
	got, stdout, stderr := s.run(args...)
	if got != status {
		s.Errorf("%q: got status %d, want %d\n%s%s", args, got, status, stdout, stderr)
	}
	text := stdout
	for _, part := range parts {
		if after, ok := strings.CutPrefix(part, "!"); ok {
			text, part = stderr, after
		}
		if cause.MatchString(part) && text == stdout && !strings.HasPrefix(text, part) || !strings.Contains(text, part) {
			s.Errorf("%q: got %q, want it to contain %q, a cause at its beginning", args, text, part)
		}
	}
}

// load stores the objects of a sample on the server, unchanged.
func (s *stage) load(sample string) {
	s.Helper()
	for _, file := range console.Files(filepath.Join(samples, sample, "*")) {
		for document := range strings.SplitSeq(console.Text(file), "\n---\n") {
			s.put([]byte(document))
		}
	}
}

func (s *stage) put(text []byte) {
	s.Helper()
	object := Must(runtime.Decode(scheme.Codecs.UniversalDeserializer(), text))
	switch o := object.(type) {
	case *corev1.List:
		for _, item := range o.Items {
			s.put(item.Raw)
		}
	case *batchv1.Job:
		as(s, o, s.client.BatchV1().Jobs(o.Namespace), func(job *batchv1.Job) { job.Spec.Selector, job.Spec.Template.Labels = nil, nil })
	case *corev1.Pod:
		as(s, o, s.client.CoreV1().Pods(o.Namespace), func(*corev1.Pod) {})
	case *corev1.Event:
		as(s, o, s.client.CoreV1().Events(o.Namespace), func(*corev1.Event) {})
	default:
		s.Fatalf("the test cannot create a %T", o)
	}
}

// as creates an object, changed, and updates it to what it is, except for the resource version.
func as[T any, P interface {
	*T
	kube.Object
	DeepCopy() *T
}, C interface {
	Create(context.Context, P, metav1.CreateOptions) (P, error)
}](s *stage, object P, client C, change func(P)) {
	s.Helper()
	object.SetResourceVersion("")
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the server adds it
	made := P(object.DeepCopy())
	change(made)
	Must(client.Create(s.Context(), made, metav1.CreateOptions{}))
	if !kube.Edit(s.server, object.GetNamespace(), object.GetName(), func(stored P) {
		version := stored.GetResourceVersion()
		*stored = *object
		stored.SetResourceVersion(version)
	}) {
		s.Fatalf("%s is not on the server", object.GetName())
	}
}

// at returns a stopped clock.
func at(text string) func() time.Time {
	t := Must(time.Parse(time.RFC3339, text))
	return func() time.Time { return t }
}
