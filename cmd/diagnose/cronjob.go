package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

// MostMissed is the highest number of start times that count as missed.
const MostMissed = 1000

// CronJob is the diagnosis of a CronJob.
type CronJob struct {
	// Causes say what keeps the CronJob from starting Jobs, or how these end. There is at least one; the first matters
	// most.
	Causes []Cause
	// Next is the first start time after now, in the CronJob's time zone; zero if there is none.
	Next time.Time
	// Missed counts the start times since that of the last Job, at most MostMissed. First and Last are the first and
	// the last of them. The controller makes up for the last one alone, if it still may.
	Missed      int
	First, Last time.Time
	// Policy says what the concurrency policy does to an active Job.
	Policy string
	// Runs lists the Jobs of the CronJob that are given, the last one first.
	Runs []*batchv1.Job
	// Events lists the last events about the CronJob, in the order of time.
	Events []Moment
}

// OfCronJob returns the diagnosis of a CronJob. jobs may have those of others; nil means that they are
// not known. evidence.NextRun must be set.
func OfCronJob(of *batchv1.CronJob, jobs []*batchv1.Job, now time.Time, evidence Evidence) CronJob {
	c := &cronFacts{of: of, world: newWorld([]Evidence{evidence}), now: now, jobs: jobs}
	c.events = c.about("CronJob", of.Namespace, of.Name)
	for _, job := range jobs {
		if metav1.IsControlledBy(job, of) && job.Namespace == of.Namespace {
			c.Runs = append(c.Runs, job)
		}
	}
	slices.SortStableFunc(c.Runs, func(a, b *batchv1.Job) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(b.Name, a.Name))
	})
	c.Policy = policies[cmp.Or(of.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)]
	for _, e := range c.events[max(0, len(c.events)-8):] {
		c.Events = append(c.Events, momentOf(e))
	}
	c.read()
	c.diagnose()
	return c.CronJob
}

// policies says what each policy does to an active Job.
var policies = map[batchv1.ConcurrencyPolicy]string{
	batchv1.AllowConcurrent:   "Allow: the next Job starts beside active ones",
	batchv1.ForbidConcurrent:  "Forbid: while a Job is active, no other one starts",
	batchv1.ReplaceConcurrent: "Replace: the next start deletes a Job that is still active",
}

// cronFacts holds a CronJob and what is known about it.
type cronFacts struct {
	CronJob
	world
	of      *batchv1.CronJob
	now     time.Time
	jobs    []*batchv1.Job // of any owner
	events  []*corev1.Event
	due     time.Time // the start time whose Job the controller creates now; zero if there is none
	tooMany bool      // the controller warns of the start times that were missed
}

// next returns the first start time after t; zero if there is none.
func (c *cronFacts) next(t time.Time) time.Time {
	return c.nextRun(c.of.Spec.Schedule, *cmp.Or(c.of.Spec.TimeZone, new("")), t)
}

// read finds the start times.
func (c *cronFacts) read() {
	since := cmp.Or(c.of.CreationTimestamp.Time, c.now)
	if c.of.Status.LastScheduleTime != nil {
		since = c.of.Status.LastScheduleTime.Time
	}
	for t := c.next(since); !t.IsZero() && t.Before(c.now) && c.Missed < MostMissed; t = c.next(t) {
		c.First, c.Last = cmp.Or(c.First, t), t
		c.Missed++
	}
	if last, _ := c.lastBefore(since); c.Missed == MostMissed && last.After(c.Last) {
		c.Last = last
	}
	if seconds := c.of.Spec.StartingDeadlineSeconds; seconds != nil {
		since = latest(since, c.now.Add(-time.Duration(*seconds)*time.Second))
	}
	c.Next = c.next(c.now)
	c.due, c.tooMany = c.lastBefore(since)
}

