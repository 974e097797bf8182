package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
)

// Cause says why a Job makes no progress, or that it does.
type Cause struct {
	// Reason has the text as one sentence, with the number of pods affected.
	Reason
	// Advice says what to do; empty if there is nothing to do.
	Advice string
	// Pods lists the names of the pods affected, in the order of index and UID.
	Pods []string
	// Pod is the one of Pods that the text describes, and Container its container; empty if there is none.
	Pod, Container string
	// Attention says what kind of attention the Job needs.
	Attention Attention
	// Evidence names the objects and events that show the cause: "pod/train-0", "event FailedMount
	// of pod/train-0 at 12:29:00Z". It is empty if the Job itself shows it.
	Evidence []string
}

// Attention is the kind of attention that a Job needs.
type Attention uint8

const (
	// AttentionNone means that the Job runs well, or has succeeded.
	AttentionNone Attention = iota
	// AttentionWait means that the next pod is created after a delay, or when a pod ends.
	AttentionWait
	// AttentionHeld means that the Job is on hold until a user or a controller lets it continue.
	AttentionHeld
	// AttentionLost means that the Job cannot succeed.
	AttentionLost
	// AttentionStuck means that the Job makes no progress until a user acts: pods cannot be
	// created, start or finish, or a step is overdue.
	AttentionStuck
)

var attentions = [...]string{"None", "Wait", "Held", "Lost", "Stuck"}

// String returns the name of the kind of attention.
func (a Attention) String() string { return attentions[min(int(a), len(attentions)-1)] }

// Cause returns the cause with the highest rank, the one to read first. Causes in the pods
// and in the evidence rank before the reason for the decision. The zero Explanation has no
// cause.
//
// Cause is for observers of the Job. Its own controller, in the middle of its writes, should use Job.
func (e Explanation) Cause() Cause { return append(e.Causes(), Cause{})[0] }

// Causes returns all causes in the order of their rank. The reason that [Explanation.Job]
// returns is among them, except that a Job is Running only if all its active pods run.
func (e Explanation) Causes() []Cause {
	f := e.facts
	if f == nil {
		return nil
	}
	code, deleting := e.Prospect().Code, f.Job.DeletionTimestamp != nil
	lost, fails := code == ProspectOutOfReach && !deleting, code == ProspectFailure && f.reason.Code != JobDeleting
	all := f.causes(either(fails || lost, AttentionLost, AttentionNone))
	if lost {
		all[0].Text += "; the Job can only fail"
	}
	return all
}

// found is a cause that was found; without a text there is none.
type found struct {
	text     string
	pods     []string // the names of the pods affected
	evidence []string
	// The names that complete the advice: of one of the pods, a container of it, its node, and another
	// object.
	pod, container, node, object string
	// how is the advice on the way in which a pod failed.
	how string
	// signs is how a pod failed.
	signs fault
	// reason replaces code and text: that of the decision.
	reason Reason
}

// of returns a text as a cause that was found.
func of(text string) found { return found{text: text} }

// row is a row of the table of causes: a cause, the facts it needs, what to say and what to do.
type row struct {
	code      Code
	attention Attention
	// means says when the row applies, for users.
	means string
	// In each group, only the first row that applies counts.
	group int
	// cannot completes "3 of 5 active pods …", for a cause in active pods.
	cannot string
	// advice has names to fill in: see names.
	advice string
	// Either pod or job finds the cause: pod in an active pod. last is for a pod that no other row
	// explains.
	pod  func(*podFacts) sign
	job  func(*reading) found
	last bool
}

// reading holds what the rows read besides the facts, made once for all of them.
type reading struct {
	*facts
	change    time.Time     // the last one of the Job and its pods
	creation  finding       // why missing pods are not created
	refusal   string        // the message of the API server
	refusedBy *corev1.Event // with that message
	symptoms  []*symptom
	workload  string // the state of Kueue's Workload
	says      string // the message of the Workload
}

// causes returns the causes in the order of the table. Each needs at least the given attention.
func (f *facts) causes(least Attention) (all []Cause) {
	r := f.read()
	groups := map[int]bool{}
	for i := range causes {
		row := &causes[i]
		if groups[row.group] {
			continue
		}
		var c found
		switch {
		case row.job != nil:
			c = row.job(r)
		default:
			if at := slices.IndexFunc(r.symptoms, func(a *symptom) bool { return a.row == row }); at >= 0 {
				c = r.symptoms[at].found(f)
			}
		}
		if c.text == "" && c.reason.Text == "" {
			continue
		}
		groups[row.group] = row.group > 0
		all = append(all, f.cause(*row, c, least))
	}
	return all
}

