package diagnose

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
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

// Diagnosis is the explanation of a decision, with what surrounds the Job: the states of its pods, its owners and the
// evidence.
type Diagnosis struct {
	explain.Explanation
	facts *facts // nil for the zero Diagnosis
}

// Of returns the diagnosis of a decision, with the given evidence. The diagnosis of the zero
// Decision is empty.
func Of(d decide.Decision, evidence ...Evidence) Diagnosis {
	f := newFacts(d, evidence)
	if f == nil {
		return Diagnosis{}
	}
	return Diagnosis{f.explained.With(f.podStates()), f}
}

// Cause says why a Job makes no progress, or that it does.
type Cause struct {
	// Reason has the text as one sentence, with the number of pods affected.
	explain.Reason
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
	// Names are the servers, and the words in quotes, that the message of the container or of the event has. If the
	// causes of several Jobs share some, they may have one cause.
	Names []string
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
// and in the evidence rank before the reason for the decision. The zero Diagnosis has no
// cause.
//
// Cause is for observers of the Job. Its own controller, in the middle of its writes, should use Job.
func (d Diagnosis) Cause() Cause { return append(d.Causes(), Cause{})[0] }

// Causes returns all causes in the order of their rank. The reason that Job
// returns is among them, except that a Job is Running only if all its active pods run.
func (d Diagnosis) Causes() []Cause {
	f := d.facts
	if f == nil {
		return nil
	}
	code, deleting := d.Prospect().Code, f.Job.DeletionTimestamp != nil
	lost, fails := code == explain.ProspectOutOfReach && !deleting,
		code == explain.ProspectFailure && f.reason.Code != explain.JobDeleting
	all := f.causes(either(fails || lost, AttentionLost, AttentionNone))
	if (all[0].Code == "CrashLoop" || all[0].Code == "ContainerStart") && f.goesOn() {
		all[0].Text += f.lastTry()
	}
	if lost {
		failed := f.failedIndexes().String()
		perIndex := failed != "" && f.Job.Spec.BackoffLimitPerIndex != nil && f.Progress.Active > 0
		all[0].Text += "; the Job can only fail" + textIf(perIndex, ": what has failed"+textIf(len(failed) <= maxList,
			" (failedIndexes "+failed+")")+" is not tried again, and the other indexes go on")
		of := either(perIndex, f.decisiveFailures(batchv1.JobReasonFailedIndexes), &f.digest)
		if len(of.Groups) > 0 && (all[0].Advice == "" || all[0].Code == explain.JobRunning) {
			c := found{text: all[0].Text}
			f.show(&c, of.Groups[0].example)
			all[0].Text += textIf(perIndex && !strings.Contains(all[0].Text, c.pod), "; "+
				f.named(of.Groups[0].example)+": "+c.signs.Fault)
			all[0].Advice = f.cause(row{advice: f.adviceOn(&c)}, c, AttentionNone).Advice
			all[0].Advice += textIf(perIndex, " Let the other indexes end first: their work counts, and a new Job can "+
				"do the failed ones alone.")
		}
	}
	if at := f.deadline(); all[0].Attention == AttentionStuck && f.goesOn() && !f.suspended() && at.After(f.Now) &&
		f.Job.Spec.ActiveDeadlineSeconds != nil && all[0].Code != "ManagerSilent" {
		all[0].Text += "; spec.activeDeadlineSeconds fails the Job at " + f.clock(at)
	}
	return all
}

// Waits returns what the Job waits for, as that of the explanation does. Kueue may resume a Job, too.
func (d Diagnosis) Waits() []explain.Reason {
	waits := slices.DeleteFunc(d.Explanation.Waits(), func(r explain.Reason) bool {
		return r.Code == explain.WaitTTL && d.facts.Job.DeletionTimestamp != nil // it has deleted the Job
	})
	for i := range waits {
		if waits[i].Code == explain.WaitResume && d.facts.queue() != "" {
			waits[i].Text = "Kueue to admit the Job"
		}
	}
	return waits
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
	// then is the advice on what followed from it.
	then string
	// signs is how a pod failed.
	signs fault
	// differs is what sets the way in which a pod failed apart. clue is what its message names.
	differs contrast
	clue    clue
	message string   // of the container or the event
	names   []string // of servers that it does not have
	// failing says that pods failed as this one did until the deadline of the Job.
	failing bool
	// systemOOM says that the node ran out of memory.
	systemOOM bool
	// probed says that the kubelet killed the container because a probe failed.
	probed bool
	// injected says that a container is not of the template, if its name does not.
	injected string
	// gone is what most of the pods that are gone have said last; nil if that is not known.
	gone *corev1.Event
	// reason replaces code and text: that of the decision.
	reason explain.Reason
}

// described returns the name of the pod that the text describes; empty if there is none.
func (c found) described() string { return cmp.Or(c.pod, append(slices.Clone(c.pods), "")[0]) }

// row is a row of the table of causes: a cause, the facts it needs, what to say and what to do.
type row struct {
	code      explain.Code
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
	job  func(*facts) found
	last bool
}

// causes returns the causes in the order of the table. Each needs at least the given attention.
func (f *facts) causes(least Attention) (all []Cause) {
	groups := map[int]bool{}
	for i := range causes {
		row := &causes[i]
		if groups[row.group] {
			continue
		}
		var c found
		switch {
		case row.job != nil:
			c = row.job(f)
		case !hasSucceeded(f.Job):
			if a := firstOf(f.symptoms, func(a *symptom) bool { return a.row == row }); a != nil {
				c = a.found(f)
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
		reason = explain.Reason{Code: r.code, Text: c.text}
	}
	advice := strings.NewReplacer("HOW", c.how, "ENDING", c.how).Replace(r.advice)
	if c.then != "" {
		advice = strings.Replace(advice, " RERUN", " Then, as to those after it: "+c.then+" RERUN", 1)
	}
	advice = strings.TrimSpace(f.filled(advice, c))
	attention := max(r.attention, least)
	pod := c.described()
	if g := f.digest.groupNamed(pod); g != nil && g.node != "" && (c.signs.Container != "" || c.signs.End != nil) {
		advice = joined(" ", "Look at node "+g.node+": no pod on another node has failed in this way.", advice)
	}
	if strings.Contains(advice, "memory limit") && f.inMemory() {
		advice += " What is written to its emptyDir of medium Memory counts, too."
	}
	if strings.Contains(advice, "memory limit") && strings.Contains(reason.Text, heapAndLimit) && c.clue.of != "heap" {
		advice += " The heap must leave room beside it: the option that limits it may be too high."
	}
	if hook := f.Job.Annotations["helm.sh/hook"]; mentions(hook, "pre-install", "pre-upgrade") &&
		mentions(reason.Text, "not found") && slices.Contains(needed, r.code) {
		advice += " The Job is a hook of Helm that runs before other objects of the chart are there: make what it " +
			"needs a hook, too, with a lower helm.sh/hook-weight."
	}
	well := advice == "" && attention == AttentionNone
	if injected := cmp.Or(c.injected, f.injected(c.container)); injected != "" && !well {
		template := f.filled(templateAdvice, c)
		advice = joined(" ", strings.ReplaceAll(advice, template, ""), injected)
	}
	if attention >= AttentionLost || r.attention == AttentionHeld {
		says := f.ownersSay(f.failureReason() != "")
		advice = joined(" ", advice, textIf(says != "", says+"."))
	}
	return Cause{reason, advice, c.pods, pod, c.container, attention, c.evidence,
		append(namesIn(c.message), c.names...)}
}

// needed lists the causes by which pods lack an object.
var needed = []explain.Code{"ServiceAccountMissing", "PriorityClassMissing", "RuntimeClassMissing", "ContainerConfig",
	"PodStartFailing", "VolumeUnbound"}

// deployers lists what creates Jobs from files, by the annotation or label that it gives them, how to change one, and
// how it creates one again. A Job that is created by hand instead lacks its hook, or is undone.
var deployers = []struct{ key, change, again string }{
	{"helm.sh/hook", "change the chart: ", "it is a hook of Helm, which creates it again when the release is upgraded"},
	{"argocd.argoproj.io/hook", "change it in Git: ", "it is a hook of Argo CD, which creates it again when the " +
		"application is synced"},
	{"cronjob.kubernetes.io/instantiate", "change the template of its CronJob, ", "delete the Job, and create it " +
		"from its CronJob again"},
	{"dagster/run-id", "change it in Dagster: ", "re-execute the run in Dagster, since a run that has ended does " +
		"nothing more"},
	{"meta.helm.sh/release-name", "change the chart, ", "delete the Job, and upgrade the release of Helm"},
	{"argocd.argoproj.io/tracking-id", "change it in Git, ", "delete the Job, and let Argo CD sync it"},
	{"kustomize.toolkit.fluxcd.io/name", "change it in Git, ", "delete the Job, and let Flux apply it"},
}

// templateNow returns the pod template's spec of the CronJob above the Job; nil if it is not known.
func (f *facts) templateNow() object {
	if len(f.owners) == 0 {
		return nil
	}
	return f.owners[len(f.owners)-1].object.at("spec", "jobTemplate", "spec", "template", "spec")
}

// imageNow returns the image that the CronJob of the Job has for a container; empty if it is that of the Job, or is not
// known.
func (f *facts) imageNow(container string) string {
	own := cmp.Or(f.containerNamed(container), &corev1.Container{}).Image
	is := firstOf(f.templateNow().list("containers"),
		func(c object) bool { return c.text("name") == container }).text("image")
	return textIf(own != is && is != "", "image "+is)
}

// hashed matches a missing object in messages, whose name ends in a hash of its content, as Kustomize makes it.
var hashed = regexp.MustCompile(`(secret|configmap) "([a-z0-9.-]+-)([a-z0-9]{10})" not found`)

// nameNow returns what the CronJob of the Job names in place of a missing object with a hash in its name; empty if it
// names the same, or is not known.
func (f *facts) nameNow(message string) string {
	m := hashed.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	is := regexp.MustCompile(regexp.QuoteMeta(m[2]) + `[a-z0-9]{10}\b`).FindString(fmt.Sprint(f.templateNow()))
	return textIf(is != "" && is != m[2]+m[3], m[1]+" "+is)
}

// plainName matches a name that may stand in a command, perhaps with its kind.
var plainName = regexp.MustCompile(`^([a-z]+/)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// filled returns advice with the names of the Job, its pod and so on in place of NAMESPACE, JOB, POD,
// CONTAINER, NODE, OBJECT and MEMORY. Names that are unknown or unusual stay as they are. RECREATE
// says how to change a template, and RERUN how a Job that has failed runs again.
func (f *facts) filled(advice string, c found) string {
	if end := jobstatus.Finished(f.Job); end != nil && f.past(end.LastTransitionTime.Time, time.Hour) {
		if len(f.pods) == 0 && f.failureReason() == batchv1.JobReasonDeadlineExceeded {
			advice = strings.ReplaceAll(advice, ": "+namespaceEvents, ". They are deleted, and their events are gone: "+
				"look where logs and events are stored.")
		}
		advice = strings.NewReplacer(eventsAdvice, "See which pods are left: "+leftAdvice, namespaceEvents, leftAdvice).
			Replace(advice)
	}
	if f.Job.Namespace == "" {
		advice = strings.ReplaceAll(advice, " -n NAMESPACE", "")
	}
	if c.container == "" {
		advice = strings.ReplaceAll(advice, "POD -c CONTAINER", "POD --all-containers")
	}
	recreate := recreateAdvice
	if done := f.Progress.Succeeded; done > 0 {
		recreate += ", which repeats the work of " + count(done, "pod") +
			textIf(f.Indexed() && f.PerIndex(), " (a Job for the failed indexes alone does not)")
	}
	rerun := strings.Replace(rerunAdvice, recreateAdvice, recreate, 1)
	for _, by := range deployers {
		if f.Job.Annotations[by.key]+f.Job.Labels[by.key] != "" && strings.HasPrefix(recreate, recreateAdvice) {
			again := by.again
			policy := f.Job.Annotations["helm.sh/hook-delete-policy"]
			if by.key == "helm.sh/hook" && policy != "" && !mentions(policy, "before-hook-creation") {
				again = "it is a hook of Helm that stays (helm.sh/hook-delete-policy): delete it before the release " +
					"is upgraded, or Helm cannot create it again"
			}
			recreate = by.change + again
			rerun = "A Job that has failed does not run again: " + again + "."
		}
	}
	if len(f.owners) > 0 {
		top := f.owners[len(f.owners)-1]
		recreate = "change the template in " + top.String() + ", which creates the Job"
		rerun = "If the template must change, " + recreate + "."
		namespace, byHand := textIf(f.Job.Namespace != "", " -n "+f.Job.Namespace), ""
		if top.kind == "CronJob" && plainName.MatchString(top.name+strings.TrimPrefix(namespace, " -n ")) {
			byHand = " To run it before its next time: kubectl create job" + namespace + " NAME --from=cronjob/" +
				top.name
			rerun += byHand + "."
		}
		if top.kind == "CronJob" && f.goesOn() {
			recreate += ", and delete this Job"
			if now := cmp.Or(f.imageNow(c.container), f.nameNow(c.text)); now != "" {
				recreate = "that of " + top.String() + " has " + now + " by now, so delete this Job"
			}
			recreate += textIf(byHand != "", "."+byHand)
		}
	}
	if f.namespaceEnds() {
		rerun = "Nothing can be created in this namespace, which is being deleted."
	}
	limits := strings.Contains(f.refusal, "requested: limits.")
	pairs := []string{"RECREATE", recreate, "RERUN", rerun, "REQUESTS", either(limits, "limits", "requests"),
		"UNCORDON ", textIf(mentions(c.text, "were unschedulable", "cordoned"), uncordonAdvice+" ")}
	pod := c.described()
	for name, value := range map[string]string{"NAMESPACE": f.Job.Namespace, "JOB": f.Job.Name, "POD": pod,
		"CONTAINER": c.container, "NODE": c.node, "OBJECT": c.object} {
		if plainName.MatchString(value) {
			pairs = append(pairs, name, value)
		}
	}
	memory := f.memoryLimit(f.podNamed(pod), c.container)
	if memory == noLimit {
		memory = "the memory limit of container " + c.container
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
		return Cause{Reason: explain.Reason{Code: "MultiKueue", Text: "MultiKueue manages the Job, which is " +
			"suspended here, and runs it in a worker cluster once it is admitted"},
			Attention: AttentionHeld, Advice: multiKueueAdvice}
	case manager == multiKueue:
		f := &facts{Facts: &decide.Facts{Job: job}, world: newWorld(evidence)}
		w, active := f.workload(), job.Status.Active
		cluster := w.text("status", "clusterName")
		link := f.find("MultiKueueCluster", "", cluster).condition("Active")
		lost := textIf(link.text("status") == "False", "Kueue cannot reach that cluster since "+
			link.text("lastTransitionTime")+", so that the status may be old: "+
			oneLine(joined(": ", link.text("reason"), link.text("message"))))
		return Cause{Reason: explain.Reason{Code: "MultiKueue", Text: joined("; ", "MultiKueue runs the Job in "+
			either(cluster == "", "a worker cluster", "worker cluster "+cluster),
			fmt.Sprintf("by the status %s active, %d succeeded, %d failed", count(active, "pod")+
				either(active == 1, " is", " are"), job.Status.Succeeded, job.Status.Failed),
			lost, w.pendingCheck())}, Advice: either(cluster == "", multiKueueAdvice, "The Job and its pods are in "+
			"cluster "+cluster+": explain the Job "+job.Name+" there.")}
	}
	return Cause{Reason: explain.Reason{Code: "ManagedElsewhere",
		Text: "the controller " + manager + " manages the Job"}, Advice: elsewhereAdvice}
}
