// Package script runs scenarios: texts of steps that say what happens to a Job, and what its
// status must become. The same text runs on any [World]: a simulated cluster or a real one.
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
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// World is where a scenario runs. A method that fails ends the test. With a method Do(word, rest string)
// bool, it knows more steps.
type World interface {
	Create(batchv1.JobSpec)
	Edit(func(*batchv1.JobSpec))
	DeleteJob(metav1.DeletionPropagation)
	Become(Life, []*corev1.Pod)
	DeletePod(pod *corev1.Pod, force bool)
	Patch(pod *corev1.Pod, json []byte) // a merge patch
	Observed()
	Event(reason string)
	// State returns the Job, nil if it is gone, and its pods, orphans included.
	State() (*batchv1.Job, []*corev1.Pod)
	// When waits until a function holds for the state.
	When(what string, holds func(*batchv1.Job, []*corev1.Pod) bool)
	// Always checks from now on that a function holds for each state.
	Always(what string, holds func(*batchv1.Job, []*corev1.Pod) bool)
}

// Controlled is a World whose controller can stop, and lag.
type Controlled interface {
	World
	Stop()
	Start()
	Lag(what string) // jobs or pods
	CatchUp()
}

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
func (s Scenario) Run(t *testing.T, w World, end string) {
	t.Helper()
	for _, step := range s.steps {
		if err := do(t, w, step[0], step[1]); err != nil {
			t.Fatalf("%s %s: %v", step[0], step[1], err)
		}
	}
	if end = strings.TrimSpace(end); end != "" {
		until(w, end)
	}
}

func until(w World, state string) {
	w.When(state+" and nothing else", func(job *batchv1.Job, pods []*corev1.Pod) bool {
		return Same(Text(job, pods), state)
	})
}

func do(t *testing.T, w World, word, rest string) error {
	t.Helper()
	job, pods := w.State()
	which, more, _ := strings.Cut(rest, " ")
	switch word {
	case "create":
		spec := batchv1.JobSpec{}
		spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "image"}}}
		if err := yaml.UnmarshalStrict([]byte(rest), &spec); err != nil {
			return err
		}
		w.Create(spec)
	case "edit":
		change := func(spec *batchv1.JobSpec) error { return yaml.UnmarshalStrict([]byte(rest), spec) }
		if err := change(&batchv1.JobSpec{}); err != nil {
			return err
		}
		w.Edit(func(spec *batchv1.JobSpec) { _ = change(spec) })
	case "until":
		until(w, rest)
	case "when":
		w.When(rest, func(job *batchv1.Job, pods []*corev1.Pod) bool { return hold(job, pods, rest) })
	case "always":
		w.Always(rest, func(job *batchv1.Job, pods []*corev1.Pod) bool { return job == nil || hold(job, pods, rest) })
	case "limit":
		most, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		seen := map[types.UID]bool{}
		w.Always("at most "+rest+" pods", func(_ *batchv1.Job, pods []*corev1.Pod) bool {
			for _, pod := range pods {
				seen[pod.UID] = true
			}
			return len(seen) <= most
		})
	case "delete-job":
		w.DeleteJob(metav1.DeletionPropagation(rest))
	case "observed":
		w.Observed()
	case "stop", "start", "lag", "catch-up":
		c, ok := w.(Controlled)
		if !ok {
			return errNoStep
		}
		map[string]func(){
			"stop": c.Stop, "start": c.Start, "lag": func() { c.Lag(rest) }, "catch-up": c.CatchUp,
		}[word]()
	case "event":
		w.Event(rest)
	case "message":
		for _, c := range job.Status.Conditions {
			same, err := path.Match(more, c.Message)
			if string(c.Type) == which && same {
				return err
			}
		}
		return fmt.Errorf("the conditions are %+v", job.Status.Conditions)
	case "failures":
		return compare(pods, which, more, func(_, pod *corev1.Pod) string {
			counts := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]
			if ignored := pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]; ignored != "" {
				counts += "+" + ignored
			}
			return counts
		})
	case "delays":
		return compare(pods, which, "first,"+more, delay)
	default:
		if more, ok := w.(interface{ Do(word, rest string) bool }); ok && more.Do(word, rest) {
			return nil
		}
		return doPods(w, word, more, choose(pods, which))
	}
	return nil
}

