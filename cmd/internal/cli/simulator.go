package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/cmd/internal/simulation"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// Simulate runs a Job in virtual time.
type Simulate struct {
	output
	sets         overrides
	job          string // the name of the Job in an input with several
	against      string // the file with the Job to compare with; empty: none
	againstSets  overrides
	patches      []patchFile
	scenarioFile string // empty: every pod succeeds
	seed         *uint64
	limit        *time.Duration
	runs         int // 0: one run, printed as a whole
	full         bool
	fromCreation bool
	now          time.Time
	bounds       simulation.Bounds

	jobs       []part // one, or two to compare
	scenario   simulation.Scenario
	scenarioAt kubefile.Place
	progress   *progress
	caught     func() bool // reports whether to stop
}

// part is a Job to simulate.
type part struct {
	*kubefile.Manifest
	pods   []*corev1.Pod
	podsAt []kubefile.Place
	live   *simulation.Live // set for an existing Job
	given  *batchv1.Job     // without the overrides
	sets   overrides
	name   string // distinguishes the two Jobs of a comparison
}

// NewSimulate returns a simulation in which existing Jobs continue from the present.
func NewSimulate(env Environment) *Simulate {
	return &Simulate{bounds: simulation.DefaultBounds(), now: env.Clock().Truncate(time.Second)}
}

// Assumes reports whether the simulation of an existing Job depends on its Events and Nodes.
func (s *Simulate) Assumes() bool { return s.scenarioFile == "" && !s.fromCreation }

// Play simulates a Job from its current status and pods. Without start, it reads the Job from the files.
func (s *Simulate) Play(env Environment, start *kubefile.Input, files ...string) error {
	if s.runs > 0 && s.format == "svg" {
		return Misused("-o svg draws one run; remove --runs")
	}
	if err := s.read(env, start, files); err != nil {
		return err
	}
	if s.seed != nil {
		s.scenario.Seed = *s.seed
	}
	s.progress = newProgress(env)
	caught, release := env.Catch()
	defer release()
	s.caught = caught
	if s.runs > 0 {
		return s.many(env)
	}
	return s.once(env)
}

// once simulates each Job once, and prints the run.
func (s *Simulate) once(env Environment) error {
	all, err := s.timelines("")
	s.progress.clear()
	if err != nil {
		return err
	}
	switch {
	case s.format == "svg":
		err = env.print(drawing(all))
	case len(all) == 1:
		err = s.show(env, all[0], all[0].Assumed, func(p paint) string { return all[0].text(p, s.full) })
	default:
		c := newComparison(all)
		err = s.show(env, c, all[0].Assumed, func(p paint) string { return c.text(p, s.full) })
	}
	return errors.Join(err, s.interruption())
}

// show prints a result. Before its text it says what is assumed without a scenario, and which overrides the API
// server rejects.
func (s *Simulate) show(env Environment, result any, assumed string, text func(paint) string) error {
	var lines []string
	if assumed != "" {
		lines = append(lines, assumed)
	}
	for _, part := range s.jobs {
		if fields := part.immutable(); len(fields) > 0 {
			lines = append(lines, strings.Join(fields, ", ")+": immutable in an existing Job; this is how a "+
				"new one with that field would go on from here")
		}
	}
	return s.print(env, result, func(p paint) string {
		if lines == nil {
			return text(p)
		}
		return p.text(yellow, strings.Join(slices.Compact(lines), "\n")) + "\n\n" + text(p)
	})
}

// many simulates each Job many times, and prints the distribution of the results. An
// interrupted run does not count.
func (s *Simulate) many(env Environment) error {
	spreads := make([]spread, len(s.jobs))
	for i := range s.jobs {
		spreads[i] = spread{titled: s.titled(i), Seed: s.scenario.Seed}
	}
	var completed pairs
	for n := range s.runs {
		all, err := s.timelines(fmt.Sprintf("%d of %d runs, ", n, s.runs))
		if err != nil {
			s.progress.clear()
			return err
		}
		if s.caught() {
			break
		}
		for i := range all {
			spreads[i].Assumed = all[i].Assumed
			spreads[i].add(all[i].Result)
		}
		completed.add(all)
		s.scenario.Seed++
	}
	s.progress.clear()
	if spreads[0].Runs == 0 {
		env.printError(env.Name+" simulate", errors.New("interrupted before the first run ended"))
		return s.interruption()
	}
	for i := range spreads {
		spreads[i].finish(s.runs)
	}
	var err error
	if len(spreads) == 1 {
		err = s.show(env, spreads[0], spreads[0].Assumed, spreads[0].text)
	} else {
		both := spreadComparison{Spreads: spreads, Completed: completed}
		err = s.show(env, both, spreads[0].Assumed, both.text)
	}
	return errors.Join(err, s.interruption())
}

