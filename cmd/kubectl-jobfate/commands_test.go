package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	const job = "job-backoff-limit-per-index-execute-all"
	s.want(0, []string{"simulate", job}, "Assumed without a scenario: each pod runs 3s, like the pod that has succeeded, and succeeds.\n\nComplete after 23s: ", "All times are relative to 2023-08-21T10:00:09Z.")
	s.want(0, []string{"simulate", "job/" + job, "--against-set", "spec.parallelism=8"}, "time      23s                                      13s\n")
	s.want(0, []string{"simulate", job, "--from-creation", "-o", "json"}, `"took": 48,`)
	s.want(0, []string{"simulate", job, "-o", "svg"}, "<svg ")
	s.want(0, []string{"simulate", job, "--runs=3"}, "3 runs: 3 complete")
	scenario := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(scenario, []byte("pods: [{exits: [1]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(0, []string{"simulate", job, "--scenario", scenario}, "Failed after ")
	s.want(1, []string{"simulate", "other"}, `!kubectl jobfate simulate: jobs.batch "other" not found`)
	s.want(1, []string{"simulate", job, "--set", "spec.parallelism=-1"}, "!--set spec.parallelism=-1: spec.parallelism: Invalid value")
	s.want(1, []string{"simulate", job, "--max-steps", "1"}, "!(--max-steps)")
	s.want(1, []string{"simulate", job, "--scenario", "nowhere"}, "!simulate: nowhere: no such file")
}

func TestValidate(t *testing.T) {
	s := newStage(t)
	s.load("failed-by-rule")
	s.answer = func(_ string, body []byte) []byte { return []byte(ruleNames["failed-by-rule"].Replace(string(body))) }
	s.want(0, []string{"validate", "import"}, "job/import: warning: spec.podFailurePolicy.rules[0].name: KEP-4443 proposes names of rules",
		"job/import: Job import accepted, 0 errors, ")
	s.want(0, []string{"validate", "import", "--status"}, "job/import: Job import accepted, 0 errors, ")
	s.want(0, []string{"validate", "-o", "json"}, `"file": "job/import",`, `"line": 0,`, `"accepted": true,`)
	kube.Edit(s.server, "default", "import", func(job *batchv1.Job) { job.Status.Active = -1 })
	s.want(3, []string{"validate", "--status", "-A"}, "job/import: error: status.active: Invalid value: -1")

	job, err := os.ReadFile(filepath.Join(samples, "failed-by-rule", "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	job = regexp.MustCompile(`(?m)^  resourceVersion: .*\n`).ReplaceAll(job, nil) // the server has given it another one
	file := filepath.Join(t.TempDir(), "new.yaml")
	for _, tc := range []struct {
		reason, old, new string
		status           int
		want             string
	}{
		{"the same", "", "", 0, "Job import accepted, 0 errors"},
		{"more parallelism", "parallelism: 3", "parallelism: 5", 0, "Job import accepted, 0 errors"},
		{"more completions", "completions: 3", "completions: 5", 3, ":17:3: error: spec.completions: Invalid value: 5: field is immutable"},
		{"another name of a rule", "name: NodeDrained", "name: Other", 3, "error: spec.podFailurePolicy.rules[0].name: Invalid value: \"Other\": field is immutable"},
	} {
		text := string(job)
		if !strings.Contains(text, tc.old) {
			t.Fatalf("%s: the sample has no %q", tc.reason, tc.old)
		}
		text = strings.Replace(text, tc.old, tc.new, 1)
		if tc.old == "" {
			text = string(job)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.want(tc.status, []string{"validate", "import", "-f", file}, tc.want)
	}
	s.want(1, []string{"validate", "other", "-f", file}, `!jobs.batch "other" not found`)
	s.want(1, []string{"validate", "import", "-f", "nowhere.yaml"}, "!validate: nowhere.yaml: no such file")
	s.want(1, []string{"validate", "import", "-f", filepath.Join(samples, "finished", "pods.yaml")}, "!the input has no Job")
	s.want(2, []string{"validate", "-f", file}, "!-f needs the name of the Job that the file updates")
}

func TestUsage(t *testing.T) {
	s := newStage(t)
	s.suspended("default", "a", nil)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"simulate", "a", "b"}, "accepts 1 arg(s), received 2"},
		{[]string{"simulate"}, "accepts 1 arg(s), received 0"},
		{[]string{"a", "-A"}, "want names of Jobs, or --selector and --all-namespaces without a name"},
		{[]string{"a", "-l", "b=c"}, "want names of Jobs"},
		{[]string{"validate", "a", "-A"}, "want names of Jobs"},
		{[]string{"job/"}, "want names of Jobs"},
		{[]string{"pod/a"}, "pod/a is not a Job; want NAME, or a name after job/"},
		{[]string{"--logs"}, "--logs is for one Job"},
		{[]string{"cj/a", "--logs"}, "--logs is for one Job"},
		{[]string{"simulate", "cronjob/a"}, "cronjob/a is not a Job"},
		{[]string{"-l", "=="}, "--selector: "},
		{[]string{"--nothing"}, "unknown flag: --nothing"},
		{[]string{"-o", "xml"}, "want text, json or yaml"},
		{[]string{"validate", "-o", "sarif"}, "want text, json or yaml"},
		{[]string{"--now", "noon"}, "want a time"},
		{[]string{"a", "-w", "--now", "-1m"}, "want either --watch or --now"},
		{[]string{"simulate", "a", "--runs", "-1"}, "want 1 to 100000"},
	} {
		s.want(2, tc.args, "!"+tc.want, " -h for usage\n")
	}
	if len(s.requests) > 0 {
		t.Errorf("got the requests %q, want none for wrong flags", s.requests)
	}
	s.want(0, []string{"--version"}, "kubectl jobfate ", "decides as the Job controller of Kubernetes 1.37\n")
	s.want(0, []string{"-h"}, "  kubectl jobfate [NAME | KIND/NAME] ... [flags]\n", "--context string", "-n, --namespace", "-w, --watch", "-o, --output format")
	s.want(0, []string{"simulate", "-h"}, "  kubectl jobfate simulate NAME [flags]\n", "--scenario file", "--context string")
	s.want(0, []string{"validate", "-h"}, "  kubectl jobfate validate [NAME] [flags]\n", "--loose")
}

func TestCompletion(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"one", "two", "validate"} {
		s.suspended("default", name, nil)
	}
	s.suspended("elsewhere", "three", nil)
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{""}, []string{"one", "simulate", "two", "validate"}},
		{[]string{"o"}, []string{"one"}},
		{[]string{"simulate", ""}, []string{"one", "two", "validate"}},
		{[]string{"validate", "t"}, []string{"two"}},
		{[]string{"-n", "elsewhere", ""}, []string{"simulate", "three", "validate"}},
		{[]string{"--context=there", "simulate", ""}, []string{"three"}},
		{[]string{"one", ""}, nil},
		{[]string{"--context", ""}, []string{"here", "there"}},
		{[]string{"-n", "e"}, []string{"elsewhere"}},
		{[]string{"-o", ""}, []string{"json", "text", "yaml"}},
		{[]string{"simulate", "--color", ""}, []string{"always", "auto", "never"}},
		{[]string{"--exit"}, []string{"--exit-status"}},
		{[]string{"--context=nowhere", "simulate", ""}, nil},
	} {
		status, stdout, _ := s.run(append([]string{"__complete"}, tc.args...)...)
		var got []string
		for line := range strings.Lines(stdout) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(name, ":") {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(slices.DeleteFunc(got, func(name string) bool { return name == "help" })); status != 0 || !slices.Equal(got, tc.want) {
			t.Errorf("%q: got status %d and %q, want %q", tc.args, status, got, tc.want)
		}
	}
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
