package main

import (
	"errors"
	"fmt"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/kubefile"
	"github.com/jobfate/jobfate/internal/simulation"
)

// theatre plays what the arguments of simulate ask for.
type theatre struct {
	output
	file     string // with the Job
	against  string // with another one; empty: there is none
	scenario string // empty: every pod succeeds
	seed     *uint64
	runs     int // 0: one, of which all is told

	jobs     []*kubefile.Manifest // one, or two to compare
	script   simulation.Scenario
	scriptAt kubefile.Place
	progress *progress
	caught   func() bool // reports whether to stop
}

// play reads the Jobs and the scenario, and plays them.
func (t *theatre) play(env environment) error {
	if err := t.read(env); err != nil {
		return err
	}
	if t.seed != nil {
		t.script.Seed = *t.seed
	}
	t.progress = newProgress(env)
	caught, release := env.catch()
	defer release()
	t.caught = caught
	if t.runs > 0 {
		return t.many(env)
	}
	return t.once(env)
}

// once plays each Job once, and tells all.
func (t *theatre) once(env environment) error {
	all, err := t.timelines("")
	t.progress.clear()
	if err != nil {
		return err
	}
	switch {
	case t.format == "svg":
		err = env.print(drawing(all))
	case t.against == "":
		err = t.print(env, all[0], all[0].text)
	default:
		v := newVersus(all)
		err = t.print(env, v, v.text)
	}
	return errors.Join(err, t.interruption())
}

// many plays each Job many times, and tells how the runs are spread. A run that
// was interrupted is not among them.
func (t *theatre) many(env environment) error {
	spreads := make([]spread, len(t.jobs))
	for i, m := range t.jobs {
		spreads[i] = spread{Job: refOfNew(m.Job), File: t.nameOf(i), Seed: t.script.Seed}
	}
	var completed pairs
	for n := range t.runs {
		all, err := t.timelines(fmt.Sprintf("%d of %d runs, ", n, t.runs))
		if err != nil {
			t.progress.clear()
			return err
		}
		if t.caught() {
			break
		}
		for i := range all {
			spreads[i].add(all[i].Result)
		}
		completed.add(all)
		t.script.Seed++
	}
	t.progress.clear()
	if spreads[0].Runs == 0 {
		env.tell(" simulate", errors.New("interrupted before the first run has ended"))
		return t.interruption()
	}
	for i := range spreads {
		spreads[i].finish(t.runs)
	}
	var err error
	if t.against == "" {
		err = t.print(env, spreads[0], spreads[0].text)
	} else {
		both := spreadVersus{Spreads: spreads, Completed: completed}
		err = t.print(env, both, both.text)
	}
	return errors.Join(err, t.interruption())
}

// interruption is the answer when somebody did not want to wait.
func (t *theatre) interruption() error {
	if t.caught() {
		return answer(exitInterrupted)
	}
	return nil
}

// timelines plays each Job once.
func (t *theatre) timelines(before string) ([]timeline, error) {
	var out []timeline
	for i, m := range t.jobs {
		r, err := simulation.Play(m.Job, t.script, simulation.Settings{
			RuleNames: m.RuleNames,
			Options:   []jobfate.Option{jobfate.ManagedBy(managerOf(m.Job))},
			GoOn: func(now simulation.Time, pods int) bool {
				t.progress.show("%s%s played, %s", before, now, podCount(pods))
				return !t.caught()
			},
		})
		if err != nil {
			return nil, t.locate(err, m)
		}
		out = append(out, newTimeline(m.Job, t.nameOf(i), r))
	}
	return out, nil
}

// nameOf returns what a Job of two is told apart by.
func (t *theatre) nameOf(i int) string {
	if t.against == "" {
		return ""
	}
	return t.jobs[i].At.File
}

// locate says where what a Job or an event is refused for stands.
func (t *theatre) locate(err error, m *kubefile.Manifest) error {
	switch _, ofJob := err.(utilerrors.Aggregate); {
	case ofJob:
		return locate(err, &kubefile.Input{Job: m.Job, JobAt: m.At})
	case strings.HasPrefix(err.Error(), "events["):
		return fmt.Errorf("%s: %w", t.scriptAt.At(fieldIn(err)), err)
	}
	return fmt.Errorf("%s: %w", m.At.At(""), err)
}

// read reads the Jobs and the scenario.
func (t *theatre) read(env environment) error {
	names := []string{t.file}
	if t.against != "" {
		names = append(names, t.against)
	}
	jobs := len(names)
	if t.scenario != "" {
		names = append(names, t.scenario)
	}
	return withSources(env, names, func(sources []kubefile.Source) error {
		for _, s := range sources[:jobs] {
			all, err := kubefile.ReadJobs(s)
			if err != nil {
				return err
			}
			if len(all) > 1 {
				return fmt.Errorf("%s is a second Job; want one", all[1].At)
			}
			t.jobs = append(t.jobs, all[0])
		}
		if t.scenario == "" {
			return nil
		}
		return t.readScenario(sources[jobs])
	})
}

func (t *theatre) readScenario(s kubefile.Source) (err error) {
	t.scriptAt, err = kubefile.ReadDocument(s, "a scenario", func(text []byte) error {
		t.script = simulation.Scenario{}
		return yaml.UnmarshalStrict(text, &t.script)
	})
	if err != nil {
		return err
	}
	if err := t.script.Check(); err != nil {
		return fmt.Errorf("%s: %w", t.scriptAt.At(fieldIn(err)), err)
	}
	return nil
}
