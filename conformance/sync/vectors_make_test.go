package sync

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/vectors"
)

var (
	makeVectors = flag.Bool("vectors", false, "rewrite the files of the folder vectors")
	wanted      = flag.Int("cases", 2100, "the minimum number of cases to choose from")
	drawn       = flag.Int("drawn", 100_000, "the number of trials to search for cases")
)

const vectorsDir = "../../vectors"

// TestMakeVectors writes the files of the folder vectors, from which vectors/choose then removes most cases. It needs the flag -vectors. It draws trials
// until each possible pair of features occurs, and each feature with each action, and continues until
// there are enough cases. Each case is made as small as possible while it still reaches its goals.
func TestMakeVectors(t *testing.T) {
	if !*makeVectors {
		t.Skip("only with -vectors: it takes some minutes")
	}
	m := &maker{T: t, round: 1, seen: map[string]bool{}, count: map[string]int{}, files: map[string][]*line{}}
	for _, d := range divergent() {
		if !d.undrawn {
			m.take(caseOfTree(treeOf(caseOf(d.trial))))
		}
	}
	for _, c := range chosen() {
		m.add(treeOf(c)) // not made smaller: a smaller case would have the same outcome for another reason
	}
	for _, r := range wrongInputs {
		c := caseOf(newTrial())
		r.set(c)
		c.Refused = r.field
		m.refuse(c)
	}
	for m.round = 1; m.round == 1 || len(m.seen) < *wanted; m.round++ {
		// First use cases without a divergence.
		for _, m.alike = range []bool{true, false} {
			for seed := 0; seed < *drawn && (m.round == 1 || len(m.seen) < *wanted); seed++ {
				m.consider(seed)
			}
			t.Logf("round %d, both sides alike: %v: %d cases, %d goals", m.round, m.alike, len(m.seen), len(m.count))
		}
	}
	for seed, before := 0, len(m.seen); len(m.seen) < before+wholes; seed++ {
		m.considerWhole(seed)
	}
	t.Logf("with whole outcomes: %d cases", len(m.seen))
	m.addLast()
	t.Logf("with aimed cases: %d cases", len(m.seen))
	m.write()
}

// addLast adds the aimed cases, and the divergences that no random trial shows. It runs last, so that
// other cases are not left out because of these.
func (m *maker) addLast() {
	for _, c := range aimed() {
		m.add(treeOf(c))
	}
	for _, d := range divergent() {
		if d.undrawn {
			m.add(treeOf(withFewLabels(d.trial)))
		}
	}
}

// maker collects cases.
type maker struct {
	*testing.T
	round int             // search for goals that fewer cases than this reach
	alike bool            // use only cases in which both sides do the same
	seen  map[string]bool // the IDs of the cases
	count map[string]int  // the number of cases that reach a goal
	files map[string][]*line
}

// line is the text of a case.
type line struct{ id, text string }

var trials = rapid.Custom(drawTrial)

// perDivergence is the number of cases for each divergence, from the first trials. atOnce is the
// maximum number of goals of a case: with more goals the case would be larger. wholes is the number
// of cases that keep their whole outcome while they are made smaller.
const (
	perDivergence = 12
	first         = 10_000
	atOnce        = 3
	wholes        = 350
)

// consider adds a trial as a case if it reaches a goal that few cases reach, and the same with an option.
func (m *maker) consider(seed int) {
	drawn := trials.Example(seed)
	if len(m.few(goalsOf(drawn))) > 0 || m.round == 1 && seed < first {
		m.take(withFewLabels(drawn))
	}
	if seed%10 > 0 || drawn.impossible != "" {
		return
	}
	for _, set := range variations {
		c := withFewLabels(drawn)
		set(c)
		m.take(c)
	}
}

// refuse adds a case that jobfate rejects.
func (m *maker) refuse(c *vectors.Case) {
	_, err := c.Run()
	m.add(minimise(c, func(c *vectors.Case) bool {
		_, still := c.Run()
		return still != nil && still.Error() == err.Error() && answer(c) == nil
	}))
}

// considerWhole adds a trial as a case if it has a pair of actions that no case of considerWhole has yet, and
// if it can be a case. The case keeps everything that its outcome depends on.
func (m *maker) considerWhole(seed int) {
	drawn := trials.Example(seed)
	if drawn.impossible != "" {
		return
	}
	pairs := m.few(actionPairs(drawn))
	if len(pairs) == 0 {
		return
	}
	c := withFewLabels(drawn)
	if !validJob(c) || answer(c) != nil {
		return
	}
	divergences, whole := c.Divergences, text(c.Jobfate)
	m.add(minimise(c, func(c *vectors.Case) bool {
		if ours, err := c.Run(); err != nil || text(ours) != whole {
			return false
		}
		return validJob(c) && answer(c) == nil && slices.Equal(c.Divergences, divergences)
	}))
	for _, pair := range pairs {
		m.count[pair] += m.round
	}
}

// few returns the goals that few cases reach.
func (m *maker) few(goals []string) []string {
	return slices.DeleteFunc(goals, func(goal string) bool { return m.count[goal] >= m.round })
}

