package chaos

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// tale takes down what happens in a run.
type tale struct {
	title string // of the step under way, not yet written
	depth int
	lines []string
}

func (t *tale) say(format string, args ...any) {
	if t.title != "" {
		t.lines, t.title = append(t.lines, t.title), ""
	}
	t.lines = append(t.lines, strings.Repeat("  ", t.depth)+fmt.Sprintf(format, args...))
}

// begin notes a step. A step of which nothing comes leaves no line.
func (t *tale) begin(r *run, name string) {
	title := fmt.Sprintf("%3d  %s  %s", r.step, r.c.Now.Format("15:04:05.000"), name)
	if t.depth > 0 {
		t.say("  meanwhile: %s", name)
		return
	}
	t.title = title
}

func (t *tale) changed(s *cluster.Step) {
	switch {
	case s.Refused != nil:
	case s.Pod != nil || s.OldPod != nil:
		t.say("       %s -> %s", podLine(s.OldPod), podLine(s.Pod))
	case s.Job == nil:
		t.say("       the Job is gone")
	case s.Request != nil:
		t.say("       status %s", statusLine(&s.Job.Status))
	default:
		t.say("       the Job: %s", specLine(s.Job))
	}
}

func (t *tale) saw(l *leader, v *cluster.View) {
	job := "no Job"
	if v.Job != nil {
		job = string(v.Job.UID) + " with status " + statusLine(&v.Job.Status)
	}
	t.say("     controller %d sees %s", l.n, job)
	for _, pod := range v.Pods {
		t.say("       and %s", podLine(pod))
	}
	t.depth++
}

func (t *tale) asked(q *cluster.Request, err error) {
	what := string(q.Verb)
	switch q.Verb {
	case cluster.Create:
		what += " " + podLine(q.Pod)
	case cluster.Patch, cluster.Delete:
		what += " " + string(q.UID)
	}
	if q.Patch != nil && q.Verb == cluster.Patch {
		what += " " + string(q.Patch)
	}
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	t.say("     asked: %s: %s", what, answer)
}

func (t *tale) synced(out cluster.Outcome) {
	t.depth--
	switch {
	case out.Killed:
		t.say("     the controller is killed")
	case out.Err != nil:
		t.say("     it will try again: %v", out.Err)
	case out.After > 0:
		t.say("     it will look again after %v", out.After)
	}
}

// podLine tells of a pod in few words.
func podLine(pod *corev1.Pod) string {
	if pod == nil {
		return "nothing"
	}
	words := []string{string(pod.UID)}
	if pod.UID == "" {
		words[0] = "a pod"
	}
	if index, ok := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
		words = append(words, "index "+index)
	}
	if n, ok := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		words = append(words, "failures "+n)
	}
	phase := string(pod.Status.Phase)
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; ended != nil {
			phase += "(" + strconv.Itoa(int(ended.ExitCode)) + ")"
		}
		if c.RestartCount > 0 {
			phase += " restarts " + strconv.Itoa(int(c.RestartCount))
		}
	}
	if phase != "" {
		words = append(words, phase)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			words = append(words, "disrupted")
		}
	}
	if pod.DeletionTimestamp != nil {
		words = append(words, "deleted")
	}
	if hasFinalizer(pod) {
		words = append(words, "tracked")
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		words = append(words, "of "+string(owner.UID))
	}
	return strings.Join(words, " ")
}

// statusLine is a status without its times and messages.
func statusLine(st *batchv1.JobStatus) string {
	short := *st
	short.Conditions, short.StartTime, short.CompletionTime = nil, nil, nil
	text, _ := json.Marshal(&short) // a status always encodes
	line := string(text)
	for _, c := range st.Conditions {
		line += " " + string(c.Type)
		if c.Status != corev1.ConditionTrue {
			line += "=" + string(c.Status)
		}
		if c.Reason != "" {
			line += "(" + c.Reason + ")"
		}
	}
	return line
}

// specLine is what of a spec matters here.
func specLine(job *batchv1.Job) string {
	short := job.Spec
	short.Template, short.Selector, short.ManualSelector = corev1.PodTemplateSpec{}, nil, nil
	text, _ := json.Marshal(&short) // a spec always encodes
	line := strings.ReplaceAll(string(text), `"template":{"metadata":{"creationTimestamp":null},"spec":{"containers":null}},`, "")
	line = strings.ReplaceAll(line, `"template":{"metadata":{},"spec":{"containers":null}},`, "")
	if job.DeletionTimestamp != nil {
		line += " deleted"
	}
	return string(job.UID) + " " + line + " restartPolicy " + string(job.Spec.Template.Spec.RestartPolicy)
}

// story is what was taken down, with what did not hold and the objects as they
// are.
func (r *run) story() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v\n", r.Seed, r.broken)
	for _, line := range r.tale.lines {
		b.WriteString(line + "\n")
	}
	if r.c == nil {
		return b.String()
	}
	b.WriteString("in the end:\n")
	if job := r.c.Job(); job != nil {
		fmt.Fprintf(&b, "  %s\n  status %s\n", specLine(job), statusLine(&job.Status))
	}
	for _, pod := range r.c.Pods() {
		fmt.Fprintf(&b, "  %s\n", podLine(pod))
	}
	return b.String()
}

// shrink looks for a shorter run that breaks the same property, and tells it.
func shrink(cfg Config, found *run) *run {
	skip := make([]bool, cfg.Steps+1)
	for i := found.step + 1; i <= cfg.Steps; i++ {
		skip[i] = true
	}
	left := cfg.Retries
	try := func(c Config, skip []bool) *run {
		left--
		r := newRun(c, skip)
		r.live()
		if r.broken == nil || r.broken.Property != found.broken.Property {
			return nil
		}
		return r
	}
	for i, name := range events() {
		if left <= 0 || !found.used[i] || name == "sync" {
			continue
		}
		less := cfg
		less.Without = append(append([]string(nil), cfg.Without...), name)
		if try(less, skip) != nil {
			cfg = less
		}
	}
	for size := max(1, found.step/2); ; size /= 2 {
		for at := 1; at <= cfg.Steps && left > 0; at += size {
			less := append([]bool(nil), skip...)
			changed := false
			for i := at; i < min(at+size, len(less)); i++ {
				changed = changed || !less[i]
				less[i] = true
			}
			if changed && try(cfg, less) != nil {
				skip = less
			}
		}
		if size <= 1 {
			break
		}
	}
	r := newRun(cfg, skip)
	r.tale = &tale{}
	r.live()
	return r
}
