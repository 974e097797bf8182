package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

// choose keeps only the Job with the wanted name or namespace/name. If wanted is empty it
// keeps all Jobs. No Job may occur twice.
func choose(in *kubefile.Input, wanted string) error {
	if name, found := strings.CutPrefix(wanted, cronPrefix); found {
		return chooseCronJob(in, name)
	}
	first := map[string]kubefile.Place{}
	var chosen []*kubefile.Manifest
	for _, m := range in.Jobs {
		name := m.Job.Namespace + "/" + m.Job.Name
		if at, twice := first[name]; twice {
			return fmt.Errorf("%s is a second Job %s; the first is %s", m.At, m.Job.Name, at)
		}
		first[name] = m.At
		if wanted == m.Job.Name || wanted == name || wanted == "job/"+m.Job.Name {
			chosen = append(chosen, m)
		}
	}
	switch {
	case wanted == "":
		return nil
	case len(chosen) == 0:
		return fmt.Errorf("no Job %s in the input, which has %s", wanted, cmp.Or(someNames(in.Jobs), "none"))
	case len(chosen) > 1:
		return fmt.Errorf("the input has %d Jobs named %s; add the namespace, as in --job %s/%s", len(chosen),
			wanted, chosen[0].Job.Namespace, wanted)
	}
	in.Jobs = chosen
	return nil
}