// withFewLabels converts a trial to a case without the labels that no selector needs.
func withFewLabels(t *trial) *vectors.Case {
	c := caseOfTree(treeOf(caseOf(t)))
	drop := func(labels map[string]string) {
		maps.DeleteFunc(labels, func(key, _ string) bool {
			return slices.Contains([]string{batchv1.JobNameLabel, "controller-uid", "job-name"}, key)
		})
	}
	drop(c.Snapshot.Job.Labels)
	drop(c.Snapshot.Job.Spec.Template.Labels)
	for _, pod := range c.Snapshot.Pods {
		drop(pod.Labels)
	}
	return c
}

// variations set options that Kubernetes does not have.
var variations = []func(*vectors.Case){
	func(c *vectors.Case) { c.Options.FillFreeSlots = true },
	func(c *vectors.Case) { c.Options.GranularReasons = true },
	func(c *vectors.Case) {
		if p := c.Snapshot.Job.Spec.PodFailurePolicy; p != nil && len(p.Rules) > 0 {
			c.Options.RuleNames = []string{"named"}
		}
	},
	func(c *vectors.Case) { c.Options.WithoutFailurePolicy = true },
	func(c *vectors.Case) { c.Options.MaxRemovals = 1 },
	func(c *vectors.Case) { c.Snapshot.Backoff.InDoubt = true },
	throttled,
}

func throttled(c *vectors.Case) {
	c.Options.Throttle = vectors.Throttle{EveryMs: 60_000, Share: 0.5}
	c.Snapshot.LastStatus = c.Snapshot.Now.Add(-10 * time.Second)
}

// withoutExtras removes the options that variations set.
func withoutExtras(c *vectors.Case) {
	o := &c.Options
	o.FillFreeSlots, o.GranularReasons, o.RuleNames, o.WithoutFailurePolicy = false, false, nil, false
	o.MaxRemovals, o.Throttle = 0, vectors.Throttle{}
	c.Snapshot.Backoff.InDoubt, c.Snapshot.LastStatus = false, time.Time{}
}

// take makes a case smaller and adds it, if it reaches a goal that few cases reach.
func (m *maker) take(c *vectors.Case) {
	if !validJob(c) {
		return
	}
	shows := goals(c)
	pick := spread(m.few(shows), atOnce)
	if len(shows) == 0 || len(pick) == 0 && m.round > 1 {
		return
	}
	if err := answer(c); err != nil {
		m.Fatalf("%v\n%s", err, text(c))
	}
	if m.alike && len(c.Divergences) > 0 && len(extras(c)) == 0 {
		pick = nil
	}
	for _, name := range c.Divergences {
		if m.count[name] < perDivergence && len(pick) < atOnce {
			pick = append(pick, name)
		}
	}
	if len(pick) == 0 {
		return
	}
	divergences, like := c.Divergences, sketch(c.Jobfate)
	m.add(minimise(c, func(c *vectors.Case) bool {
		if !validJob(c) {
			return false
		}
		if c.Refused == "" {
			if ours, err := c.Run(); err != nil || sketch(ours) != like {
				return false
			}
		}
		shows := append(goals(c), divergences...)
		lacks := func(goal string) bool { return !slices.Contains(shows, goal) }
		return !slices.ContainsFunc(pick, lacks) && answer(c) == nil && slices.Equal(c.Divergences, divergences)
	}))
}

// add adds a case, unless it exists already.
func (m *maker) add(tree map[string]any) {
	c := caseOfTree(tree)
	if err := answer(c); err != nil {
		m.Fatal(err)
	}
	for _, goal := range append(goals(c), c.Divergences...) {
		m.count[goal]++
	}
	group := groupOf(c)
	input := text(tree["snapshot"]) + text(tree["options"]) + text(tree["faults"])
	c.ID, c.Features = fmt.Sprintf("%s-%.4x", group, sha256.Sum256([]byte(input))), featuresOf(c)
	if m.seen[c.ID] {
		return
	}
	m.seen[c.ID] = true
	full := treeOf(c)
	for _, part := range []string{"snapshot", "options", "faults"} {
		delete(full, part)
		if tree[part] != nil {
			full[part] = tree[part]
		}
	}
	m.files[group] = append(m.files[group], &line{c.ID, text(full)})
}

// spread returns at most the given number of elements, spread over the list.
func spread(list []string, most int) (some []string) {
	for i := range min(most, len(list)) {
		some = append(some, list[i*len(list)/min(most, len(list))])
	}
	return some
}

// write rewrites the files. Each file begins with the smallest case.
func (m *maker) write() {
	old, err := filepath.Glob(vectorsDir + "/*.jsonl")
	if err != nil {
		m.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			m.Fatal(err)
		}
	}
	for group, lines := range m.files {
		slices.SortFunc(lines, func(a, b *line) int {
			return cmp.Or(cmp.Compare(len(a.text), len(b.text)), strings.Compare(a.id, b.id))
		})
		var texts []string
		for _, l := range lines {
			texts = append(texts, l.text+"\n")
		}
		file := filepath.Join(vectorsDir, group+".jsonl")
		if err := os.WriteFile(file, []byte(strings.Join(texts, "")), 0o644); err != nil {
			m.Fatal(err)
		}
	}
}
