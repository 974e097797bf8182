package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// How this package reads objects other than Jobs, pods, Events and Nodes. Only this file and jobset.go depend on their
// kinds.

// The names that other controllers use on Jobs.
const (
	kueueGroup    = "kueue.x-k8s.io"
	kueueQueue    = "kueue.x-k8s.io/queue-name" // a label; once an annotation
	kueueWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	multiKueue    = "kueue.x-k8s.io/multikueue" // in spec.managedBy
)

// kind says how this package reads the objects of one kind.
type kind struct {
	group, name string
	// held says how an object keeps its Jobs suspended; empty if it does not. keeps says that a Job
	// that is resumed by hand is suspended again.
	held  func(object) string
	keeps bool
	// says returns what the object does about a Job that has failed, is about to fail, or is active.
	says func(f *facts, of owner, failed bool) string
	// deletes says why the object deletes a Job; empty if it does not.
	deletes func(job *batchv1.Job, of owner) string
}

// kinds lists the kinds that [Reads] reports.
var kinds = []kind{
	{group: "batch", name: "CronJob", says: cronJobSays},
	{group: "jobset.x-k8s.io", name: "JobSet", held: jobSetHeld, keeps: true, says: jobSetSays,
		deletes: jobSetDeletes},
	{group: "trainer.kubeflow.org", name: "TrainJob", held: suspended, keeps: true},
	{group: kueueGroup, name: "Workload"}, {group: kueueGroup, name: "MultiKueueCluster"},
	{group: kueueGroup, name: "LocalQueue"},
	{group: "scheduling.k8s.io", name: "PodGroup"},
	{group: "scheduling.x-k8s.io", name: "PodGroup"},
	{group: "scheduling.volcano.sh", name: "PodGroup"},
	{name: "Namespace"}, {name: "ResourceQuota"}, {name: "PersistentVolumeClaim"}, {name: "PersistentVolume"},
	{name: "LimitRange"}, {name: "ConfigMap"}, {name: "Secret"}, {name: "Service"}, {name: "ServiceAccount"},
	{group: "apps", name: "Deployment"}, {group: "apps", name: "StatefulSet"}, {group: "apps", name: "ReplicaSet"},
	{group: "cert-manager.io", name: "Certificate"}, {group: "cert-manager.io", name: "CertificateRequest"},
	{group: "external-secrets.io", name: "ExternalSecret"},
	{group: "resource.k8s.io", name: "ResourceClaim"}, {group: "resource.k8s.io", name: "ResourceClaimTemplate"},
	{group: "events.k8s.io", name: "Event"},
}

// makes has, by kind, the path of the name of the Secret that an object makes, which may be its own.
var makes = map[string][]string{"Certificate": {"spec", "secretName"}, "ExternalSecret": {"spec", "target", "name"}}

// Reads reports whether objects of a kind can be evidence: [Evidence.Objects] should have those that
// concern the Job. The group is empty for the core of the API. Any other object that owns a Job can be
// evidence, too.
func Reads(group, name string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.group == group && k.name == name })
}

// kindOf returns the kind of an owner.
func kindOf(o owner) kind {
	for _, k := range kinds {
		if k.group == o.group && k.name == o.kind {
			return k
		}
	}
	return kind{keeps: true} // its controller most likely does as others do
}

// suspended says that an object with spec.suspend is suspended.
func suspended(o object) string {
	return textIf(o.at("spec")["suspend"] == true, "spec.suspend is true")
}

// deletedByOwner finds that an owner deletes the Job.
func deletedByOwner(f *facts) (c found) {
	for _, o := range f.owners {
		if k := kindOf(o); k.deletes != nil && f.goesOn() {
			if text := k.deletes(f.Job, o); text != "" {
				return found{text: text, object: strings.ToLower(o.kind) + "/" + o.name}
			}
		}
	}
	return c
}