// cause returns the cause of a row.
func (f *facts) cause(r row, c found, least Attention) Cause {
	reason := c.reason
	if reason.Text == "" {
		reason = Reason{Code: r.code, Text: c.text}
	}
	advice := f.filled(strings.Replace(r.advice, "HOW", c.how, 1), c)
	attention := max(r.attention, least)
	if attention >= AttentionLost || r.attention == AttentionHeld {
		says := f.ownersSay(f.failureReason() != "")
		advice = joined(" ", textIf(says != "", says+"."), advice)
	}
	pod := cmp.Or(c.pod, append(slices.Clone(c.pods), "")[0])
	return Cause{reason, advice, c.pods, pod, c.container, attention, c.evidence}
}

// plainName matches a name that may stand in a command, perhaps with its kind.
var plainName = regexp.MustCompile(`^([a-z]+/)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// filled returns advice with the names of the Job, its pod and so on in place of NAMESPACE, JOB, POD,
// CONTAINER, NODE, OBJECT and MEMORY. Names that are unknown or unusual stay as they are. RECREATE
// says how to change a template, and RERUN how a Job that has failed runs again.
func (f *facts) filled(advice string, c found) string {
	if f.Job.Namespace == "" {
		advice = strings.ReplaceAll(advice, " -n NAMESPACE", "")
	}
	if c.container == "" {
		advice = strings.ReplaceAll(advice, "POD -c CONTAINER", "POD --all-containers")
	}
	recreate, rerun := recreateAdvice, rerunAdvice
	if len(f.owners) > 0 {
		recreate = "change the template in " + f.owners[len(f.owners)-1].String() + ", which creates the Job"
		rerun = "If the template must change, " + recreate + "."
	}
	pairs := []string{"RECREATE", recreate, "RERUN", rerun}
	pod := c.pod
	if pod == "" && len(c.pods) > 0 {
		pod = c.pods[0]
	}
	for name, value := range map[string]string{"NAMESPACE": f.Job.Namespace, "JOB": f.Job.Name, "POD": pod,
		"CONTAINER": c.container, "NODE": c.node, "OBJECT": c.object} {
		if plainName.MatchString(value) {
			pairs = append(pairs, name, value)
		}
	}
	spec := &f.Job.Spec.Template.Spec
	memory := "the memory limit of container " + either(plainName.MatchString(c.container), c.container, "CONTAINER")
	if all := cmp.Or(spec.Resources, &corev1.ResourceRequirements{}).Limits.Memory(); !all.IsZero() {
		memory = "the memory limit of the pod (" + all.String() + ")"
	}
	for i := range spec.Containers {
		of := &spec.Containers[i]
		if limit := of.Resources.Limits.Memory(); of.Name == c.container && !limit.IsZero() {
			memory = "the memory limit (" + limit.String() + ") of container " + of.Name
		}
	}
	return strings.NewReplacer(append(pairs, "MEMORY", memory)...).Replace(advice)
}

// Unmanaged explains a Job that another controller manages, for which
// [decide.Job] returns [decide.ErrNotManaged]. A nil Job has no cause. Of the evidence, only Kueue's
// Workload matters.
func Unmanaged(job *batchv1.Job, evidence ...Evidence) Cause {
	if job == nil {
		return Cause{}
	}
	builtin := batchv1.JobControllerName
	manager, suspended := *cmp.Or(job.Spec.ManagedBy, &builtin), *cmp.Or(job.Spec.Suspend, new(bool))
	end := finished(job)
	switch {
	case hasSucceeded(job):
		return Cause{Reason: end}
	case end.Code != "":
		return Cause{Reason: end, Attention: AttentionLost, Advice: rerunAdvice}
	case manager == multiKueue && suspended:
		return Cause{Reason: Reason{Code: CauseMultiKueue, Text: "MultiKueue manages the Job, which is " +
			"suspended here, and runs it in a worker cluster once it is admitted"},
			Attention: AttentionHeld, Advice: multiKueueAdvice}
	case manager == multiKueue:
		f := &facts{Facts: &decide.Facts{Job: job}, world: newWorld(evidence)}
		w, active := f.workload(), job.Status.Active
		cluster := w.text("status", "clusterName")
		return Cause{Reason: Reason{Code: CauseMultiKueue, Text: joined("; ", "MultiKueue runs the Job in "+
			either(cluster == "", "a worker cluster", "worker cluster "+cluster),
			fmt.Sprintf("by the status %s active, %d succeeded, %d failed", count(active, "pod")+
				either(active == 1, " is", " are"), job.Status.Succeeded, job.Status.Failed),
			w.pendingCheck())}, Advice: multiKueueAdvice}
	}
	return Cause{Reason: Reason{Code: CauseManagedElsewhere, Text: "the controller " + manager + " manages the Job"},
		Advice: elsewhereAdvice}
}
