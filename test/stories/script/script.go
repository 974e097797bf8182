// Package script runs scenarios: texts of steps that say what happens to a Job, and what its
// status must become. The same text runs in any [World]: on a simulated cluster or on a real one.
//
// A step is a line. Pods are named by WHICH: "all" are the pods that run or will, "index:0,2" those
// of these indexes, "deleted" those that terminate, "ended" those that have ended, and "orphans" those without a
// controller; "first:2" and
// "deleted:2" are the first two. A pod leads a LIFE: "run" until it is deleted, "wait" without
// starting, "unready", "succeed", "fail CODE" or "disrupted CODE". With "lingers" it ignores its
// deletion, with "dies:CODE" it then exits with this code. With "after:N" it runs for N seconds first,
// with "restarts:N" its containers have restarted N times, and with "lost" it fails without exit codes.
//
//	pods [index:N,M] [attempt:N] LIFE  what new pods do, by the first line that fits; before create
//	create SPEC           create the Job; SPEC is a JobSpec as YAML on one line
//	edit SPEC             change fields of the spec
//	until STATE           wait until the status is STATE, and nothing else
//	when FACTS            wait until these facts hold, whatever else does
//	always FACTS          from here on, the facts hold whenever the Job exists
//	limit N               from here on, the Job has N pods at most, those that are gone included
//	become WHICH LIFE     change the lives of pods
//	delete WHICH [now]    delete pods; now: by force
//	patch WHICH PATCH     change pods; PATCH is a JSON merge patch as YAML on one line
//	delete-job POLICY     delete the Job: Background, Foreground or Orphan
//	stop, start           stop the controller, and start it with an empty memory
//	lag jobs|pods         the controller observes no change of Jobs or pods ...
//	catch-up              ... until here, where it has handled all others
//	observed              wait until the controller has observed everything
//	event REASON          wait for an event about the Job
//	message CONDITION M   the condition has the message M, in which * is any text without a slash
//	failures INDEX N,M+I  the failure counts of the pods of an index are N, M, oldest first, and the
//	                      count of ignored failures is I
//	delays INDEX N,M      each pod of an index, -1 for no index, was created N, M seconds after the end
//	                      of the one before, or less than twice that; 0 is less than 10
//
// STATE and FACTS are words: "active=2" and other numbers of the status, unless they are zero,
// "completed=0-3" and "failedIndexes=1", and each true condition as "Type/Reason". FACTS may also
// be numbers of pods that exist: pods, ended, tracked (with the finalizer of Jobs), deleted,
// orphans; job=there, job=deleted or job=gone; started=yes or started=no; and a false condition as
// "!Type/Reason".
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Life is what a pod does.
type Life struct {
	Waits, Runs, Unready, Disrupted, Lost, Lingers bool

	Exit, Dies int32 // exit codes: of its own accord, when it is deleted
	Restarts   int32
	After      int32 // seconds
}

// ParseLife parses a life.
func ParseLife(words []string) (l Life, err error) {
	l.Dies = 143
	flags := map[string]*bool{"wait": &l.Waits, "run": &l.Runs, "unready": &l.Unready, "lingers": &l.Lingers,
		"disrupted": &l.Disrupted, "lost": &l.Lost}
	numbers := map[string]*int32{"dies": &l.Dies, "restarts": &l.Restarts, "after": &l.After}
	for _, word := range words {
		name, number, _ := strings.Cut(word, ":")
		to := numbers[name]
		if exit, err := strconv.ParseInt(word, 10, 32); err == nil {
			l.Exit = int32(exit)
		} else if flag := flags[word]; flag != nil {
			*flag = true
		} else if n, err := strconv.ParseInt(number, 10, 32); err == nil && to != nil {
			*to = int32(n)
		} else if word != "succeed" && word != "fail" {
			return l, fmt.Errorf("no life %q", word)
		}
	}
	l.Runs = l.Runs || l.Unready
	return l, nil
}

var errNoStep = errors.New("no such step")

// Scenario is a parsed text.
type Scenario struct {
	lives []rule
	steps [][2]string // word and rest
}

type rule struct {
	index, attempt string
	life           Life
}

// Parse parses the lines of a scenario.
func Parse(text string) (s Scenario, err error) {
	for _, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word[0] == '#' {
			continue
		}
		if word != "pods" {
			s.steps = append(s.steps, [2]string{word, strings.TrimSpace(rest)})
			continue
		}
		var r rule
		words := slices.DeleteFunc(strings.Fields(rest), func(f string) bool {
			index, isIndex := strings.CutPrefix(f, "index:")
			attempt, isAttempt := strings.CutPrefix(f, "attempt:")
			if isIndex {
				r.index = index
			}
			if isAttempt {
				r.attempt = attempt
			}
			return isIndex || isAttempt
		})
		if r.life, err = ParseLife(words); err != nil {
			return s, err
		}
		s.lives = append(s.lives, r)
	}
	return s, nil
}

// Life returns the life of a new pod: of its index, and after this number of earlier pods of the
// index.
func (s Scenario) Life(index, attempt int) Life {
	for _, r := range s.lives {
		if (r.index == "" || contains(r.index, index)) && (r.attempt == "" || contains(r.attempt, attempt)) {
			return r.life
		}
	}
	return Life{Runs: true, Dies: 143}
}

