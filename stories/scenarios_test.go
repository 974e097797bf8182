package stories

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// rewrite is the flag of datadriven, which is parsed when the tests run.
func rewrite() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// TestScenarios runs the stories in testdata. A story is a list of commands. A command that
// has output is followed by the output:
//
//	command argument key=value
//	further input, if the command takes any
//	----
//	the output, up to an empty line
//
// Lines that begin with # are comments. They quote the sentences that the story checks.
// With -rewrite the test writes the outputs to the files. The command "expect" fails the
// test even then.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if rewrite() {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs a scenario and returns it with the actual outputs.
func play(t *testing.T, text string) string {
	w := &world{}
	var out []string
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	// until returns the lines up to an empty one or a marker.
	until := func(i int) int {
		for i < len(lines) && lines[i] != "" && lines[i] != "----" {
			i++
		}
		return i
	}
	for i := 0; i < len(lines); {
		at := i
		i++
		if lines[at] == "" || strings.HasPrefix(lines[at], "#") {
			out = append(out, lines[at])
			continue
		}
		c := command{Fields: strings.Fields(lines[at])}
		if c.Fields[0] == "job" || c.Fields[0] == "edit" {
			i = until(i)
			c.Body = lines[at+1 : i]
		}
		out = append(out, lines[at:i]...)
		var want []string
		if i < len(lines) && lines[i] == "----" {
			from := i + 1
			i = until(from)
			want = lines[from:i]
		}
		got := w.do(t, c)
		if !rewrite() && strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("line %d: %s\ngot\n\t%s\nwant\n\t%s", at+1, lines[at], strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
		if len(got) > 0 {
			out = append(append(out, "----"), got...)
			if i < len(lines) && lines[i] != "" {
				out = append(out, "")
			}
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// command is a command of a scenario.
type command struct {
	Fields []string
	Body   []string
}

// value returns the value of an argument key=value, or the default.
func (c command) value(key, otherwise string) string {
	for _, f := range c.Fields[1:] {
		if v, ok := strings.CutPrefix(f, key+"="); ok {
			return v
		}
	}
	return otherwise
}

func (c command) number(t *testing.T, key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(c.value(key, strconv.FormatInt(otherwise, 10)), 10, 64)
	if err != nil {
		t.Fatalf("%v: %v", c.Fields, err)
	}
	return n
}

// do runs a command and returns its output.
func (w *world) do(t *testing.T, c command) []string {
	t.Helper()
	name := c.Fields[0]
	if name == "job" {
		w.begin(t, strings.Join(c.Body, "\n"), w.opts...)
		return nil
	}
	w.log, w.events = nil, nil
	switch name {
	case "options":
		w.setOptions(t, c.Fields[1:])
	case "sync", "settle", "wait":
		return w.reconcile(t, c)
	case "advance":
		d, err := time.ParseDuration(c.Fields[1])
		if err != nil {
			t.Fatal(err)
		}
		w.advance(d)
	case "edit":
		w.edit(strings.Join(c.Body, "\n"))
	case "restart":
		w.restart()
	case "delete-job":
		w.DeleteJob(metav1.DeletePropagationForeground)
	case "status":
		return showStatus(&w.Job().Status)
	case "pods":
		return orNone(showPods(w.Pods()))
	case "why":
		return decidetest.Explanation(w.last)
	case "metrics":
		return w.counted()
	case "expect":
		w.expect(t, c)
	default:
		w.move(t, c)
	}
	return nil
}

func orNone(lines []string) []string {
	if len(lines) == 0 {
		return []string{"none"}
	}
	return lines
}

// reconcile runs a sync, and returns the writes of the controller, the time of the next
// sync, and the explanation.
func (w *world) reconcile(t *testing.T, c command) []string {
	t.Helper()
	for _, kind := range []faultKind{crashBefore, crashAfter, refuse, lose} {
		if n := c.number(t, string(kind), 0); n > 0 {
			w.fault = fault{at: w.writes + int(n), kind: kind}
		}
	}
	switch c.Fields[0] {
	case "sync":
		w.sync()
	case "settle":
		w.settle()
	case "wait":
		w.wait()
		w.log = append([]string{"at " + clock(w.Now)}, w.log...)
	}
	out := joined(w.log)
	if !w.next.IsZero() {
		out = append(out, "next sync at "+clock(w.next))
	}
	return append(out, fmt.Sprintf("%s: %s", explain.Of(w.last).Job().Code, explain.Of(w.last).Job().Text))
}

// joined joins consecutive removals of finalizers into one line.
func joined(log []string) (lines []string) {
	for _, line := range log {
		verb, pod, _ := strings.Cut(line, " ")
		last := len(lines) - 1
		if verb == "strip" && last >= 0 && strings.HasPrefix(lines[last], verb) {
			lines[last] += " " + pod
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) setOptions(t *testing.T, names []string) {
	w.opts = nil
	for _, name := range names {
		name, value, _ := strings.Cut(name, "=")
		opt, ok := map[string]jobfate.Option{
			"WithoutPerIndexBackoff":   jobfate.WithoutPerIndexBackoff(),
			"WithoutReplacementPolicy": jobfate.WithoutReplacementPolicy(),
			"GranularReasons":          jobfate.GranularReasons(),
			"FillFreeSlots":            jobfate.FillFreeSlots(),
			"RuleNames":                jobfate.RuleNames(strings.Split(value, ",")...),
		}[name]
		if !ok {
			t.Fatalf("no option %s", name)
		}
		w.opts = append(w.opts, opt)
		if strings.HasPrefix(name, "Without") {
			w.rules = nil // the referee does not support turning off the feature
		}
	}
}

// move changes pods. The command names them p1, p2 and so on, or all, or by an index, for
// the newest pod of the index that has not ended.
func (w *world) move(t *testing.T, c command) {
	t.Helper()
	for _, uid := range w.named(t, c.Fields[1:]) {
		switch c.Fields[0] {
		case "run":
			w.Start(uid)
		case "succeed":
			w.End(uid, 0)
		case "exit":
			w.End(uid, int32(c.number(t, "code", 1)))
		case "disrupt":
			w.Disrupt(uid)
		case "delete":
			w.Delete(uid, c.number(t, "grace", 30))
		case "vanish":
			w.Vanish(uid)
		case "restart-containers":
			w.Edit(uid, func(pod *corev1.Pod) { restartContainers(pod, w.Now, int32(c.number(t, "times", 1))) })
		case "orphan":
			w.Edit(uid, func(pod *corev1.Pod) { pod.OwnerReferences, pod.Finalizers = nil, nil })
		default:
			t.Fatalf("no command %s", c.Fields[0])
		}
	}
}

// restartContainers restarts all containers of a pod in place, after they have ended with an exit code.
func restartContainers(pod *corev1.Pod, now time.Time, times int32) {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		s.RestartCount += times
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: metav1.NewTime(now)}
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	}
}

func (w *world) named(t *testing.T, fields []string) (uids []types.UID) {
	t.Helper()
	for _, f := range fields {
		index, err := strconv.Atoi(f)
		switch {
		case strings.Contains(f, "="):
		case f == "all":
			for _, pod := range w.alive() {
				uids = append(uids, pod.UID)
			}
		case err == nil:
			uids = append(uids, w.ofIndex(int32(index)))
		default:
			n, _ := strconv.Atoi(strings.TrimPrefix(f, "p"))
			uids = append(uids, types.UID(fmt.Sprintf("pod-%d", n)))
		}
	}
	return uids
}

// expect compares the status with the values that a specification requires.
func (w *world) expect(t *testing.T, c command) {
	t.Helper()
	is := map[string]string{"pods": fmt.Sprint(len(w.alive()))}
	for _, f := range statusFields(&w.Job().Status) {
		is[f[0]] = strings.Trim(f[1], `"`)
	}
	for _, cond := range w.Job().Status.Conditions {
		is[string(cond.Type)] = cond.Reason
	}
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
		if _, ok := is[string(end)]; !ok {
			is[string(end)] = "none"
		}
	}
	for _, f := range c.Fields[1:] {
		key, want, _ := strings.Cut(f, "=")
		if got := is[key]; got != want {
			t.Errorf("%v: %s is %q, want %q", c.Fields, key, got, want)
		}
	}
}