// interruption returns Interrupted after Ctrl-C.
func (s *Simulate) interruption() error {
	if s.caught() {
		return Interrupted
	}
	return nil
}

// timelines simulates each Job once. before is the beginning of the progress line.
func (s *Simulate) timelines(before string) ([]timeline, error) {
	var out []timeline
	for i, part := range s.jobs {
		r := &recorder{changes: s.runs == 0 && (s.format == "json" || s.format == "yaml"),
			lines: s.runs == 0 && s.format == "text"}
		result, err := simulation.Play(part.Job, s.scenario, simulation.Settings{
			Options: optionsFor(part.Manifest, managerOf(part.Job)),
			Live:    part.live,
			Bounds:  s.bounds,
			Stored:  r.stored,
			Continue: func(now simulation.Time, pods int) bool {
				s.progress.show("%s%s simulated, %s", before, now, podCount(pods))
				return !s.caught()
			},
		})
		if err != nil {
			return nil, s.locate(err, part)
		}
		out = append(out, newTimeline(s.titled(i), part, result, r))
	}
	return out, nil
}

// titled identifies the Job of a result.
type titled struct {
	Job jobRef `json:"job"`
	// File and Set are set if two Jobs are compared.
	File string   `json:"file,omitempty"`
	Set  []string `json:"set,omitempty"`
	// Immutable lists the fields that were set although the API server rejects that in an existing Job.
	Immutable []string `json:"immutable,omitempty"`
	name      string   // distinguishes the two Jobs of a comparison
}

func (s *Simulate) titled(i int) titled {
	out := titled{Job: refOf(named(s.jobs[i].Job)), Immutable: s.jobs[i].immutable()} // as the cluster would name it
	out.Job.UID = string(s.jobs[i].Job.UID)                                           // which is not invented
	if len(s.jobs) > 1 {
		out.File, out.name = s.jobs[i].At.File, s.jobs[i].name
		out.Set = s.jobs[i].sets.texts()
	}
	return out
}

// locate adds the position to an error about a Job or an event.
func (s *Simulate) locate(err error, job part) error {
	if bound, found := errors.AsType[*simulation.BoundError](err); found {
		err = fmt.Errorf("%w (%s)", err, boundFlags[bound.Field])
	}
	if strings.HasPrefix(err.Error(), "events") {
		return s.locateOne(err, fieldIn(err), job)
	}
	return locate(err, func(err error, name string) error { return s.locateOne(err, name, job) })
}

// locateOne adds the position of a field to an error: in the arguments, the scenario or a
// Job.
func (s *Simulate) locateOne(err error, name string, job part) error {
	switch {
	case strings.HasPrefix(name, "events"):
		return fmt.Errorf("%s: %w", s.scenarioAt.At(name), err)
	case job.isSet(name, err):
		of, _ := job.sets.over(name)
		return fmt.Errorf("%s: %w", of.arguments(), err)
	}
	return locateOne(err, name, job.Manifest, job.pods, job.podsAt)
}

// isSet reports whether an error about a field comes from the overrides: one of them sets the field, or the API
// server does not find it in the Job without them.
func (p part) isSet(name string, err error) bool {
	_, found := p.sets.over(name)
	e, single := errors.AsType[*field.Error](err)
	if len(p.sets) == 0 || !strings.HasPrefix(name, "spec.") || !single {
		return found
	}
	given := validation.Create(defaulting.Prepared(named(p.given)))
	return !slices.ContainsFunc(given, func(g *field.Error) bool { return g.Error() == e.Error() })
}

// immutable returns the fields that the overrides change, although they are immutable in an existing Job.
func (p part) immutable() (fields []string) {
	if p.live == nil || len(p.sets) == 0 {
		return nil
	}
	was := defaulted(p.given)
	for _, err := range validation.Update(identified(p.Job, was), was) {
		if strings.HasSuffix(err.Detail, "field is immutable") && !slices.Contains(fields, err.Field) {
			fields = append(fields, err.Field)
		}
	}
	return fields
}

