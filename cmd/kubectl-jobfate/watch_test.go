package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// watching is a running watch of the plugin.
type watching struct {
	*stage
	*output
	stop   context.CancelFunc
	status chan int
}

// watch starts the plugin, in virtual time.
func (s *stage) watch(args ...string) *watching {
	s.Helper()
	p, out := s.program()
	return s.watchWith(p, out, args...)
}

func (s *stage) watchWith(p *program, out *output, args ...string) *watching {
	ctx, stop := context.WithCancel(s.Context())
	w := &watching{stage: s, output: out, stop: stop, status: make(chan int, 1)}
	go func() { w.status <- p.run(ctx, append(args, "-w")) }()
	time.Sleep(100 * time.Millisecond)
	return w
}

// printed waits, and then checks that the output since the last call contains the parts in this
// order. Without parts there must be no output.
func (w *watching) printed(after time.Duration, parts ...string) {
	w.Helper()
	time.Sleep(after)
	rest := w.stdout.String()
	if len(parts) == 0 && rest != "" {
		w.Errorf("got %q, want nothing", rest)
	}
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			w.Errorf("got %q, want %q in it", rest, part)
			return
		}
		rest = after
	}
}

// ended checks the exit status and stderr.
func (w *watching) ended(status int, stderr string) {
	w.Helper()
	select {
	case got := <-w.status:
		if text := w.stderr.String(); got != status || !strings.Contains(text, stderr) || stderr == "" && text != "" {
			w.Errorf("got status %d and %q, want %d and %q", got, text, status, stderr)
		}
	case <-time.After(time.Minute):
		w.stop()
		w.Errorf("it has not ended; stdout %q", w.stdout.String())
	}
}

// finish ends the Job.
func (s *stage) finish(name string, condition batchv1.JobConditionType) {
	kube.Edit(s.server, "default", name, func(job *batchv1.Job) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, Reason: "Reason", Message: "it is over"})
	})
}

func TestWatch_untilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		job := s.create(newJob("a"))
		w := s.watch("a", "--exit-status")
		w.printed(0, "CreatingPods: creating 2 pods\n")
		s.pod(job, "a-1")
		s.pod(job, "a-2")
		w.printed(2*time.Second, "\nPodsStarting: 2 of 2 active pods ")
		// Only the time changes, until the pods are overdue.
		w.printed(time.Minute)
		w.printed(time.Minute, "\nNoScheduler: 2 of 2 active pods got no response from a scheduler")
		w.printed(time.Hour)
		for _, name := range []string{"a-1", "a-2"} {
			kube.Kubelet{Server: s.server}.Start("default", name)
		}
		w.printed(2*time.Second, "\nRunning: ")
		s.finish("a", batchv1.JobFailed)
		w.printed(2*time.Second, "\nFailed: Reason: it is over\n")
		w.ended(5, "")
	})
}

// TestWatch_requests checks that a watch lists each kind only once, and that it prints
// at most once a second, even with many changes.
func TestWatch_requests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		job := newJob("a")
		job.Spec.Parallelism, job.Spec.Completions = new(int32(200)), new(int32(200))
		job = s.create(job)
		w := s.watch("a")
		for i := range 100 {
			s.pod(job, "a-"+string(rune('a'+i/10))+string(rune('a'+i%10)))
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(w.stdout.Take()); n < 9 || n > 12 {
			t.Errorf("it printed %d times in 10 seconds, want about once a second", n)
		}
		requests := map[string]int{}
		s.mu.Lock()
		for _, request := range s.requests {
			requests[strings.Join(strings.Fields(request)[:2], " ")]++
		}
		s.mu.Unlock()
		for request, n := range requests {
			if n > 1 {
				t.Errorf("%d requests to %s, want one", n, request)
			}
		}
		Same(t, "requests to watch pods", requests["watch pods"], 1)
		w.stop()
		w.ended(130, "")
	})
}

func TestWatch_list(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		w := s.watch("-A")
		w.printed(0, "No Job was found.\n")
		s.suspended("elsewhere", "b", nil)
		w.printed(2*time.Second, "\nelsewhere   b      0/2                      1s    Suspended   ")
		// A Job with a manual selector requires a new list of pods.
		s.pod(s.manual("a"), "a-1")
		s.unschedulable("a-1", "no room")
		w.printed(2*time.Minute+5*time.Second, "Unschedulable   1 of 1 active pod cannot be scheduled: no room\nelsewhere   b ")
		w.stop()
		w.ended(130, "")
	})
}

func TestWatchedJobIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.want(1, []string{"a", "-w"}, `!jobs.batch "a" not found`)
		s.suspended("default", "a", nil)
		w := s.watch("a")
		remove := func() {
			NoError(t, s.client.BatchV1().Jobs("default").Delete(t.Context(), "a", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		}
		remove()
		w.ended(1, "kubectl jobfate: the Job was deleted\n")
		// A Job that is deleted and recreated at once is another Job with the same name.
		s.suspended("default", "a", nil)
		w = s.watch("a")
		w.printed(0, "Suspended: ")
		remove()
		s.pod(s.create(newJob("a")), "a-1")
		w.printed(5*time.Second, "CreatingPods: ", "Job default/a, 1 pod,")
		w.stop()
		w.ended(130, "")
	})
}

// TestWatchWithoutPermission checks that a watch continues without permission for events and
// nodes, and ends without permission for Jobs or pods.
func TestWatchWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.suspended("default", "a", nil)
		s.forbid("no", "events", "nodes")
		w := s.watch("a")
		w.printed(0, "Suspended: ", "NotPermitted: causes that depend on events, nodes cannot be found")
		s.finish("a", batchv1.JobComplete)
		w.ended(0, "")
		for _, resource := range []string{"jobs", "pods"} {
			s.forbid("no", resource)
			s.want(1, []string{"a", "-w"}, "!kubectl jobfate: failed to list "+resource+": "+resource, " is forbidden: no\n")
		}
	})
}

// TestWatchWithoutAServer checks that a watch ends if no server answers its first request.
func TestWatchWithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.create(newJob("a"))
		s.server.Intercept(func(*kube.Request) kube.Verdict { return kube.Verdict{Err: syscall.ECONNREFUSED} })
		s.want(1, []string{"a", "-w"}, "!kubectl jobfate: ", "connection refused\n")
	})
}

// TestWatchSurvivesAnOutage checks that a watch reports when the server does not answer, and
// continues when it does again.
func TestWatchSurvivesAnOutage(t *testing.T) {
	for _, failure := range []error{io.ErrUnexpectedEOF, syscall.ECONNREFUSED, apierrors.NewServiceUnavailable("later")} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			job := s.create(newJob("a"))
			w := s.watch("a")
			w.printed(5*time.Second, "CreatingPods: ")
			s.fail(func(schema.GroupVersionResource) error { return failure })
			s.server.CloseWatches(func(*kube.Request) bool { return true })
			time.Sleep(time.Minute)
			// The client treats a cut connection as a watch without changes.
			if told := strings.Contains(w.stdout.String(), "NotUpToDate: pods may be stale: "); told == (failure == io.ErrUnexpectedEOF) {
				t.Errorf("%v: the output says that the pods may have changed: %t", failure, told)
			}
			s.pod(job, "a-1")
			s.server.Compact(s.server.Revision())
			s.server.Intercept(nil)
			w.printed(2*time.Minute, "CreatingPods: creating 1 pod\n")
			time.Sleep(time.Minute)
			s.finish("a", batchv1.JobComplete)
			w.ended(0, "")
			if text := w.stdout.String(); strings.Contains(text, "NotUpToDate") {
				t.Errorf("got %q, want no outage any more", text)
			}
		})
	}
}

// TestUnreadableJob checks that a watch ends if this version cannot read the Job.
func TestUnreadableJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.create(newJob("a"))
		var broken atomic.Bool
		broken.Store(true)
		s.answer = func(_ string, body []byte) []byte {
			if !broken.Load() {
				return body
			}
			return bytes.Replace(body, []byte(`"parallelism":2`), []byte(`"parallelism":"two"`), 1)
		}
		const want = "!job/a:1: spec.parallelism: cannot unmarshal string into int32\n"
		s.want(1, []string{"a"}, want)
		s.want(1, []string{"a", "-w"}, want)
		broken.Store(false)
		w := s.watch("a")
		w.printed(0, "CreatingPods: ")
		broken.Store(true)
		kube.Edit(s.server, "default", "a", func(job *batchv1.Job) { job.Status.Active = 1 })
		w.ended(1, want[1:])
	})
}

