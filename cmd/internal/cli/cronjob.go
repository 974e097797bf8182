package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/jobstatus"
)

// cronPrefix stands before the name of a CronJob in place of that of a Job.
const cronPrefix = "cronjob/"

// cronReport is the output of explain for a CronJob. Its JSON may change like that of a report.
type cronReport struct {
	CronJob jobRef `json:"cronJob"`
	// Now is the time for which the state holds, and Created when the CronJob was created; absent if that is not known.
	Now     time.Time  `json:"now"`
	Created *time.Time `json:"created,omitempty"`
	// TimeZone is absent if the schedule is in that of the controller, usually UTC.
	Schedule string `json:"schedule"`
	TimeZone string `json:"timeZone,omitempty"`
	// Policy says what the concurrency policy does to an active Job.
	Policy string `json:"policy"`
	// Reason is the first cause of the state, and Also the other ones.
	Reason cause   `json:"reason"`
	Also   []cause `json:"also"`
	// NextStart is the next start time; absent if there is none.
	NextStart *time.Time `json:"nextStart,omitempty"`
	// Missed counts the start times since that of the last Job, at most 1,000. The first and the last are absent if
	// there is none.
	Missed      int        `json:"missed"`
	FirstMissed *time.Time `json:"firstMissed,omitempty"`
	LastMissed  *time.Time `json:"lastMissed,omitempty"`
	// LastSuccess is when a Job last succeeded; absent if none is known to have.
	LastSuccess *time.Time `json:"lastSuccess,omitempty"`
	// Runs lists the Jobs that are known, the last one first.
	Runs []cronRun `json:"runs"`
	// Events lists the last events of the CronJob.
	Events []event `json:"events"`
	Notes  []Note  `json:"notes"`
	// Unreadable is that of a report.
	Unreadable []string `json:"unreadable,omitempty"`

	next string
}