// lastBefore returns the last start time in (since, now], as the CronJob controller finds it; zero if there is none.
// many says that the controller warns that there are too many. It reckons with the distance of the first two, and
// looks only at the end of the time: with an irregular schedule it may overlook the last one
// (mostRecentScheduleTime in pkg/controller/cronjob/utils.go).
func (c *cronFacts) lastBefore(since time.Time) (last time.Time, many bool) {
	first := c.next(since)
	second := c.next(first)
	between := int64(second.Sub(first).Round(time.Second) / time.Second)
	switch {
	case c.now.Before(first):
		return last, false
	case c.now.Before(second):
		return first, false
	case between < 1: // the controller calls the schedule invalid
		return last, false
	}
	whole := int64(c.now.Sub(first)/time.Second) / between
	from := first.Add(time.Duration((whole-1)*between) * time.Second)
	for t := c.next(from); !t.IsZero() && !t.After(c.now); t = c.next(t) {
		last = t
	}
	return last, whole >= 100 && !last.IsZero()
}

// madeUpAdvice is for a CronJob that is resumed.
const madeUpAdvice = "a start time that has passed is made up for at once, if spec.startingDeadlineSeconds allows."

// cronCauses says what the causes of CronJobs mean, and what to do.
var cronCauses = []Entry{
	{"CronJobStopped", AttentionHeld, "a CronJob is suspended, or is being deleted", "Find out why it is " +
		"suspended, and whether that is over. To resume it, set spec.suspend to false: " + madeUpAdvice},
	{"ScheduleInvalid", AttentionStuck, "the schedule or the time zone of a CronJob is invalid, or the schedule " +
		"matches no date", "Change spec.schedule or spec.timeZone."},
	{"TimeZoneUnknown", AttentionStuck, "the CronJob controller does not know the time zone of a CronJob, though it " +
		"exists", "Update the time zone database (tzdata) of kube-controller-manager, or name another time zone with " +
		"the same times in spec.timeZone."},
	{"QuotaExceeded", AttentionStuck, "a quota rejects the next Job of a CronJob", "The controller tries again. " +
		"Finished Jobs count as well: delete those that are not needed, and lower the CronJob's history limits or " +
		"set spec.jobTemplate.spec.ttlSecondsAfterFinished."},
	{"WebhookUnavailable", AttentionStuck, "an admission webhook does not answer when the next Job of a CronJob is " +
		"created", "Look at the pods behind the webhook's service; the CronJob is not at fault. The controller tries " +
		"again."},
	{"JobRefused", AttentionStuck, "the API server rejects the next Job of a CronJob for another reason",
		"Fix what the message names. The controller tries again."},
	{"RunBlocked", AttentionStuck, "with concurrencyPolicy Forbid, a Job has been active for three start times and " +
		"more than a day, or three times as long as the last ones took, or for ten times as long", "See whether its " +
		"pods run, and what they do: kubectl logs -n NAMESPACE job/JOB. If it only hangs, see on what: the next " +
		"one, which starts once it is deleted, may hang, too. With spec.jobTemplate.spec.activeDeadlineSeconds later " +
		"Jobs end in time."},
	{"RunWaits", AttentionWait, "with concurrencyPolicy Forbid, an active Job keeps the next one from starting",
		"The next one starts after its end."},
	{"RunOverdue", AttentionStuck, "a CronJob should have created a Job two minutes ago or more", "Check that the " +
		"CronJob controller is running, and see the events: kubectl describe cronjob -n NAMESPACE CRONJOB. If the " +
		"schedule was changed since, the next start time is the first that counts."},
	{"RunMissed", AttentionLost, "no Job was created for the last start time of a CronJob, and none will be",
		"If it must run now: kubectl create job -n NAMESPACE NAME --from=cronjob/CRONJOB. With a higher " +
			"spec.startingDeadlineSeconds the controller makes up for a start time later, too."},
	{"EveryMinute", AttentionWait, "the schedule of a CronJob has hours and no minute, so that it starts a Job in " +
		"each minute of them", "If one start is meant, set the first field of spec.schedule, as in \"0 2 * * *\"."},
	{"RunHangs", AttentionWait, "without concurrencyPolicy Forbid, a Job has been active for more than an " +
		"hour, and three times as long as the last ones took", "See what its pods do: kubectl logs -n NAMESPACE " +
		"job/JOB. With spec.jobTemplate.spec.activeDeadlineSeconds later Jobs end in time, and with " +
		"spec.concurrencyPolicy Forbid they do not pile up."},
	{"RunsTooLong", AttentionWait, "the last Jobs of a CronJob took longer than the time between two start times",
		"Start them less often, or make them shorter. With concurrencyPolicy Forbid they start late, and start times " +
			"pass without a Job; with Allow they overlap."},
	{"RunsReplaced", AttentionStuck, "with concurrencyPolicy Replace, Jobs were deleted before they ended, and none " +
		"has succeeded since", "See what the pods of the last Job wait for, if they do. If they only take longer " +
		"than the schedule leaves, start them less often, or set spec.concurrencyPolicy to Forbid."},
	{"DeadlineOutgrown", AttentionLost, "the last Job of a CronJob failed at its deadline, and the last ones that " +
		"succeeded took almost as long", "Raise spec.jobTemplate.spec.activeDeadlineSeconds, and, before " +
		"a Job that still runs reaches it, its own spec.activeDeadlineSeconds, which can change. See why the Jobs " +
		"take so long. If the last one must run again, and none runs: kubectl create job -n NAMESPACE NAME " +
		"--from=cronjob/CRONJOB."},
	{"FailuresGone", AttentionLost, "the last Jobs of a CronJob have failed, and nothing is left of them",
		"Mend what the warning names, if one is left. Keep failed Jobs longer (spec.failedJobsHistoryLimit, and " +
			"spec.jobTemplate.spec.ttlSecondsAfterFinished), so that the next one can be read, or look where logs " +
			"are kept."},
	{"RunsFail", AttentionLost, "the last Job of a CronJob that has ended has failed", "See why that Job failed."},
	{"Scheduled", AttentionNone, "a CronJob creates its Jobs by its schedule", ""},
}