func TestWatchAsJSONAndYAML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for format, separator := range map[string]string{"json": "}\n{", "yaml": "\n---\n"} {
			s := newStage(t)
			s.suspended("default", "a", nil)
			w := s.watch("a", "-o", format)
			time.Sleep(time.Second)
			s.finish("a", batchv1.JobComplete)
			time.Sleep(2 * time.Second)
			text := w.stdout.String()
			Same(t, "separators of documents in "+format, strings.Count(text, separator), 1)
			if decoder := json.NewDecoder(strings.NewReader(text)); format == "json" {
				var first, last struct{ Reason struct{ Code string } }
				if err := errors.Join(decoder.Decode(&first), decoder.Decode(&last)); err != nil || first.Reason.Code != "Suspended" || last.Reason.Code != "Finished" {
					t.Errorf("got %v, then %v, and %v", first, last, err)
				}
			}
			w.ended(0, "")
		}
	})
}

// sequences match what puts a view in the place of the last one, as TestFollowReplaces of package cli checks.
var sequences = regexp.MustCompile(`\r|\x1b\[\??\d*[A-Za-z]`)

// TestWatchOnATerminal checks that each view is a single write that fits the terminal.
func TestWatchOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		job := s.create(newJob("a"))
		p, out := s.program()
		const width, height = 40, 12
		p.size = func() (int, int) { return width, height }
		w := s.watchWith(p, out, "a")
		var last []string // lines
		show := func() (frames int) {
			for _, write := range out.stdout.Take() {
				last = strings.Split(sequences.ReplaceAllString(write, ""), "\n")
				frames++
			}
			return frames
		}
		begins := func(lines ...string) {
			if len(last) > height || !slices.Equal(last[:len(lines)], lines) {
				t.Errorf("got\n%s\nwant it to begin with\n%s", strings.Join(last, "\n"), strings.Join(lines, "\n"))
			}
		}
		Same(t, "writes at first", show(), 1)
		begins("CreatingPods: creating 2 pods", "", "Job default/a, 0 pods, created 0s ago, a", "t 2000-01-01T00:00:00Z.")
		if last := last[height-2]; !strings.HasPrefix(last, "… ") || !strings.HasSuffix(last, " more lines") {
			t.Errorf("got the last line %q, want it to say how many more there are", last)
		}
		s.pod(job, "a-1")
		s.pod(job, "a-2")
		time.Sleep(1500 * time.Millisecond)
		show()
		begins("PodsStarting: 2 of 2 active pods must st", "ill start: its phase is Pending, and it ", "has no node", "  Pods: a-1, a-2", "", "Job default/a, 2 pods, created 1s ago, a", "t 2000-01-01T00:00:01Z.")
		// Only the time changes: the view is updated at a bounded rate.
		time.Sleep(time.Minute)
		Same(t, "writes in a minute, one every 5 seconds", show(), 12)
		// At the end the view is printed completely.
		s.finish("a", batchv1.JobComplete)
		w.ended(0, "")
		show()
		whole := strings.Join(last, "\n")
		if strings.Contains(whole, "more lines") || !strings.Contains(whole, "Can it succeed?") || strings.Count(whole, "Job default/a") != 1 || strings.Contains(whole, "PodsStarting") {
			t.Errorf("got in the end\n%s\nwant the last text, whole and once", whole)
		}
	})
}

// TestWatch_cronJob watches a CronJob, which does not end.
func TestWatch_cronJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWorld(t)
		owner := s.object(cronJob, "nightly", map[string]any{"spec": map[string]any{"schedule": "0 3 * * *"}})
		w := s.watch("cronjob/nightly")
		w.printed(0, "Scheduled: the next Job is due at 2000-01-01T03:00:00Z, in 3h; spec.timeZone is not set")
		s.owned(owner, "nightly-1")
		w.printed(2*time.Second, "Jobs:\n  2000-01-01T00:00:00Z nightly-1, ")
		w.printed(4*time.Hour, "RunOverdue: start time 2000-01-01T03:00:00Z has passed without a Job\n")
		w.stop()
		w.ended(130, "")
		s.watch("cronjob/other").ended(1, "the CronJob does not exist")
	})
}
