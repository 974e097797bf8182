package vectors_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/vectors"
)

var makeVectors = flag.Bool("vectors", false, "regenerate the file of dialogues")

// The number of lifetimes from which the dialogues are taken, and the maximum number of
// syncs of a dialogue.
const (
	lifetimes     = 300
	mostSyncs     = 12
	dialoguesFile = "dialogues/dialogues.jsonl"
)

// TestMakeDialogues regenerates the file of dialogues with the flag -vectors. It records
// the Machines of random lifetimes. For each pair of events in one sync or in two
// consecutive syncs, it keeps the smallest dialogue with that pair.
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

// prefixes returns, for each goal of a dialogue, the text of the dialogue up to that goal.
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

// shorten removes syncs from a dialogue if the other syncs stay the same without them and
// the goal remains.
func shorten(t *testing.T, is, goal string) *candidate {
	d := new(vectors.Dialogue)
	if err := json.Unmarshal([]byte(is), d); err != nil {
		t.Fatal(err)
	}
	for n := len(happenings(d)) - 1; n >= 0; n-- {
		less := *d
		if less.Steps = without(d.Steps, n); goalsOf(&less)[goal] && less.Replay() == "" {
			d.Steps = less.Steps
		}
	}
	d.Jobs, d.Pods = mentioned(d)
	d.ID = fmt.Sprintf("dialogue-%.4x", sha256.Sum256([]byte(text(t, d))))
	d.Shows = slices.Compact(slices.Sorted(slices.Values(slices.Concat(happenings(d)...))))
	return &candidate{text(t, d), goalsOf(d)}
}

// cover returns dialogues that together show all goals. It picks first the dialogues with
// the most goals for their length.
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

// without returns the steps without one sync, but with the pods that were fed in it. It
// renumbers the later requests.
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
				continue // the request is in that sync
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

// mentioned returns the objects that the steps of a dialogue refer to.
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
	if o := d.Orphans; o != nil {
		add("", o.Pods...)
		for _, job := range o.Jobs {
			add(job)
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