// cronJobSays says what a CronJob does next, and what that means for this Job if it is active.
func cronJobSays(f *facts, of owner, failed bool) string {
	cron := &batchv1.CronJob{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.object, cron)
	if of.object == nil || f.nextRun == nil || err != nil {
		return textIf(failed, of.String()+", which is not given, creates the next Job by its schedule")
	}
	c := OfCronJob(cron, nil, f.Now, Evidence{ready: &f.world})
	first, next := c.Causes[0], "the next Job is due at "+c.Next.Format(time.RFC3339)
	says := first.Code == "Scheduled" || first.Code == "RunWaits" // when the next one starts
	return of.String() + ": " + joined("; ", first.Text, textIf(!says && !c.Next.IsZero(), next),
		textIf(!failed && !c.Next.IsZero(), c.Policy))
}

// ownersSay says what the owners do about a Job that has failed, or about one that is active.
func (f *facts) ownersSay(failed bool) string {
	var all []string
	for _, o := range f.owners {
		k := kindOf(o)
		switch {
		case k.says != nil:
			all = append(all, k.says(f, o, failed))
		case failed && o.object.condition("Failed").text("status") == "True":
			c := o.object.condition("Failed")
			all = append(all, joined(": ", o.String()+" has failed", c.text("reason"), oneLine(c.text("message"))))
		}
		if e := lastEvent(f.events[o.uid], func(e *corev1.Event) bool {
			said := k.name == "CronJob" && o.object != nil && reasonIs("JobAlreadyActive", "TooManyMissedTimes")(e)
			return !said && e.Reason != "UnexpectedJob" && (isWarning(e) || e.Reason == "JobAlreadyActive")
		}); e != nil {
			all = append(all, o.String()+" says "+f.ago(timeOf(e))+": "+e.Reason+": "+oneLine(e.Message))
		}
	}
	return joined("; ", all...)
}

// held returns the topmost owner that keeps the Job suspended, and how. If none that is given does, it
// returns the controller of a Job that would suspend it again.
func (f *facts) held() (by owner, how string) {
	for _, o := range f.owners {
		if k := kindOf(o); k.held != nil && o.object != nil {
			if says := k.held(o.object); says != "" {
				by, how = o, says
			}
		}
	}
	if top := len(f.owners) - 1; how == "" && top >= 0 && kindOf(f.owners[0]).keeps {
		by = f.owners[top]
		how = either(by.object == nil, "it is not given", "it decides when its Jobs resume, and is not suspended")
	}
	return by, how
}

// queue says what must happen before Kueue resumes the Job; it is empty if Kueue does not manage it.
func (f *facts) queue() string {
	job := f.Job
	queue, workload := cmp.Or(job.Labels[kueueQueue], job.Annotations[kueueQueue]), job.Labels[kueueWorkload]
	for _, o := range f.owners {
		queue = cmp.Or(queue, o.object.text("metadata", "labels", kueueQueue))
	}
	if w := f.workload(); w != nil {
		queue = cmp.Or(queue, w.text("spec", "queueName"))
	}
	return cmp.Or(textIf(queue != "", "its queue "+queue+" admits it"),
		textIf(workload != "", "its workload "+workload+" is admitted"))
}

// workload returns Kueue's Workload of the Job or of an owner; nil if it is not given.
func (f *facts) workload() object {
	if name := f.Job.Labels[kueueWorkload]; name != "" {
		return f.find("Workload", f.Job.Namespace, name)
	}
	uids := []types.UID{f.Job.UID}
	for _, o := range f.owners {
		uids = append(uids, o.uid)
	}
	for _, o := range slices.Backward(f.objects) {
		if o.text("kind") == "Workload" && groupOf(o.text("apiVersion")) == kueueGroup && o.isOwnedBy(uids...) {
			return o
		}
	}
	return nil
}

// The states of a Workload that keep a Job suspended (apis/kueue/v1beta2/workload_types.go).
const (
	workloadOff     = "off"     // spec.active is false
	workloadNever   = "never"   // it asks for more than there is
	workloadCheck   = "check"   // an admission check is not ready
	workloadEvicted = "evicted" // it has run before
	workloadUnready = "unready" // it has run before, and its pods were not ready in time
	workloadStopped = "stopped" // its queue is stopped
	workloadMissing = "missing" // its queue does not exist
	workloadLate    = "late"    // it is admitted, and the Job should have been resumed
	workloadBehind  = "behind"  // Kueue has not looked at it: one before it asks for more than there is
)