// ListCronJob returns the causes of CronJobs, as [List] does those of Jobs.
func ListCronJob() []Entry { return slices.Clone(cronCauses) }

// add adds a cause, with the event that shows it.
func (c *cronFacts) add(code explain.Code, text string, event *corev1.Event) {
	row := cronCauses[slices.IndexFunc(cronCauses, func(e Entry) bool { return e.Code == code })]
	names := []string{"CRONJOB", c.of.Name}
	if len(c.of.Status.Active) > 0 {
		names = append(names, "job/JOB", "job/"+c.of.Status.Active[0].Name)
	}
	advice := strings.NewReplacer(append(names,
		" -n NAMESPACE", textIf(c.of.Namespace != "", " -n "+c.of.Namespace))...)
	cause := Cause{Reason: explain.Reason{Code: code, Text: text}, Advice: advice.Replace(row.Advice),
		Attention: row.Attention}
	if event != nil {
		cause.Evidence = []string{"event " + event.Reason + " of cronjob/" + c.of.Name + " at " + c.date(timeOf(event))}
	}
	c.Causes = append(c.Causes, cause)
}

// diagnose finds the causes, in the order in which the controller looks.
func (c *cronFacts) diagnose() {
	suspended := *cmp.Or(c.of.Spec.Suspend, new(bool))
	switch {
	case c.of.DeletionTimestamp != nil || suspended:
		c.Next = time.Time{}
		why := holdReason(c.of.Annotations)
		text := "the CronJob is " + either(suspended, "suspended"+c.suspendedBy()+textIf(why != "", " ("+why+")"),
			"being deleted") + ", so it creates no Job" + textIf(c.Missed > 0, "; "+c.starts())
		if suspended && !c.due.IsZero() {
			text += "; once it is resumed, it makes up for start time " + c.date(c.due) +
				textIf(c.Missed > 1, ", not for those before")
		}
		c.add("CronJobStopped", text, nil)
		if why != "" {
			of := &c.Causes[len(c.Causes)-1]
			of.Advice = strings.Replace(of.Advice, "Find out why it is suspended, and whether that is over.",
				"See whether that is over. If it holds, there is nothing to do.", 1)
		}
		if suspended && c.due.IsZero() && c.Missed > 0 {
			of := &c.Causes[len(c.Causes)-1]
			of.Advice = strings.Replace(of.Advice, madeUpAdvice, "no start time that has passed is made up for. To "+
				"run it before its next time: kubectl create job"+textIf(c.of.Namespace != "", " -n "+c.of.Namespace)+
				" NAME --from=cronjob/"+c.of.Name+".", 1)
		}
		return
	case c.Next.IsZero():
		text := "the schedule " + strconv.Quote(c.of.Spec.Schedule) + ", in time zone " +
			*cmp.Or(c.of.Spec.TimeZone, new("UTC")) + ", is invalid, or matches no date"
		e := lastEvent(c.events, reasonIs("UnknownTimeZone", "UnparseableSchedule", "InvalidSchedule"))
		if e != nil {
			text += ": " + oneLine(e.Message)
		}
		c.add("ScheduleInvalid", text, e)
		return
	case c.unknownZone():
		return
	}
	c.unstarted()
	c.often()
	c.ends()
	if c.Causes == nil {
		jobs, _ := c.active()
		c.add("Scheduled", joined("; ", jobs, textIf(!c.due.IsZero() && jobs == "", "the Job for "+
			c.date(c.due)+" is due now"), "the next Job is due at "+c.date(c.Next)+", in "+
			duration.HumanDuration(c.Next.Sub(c.now)), c.zoneless(), c.skipped(), c.twin()), nil)
	}
}