// read reads the Jobs, of which the first may be given, and the scenario.
func (s *Simulate) read(env Environment, in *kubefile.Input, files []string) error {
	patches := mapped(s.patches, func(p patchFile) string { return p.name })
	return withFiles(env, func(sources [][]kubefile.Source) (err error) {
		if in == nil {
			_, in, err = readStart(s.job, "; --job selects one", sources[0])
		}
		if err != nil {
			return err
		}
		first, err := s.start(in)
		if err != nil {
			return err
		}
		for i, p := range slices.Backward(s.patches) { // each is put first
			if err := p.read(sources[1][i]); err != nil {
				return err
			}
		}
		second := first
		if s.against != "" {
			if _, in, err = readStart("", "", sources[2]); err != nil {
				return err
			}
			if second, err = s.start(in); err != nil {
				return err
			}
			if first.live != nil || second.live != nil {
				return errors.New("--against compares two Jobs from their creation, but one of them has a " +
					"status; add --from-creation to ignore it")
			}
		}
		s.jobs, err = s.parts(first, second)
		if err == nil && s.scenarioFile != "" {
			err = s.readScenario(sources[3][0])
		}
		return errors.Join(err, s.setLimit())
	}, files, patches, given(s.against), given(s.scenarioFile))
}

// parts applies the overrides, and gives two Jobs distinct names.
func (s *Simulate) parts(first, second part) ([]part, error) {
	first, err := first.with(s.sets)
	if err != nil || s.against == "" && len(s.againstSets) == 0 {
		return []part{first}, err
	}
	if second, err = second.with(slices.Concat(s.sets, s.againstSets)); err != nil {
		return nil, err
	}
	if len(s.againstSets) > 0 {
		second.name = s.againstSets.String()
	}
	if a, b := filepath.Base(first.name), filepath.Base(second.name); a != b {
		first.name, second.name = a, b
	}
	return []part{first, second}, nil
}

// with returns the Job with other fields, named after its file.
func (p part) with(sets overrides) (part, error) {
	job, err := sets.apply(p.Job)
	out := *p.Manifest
	out.Job, p.given = job, p.Job
	p.Manifest, p.sets, p.name = &out, sets, p.At.File
	return p, err
}

// setLimit applies --limit to the scenario.
func (s *Simulate) setLimit() error {
	if s.limit == nil {
		return nil
	}
	s.scenario.Limit = &metav1.Duration{Duration: *s.limit}
	if err := (simulation.Scenario{Limit: s.scenario.Limit}).Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// start returns the Job to simulate. If it has a status or pods, it continues from there.
func (s *Simulate) start(in *kubefile.Input) (part, error) {
	m := in.Jobs[0]
	out := part{Manifest: m, pods: in.Pods, podsAt: in.PodsAt}
	var unknown []error
	for _, field := range m.Unknown {
		if m.Job.UID == "" && !expected.MatchString(field) { // a stored Job may have fields of a newer release
			unknown = append(unknown, fmt.Errorf("%s: unknown field %q", m.At.At(field), field))
		}
	}
	if s.fromCreation || unknown != nil {
		return out, errors.Join(unknown...)
	}
	pods, err := simulation.PodsOf(m.Job, in.Pods)
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", m.At.At("spec.selector"), err)
	}
	st := &m.Job.Status
	switch {
	case len(pods) == 0 && string(encode(st)) == "{}":
		return out, nil
	case m.Job.DeletionTimestamp != nil:
		return part{},
			fmt.Errorf("%s: the Job is being deleted; add --from-creation to run it from its creation",
				m.At.At("metadata.deletionTimestamp"))
	case len(pods) == 0 && (st.Active > 0 || st.Terminating != nil && *st.Terminating > 0):
		return part{},
			fmt.Errorf("%s: the status counts active pods, but the input has none; add the pods of the Job, "+
				"or --from-creation to run it from its creation", m.At.At("status.active"))
	}
	newest := m.Job.CreationTimestamp
	if last := len(pods) - 1; last >= 0 { // the last of them
		newest = pods[last].CreationTimestamp
	}
	if s.now.Add(skew).Before(newest.Time) {
		return part{}, fmt.Errorf("%s: at %s the Job or one of its pods did not exist yet; give the time of the input "+
			"with --now", m.At.At(""), s.now.UTC().Format(time.RFC3339))
	}
	out.live = &simulation.Live{Now: s.now, Pods: in.Pods, Assume: s.Assumes(),
		Evidence: diagnose.Evidence{Events: in.Events, Nodes: in.Nodes}}
	return out, nil
}

// skew is by how much the clock of the user may be behind that of the cluster.
const skew = time.Minute

func (s *Simulate) readScenario(source kubefile.Source) (err error) {
	s.scenarioAt, err = kubefile.ReadDocument(source, "a scenario", func(text []byte) (err error) {
		s.scenario, err = simulation.ReadScenario(text)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.scenario.Check(); err != nil {
		return fmt.Errorf("%s: %w", s.scenarioAt.At(fieldIn(err)), err)
	}
	return nil
}
