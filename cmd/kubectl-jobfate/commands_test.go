package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"

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