// zoneless says that the hours of the schedule are in no time zone of its own.
func (c *cronFacts) zoneless() string {
	return textIf(c.jobs != nil && c.of.Spec.TimeZone == nil && daily.MatchString(c.of.Spec.Schedule),
		"spec.timeZone is not set, and its hours are taken as UTC")
}

// daily matches a schedule that names hours.
var daily = regexp.MustCompile(`^\S+ \d+(,\d+)* `)

// twin names another CronJob of the namespace that starts the same containers at the same times.
func (c *cronFacts) twin() string {
	for _, o := range c.objects {
		of := &batchv1.CronJob{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, of)
		own, spec := &c.of.Spec, &of.Spec
		if err == nil && of.Kind == "CronJob" && of.Namespace == c.of.Namespace && of.Name != c.of.Name &&
			!*cmp.Or(spec.Suspend, new(bool)) && spec.Schedule == own.Schedule && equality.Semantic.DeepEqual(
			spec.JobTemplate.Spec.Template.Spec.Containers, own.JobTemplate.Spec.Template.Spec.Containers) {
			return "CronJob " + of.Name + " starts the same containers at the same times"
		}
	}
	return ""
}

// suspendedBy says who has suspended the CronJob, and when; empty if that is not known.
func (c *cronFacts) suspendedBy() string {
	by, at := suspendWritten(c.of.ManagedFields)
	return textIf(by != "", " by "+by+" at "+c.date(at)+" or before")
}

// lateJob names a Job of any CronJob that was created late, after the last start time that was missed: the controller
// may not have run.
func (c *cronFacts) lateJob() string {
	for _, job := range c.jobs {
		at, err := time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		created := job.CreationTimestamp.Time
		late := err == nil && created.Sub(at) > longPatience/2
		if late && created.After(c.Last) && created.Sub(c.Last) < 24*time.Hour {
			return "Job " + job.Name + ", for start time " + c.date(at) + ", was only created at " + c.date(created) +
				": the CronJob controller may not have run until then"
		}
	}
	return ""
}

// often finds that Jobs start more often than they should.
func (c *cronFacts) often() {
	fields := strings.Fields(c.of.Spec.Schedule)
	if len(fields) == 5 && (fields[0] == "*" || fields[0] == "*/1") && fields[1] != "*" {
		c.add("EveryMinute", "the schedule "+strconv.Quote(c.of.Spec.Schedule)+" starts a Job in each minute of these "+
			"hours", nil)
	}
	var between time.Duration // at most
	for n, t := 0, c.Next; n < 8 && !t.IsZero(); n, t = n+1, c.next(t) {
		between = max(between, c.next(t).Sub(t))
	}
	took := c.took()
	slices.Sort(took)
	jobs, since := c.active()
	long := slices.Max(append(took, 0))
	least := either(long > 0, 3*long, between)
	hangs := !since.IsZero() && c.now.Sub(since) > max(time.Hour, least)
	if hangs && c.of.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		c.add("RunHangs", jobs+textIf(c.podless(), ", of which no pod was created")+either(long > 0,
			"; the last ones took at most "+duration.HumanDuration(long),
			"; the next one has started beside it"), nil)
	}
	if len(took) > 1 && took[0] > between {
		c.add("RunsTooLong", joined("; ", fmt.Sprintf("the last %d Jobs that succeeded took %s to %s, and start times "+
			"are at most %s apart", len(took), duration.HumanDuration(took[0]),
			duration.HumanDuration(took[len(took)-1]), duration.HumanDuration(between)), jobs), nil)
	}
}

