package vectors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Replay plays a dialogue with a new Machine. It says in words where and how the Machine differs, and
// what happened in the sync until then; it returns an empty text if the Machine does not differ.
func (d *Dialogue) Replay() string {
	m := d.Machine()
	if m == nil {
		return "the number of Machines for orphans differs"
	}
	t := teller{Dialogue: d, pods: map[string]*corev1.Pod{}, sent: map[uint64]Request{}}
	for i, s := range d.Steps {
		got, err := d.Play(m, s)
		if err != nil {
			return fmt.Sprintf("step %d: %v\n  %s", i, err, t.lineOf(s))
		}
		if told := difference(fieldsOfStep(s), fieldsOfStep(got), t.situation); told != "" {
			story := strings.Join(t.sync, "\n    ")
			return fmt.Sprintf("step %d: %s\n  %s\n  what happened:\n    %s", i, told, jobWords(t.job), story)
		}
		t.add(i, s)
	}
	return ""
}

// teller describes the steps of a dialogue in words, one after the other.
type teller struct {
	*Dialogue
	situation
	first time.Time              // when the first sync began
	pods  map[string]*corev1.Pod // in the cache, by name
	sent  map[uint64]Request
	sync  []string // the steps of the sync, after the last one of the sync before
}

// add takes the next step.
func (t *teller) add(i int, s Step) {
	if b := s.Begin; b != nil {
		if t.first.IsZero() {
			t.first = b.Now
		}
		t.now, t.job = b.Now, t.Jobs[b.Job]
		t.failed = t.job != nil && t.job.Status.Failed > 0
		if !b.Fed {
			clear(t.pods)
			for _, pod := range t.Dialogue.pods(b.Pods) {
				t.pods[pod.Name] = pod
			}
		}
		t.situation.pods = t.inCache()
		t.sync = t.sync[max(0, len(t.sync)-1):] // the result of the last sync
	}
	t.sync = append(t.sync, fmt.Sprintf("step %d: %s", i, t.lineOf(s)))
	switch {
	case s.Feed != nil && t.Pods[s.Feed.Pod] == nil:
		delete(t.pods, s.Feed.Name)
	case s.Feed != nil:
		t.pods[s.Feed.Name] = t.Pods[s.Feed.Pod]
	case s.Result != nil:
		t.waiting = s.Result.Unobserved != ""
	case s.Answer != nil && s.Answer.Job != "":
		t.job = t.Jobs[s.Answer.Job]
	case s.Answer != nil && s.Answer.List != nil:
		t.situation.pods = t.Dialogue.pods(s.Answer.List.Pods) // the sync decides on these
	}
	for _, r := range s.Requests {
		t.sent[r.ID] = r
	}
}

func (t *teller) inCache() (pods []*corev1.Pod) {
	for _, pod := range t.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// lineOf describes a step in words.
func (t *teller) lineOf(s Step) string {
	switch {
	case s.Feed != nil && s.Feed.Pod == "":
		return "pod " + s.Feed.Name + " is gone from the cache"
	case s.Feed != nil:
		return "the cache shows: " + podWords(t.Pods[s.Feed.Pod], t.now)
	case s.Begin != nil:
		return fmt.Sprintf("a sync begins, %s after the first, with version %q of the %s; pods: %s",
			s.Begin.Now.Sub(t.first), s.Begin.Job, jobWords(t.Jobs[s.Begin.Job]), podsWords(t.inCache(), s.Begin.Now))
	case s.Answer != nil:
		return t.answered(s.Answer)
	case s.Result != nil:
		return "the sync ends with the result " + textOf(s.Result)
	}
	var asked []string
	for _, r := range s.Requests {
		asked = append(asked, requestWords(r))
	}
	return "the Machine asks to " + strings.Join(asked, ", to ")
}

func requestWords(r Request) string {
	words := r.Verb
	if name := nameIn(r.Pod); name != "" {
		words += " " + name
	}
	if strings.HasSuffix(words, " pod") && r.Name != "" {
		words += " " + r.Name
	}
	return words
}

func (t *teller) answered(a *Answer) string {
	asked := fmt.Sprintf("the request %d to %s is answered with ", a.To, requestWords(t.sent[a.To]))
	switch {
	case a.Fail != nil && a.Fail.Broken:
		return asked + "a broken connection"
	case a.Fail != nil:
		return asked + fmt.Sprintf("the error %d %s", a.Fail.Status.Code, a.Fail.Status.Reason)
	case a.Job != "":
		return asked + "version " + a.Job + " of the " + jobWords(t.Jobs[a.Job])
	case a.Pod != "":
		return asked + podWords(t.Pods[a.Pod], t.now)
	case a.List != nil:
		return asked + "pods: " + podsWords(t.Dialogue.pods(a.List.Pods), t.now)
	}
	return asked + "success"
}