// pendingCheck says which admission check of a Workload is not Ready; empty if all are.
func (o object) pendingCheck() string {
	for _, check := range o.list("status", "admissionChecks") {
		if check.text("state") != "Ready" {
			return joined(": ", "admission check "+check.text("name")+" of "+o.name()+" is "+
				check.text("state"), check.text("message"))
		}
	}
	return ""
}

// workloadSays returns the state of the Workload, and what it says; empty without one.
func (f *facts) workloadSays() (state, text string) {
	w := f.workload()
	if w == nil {
		return "", ""
	}
	name := w.name()
	if w.at("spec")["active"] == false {
		c := w.condition("DeactivationTarget")
		if evicted := w.condition("Evicted"); c == nil && evicted.text("status") == "True" {
			c = evicted
		}
		return workloadOff, joined(": ", "spec.active of "+name+" is false", c.text("reason"), c.text("message"))
	}
	reserved, evicted := w.condition("QuotaReserved"), w.condition("Evicted")
	requeued := w.time("status", "requeueState", "requeueAt")
	message := reserved.text("message")
	if check := w.pendingCheck(); check != "" && reserved.text("status") == "True" {
		return workloadCheck, check
	}
	at := f.admitted()
	switch {
	case !at.IsZero():
		return textIf(f.overdue(at) && !f.ownerResumed(), workloadLate), name + " was admitted " + f.ago(at)
	case tooMuch(w):
		return workloadNever, name + ": " + message
	case reserved.text("status") == "False" && mentions(message, "is stopped", "missing", "is inactive"):
		return workloadStopped, name + ": " + message
	case reserved.text("status") == "False" && strings.Contains(message, "doesn't exist"):
		return workloadMissing, name + ": " + message + f.given("LocalQueue")
	case evicted.text("status") == "True":
		state = either(evicted.text("reason") == "PodsReadyTimeout", workloadUnready, workloadEvicted)
		return state, joined(": ", name+" was evicted", evicted.text("reason"), f.namedJob(evicted.text("message")),
			textIf(reserved.text("status") == "False" && message != evicted.text("message"), message),
			textIf(requeued.After(f.Now), "it is queued again at "+f.clock(requeued)))
	case reserved.text("status") == "False":
		return "", joined(": ", name, reserved.text("reason"), message) + f.quotaHeld(message)
	}
	if first := f.blocked(w); first != nil {
		return workloadBehind, "Kueue has not looked at " + name + ": before it in the queue, " + first.name() + ": " +
			first.condition("QuotaReserved").text("message")
	}
	return "", ""
}

// given names the objects of a kind that the namespace has, of those given.
func (f *facts) given(kind string) string {
	var names []string
	for _, o := range f.objects {
		if o.text("kind") == kind && o.text("metadata", "namespace") == f.Job.Namespace {
			names = append(names, o.text("metadata", "name"))
		}
	}
	return textIf(len(names) > 0, "; the namespace has "+list(names))
}