// unknownZone adds the cause that the controller does not know the time zone, though it exists: a CronJob that it
// has said this of since its last start (pkg/controller/cronjob/cronjob_controllerv2.go, syncCronJob).
func (c *cronFacts) unknownZone() bool {
	e := lastEvent(c.events, reasonIs("UnknownTimeZone", "SuccessfulCreate"))
	if c.Missed == 0 || e == nil || e.Reason != "UnknownTimeZone" || timeOf(e).Before(c.First) {
		return false
	}
	text := "the CronJob controller does not know the time zone: " + oneLine(e.Message) + "; " + c.starts()
	c.add("TimeZoneUnknown", text, e)
	c.Next = time.Time{}
	return true
}

// skipped names the first start time since that of the last Job which does not exist in the time zone, because clocks
// went forward; empty if there is none, or the schedule has another one within two hours.
func (c *cronFacts) skipped() string {
	zone := c.Next.Location()
	wall := func(t time.Time) time.Time { // the clock of the time zone, as if it were that of UTC
		t = t.In(zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
	}
	next := func(at time.Time) time.Time { return c.nextRun(c.of.Spec.Schedule, "", at) }
	at := next(wall(cmp.Or(c.of.Status.LastScheduleTime, &c.of.CreationTimestamp).Time))
	for n := 0; n < 100 && !at.IsZero() && !at.After(wall(c.now)); n, at = n+1, next(at) {
		real := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
		if wall(real) != at && c.next(real.Add(-2*time.Hour)).Sub(real) > 2*time.Hour {
			return "no Job started at " + at.Format("2006-01-02T15:04:05") + ": that time did not exist, " +
				"because clocks went forward"
		}
	}
	return ""
}

// unstarted finds why no Job was created for the last start time.
func (c *cronFacts) unstarted() {
	refusal := lastEvent(c.events, reasonIs("FailedCreate", "SuccessfulCreate"))
	jobs, since := c.active()
	late := func(t time.Time) bool { return c.now.Sub(t) >= patience }
	// of a schedule with more than one start time in that time, the first that has passed counts
	dense := c.next(c.now.Add(-patience)).Before(c.due)
	switch {
	case c.Missed == 0:
	case refusal != nil && refusal.Reason == "FailedCreate" && !timeOf(refusal).Before(c.First):
		code := explain.Code("JobRefused")
		switch {
		case mentions(refusal.Message, "exceeded quota"):
			code = "QuotaExceeded"
		case mentions(refusal.Message, "failed calling webhook", "failed to call webhook"):
			code = "WebhookUnavailable"
		}
		c.add(code, "no Job can be created, as of "+c.lasting(timeOf(refusal))+" ago: "+
			strings.TrimPrefix(oneLine(refusal.Message), "Error creating job: ")+c.inQuota(refusal)+"; "+c.starts()+
			textIf(!c.due.IsZero(), "; once it can be, the Job of the last one starts"), refusal)
	case c.of.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && jobs != "":
		usual, says := c.usual()
		age := c.now.Sub(cmp.Or(since, c.First))
		long := c.Missed >= 3 && age > either(usual > 0, max(time.Hour, 3*usual), 24*time.Hour) ||
			usual > 0 && age > max(time.Hour, 10*usual)
		c.add(either[explain.Code](long, "RunBlocked", "RunWaits"), jobs+textIf(long, says)+
			textIf(c.podless(), ", of which no pod was created")+textIf(!since.IsZero(), ",")+
			" keeps the next one from starting (concurrencyPolicy Forbid): "+c.starts()+
			textIf(!c.due.IsZero(), "; the Job of the last one starts as soon as it ends"),
			lastEvent(c.events, reasonIs("JobAlreadyActive")))
	case !c.due.IsZero() && (late(c.due) || dense && late(c.First)):
		c.add("RunOverdue", c.starts(), nil)
	case c.due.IsZero() && late(c.First):
		why := "the controller overlooks it"
		_, changed := suspendWritten(c.of.ManagedFields)
		if seconds := c.of.Spec.StartingDeadlineSeconds; seconds != nil {
			why = fmt.Sprintf("startingDeadlineSeconds %d is over", *seconds) +
				textIf(*seconds < 10, " (the controller may need 10 seconds to start a Job)")
		}
		c.add("RunMissed", joined("; ", c.starts(), why, textIf(changed.After(c.Last), "spec.suspend was "+
			"last written"+c.suspendedBy()+": the CronJob may have been suspended until then"), c.lateJob(),
			c.nodesSince()),
			lastEvent(c.events, reasonIs("MissSchedule")))
	}
}

// nodesSince says since when the nodes are ready, if none of them has been since before the last start time, though all
// existed: the cluster may have been off.
func (c *cronFacts) nodesSince() string {
	var first time.Time
	for _, node := range c.nodes {
		since := c.readyCondition(node.Name).LastTransitionTime.Time
		if !since.After(c.Last) || node.CreationTimestamp.After(c.Last) {
			return ""
		}
		first = either(first.IsZero(), since, earliest(first, since))
	}
	return textIf(!first.IsZero(), "all nodes given have been ready only since "+c.date(first)+
		": the cluster may have been off before")
}

// usedJobs matches how many Jobs count towards a quota.
var usedJobs = regexp.MustCompile(`used: .*count/jobs\.batch=(\d+)`)

// inQuota says how many of the Jobs that count towards a quota have ended, and which CronJob has most of these; empty
// if an event is not about such a quota.
func (c *cronFacts) inQuota(refusal *corev1.Event) string {
	used := usedJobs.FindStringSubmatch(refusal.Message)
	if used == nil {
		return ""
	}
	if n, _ := strconv.Atoi(used[1]); n > len(c.jobs) { // not all are given
		return ""
	}
	of, ended := map[string]int{}, 0
	for _, job := range c.jobs {
		if job.Namespace == c.of.Namespace && jobstatus.Finished(job) != nil {
			of[cmp.Or(metav1.GetControllerOfNoCopy(job), &metav1.OwnerReference{Name: job.Name}).Name]++
			ended++
		}
	}
	if ended == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(of))
	most := slices.MaxFunc(names, func(a, b string) int { return of[a] - of[b] })
	return fmt.Sprintf("; %s of the namespace %s ended and %s kept, %d of them of %s", count(ended, "Job"),
		either(ended == 1, "has", "have"), either(ended == 1, "is", "are"), of[most], most)
}