// cronRun is a Job of a CronJob.
type cronRun struct {
	Job string `json:"job"`
	// Created is absent if it is not known, and Ended if the Job has not ended.
	Created *time.Time `json:"created,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Phase is that of the Job, and Text says how it ended.
	Phase string `json:"phase"`
	Text  string `json:"text,omitempty"`
}

// ofActive lists the causes of CronJobs about a Job that is active.
var ofActive = []string{"RunBlocked", "RunHangs", "RunWaits", "RunsReplaced"}

// CronJob explains the first CronJob, and the active Job that it waits for, or the last one if that has failed.
func (x *Explain) CronJob(env Environment, in Objects) (*View, error) {
	evidence, now := in.evidence(), x.now(env, &in)
	r := x.cronJob(in, evidence, in.CronJobs[0], now)
	for _, m := range in.Jobs {
		active := in.CronJobs[0].Status.Active
		waits := slices.Contains(ofActive, r.Reason.Code) && len(active) > 0 && m.Job.Name == active[0].Name
		failed := r.Reason.Code == "RunsFail" && strings.Contains(r.Reason.Text, "Job "+m.Job.Name+" has failed")
		if !waits && !failed {
			continue
		}
		if of, err := x.decide(in, evidence, m, now); err == nil && of.Reason.attention > diagnose.AttentionNone {
			r.tell(of)
			r.Reason.Advice, r.Also = of.Reason.Advice, append([]cause{of.Reason}, r.Also...)
		}
	}
	r.Unreadable = mapped(in.Unreadable, error.Error)
	return &View{crons: []*cronReport{r}, unreadable: r.Unreadable, err: in.Err()}, nil
}

func (x *Explain) cronJob(in Objects, evidence diagnose.Evidence, cron *batchv1.CronJob, now time.Time) *cronReport {
	jobs := mapped(in.Jobs, func(m *kubefile.Manifest) *batchv1.Job { return m.Job })
	d := diagnose.OfCronJob(cron, jobs, now, evidence)
	if strings.HasSuffix(string(d.Causes[0].Code), "Overdue") && x.saved && x.at == nil {
		d.Causes[0].Advice += savedAdvice
	}
	r := &cronReport{CronJob: jobRef{cron.Namespace, cron.Name, string(cron.UID)}, Now: now.UTC(),
		Created: known(cron.CreationTimestamp.Time), Schedule: cron.Spec.Schedule,
		TimeZone: *cmp.Or(cron.Spec.TimeZone, new("")), Policy: d.Policy, Reason: newCause(d.Causes[0]),
		Also: mapped(d.Causes[1:], newCause), NextStart: known(d.Next), Missed: d.Missed, FirstMissed: known(d.First),
		LastMissed: known(d.Last), LastSuccess: known(cmp.Or(cron.Status.LastSuccessfulTime, &metav1.Time{}).Time),
		Runs: mapped(d.Runs, newCronRun), Events: mapped(d.Events, newEvent), Notes: append([]Note{}, in.AllNotes()...)}
	if !d.Next.IsZero() {
		r.next = d.Next.Format(time.RFC3339)
	}
	return r
}

// tell adds how a pod of the last Job that has failed did, if a report of that Job says it.
func (r *cronReport) tell(of *report) {
	at := "Job " + of.Job.Name + " has failed: "
	before, after, found := strings.Cut(r.Reason.Text, at)
	if !found || r.Reason.Code != "RunsFail" || r.CronJob.Namespace != of.Job.Namespace {
		return
	}
	reason, _, _ := strings.Cut(after, "; ")
	says, _, isLast := strings.Cut(of.Reason.Text, "; "+reason)
	if isLast {
		says += "; " + reason
	}
	r.Reason.Text = before + at + says + strings.TrimPrefix(after, reason)
}

func newCronRun(job *batchv1.Job) cronRun {
	o := jobstatus.OutcomeOf(job)
	run := cronRun{job.Name, known(job.CreationTimestamp.Time), nil, string(o.Phase),
		strings.Trim(o.Reason+": "+o.Message, ": ")}
	if end := jobstatus.Finished(job); end != nil {
		run.Ended = known(end.LastTransitionTime.Time)
	}
	return run
}

// line says when a Job was created, for how long it has run, and how it ended.
func (r cronRun) line(now time.Time) string {
	created := cmp.Or(r.Created, &now)
	took := between(created, *cmp.Or(r.Ended, &now))
	text := fmt.Sprintf("%s %s, %s: %s: %s", created.Format(time.RFC3339), r.Job, took, r.Phase, r.Text)
	return strings.TrimSuffix(text, ": ")
}

// text returns the report as text.
func (r *cronReport) text(p paint, all bool) string {
	b := &page{paint: p, all: all}
	b.first(r.Reason)
	write(b, "CronJob %s, schedule %q in %s, at %s.\n", p.text(bold, r.CronJob.Namespace+"/"+r.CronJob.Name),
		r.Schedule, cmp.Or(r.TimeZone, "UTC, if its controller is"), r.Now.Format(time.RFC3339))
	write(b, "%s.\n", r.Policy)
	if r.next != "" {
		write(b, "The next Job is due at %s.\n", r.next)
	}
	if len(r.Also) > 0 {
		b.also(r.Also, r.Reason.Advice)
	}
	if len(r.Runs) > 0 {
		b.section("Jobs", cut(mapped(r.Runs, func(run cronRun) string { return run.line(r.Now) }), mostLines, all))
	}
	b.notes(r.Events, r.Notes)
	return b.String()
}

func (r *cronReport) line() line {
	age := between(r.Created, r.Now)
	return line{r.Reason, r.CronJob.Namespace, cronPrefix + r.CronJob.Name, "", "", age, math.MaxInt64}
}

// chooseCronJob keeps only the CronJob with the wanted name or namespace/name.
func chooseCronJob(in *kubefile.Input, wanted string) error {
	in.CronJobs = slices.DeleteFunc(in.CronJobs,
		func(c *batchv1.CronJob) bool { return wanted != c.Name && wanted != c.Namespace+"/"+c.Name })
	if n := len(in.CronJobs); n != 1 {
		return fmt.Errorf("the input has %d CronJobs named %s; want one, as in --job cronjob/NAMESPACE/NAME", n, wanted)
	}
	return nil
}

// ownedByAll reports whether a Job is owned by each of the CronJobs, so that there is at most one.
func ownedByAll(job *batchv1.Job, crons []*batchv1.CronJob) bool {
	return !slices.ContainsFunc(crons, func(c *batchv1.CronJob) bool { return !metav1.IsControlledBy(job, c) })
}