// compare compares texts about the pods of an index. Each depends on the pod before, too.
func compare(pods []*corev1.Pod, of, want string, text func(before, pod *corev1.Pod) string) error {
	var texts []string
	var before *corev1.Pod
	for _, pod := range Ordered(pods) {
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

func doPods(w World, word, rest string, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return fmt.Errorf("no such pod")
	}
	if word == "become" {
		l, err := ParseLife(strings.Fields(rest))
		w.Become(l, pods)
		return err
	}
	for _, pod := range pods {
		switch word {
		case "delete":
			w.DeletePod(pod, rest == "now")
		case "patch":
			var patch map[string]any
			if err := yaml.Unmarshal([]byte(rest), &patch); err != nil {
				return err
			}
			text, err := json.Marshal(patch)
			if err != nil {
				return err
			}
			w.Patch(pod, text)
		default:
			return errNoStep
		}
	}
	return nil
}

// Ended reports whether a pod has succeeded or failed.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func active(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp == nil }

func deleted(pod *corev1.Pod) bool { return !Ended(pod) && pod.DeletionTimestamp != nil }

// Index returns the completion index of a pod, or -1.
func Index(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return n
}

// Ordered returns pods by index, then by age and name.
func Ordered(pods []*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(Index(a), Index(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
}

// choose returns the pods that WHICH names.
func choose(pods []*corev1.Pod, which string) (chosen []*corev1.Pod) {
	kind, arg, _ := strings.Cut(which, ":")
	for _, pod := range Ordered(pods) {
		owned, more := metav1.GetControllerOf(pod) != nil, strconv.Itoa(len(chosen)) != arg
		is := false
		switch kind {
		case "all":
			is = active(pod) && owned
		case "first":
			is = active(pod) && owned && more
		case "index":
			is = !Ended(pod) && contains(arg, Index(pod))
		case "deleted":
			is = deleted(pod) && (arg == "" || more)
		case "ended":
			is = Ended(pod)
		case "orphans":
			is = !owned
		}
		if is {
			chosen = append(chosen, pod)
		}
	}
	return chosen
}

// Text returns the STATE of a Job. The status agrees with the pods, or the text says how not.
func Text(job *batchv1.Job, pods []*corev1.Pod) string {
	if job == nil {
		return "job=gone"
	}
	words := Status(job)
	n := count(pods, func(pod *corev1.Pod) bool { return active(pod) && metav1.IsControlledBy(pod, job) })
	if n != int(job.Status.Active) {
		words = append(words, fmt.Sprintf("and %d active pods", n))
	}
	return strings.Join(words, " ")
}

// Status returns the words of a status.
func Status(job *batchv1.Job) (words []string) {
	st := &job.Status
	value := func(p *int32) int32 {
		if p == nil {
			return 0
		}
		return *p
	}
	for _, f := range []struct {
		name string
		n    int32
	}{{"active", st.Active}, {"ready", value(st.Ready)}, {"terminating", value(st.Terminating)},
		{"succeeded", st.Succeeded}, {"failed", st.Failed}} {
		if f.n != 0 {
			words = append(words, fmt.Sprintf("%s=%d", f.name, f.n))
		}
	}
	if st.CompletedIndexes != "" {
		words = append(words, "completed="+st.CompletedIndexes)
	}
	if st.FailedIndexes != nil && *st.FailedIndexes != "" {
		words = append(words, "failedIndexes="+*st.FailedIndexes)
	}
	return append(words, Conditions(job)...)
}

// Conditions returns the true conditions of a Job, as Type/Reason, in the order of the status.
func Conditions(job *batchv1.Job) (words []string) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			words = append(words, string(c.Type)+"/"+c.Reason)
		}
	}
	return words
}

// Same reports whether two texts have the same words.
func Same(a, b string) bool {
	sorted := func(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }
	return slices.Equal(sorted(a), sorted(b))
}

// hold reports whether all facts hold.
func hold(job *batchv1.Job, pods []*corev1.Pod, want string) bool {
	facts := []string{"job=gone"}
	if job != nil {
		facts = append(Status(job), "job=there")
		if job.DeletionTimestamp != nil {
			facts = append(facts, "job=deleted")
		}
		if job.Status.StartTime == nil {
			facts = append(facts, "started=no")
		} else {
			facts = append(facts, "started=yes")
		}
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionFalse {
				facts = append(facts, "!"+string(c.Type)+"/"+c.Reason)
			}
		}
	}
	for name, holds := range map[string]func(*corev1.Pod) bool{
		"pods":    func(*corev1.Pod) bool { return true },
		"running": active, "ended": Ended, "deleted": deleted,
		"tracked": func(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) },
		"orphans": func(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil },
	} {
		facts = append(facts, fmt.Sprintf("%s=%d", name, count(pods, holds)))
	}
	return !slices.ContainsFunc(strings.Fields(want), func(word string) bool {
		name, zero := strings.CutSuffix(word, "=0")
		if zero && !slices.Contains(facts, word) {
			return slices.ContainsFunc(facts, func(f string) bool { return strings.HasPrefix(f, name+"=") })
		}
		return !zero && !slices.Contains(facts, word)
	})
}

func count(pods []*corev1.Pod, holds func(*corev1.Pod) bool) (n int) {
	for _, pod := range pods {
		if holds(pod) {
			n++
		}
	}
	return n
}