func contains(list string, n int) bool {
	return slices.Contains(strings.Split(list, ","), strconv.Itoa(n))
}

// Run runs the steps, and then waits for the end, a STATE. With the empty end it does not wait.
func (s Scenario) Run(w *World, end string) {
	w.T.Helper()
	for _, step := range s.steps {
		if err := w.do(step[0], step[1]); err != nil {
			w.T.Fatalf("%s %s: %v", step[0], step[1], err)
		}
	}
	if end = strings.TrimSpace(end); end != "" {
		w.Until(end)
	}
}

func (w *World) do(word, rest string) error {
	w.T.Helper()
	which, more, _ := strings.Cut(rest, " ")
	switch word {
	case "create":
		spec := batchv1.JobSpec{}
		spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "image"}}}
		if err := yaml.UnmarshalStrict([]byte(rest), &spec); err != nil {
			return err
		}
		w.Actors.Create(spec)
	case "edit":
		change := func(spec *batchv1.JobSpec) error { return yaml.UnmarshalStrict([]byte(rest), spec) }
		if err := change(&batchv1.JobSpec{}); err != nil {
			return err
		}
		return w.Actors.EditJob(func(spec *batchv1.JobSpec) { _ = change(spec) })
	case "until":
		w.Until(rest)
	case "when":
		w.When(rest, func(s State) bool { return s.holds(rest) })
	case "always":
		w.Always(rest, func(s State) bool { return s.Job == nil || s.holds(rest) })
	case "limit":
		return w.limit(rest)
	case "delete-job":
		w.Actors.DeleteJob(metav1.DeletionPropagation(rest))
	case "observed":
		w.Actors.Observed()
	case "stop", "start", "lag", "catch-up":
		c, ok := w.Actors.(Operators)
		if !ok {
			return errNoStep
		}
		map[string]func(){
			"stop": c.StopController, "start": c.StartController, "lag": func() { c.Lag(rest) }, "catch-up": c.CatchUp,
		}[word]()
	case "event":
		w.When("event "+rest, func(s State) bool { return s.Event(rest) != nil })
	case "message":
		return w.Current().message(which, more)
	case "failures":
		return w.Current().compare(which, more, failureCounts)
	case "delays":
		return w.Current().compare(which, "first,"+more, delay)
	default:
		c, ok := w.Actors.(interface{ Do(word, rest string) bool })
		if ok && c.Do(word, rest) {
			return nil
		}
		return w.doPods(word, more, w.Current().choose(which))
	}
	return nil
}

// limit checks from now on that there are at most that many pods, those that are gone included.
func (w *World) limit(most string) error {
	n, err := strconv.Atoi(most)
	seen := map[types.UID]bool{}
	w.Always("at most "+most+" pods", func(s State) bool {
		for _, pod := range s.pods() {
			seen[pod.UID] = true
		}
		return len(seen) <= n
	})
	return err
}

// message returns an error unless a condition has a message.
func (s State) message(condition, message string) error {
	for _, c := range s.Job.Status.Conditions {
		same, err := path.Match(message, c.Message)
		if string(c.Type) == condition && same {
			return err
		}
	}
	return fmt.Errorf("the conditions are %+v", s.Job.Status.Conditions)
}

// compare compares texts about the pods of an index. Each depends on the pod before, too.
func (s State) compare(of, want string, text func(before, pod *corev1.Pod) string) error {
	var texts []string
	var before *corev1.Pod
	for _, pod := range s.pods() {
		if strconv.Itoa(Index(pod)) == of {
			texts = append(texts, text(before, pod))
			before = pod
		}
	}
	if got := strings.Join(texts, ","); got != want {
		return fmt.Errorf("got %s", got)
	}
	return nil
}

func failureCounts(_, pod *corev1.Pod) string {
	counts := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]
	if ignored := pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]; ignored != "" {
		counts += "+" + ignored
	}
	return counts
}

// delay returns the delay of a pod after another, as 0, 10, 20, 40, ...
func delay(before, pod *corev1.Pod) string {
	if before == nil {
		return "first"
	}
	if len(before.Status.ContainerStatuses) == 0 || before.Status.ContainerStatuses[0].State.Terminated == nil {
		return "before the end"
	}
	took, least := pod.CreationTimestamp.Sub(before.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time), 0
	for took >= max(10*time.Second, 2*time.Duration(least)*time.Second) {
		least = max(10, 2*least)
	}
	return strconv.Itoa(least)
}

func (w *World) doPods(word, rest string, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return fmt.Errorf("no such pod")
	}
	if word == "become" {
		l, err := ParseLife(strings.Fields(rest))
		w.Actors.Lead(l, pods)
		return err
	}
	for _, pod := range pods {
		switch word {
		case "delete":
			w.Actors.DeletePod(pod, rest == "now")
		case "patch":
			var patch map[string]any
			if err := yaml.Unmarshal([]byte(rest), &patch); err != nil {
				return err
			}
			text, err := json.Marshal(patch)
			if err != nil {
				return err
			}
			w.Actors.Patch(pod, text)
		default:
			return errNoStep
		}
	}
	return nil
}