// short matches the resource and the flavor of which Kueue lacks quota (pkg/scheduler/flavorassigner).
var short = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor ([^\s,]+)`)

// quotaHeld says which Workloads that are given have quota of which Kueue lacks some, and how much.
func (f *facts) quotaHeld(message string) string {
	m := short.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	var says []string
	for _, o := range f.objects {
		if o.text("kind") != "Workload" || o.condition("Finished").text("status") == "True" {
			continue
		}
		for _, set := range o.list("status", "admission", "podSetAssignments") {
			if has := set.text("resourceUsage", m[1]); has != "" && set.text("flavors", m[1]) == m[2] {
				says = append(says, o.name()+" has "+has+f.idlers(o))
			}
		}
	}
	return textIf(len(says) > 0, "; of "+m[1]+", by the Workloads given, "+list(says))
}

// idly matches what idlers says.
var idly = regexp.MustCompile(` for pods of (\S+) (\S+) that have `)

// idlers says that the pods of the owner of a Workload do no work, and why; empty if one of them may.
func (f *facts) idlers(workload object) (says string) {
	for _, pod := range f.near.all {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || !workload.isOwnedBy(owner.UID) {
			continue
		}
		why := f.idles(pod)
		if why == "" {
			return ""
		}
		says = " for pods of " + owner.Kind + " " + owner.Name + " that have " + why
	}
	return says
}

// byJob matches the UID of a Job in what Kueue says of a Workload that preempts another one
// (pkg/scheduler/preemption/preemption.go).
var byJob = regexp.MustCompile(`JobUID: ([0-9a-f-]+)`)

// namedJob adds to what Kueue says the name of the Job that preempts this one, if a pod of it is given.
func (f *facts) namedJob(message string) string {
	m := byJob.FindStringSubmatch(message)
	for _, pod := range f.near.all {
		owner := metav1.GetControllerOfNoCopy(pod)
		if m != nil && owner != nil && string(owner.UID) == m[1] {
			return strings.Replace(message, m[0], m[0]+" "+owner.Name, 1)
		}
	}
	return message
}

// neverFits matches a resource of which a flavor can never have enough.
var neverFits = regexp.MustCompile(`insufficient quota for (\S+ )in flavor [^,]*, previously [^,]*> maximum capacity`)

// tooMuch reports whether a Workload needs more than its ClusterQueue can ever have, in any flavor.
func tooMuch(w object) bool {
	c := w.condition("QuotaReserved")
	never := neverFits.FindStringSubmatch(c.text("message"))
	return c.text("reason") == "ExceedsMaxQuota" ||
		never != nil && !mentions(c.text("message"), "insufficient unused quota for "+never[1])
}

// blocked returns a Workload that has the queue of another one, is older, and needs more than there is: with
// StrictFIFO, Kueue looks at none behind it. It is nil if there is none, or Kueue has looked at the other one.
func (f *facts) blocked(w object) object {
	since := w.time("metadata", "creationTimestamp")
	if w.condition("QuotaReserved") != nil || !f.overdue(since) {
		return nil
	}
	return firstOf(f.objects, func(o object) bool {
		return o.text("kind") == "Workload" && o.text("metadata", "namespace") == f.Job.Namespace && tooMuch(o) &&
			o.text("spec", "queueName") == w.text("spec", "queueName") &&
			o.time("metadata", "creationTimestamp").Before(since)
	})
}

// admitted returns since when the Workload is admitted; zero if it is not, is evicted, or is not given.
func (f *facts) admitted() (at time.Time) {
	w := f.workload()
	if c := w.condition("Admitted"); c.text("status") == "True" && w.condition("Evicted").text("status") != "True" {
		at = c.time("lastTransitionTime")
	}
	return at
}

// ownerResumed reports whether Kueue has resumed the topmost owner, so that the owner must resume the Job.
func (f *facts) ownerResumed() bool {
	top := len(f.owners) - 1
	return top >= 0 && f.owners[top].object != nil && suspended(f.owners[top].object) == ""
}

// stoppedByKueue returns the last message in which Kueue says why it has stopped the Job.
func (f *facts) stoppedByKueue() string {
	e := cmp.Or(lastEvent(f.events[f.Job.UID], reasonIs("Started", "Resumed", "Stopped")), &corev1.Event{})
	return textIf(e.Reason == "Stopped", e.Message)
}

// gang says how many pods a PodGroup of the pod still lacks; empty if it lacks none, or is not given.
func (f *facts) gang(pod *corev1.Pod) string {
	group := f.podGroup(pod)
	if group == nil {
		return ""
	}
	for _, c := range group.list("status", "conditions") { // of the scheduler, and of Volcano
		if c.text("type") == "Unschedulable" && c.text("status") == "True" ||
			strings.HasSuffix(c.text("type"), "Scheduled") && c.text("status") == "False" {
			return joined(": ", group.name()+" cannot be scheduled", c.text("reason"), oneLine(c.text("message")))
		}
	}
	least, found := group.number("spec", "minMember")
	if n, ok := group.number("spec", "schedulingPolicy", "gang", "minCount"); ok {
		least, found = n, true
	}
	if !found || least <= int64(f.Progress.Active) {
		return ""
	}
	return fmt.Sprintf("%s needs %d pods before any is scheduled, and the Job has %d", group.name(), least,
		f.Progress.Active)
}

// podGroup returns the PodGroup of a pod: by its label, its annotation, or because the Job or the
// PodGroup's owner is that of the Job.
func (f *facts) podGroup(pod *corev1.Pod) object {
	if !f.has("PodGroup") {
		return nil
	}
	name := cmp.Or(pod.Labels["scheduling.x-k8s.io/pod-group"], pod.Annotations["scheduling.k8s.io/group-name"])
	if name == "" { // the types of the API have this field from 1.36 on
		name = plain(&corev1.Pod{Spec: pod.Spec}).text("spec", "schedulingGroup", "podGroupName")
	}
	if name != "" {
		return f.find("PodGroup", pod.Namespace, name)
	}
	return firstOf(f.objects, func(o object) bool { return o.text("kind") == "PodGroup" && o.isOwnedBy(f.Job.UID) })
}

// classes returns the device classes that a ResourceClaim asks for.
func (o object) classes() (all []string) {
	for _, r := range o.list("spec", "devices", "requests") {
		for _, of := range append(r.list("firstAvailable"), r, r.at("exactly")) {
			if class := of.text("deviceClassName"); class != "" {
				all = append(all, class)
			}
		}
	}
	return all
}

// devicesHeld says how many devices of the classes that a pod asks for each owner of pods holds, by the ResourceClaims
// that are given; empty if none.
func (p *podFacts) devicesHeld() string {
	var names []*string
	for _, of := range p.Status.ResourceClaimStatuses { // those made from a template
		names = append(names, of.ResourceClaimName)
	}
	for _, of := range p.Spec.ResourceClaims {
		names = append(names, of.ResourceClaimName)
	}
	var classes []string
	for _, name := range names {
		classes = append(classes, p.f.find("ResourceClaim", p.Namespace, *cmp.Or(name, new(""))).classes()...)
	}
	held := map[string]int{}
	for _, o := range p.f.objects {
		at := slices.IndexFunc(classes, func(class string) bool { return slices.Contains(o.classes(), class) })
		devices, users := o.list("status", "allocation", "devices", "results"), o.list("status", "reservedFor")
		if o.text("kind") == "ResourceClaim" && at >= 0 && len(devices) > 0 && len(users) > 0 {
			held["of class "+classes[at]+" are held by "+
				p.f.podOwner(o.text("metadata", "namespace"), users[0].text("name"))] += len(devices)
		}
	}
	var parts []string
	for _, by := range slices.Sorted(maps.Keys(held)) {
		parts = append(parts, count(held[by], "device")+" "+by)
	}
	return list(parts)
}

// podOwner returns the controller of a pod, or the pod itself if neither is given.
func (f *facts) podOwner(namespace, name string) string {
	pod := cmp.Or(f.around[namespace], f.near).names[name]
	if pod == nil || pod.Namespace != namespace || ownedBy(pod) == "" {
		return "pod " + name
	}
	return strings.Trim(ownedBy(pod), " ()")
}

// The events of autoscalers about a pod without a node: those of cluster-autoscaler
// (core/scaleup/orchestrator and processors/status/eventing_scale_up_processor.go), of GKE, and of Karpenter
// (pkg/controllers/provisioning/scheduling/events.go), whose refusal has the reason of the scheduler's.

func addsNoNode(e *corev1.Event) bool {
	return reasonIs("NotTriggerScaleUp", "FailedScaleUp")(e) ||
		e.Reason == "FailedScheduling" && strings.HasPrefix(oneLine(e.Message), "Failed to schedule pod")
}

func ofAutoscaler(e *corev1.Event) bool {
	return reasonIs("TriggeredScaleUp", "Nominated")(e) || addsNoNode(e)
}

// gateOwner returns the controller that removes a scheduling gate; empty if that is not known.
func gateOwner(gate string) string {
	group, _, _ := strings.Cut(gate, "/")
	return map[string]string{kueueGroup: "Kueue", "jobset.sigs.k8s.io": "the JobSet controller"}[group]
}