// starts says which start times were missed.
func (c *cronFacts) starts() string {
	if c.Missed == 1 {
		return "start time " + c.date(c.First) + " has passed without a Job"
	}
	return textIf(c.Missed == MostMissed, "at least ") + count(c.Missed, "start time") +
		" have passed without a Job, the first " + c.date(c.First) + ", the last " + c.date(c.Last) +
		textIf(c.tooMany, " (TooManyMissedTimes: the controller warns, and makes up for the last alone)")
}

// date renders a time in the CronJob's time zone.
func (c *cronFacts) date(t time.Time) string {
	return t.In(c.next(c.now).Location()).Format(time.RFC3339)
}

func (c *cronFacts) lasting(since time.Time) string {
	return duration.HumanDuration(max(0, c.now.Sub(since)))
}

// active names the Jobs that the status lists as active, with the age of the first, if that is known.
func (c *cronFacts) active() (text string, since time.Time) {
	if len(c.of.Status.Active) == 0 {
		return "", since
	}
	first, more := c.of.Status.Active[0].Name, len(c.of.Status.Active)-1
	since = c.created(first)
	return "Job " + first + textIf(more > 0, fmt.Sprintf(" and %d more", more)) +
		textIf(!since.IsZero(), ", active for "+c.lasting(since)), since
}

// run returns the Job of a name; nil if it is not given.
func (c *cronFacts) run(name string) *batchv1.Job {
	return firstOf(c.Runs, func(job *batchv1.Job) bool { return job.Name == name })
}

// created returns when the controller created a Job; zero if that is not known.
func (c *cronFacts) created(name string) time.Time {
	if job := c.run(name); job != nil {
		return job.CreationTimestamp.Time
	}
	created := func(e *corev1.Event) bool { return strings.HasSuffix(e.Message, "Created job "+name) }
	return timeOf(lastEvent(c.events, created))
}
