package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func TestSimulate(t *testing.T) {
	s := newStage(t)
	s.load("indexes-backing-off")
	s.now = at("2023-08-21T10:00:09Z")
	s.transcript("simulate.txt")
}

func TestValidate(t *testing.T) {
	s := newStage(t)
	s.load("failed-by-rule")
	s.answer = func(_ string, body []byte) []byte { return []byte(ruleNames["failed-by-rule"].Replace(string(body))) }
	s.transcript("validate.txt")
	kube.Edit(s.server, "default", "import", func(job *batchv1.Job) { job.Status.Active = -1 })
	s.want(3, []string{"validate", "--status", "-A"}, "job/import: error: status.active: Invalid value: -1")
}

func TestUsage(t *testing.T) {
	s := newStage(t)
	s.suspended("default", "a", nil)
	s.transcript("usage.txt")
	if len(s.requests) > 0 {
		t.Errorf("got the requests %q, want none for wrong flags", s.requests)
	}
	s.want(0, []string{"--version"}, "kubectl jobfate ", "decides as the Job controller of Kubernetes 1.37\n")
}

func TestCompletion(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"one", "two", "validate"} {
		s.suspended("default", name, nil)
	}
	s.suspended("elsewhere", "three", nil)
	s.transcript("completion.txt")
}

// TestCompletion_slowServer checks that completion does not wait long for a server that does not
// answer.
func TestCompletion_slowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.suspended("default", "one", nil)
		s.server.Intercept(func(*kube.Request) kube.Verdict { return kube.Verdict{Delay: time.Hour} })
		begun := time.Now()
		if status, stdout, _ := s.run("__complete", "simulate", ""); status != 0 || strings.Contains(stdout, "one") || time.Since(begun) > patience {
			t.Errorf("got status %d and %q after %s, want no names", status, stdout, time.Since(begun))
		}
	})
}

// goldens are outputs of the command for the samples. The plugin must print the same when it
// reads the samples from a cluster.
var goldens = []struct{ sample, job, now string }{
	{"indexes-backing-off", "job-backoff-limit-per-index-execute-all", "2023-08-21T10:00:09Z"},
	{"failed-by-rule", "import", "2023-08-21T10:00:13Z"},
	{"suspended", "nightly", "2023-08-21T10:00:00Z"},
	{"finished", "report", "2023-08-21T10:01:31Z"},
	{"backing-off", "crawl", "2023-08-21T10:00:40Z"},
	{"cannot-start", "resize", "2023-08-21T10:00:00Z"},
	{"managed-elsewhere", "train", "2023-08-21T10:03:01Z"},
}

// ruleNames adds the names of rules to the responses of the server, because the Go types of the
// API lack them.
var ruleNames = map[string]*strings.Replacer{
	"failed-by-rule":    strings.NewReplacer(`{"action":"Ignore"`, `{"name":"NodeDrained","action":"Ignore"`, `{"action":"FailJob"`, `{"name":"ConfigurationError","action":"FailJob"`),
	"managed-elsewhere": strings.NewReplacer(`{"action":"FailJob"`, `{"name":"OutOfMemory","action":"FailJob"`),
}

func TestSameOutputAsTheCommand(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.sample, func(t *testing.T) {
			s := newStage(t)
			s.load(g.sample)
			s.now = at(g.now)
			if names := ruleNames[g.sample]; names != nil {
				s.answer = func(_ string, body []byte) []byte { return []byte(names.Replace(string(body))) }
			}
			for suffix, args := range map[string][]string{".txt": nil, ".ansi": {"--color=always"}, ".json": {"-o", "json"}, ".yaml": {"-oyaml"}} {
				want := console.Text(filepath.Join("../internal/cli/testdata", g.sample+suffix))
				status, got, stderr := s.run(append(args, g.job)...)
				if diff := cmp.Diff(want, got); status != 0 || stderr != "" || diff != "" {
					t.Errorf("%s: status %d, %s (-command +plugin)\n%s", suffix, status, stderr, diff)
				}
			}
		})
	}
}

// loadAll stores all samples on the server, at an interesting time.
func loadAll(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	for _, g := range goldens {
		s.load(g.sample)
	}
	s.now = at("2023-08-21T10:00:40Z")
	return s
}

func TestSelection(t *testing.T) {
	s := loadAll(t)
	s.suspended("elsewhere", "crawl", map[string]string{"team": "a"})
	s.suspended("default", "other", map[string]string{"team": "a"})
	s.transcript("selection.txt")
}

// suspended creates a suspended Job, which needs no pods.
func (s *stage) suspended(namespace, name string, labels map[string]string) *batchv1.Job {
	s.Helper()
	namespaces := s.client.CoreV1().Namespaces()
	if _, err := namespaces.Get(s.Context(), namespace, metav1.GetOptions{}); err != nil {
		Must(namespaces.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))
	}
	job := newJob(name)
	job.Namespace, job.Labels, job.Spec.Suspend = namespace, labels, new(true)
	return s.create(job)
}

func newJob(name string) *batchv1.Job {
	job := PlainJob(name)
	job.Spec.Parallelism, job.Spec.Completions = new(int32(2)), new(int32(2))
	return job
}

func (s *stage) create(job *batchv1.Job) *batchv1.Job {
	s.Helper()
	return Must(s.client.BatchV1().Jobs(job.Namespace).Create(s.Context(), job, metav1.CreateOptions{}))
}

// pod creates a pod like the Job controller.
func (s *stage) pod(job *batchv1.Job, name string) *corev1.Pod {
	s.Helper()
	pod := PodOf(job, "", "")
	pod.Name, pod.Spec = name, job.Spec.Template.Spec
	return Must(s.client.CoreV1().Pods(job.Namespace).Create(s.Context(), pod, metav1.CreateOptions{}))
}

// TestPodsWithoutAController checks that an orphan pod is read if a Job selects it.
func TestPodsWithoutAController(t *testing.T) {
	s := newStage(t)
	job := s.create(newJob("a"))
	s.pod(job, "a-1")
	s.pod(job, "a-2")
	kube.Edit(s.server, "default", "a-2", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
	s.want(0, []string{"a"}, "Job default/a, 2 pods", "\n  adopt pod a-2\n")
	s.want(0, []string{"--all", "-o", "yaml"}, "claims:\n  - action: adopt\n    pod: a-2\n")
	s.want(0, nil, "No Job needs attention (--all lists 1 Job).\n")
}

// manual creates a Job with a manual selector.
func (s *stage) manual(name string) *batchv1.Job {
	s.Helper()
	job := newJob(name)
	job.Spec.ManualSelector, job.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	job.Spec.Template.Labels = map[string]string{"app": "a"}
	return s.create(job)
}

// TestManualSelector checks that all pods are read if one of the Jobs has a manual selector.
func TestManualSelector(t *testing.T) {
	s := newStage(t)
	job := s.manual("manual")
	s.pod(job, "manual-1")
	s.pod(s.create(newJob("usual")), "usual-1")
	s.want(0, []string{"manual"}, "Job default/manual, 1 pod,")
	s.take("list jobs metadata.name=manual", "list pods app=a", "list events")
	s.want(0, []string{"--all", "-o", "json"}, `"pods": 1,`)
	s.take("list jobs", "list cronjobs", "list pods", "list events")
}

// take checks the requests since the last call.
func (s *stage) take(want ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	Same(s, "the requests", s.requests, want)
	s.requests = nil
}
