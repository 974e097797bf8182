package vectors

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/vectors"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

var makeVectors = flag.Bool("vectors", false, "write the file of dialogues anew")

// The dialogues are those of so many lifetimes of Jobs. One ends after so many syncs.
const (
	lifetimes     = 300
	mostSyncs     = 12
	dialoguesFile = "dialogues/dialogues.jsonl"
)

// TestMakeDialogues writes the file of dialogues, if it is asked to. It records the Machines of
// random lifetimes, and keeps for each two things that happen in one sync, or in a sync and the
// next, the smallest dialogue in which they do.
func TestMakeDialogues(t *testing.T) {
	if !*makeVectors {
		t.Skip("only with -vectors")
	}
	smallest := map[string]string{}
	for seed := range uint64(lifetimes) {
		for _, d := range record(t, seed) {
			for goal, text := range prefixes(t, d) {
				if old, ok := smallest[goal]; !ok || len(text) < len(old) {
					smallest[goal] = text
				}
			}
		}
	}
	var candidates []*candidate
	for _, goal := range slices.Sorted(maps.Keys(smallest)) {
		candidates = append(candidates, shorten(t, smallest[goal], goal))
	}
	lines := cover(candidates)
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	if err := os.MkdirAll(filepath.Dir(dialoguesFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dialoguesFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d dialogues show %d goals", len(lines), len(smallest))
}

// prefixes returns for each goal of a dialogue the text of its beginning up to there.
func prefixes(t *testing.T, d *vectors.Dialogue) map[string]string {
	texts := map[string]string{}
	for i, s := range d.Steps {
		if i+1 < len(d.Steps) && s.Result == nil {
			continue
		}
		first := *d
		first.Steps = d.Steps[:i+1]
		first.Jobs, first.Pods = mentioned(&first)
		is := ""
		for goal := range goalsOf(&first) {
			if _, ok := texts[goal]; ok {
				continue
			}
			if is == "" {
				is = text(t, first)
			}
			texts[goal] = is
		}
	}
	return texts
}

// candidate is a dialogue that may be kept.
type candidate struct {
	text  string
	goals map[string]bool
}

// shorten takes away from a dialogue the syncs without which the others do the same and the goal
// is still there.
func shorten(t *testing.T, is, goal string) *candidate {
	d := new(vectors.Dialogue)
	if err := json.Unmarshal([]byte(is), d); err != nil {
		t.Fatal(err)
	}
	for n := len(happenings(d)) - 1; n >= 0; n-- {
		less := *d
		if less.Steps = without(d.Steps, n); goalsOf(&less)[goal] && replay(t, &less) == "" {
			d.Steps = less.Steps
		}
	}
	d.Jobs, d.Pods = mentioned(d)
	d.ID = fmt.Sprintf("dialogue-%.4x", sha256.Sum256([]byte(text(t, d))))
	d.Shows = slices.Compact(slices.Sorted(slices.Values(slices.Concat(happenings(d)...))))
	return &candidate{text(t, d), goalsOf(d)}
}

// cover returns dialogues that show all goals: first those that show most for their length.
func cover(candidates []*candidate) (lines []string) {
	worth := func(c *candidate) float64 { return float64(len(c.goals)) / float64(len(c.text)) }
	for {
		best := slices.MaxFunc(candidates, func(a, b *candidate) int { return cmp.Compare(worth(a), worth(b)) })
		if len(best.goals) == 0 {
			return lines
		}
		lines = append(lines, best.text)
		shown := maps.Clone(best.goals)
		for _, c := range candidates {
			maps.DeleteFunc(c.goals, func(goal string, _ bool) bool { return shown[goal] })
		}
	}
}

// without returns steps without a sync, but with what is fed there. The requests behind are
// numbered anew.
func without(steps []vectors.Step, sync int) (rest []vectors.Step) {
	at, number := -1, map[uint64]uint64{}
	for _, s := range steps {
		if s.Begin != nil {
			at++
		}
		if at == sync && s.Feed == nil {
			continue
		}
		if s.Requests = slices.Clone(s.Requests); s.Answer != nil {
			to := number[s.Answer.To]
			if to == 0 {
				continue // a late answer to a request of that sync
			}
			a := *s.Answer
			a.To, s.Answer = to, &a
		}
		for i := range s.Requests {
			r := &s.Requests[i]
			number[r.ID] = uint64(len(number) + 1)
			r.ID = number[r.ID]
		}
		rest = append(rest, s)
	}
	return rest
}

// mentioned are the objects that the steps of a dialogue mention.
func mentioned(d *vectors.Dialogue) (map[string]*batchv1.Job, map[string]*corev1.Pod) {
	jobs, pods := map[string]*batchv1.Job{}, map[string]*corev1.Pod{}
	add := func(job string, versions ...string) {
		if job != "" {
			jobs[job] = d.Jobs[job]
		}
		for _, v := range versions {
			if v != "" {
				pods[v] = d.Pods[v]
			}
		}
	}
	for _, s := range d.Steps {
		switch {
		case s.Feed != nil:
			add("", s.Feed.Pod)
		case s.Begin != nil:
			add(s.Begin.Job, s.Begin.Pods...)
		case s.Answer != nil:
			add(s.Answer.Job, s.Answer.Pod)
			if s.Answer.List != nil {
				add("", s.Answer.List.Pods...)
			}
		}
	}
	return jobs, pods
}

// goalsOf are each two things that happen in one sync or in a sync and the next.
func goalsOf(d *vectors.Dialogue) map[string]bool {
	goals, before := map[string]bool{}, []string(nil)
	for _, sync := range happenings(d) {
		for i, a := range sync {
			goals[a] = true
			for _, b := range sync[i+1:] {
				goals[a+", "+b] = true
			}
			for _, b := range before {
				if unusual(a) || unusual(b) {
					goals[b+"; "+a] = true
				}
			}
		}
		before = sync
	}
	return goals
}

// happenings are what happens in each sync of a dialogue.
func happenings(d *vectors.Dialogue) (syncs [][]string) {
	asked, open := map[uint64]string{}, map[uint64]bool{}
	add := func(what string) {
		if last := len(syncs) - 1; !slices.Contains(syncs[last], what) {
			syncs[last] = append(syncs[last], what)
		}
	}
	unanswered := func() {
		for _, id := range slices.Sorted(maps.Keys(open)) {
			add(asked[id] + ": no answer")
		}
		clear(open)
	}
	for _, s := range d.Steps {
		switch {
		case s.Begin != nil:
			unanswered()
			syncs = append(syncs, nil)
			if s.Begin.Job == "" {
				add("no Job in the cache")
			}
			if s.Begin.Fed {
				add("fed pods")
			}
		case s.Requests != nil:
			for _, r := range s.Requests {
				asked[r.ID], open[r.ID] = purpose(&r), true
				add(asked[r.ID])
			}
		case s.Answer != nil:
			what := asked[s.Answer.To]
			if !open[s.Answer.To] {
				what += ", answered late"
			}
			delete(open, s.Answer.To)
			switch f := s.Answer.Fail; {
			case f != nil && f.Broken:
				add(what + ": broken connection")
			case f != nil:
				add(fmt.Sprintf("%s: %d", what, f.Status.Code))
			case s.Answer.Job+s.Answer.Pod == "" && s.Answer.List == nil:
				add(what + ": no object")
			default:
				add(what)
			}
		case s.Result != nil:
			for _, e := range s.Result.Events {
				add("event " + e.Reason)
			}
			if s.Result.Ended {
				add("ended")
			}
			if s.Result.Gone {
				add("gone")
			}
		}
	}
	unanswered()
	return syncs
}

// unusual reports whether an answer is missing, late or an error.
func unusual(what string) bool { return strings.ContainsAny(what, ":,") }

// purpose says what a request is for.
func purpose(r *vectors.Request) string {
	patch := string(r.Patch)
	switch {
	case r.Verb != jobfate.PatchPod.String():
		return r.Verb
	case strings.Contains(patch, `"$patch":"delete"`):
		return "release"
	case strings.Contains(patch, `"ownerReferences"`):
		return "adopt"
	case strings.Contains(patch, `"resourceVersion"`):
		return "untrack"
	}
	return "strip"
}

// record returns the dialogues of the controllers of one random lifetime.
func record(t *testing.T, seed uint64) (all []*vectors.Dialogue) {
	dice := rand.New(rand.NewPCG(seed, 17))
	report := chaos.Run(chaos.Config{Seed: seed, Steps: 60, Retries: -1, Controller: func() cluster.Controller {
		d := &vectors.Dialogue{Jobs: map[string]*batchv1.Job{}, Pods: map[string]*corev1.Pod{}}
		if dice.IntN(4) == 0 {
			d.Options.MaxChanges, d.Options.MaxRemovals = dice.IntN(3), dice.IntN(3)
		}
		all = append(all, d)
		return &recorder{Dialogue: d, T: t, machine: d.Machine(), dice: dice, feeding: dice.IntN(2) == 0}
	}})
	if report.Violation != nil {
		t.Errorf("seed %d: %v", seed, report.Violation)
	}
	return all
}

// recorder is a controller that records what its Machine and the API server say.
type recorder struct {
	*vectors.Dialogue
	*testing.T
	machine *jobfate.Machine
	dice    *rand.Rand
	feeding bool
	fed     map[string]string // the versions of the pods that the Machine was fed with
	held    []vectors.Answer  // answers that arrive late
	syncs   int
}

// step plays a step, and records it with what the Machine does.
func (r *recorder) step(s vectors.Step) vectors.Step {
	s, err := r.Play(r.machine, s)
	if err != nil {
		r.Fatalf("%v\n%s", err, text(r.T, s))
	}
	if r.syncs <= mostSyncs {
		r.Steps = append(r.Steps, s)
	}
	return s
}

// Sync implements cluster.Controller.
func (r *recorder) Sync(client *cluster.Client) (time.Duration, error) {
	r.syncs++
	r.step(vectors.Step{Begin: r.begin(&client.View)})
	for _, late := range r.held {
		r.step(vectors.Step{Answer: &late})
	}
	r.held = nil
	for {
		s := r.step(vectors.Step{})
		if s.Result != nil {
			return r.machine.Result().Requeue, r.machine.Result().Err
		}
		for _, i := range r.dice.Perm(len(s.Requests)) {
			if err := r.send(client, s.Requests[i]); err != nil {
				return 0, err
			}
		}
	}
}

// begin returns what the caches show.
func (r *recorder) begin(v *cluster.View) *vectors.Begin {
	b := &vectors.Begin{Now: v.Now, JobsVersion: v.JobsVersion, PodsVersion: v.PodsVersion, Barrier: v.Barrier, Fed: r.fed != nil}
	if v.Job != nil {
		b.Job = r.job(v.Job)
	}
	shows := map[string]string{}
	for _, pod := range v.Pods {
		version := r.pod(pod)
		if shows[pod.Name] = version; !b.Fed {
			b.Pods = append(b.Pods, version)
		} else if r.fed[pod.Name] != version {
			r.step(vectors.Step{Feed: &vectors.Feed{Name: pod.Name, Pod: version}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.fed)) {
		if shows[name] == "" {
			r.step(vectors.Step{Feed: &vectors.Feed{Name: name}})
		}
	}
	if r.feeding {
		r.fed = shows
	}
	return b
}

// send sends a request, and gives the Machine the answer now, later or never. It returns an
// error if the sync cannot go on.
func (r *recorder) send(client *cluster.Client, q vectors.Request) error {
	if r.dice.IntN(100) == 0 {
		return cluster.ErrGivenUp
	}
	object, err := client.Do(r.request(q))
	a := vectors.Answer{To: q.ID}
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, cluster.ErrKilled), errors.Is(err, cluster.ErrGivenUp):
		return err
	case errors.Is(err, cluster.ErrNoAnswer):
		if r.dice.IntN(2) == 0 {
			return nil
		}
		a.Fail = &vectors.Failure{Broken: true}
	case errors.As(err, &status):
		of := status.Status()
		a.Fail = &vectors.Failure{Status: &of}
	case err != nil:
		r.Fatal(err)
	default:
		r.answer(&a, object)
	}
	if r.dice.IntN(30) == 0 {
		r.held = append(r.held, a)
		return nil
	}
	r.step(vectors.Step{Answer: &a})
	return nil
}

// request returns a recorded request as the caller of a Machine gets it.
func (r *recorder) request(q vectors.Request) jobfate.Request {
	out := jobfate.Request{ID: q.ID, Verb: jobfate.GetJob, Name: q.Name, UID: q.UID, Patch: q.Patch}
	for out.Verb.String() != q.Verb {
		out.Verb++
	}
	if q.Pod != nil {
		out.Pod = new(corev1.Pod)
		if err := json.Unmarshal(q.Pod, out.Pod); err != nil {
			r.Fatal(err)
		}
	}
	if q.Precondition != "" {
		out.Options.Preconditions = metav1.NewUIDPreconditions(string(q.Precondition))
	}
	return out
}

func (r *recorder) answer(a *vectors.Answer, object runtime.Object) {
	switch object := object.(type) {
	case *batchv1.Job:
		a.Job = r.job(object)
	case *corev1.Pod:
		a.Pod = r.pod(object)
	case *corev1.PodList:
		a.List = &vectors.List{Version: object.ResourceVersion}
		for i := range object.Items {
			a.List.Pods = append(a.List.Pods, r.pod(&object.Items[i]))
		}
	}
}

// job and pod keep an object as it reads after it was sent, and return its version.
func (r *recorder) job(job *batchv1.Job) string {
	if r.Jobs[job.ResourceVersion] == nil {
		r.Jobs[job.ResourceVersion] = sent(r.T, job)
	}
	return job.ResourceVersion
}

func (r *recorder) pod(pod *corev1.Pod) string {
	if r.Pods[pod.ResourceVersion] == nil {
		r.Pods[pod.ResourceVersion] = sent(r.T, pod)
	}
	return pod.ResourceVersion
}

func sent[T any](t *testing.T, object *T) *T {
	out := new(T)
	if err := json.Unmarshal([]byte(text(t, object)), out); err != nil {
		t.Fatal(err)
	}
	return out
}