// someNames returns the names of Jobs, at most five.
func someNames(jobs []*kubefile.Manifest) string {
	const most = 5
	names := mapped(jobs,
		func(m *kubefile.Manifest) string { return strings.TrimPrefix(m.Job.Namespace+"/"+m.Job.Name, "/") })
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// overview is the output of explain for several Jobs.
type overview struct {
	// Jobs are ordered: those that need most attention come first.
	Jobs []*report `json:"jobs"`
	// CronJobs are ordered like Jobs.
	CronJobs []*cronReport `json:"cronJobs"`
	// Shared says what the failures of several Jobs name.
	Shared []shared `json:"shared,omitempty"`
	// Others is the number of omitted Jobs, which need no attention.
	Others int `json:"others,omitempty"`
	// Unreadable says which parts of the input cannot be read.
	Unreadable []string `json:"unreadable,omitempty"`
}

// List explains each Job in one line of a table. If a Job cannot be decided on, it still explains the
// others.
func (x *Explain) List(env Environment, in Objects) (*View, error) {
	now, parts, evidence := x.now(env, &in), newPartition(in.Input), in.evidence()
	v := &View{list: true, namespaces: in.AllNamespaces, notes: in.AllNotes(),
		unreadable: mapped(in.Unreadable, error.Error)}
	errs := []error{in.Err()}
	for _, m := range in.Jobs {
		r, err := x.decide(parts.of(m, in), evidence, m, now)
		switch {
		case err != nil:
			errs = append(errs, err)
		case x.Troubled && !x.all && r.Reason.attention == diagnose.AttentionNone:
			v.others++
		default:
			v.reports = append(v.reports, r)
		}
	}
	jobs := mapped(in.Jobs, func(m *kubefile.Manifest) *batchv1.Job { return m.Job })
	for _, cron := range in.CronJobs {
		c := x.cronJob(in, evidence, cron, now)
		if !x.Troubled || x.all || c.Reason.attention > diagnose.AttentionNone {
			v.crons = append(v.crons, c)
		}
	}
	for _, r := range v.reports {
		switch {
		case r.Reason.attention != diagnose.AttentionLost:
		case madeUpFor(in.CronJobs, jobs, r.job(jobs)):
			r.Reason.attention = diagnose.AttentionNone
			r.Reason.Text += "; a later Job with the same containers has succeeded, perhaps without what this one " +
				"had to do"
		case r.Reason.Code == "Failed":
			for _, c := range v.crons {
				c.tell(r)
			}
			r.Reason.Text += diagnose.ChangedSince(r.job(jobs), jobs)
		}
	}
	slices.SortStableFunc(v.crons, func(a, b *cronReport) int { return a.line().compare(b.line()) })
	slices.SortStableFunc(v.reports, func(a, b *report) int { return a.line().compare(b.line()) })
	if v.err = errors.Join(errs...); v.err != nil && len(v.reports)+len(v.crons)+v.others == 0 {
		return nil, v.err
	}
	return v, nil
}

// job returns the Job of a report.
func (r *report) job(jobs []*batchv1.Job) *batchv1.Job {
	return jobs[slices.IndexFunc(jobs, func(job *batchv1.Job) bool { return string(job.UID) == r.Job.UID })]
}

// madeUpFor reports whether a later Job of the same CronJob, or one with the same containers, has succeeded.
func madeUpFor(crons []*batchv1.CronJob, jobs []*batchv1.Job, job *batchv1.Job) bool {
	of, end := cmp.Or(metav1.GetControllerOfNoCopy(job), &metav1.OwnerReference{}), jobstatus.Finished(job)
	return slices.ContainsFunc(crons, func(cron *batchv1.CronJob) bool { // its Job may be gone
		last := cron.Status.LastSuccessfulTime
		return of.Kind == "CronJob" && cron.UID == of.UID && last != nil && end != nil &&
			last.After(end.LastTransitionTime.Time)
	}) || slices.ContainsFunc(jobs, func(other *batchv1.Job) bool {
		later := other.Status.CompletionTime != nil && other.CreationTimestamp.After(job.CreationTimestamp.Time)
		return later && (of.Kind == "CronJob" && metav1.IsControlledBy(other, &metav1.ObjectMeta{UID: of.UID}) ||
			job.Namespace == other.Namespace && equality.Semantic.DeepEqual(job.Spec.Template.Spec.Containers,
				other.Spec.Template.Spec.Containers))
	})
}

// value returns what JSON and YAML print.
func (v *View) value() any {
	switch {
	case v.list:
		return overview{Jobs: append([]*report{}, v.reports...), CronJobs: append([]*cronReport{}, v.crons...),
			Shared: v.shared(), Others: v.others, Unreadable: v.unreadable}
	case len(v.crons) > 0:
		return v.crons[0]
	}
	return v.reports[0]
}

// text returns a view as text.
func (v *View) text(p paint, all bool) string {
	var b strings.Builder
	if n := len(v.unreadable); n > 0 {
		write(&b, "%s: %s of the input cannot be read, so this answer may be wrong.\n",
			p.text(yellow, "Incomplete"), count(n, "part"))
	}
	switch {
	case !v.list && len(v.crons) > 0:
		return b.String() + v.crons[0].text(p, all)
	case !v.list:
		return b.String() + v.reports[0].text(p, all)
	}
	if len(v.reports)+len(v.crons) > 0 {
		b.WriteString(v.table(p, all))
	}
	for _, s := range v.shared() {
		write(&b, "%s all name %s: they may have one cause.\n", inLine(strings.Join(s.Jobs, ", ")),
			inLine(strings.Join(s.Names, ", ")))
	}
	v.writeAdvice(&b, all)
	well := len(v.advice()) == 0 && v.worst().attention == diagnose.AttentionNone
	switch {
	case len(v.reports)+len(v.crons) > 0 && v.others == 0 && well:
		b.WriteString("\nNothing in the input needs attention.\n")
	case len(v.crons) > 0 && v.others == 0:
	case v.others == 0 && len(v.reports) == 0:
		b.WriteString("No Job was found.\n")
	case len(v.reports)+len(v.crons) == 0:
		write(&b, "No Job needs attention (--all lists %s).\n", count(v.others, "Job"))
	case v.others > 0:
		verb := map[bool]string{true: "needs", false: "need"}[v.others == 1]
		write(&b, "%s %s no attention (--all lists them).\n", count(v.others, "other Job"), verb)
	}
	for _, n := range v.notes {
		write(&b, "%s: %s\n", p.text(yellow, n.Code), n.Text)
	}
	return b.String()
}

// writeAdvice writes what to do below a table; without all, about what is first in it.
func (v *View) writeAdvice(b *strings.Builder, all bool) {
	const most = 5
	advice := v.advice()
	for i, text := range advice {
		switch {
		case i == 0:
			b.WriteString("\nWhat to do:\n")
		case i == most && !all:
			write(b, "  (--all shows %d more)\n\n", len(advice)-most)
			return
		}
		write(b, "  %s\n", text)
	}
	if len(advice) > 0 {
		b.WriteString("\n")
	}
}

// cell is a cell of a table, with its colour.
type cell struct{ color, text string }

// line is what a table says of a Job or a CronJob.
type line struct {
	cause
	namespace, name, completions, duration, age string
	// ended is when a Job has ended, in seconds; of what has not it is the highest number.
	ended int64
}

func (r *report) line() line {
	return line{r.Reason, r.Job.Namespace, r.Job.Name, r.completions(), r.duration(), between(r.Created, r.Now),
		cmp.Or(r.Ended, new(time.Unix(math.MaxInt64, 0))).Unix()}
}

// compare orders lines: those that need most attention come first, and of these those that have not ended, or ended
// last.
func (l line) compare(other line) int {
	return cmp.Or(cmp.Compare(other.attention, l.attention), cmp.Compare(other.ended, l.ended),
		cmp.Compare(l.namespace, other.namespace), cmp.Compare(l.name, other.name))
}

// numbers matches what differs between Jobs of one series.
var numbers = regexp.MustCompile(`\d+`)

// alike returns what Jobs of one series share that have failed in the same way.
func (l line) alike() string {
	text := l.Text
	for _, name := range append(slices.Clone(l.Pods), l.name) {
		text = strings.ReplaceAll(text, name, "")
	}
	return l.namespace + "/" + series(l.name) + ": " + numbers.ReplaceAllString(text, "")
}

// isAbout reports whether the text of a line names the Job of another one.
func (l line) isAbout(other line) bool {
	return l.namespace == other.namespace && strings.Contains(l.Text+" ", "Job "+other.name)
}

// lines returns the lines of the Jobs and the CronJobs, in their order.
func (v *View) lines() []line {
	lines := append(mapped(v.reports, (*report).line), mapped(v.crons, (*cronReport).line)...)
	slices.SortStableFunc(lines, line.compare)
	return lines
}

// shared is what the failures of several Jobs name: servers, and words in quotes.
type shared struct {
	Names []string `json:"names"`
	Jobs  []string `json:"jobs"`
}

// series returns the name of a Job without its number.
func series(name string) string { return strings.TrimRight(name, "-0123456789") }

// shared returns what the failures of several Jobs that need attention name: two of the largest sets of Jobs, of
// which none is part of the other.
func (v *View) shared() (all []shared) {
	jobs := map[string][]string{}
	for _, l := range v.lines() {
		for _, name := range l.names {
			// Jobs of one CronJob have names that differ in their number, and name the same things.
			same := func(other string) bool { return series(other) == series(l.name) }
			if l.attention > diagnose.AttentionNone && !slices.ContainsFunc(jobs[name], same) {
				jobs[name] = append(jobs[name], l.name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		at := slices.IndexFunc(all, func(s shared) bool { return slices.Equal(s.Jobs, jobs[name]) })
		switch {
		case at >= 0:
			all[at].Names = append(all[at].Names, name)
		case len(jobs[name]) > 1:
			all = append(all, shared{[]string{name}, jobs[name]})
		}
	}
	slices.SortStableFunc(all, func(a, b shared) int { return cmp.Compare(len(b.Jobs), len(a.Jobs)) })
	var kept []shared
	for _, s := range all {
		within := func(larger shared) bool {
			return !slices.ContainsFunc(s.Jobs, func(job string) bool { return !slices.Contains(larger.Jobs, job) })
		}
		const most = 2
		if len(kept) < most && !slices.ContainsFunc(kept, within) {
			kept = append(kept, s)
		}
	}
	return kept
}

// ofJobs lists the causes of CronJobs after which what to do stands with the Job, if that is listed.
var ofJobs = []string{"RunsFail", "RunBlocked", "RunHangs", "RunsReplaced"}

// advice returns what to do about each Job and CronJob that needs attention. Those with the same advice, apart
// from where their logs are, share a line. What is said of a CronJob is not said again of its Jobs, nor the reverse.
func (v *View) advice() (all []string) {
	lines := slices.DeleteFunc(v.lines(), func(l line) bool {
		return l.Advice == "" || l.attention == diagnose.AttentionNone && l.Code != string(explain.JobFinished)
	})
	of := func(l line) string { return l.namespace + "/" + cronPrefix + series(l.name) }
	listed, outgrown, stuck := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		stuck[of(l)] = stuck[of(l)] || l.attention == diagnose.AttentionStuck
		listed[l.namespace+"/"+l.name] = true
		outgrown[l.namespace+"/"+l.name] = l.Code == "DeadlineOutgrown"
	}
	at := map[string]int{}
	for _, l := range lines {
		if listed[of(l)] {
			l.Advice, _, _ = strings.Cut(l.Advice, " CronJob "+series(l.name)+": ") // which its own line says
		}
		advice, _, _ := strings.Cut(l.Advice, diagnose.WholeLog)
		isOf := func(job line) bool {
			return l.isAbout(job) || l.Code != "RunHangs" && of(job) == l.namespace+"/"+l.name
		}
		switch i, known := at[advice]; {
		case slices.Contains(ofJobs, l.Code) && slices.ContainsFunc(lines, isOf) || outgrown[of(l)]:
		case stuck[of(l)] && strings.HasPrefix(l.Advice, diagnose.NotKnown): // another Job may show it
		case known:
			all[i] = strings.Replace(all[i], ": "+advice, ", "+l.name+": "+advice, 1)
		default:
			at[advice], all = len(all), append(all, l.name+": "+l.Advice)
		}
	}
	return all
}

// table returns the Jobs in the columns of kubectl get jobs. Cells are escaped before they are measured.
func (v *View) table(p paint, all bool) string {
	rows := [][]cell{nil}
	for _, title := range []string{"NAMESPACE", "NAME", "COMPLETIONS", "DURATION", "AGE", "CAUSE", "MESSAGE"} {
		rows[0] = append(rows[0], cell{"", title})
	}
	lines, told := v.lines(), map[string]string{}
	for _, l := range lines {
		first, known := told[l.alike()]
		switch {
		case known && !all:
			l.Text = "as " + first
		case l.Code == "Failed":
			told[l.alike()] = l.name
		}
		rows = append(rows, []cell{{"", l.namespace}, {bold, l.name}, {"", l.completions}, {"", l.duration},
			{"", cmp.Or(l.age, "<unknown>")}, {bold + ";" + attentionColors[l.attention], l.Code}, {"", l.Text}})
	}
	if !v.namespaces && !slices.ContainsFunc(lines, func(l line) bool { return l.namespace != lines[0].namespace }) {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			text := inLine(row[i].text)
			row[i].text, widths[i] = text, max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	last := len(widths) - 1
	room := p.width
	for _, width := range widths[:last] {
		room -= width + 3
	}
	for _, row := range rows {
		if p.width > 0 && !all {
			row[last].text = cutText(row[last].text, max(room, 10))
		}
		for i, c := range row[:last] {
			b.WriteString(p.text(c.color, c.text))
			fmt.Fprintf(&b, "%*s", widths[i]+3-utf8.RuneCountInString(c.text), "")
		}
		b.WriteString(row[last].text + "\n")
	}
	return b.String()
}

// partition finds the pods that may concern a Job among the pods of many Jobs. The maps hold
// positions of pods in the input.
type partition struct {
	in      *kubefile.Input
	byUID   map[types.UID][]int // by the UID of the controller
	byName  map[[2]string][]int // by the namespace and the name of the controller
	orphans map[string][]int    // pods without a controller, by namespace
}

func newPartition(in *kubefile.Input) partition {
	p := partition{in, map[types.UID][]int{}, map[[2]string][]int{}, map[string][]int{}}
	for i, pod := range in.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			p.byUID[ref.UID] = append(p.byUID[ref.UID], i)
			p.byName[[2]string{pod.Namespace, ref.Name}] = append(p.byName[[2]string{pod.Namespace, ref.Name}], i)
		} else {
			p.orphans[pod.Namespace] = append(p.orphans[pod.Namespace], i)
		}
	}
	return p
}

// of returns the objects for one Job. Its pods are, in the order of the input, those that it
// controls, those of an earlier Job of the same name, and those without a controller.
func (p partition) of(m *kubefile.Manifest, all Objects) Objects {
	job := m.Job
	at := slices.Concat(p.byUID[job.UID], p.byName[[2]string{job.Namespace, job.Name}], p.orphans[job.Namespace])
	slices.Sort(at)
	in := *p.in
	in.Pods, in.PodsAt = nil, nil
	for _, i := range slices.Compact(at) {
		in.Pods, in.PodsAt = append(in.Pods, p.in.Pods[i]), append(in.PodsAt, p.in.PodsAt[i])
	}
	all.Input = &in
	return all
}
