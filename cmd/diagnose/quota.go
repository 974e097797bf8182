package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// quotaName matches the quota in the message of a refusal, what was requested, and the first resource of that.
var quotaName = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (([^=]+).*), used: `)

// quotaRows are the rows of Jobs whose pods a quota rejects.
var quotaRows = []row{
	{code: "QuotaNeedsRequests", means: "a quota rejects pods that do not say what they request or limit",
		advice: "Set in the pod template what the message names, or add a LimitRange with defaults." + templateAdvice,
		job:    refused("failed quota: ")},
	{code: "QuotaExceeded", means: "a pod requests more than its quota allows in all",
		advice: "No pod of the Job fits into the quota, however little is used: lower its requests, or raise the " +
			"quota." + templateAdvice, job: beyondQuota},
	{code: "QuotaExceeded",
		means: "a quota rejects new pods, and pods of another Job or owner take it and have not started, or should " +
			"have ended",
		advice: idleAdvice, job: heldIdle},
	{code: "QuotaExceeded", means: "a quota rejects new pods, and Jobs of one CronJob that run at once take of it",
		advice: "See why the Jobs of OBJECT do not end: until then their pods keep what they take. With " +
			"concurrencyPolicy Forbid they do not pile up.", job: heldByRuns},
	{code: "QuotaExceeded", means: "a quota of the number of pods rejects new ones, and counts pods that have ended",
		advice: "Pods that have ended count towards count/pods, not towards pods: delete the Jobs that have ended, " +
			"or set their spec.ttlSecondsAfterFinished.", job: endedInQuota},
	{code: "QuotaExceeded", means: "a quota rejects new pods, and pods that may not end by themselves take of it",
		advice: "Raise the quota, or stop what holds it and is not needed: not all of that ends by itself.",
		job:    heldForGood},
	{code: "QuotaExceeded", means: "an event says that a quota rejects the pods of a Job that has none",
		advice: "Raise the quota, lower the REQUESTS, or wait until enough of what has it ends.", job: refusedAll},
	{code: "QuotaExceeded", means: "an event says that a quota rejects new pods, and none was created later",
		advice: "Raise the quota, lower the REQUESTS or the parallelism, or wait until pods that have it, which may " +
			"be those of this Job, end.", job: refused("exceeded quota", "insufficient quota")},
}

// idle is what pods of one owner that do no work take of a quota.
type idle struct {
	owner string // its kind and name
	why   string // they do no work
	pods  int
	takes resource.Quantity
}

// sleeps matches commands that do nothing, and do not end.
var sleeps = regexp.MustCompile(`sleep (?:infinity|inf|\d{5,})|tail -f /dev/null`)

// idles says why a pod does no work: its command does nothing, it was created ten minutes ago or more and has not
// started, or a container of it runs on ten minutes after another one has succeeded. It is empty if the pod may work.
func (f *facts) idles(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodPending && !endsNot(pod) && f.past(pod.CreationTimestamp.Time, longPatience) {
		return "not started"
	}
	main, running := mainOf(pod.Spec.Containers), ""
	for _, c := range pod.Spec.Containers {
		if m := sleeps.FindString(strings.Join(slices.Concat(c.Command, c.Args), " ")); c.Name == main && m != "" {
			return "nothing to do but " + m
		}
	}
	done := false
	for _, c := range pod.Status.ContainerStatuses {
		end := c.State.Terminated
		done = done || c.Name == main && end != nil && end.ExitCode == 0 && f.past(end.FinishedAt.Time, longPatience)
		running = cmp.Or(running, textIf(c.State.Running != nil, c.Name))
	}
	return textIf(done && running != "", "ended but for container "+running)
}

// idleInQuota returns the ones that take most of the resource of a refusal, of the pods of the namespace that do no
// work.
func (f *facts) idleInQuota() (most idle) {
	m := quotaName.FindStringSubmatch(f.refusal)
	if m == nil {
		return most
	}
	all := map[string]idle{}
	for _, pod := range f.near.all {
		owner := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{Kind: "pod", Name: pod.Name})
		why := f.idles(pod)
		if owner.UID == f.Job.UID || pod.Namespace != f.Job.Namespace || why == "" {
			continue
		}
		of := all[owner.Kind+" "+owner.Name]
		of.owner, of.pods, of.why = owner.Kind+" "+owner.Name, of.pods+1, why
		of.takes.Add(takes(pod, m[3]))
		all[of.owner] = of
		if less := most.takes.Cmp(of.takes); less < 0 || less == 0 && of.owner < most.owner {
			most = of
		}
	}
	return most
}

// takes returns what the containers of a pod take of the resource of a quota.
func takes(pod *corev1.Pod, name string) (sum resource.Quantity) {
	if name == "pods" {
		return resource.MustParse("1")
	}
	key := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(name, "requests."), "limits."))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i].Resources
		has, set := c.Requests[key]
		limited := strings.HasPrefix(name, "limits.") || !set // the limit is the default of a request
		sum.Add(either(limited, c.Limits[key], has))
	}
	return sum
}

// wholeQuota matches what was requested in the message of a refusal, and what the quota allows.
var wholeQuota = regexp.MustCompile(`requested: (\S+), used: \S+, limited: (\S+)`)

// firstOfQuota matches the same of the first resource: its name, and what is requested, used and allowed.
var firstOfQuota = regexp.MustCompile(`requested: ([^=]+)=([^, ]+).*, used: [^=]+=([^, ]+).*, limited: [^=]+=([^, ]+)`)

// enough reports whether a pod of the Job fits into the quota once some of the first resource of a refusal is free.
func (f *facts) enough(free resource.Quantity) bool {
	m := slices.Concat(firstOfQuota.FindStringSubmatch(f.refusal), make([]string, 5))
	left, err := resource.ParseQuantity(m[3])
	left.Sub(free)
	return err != nil || len(lacks(m[1], m[2], left.String(), m[4])) == 0
}

// beyondQuota finds that a pod requests more than a quota allows in all.
func beyondQuota(f *facts) found {
	m := wholeQuota.FindStringSubmatch(f.refusal)
	if m == nil {
		return found{}
	}
	limits := strings.Split(m[2], ",")
	for i, wants := range strings.Split(m[1], ",") {
		name, value, _ := strings.Cut(wants, "=")
		_, most, _ := strings.Cut(limits[min(i, len(limits)-1)], "=")
		if len(lacks(name, value, "0", most)) > 0 {
			c := refused("exceeded quota")(f)
			c.text = fmt.Sprintf("each pod requests %s %s, and quota %s allows %s in all; %s", value, name,
				quotaName.FindStringSubmatch(f.refusal)[1], most, c.text)
			return c
		}
	}
	return found{}
}

// heldIdle finds that pods which do no work take a quota that refuses the pods of the Job.
func heldIdle(f *facts) (c found) {
	most := f.idleInQuota()
	if most.pods == 0 || !f.enough(most.takes) {
		return c
	}
	c = refused("exceeded quota")(f)
	c.object = strings.ToLower(strings.Replace(most.owner, " ", "/", 1))
	who := textIf(!strings.HasPrefix(most.owner, "pod "), count(most.pods, "pod")+" of ") + most.owner
	c.text += "; " + most.takes.String() + " of it " + either(most.pods == 1, "is", "are") + " taken by " +
		who + " that " + either(most.pods == 1, "has", "have") +
		" " + most.why
	return c
}

// heldByRuns finds that Jobs of one CronJob, which run beside each other, take a quota that refuses the pods of the
// Job.
func heldByRuns(f *facts) (c found) {
	m := quotaName.FindStringSubmatch(f.refusal)
	if m == nil {
		return c
	}
	runs := map[string]sets.Set[string]{}
	for _, pod := range f.near.all {
		owner := metav1.GetControllerOfNoCopy(pod)
		of := takes(pod, m[3])
		if owner == nil || owner.UID == f.Job.UID || pod.Namespace != f.Job.Namespace || hasEnded(pod) || of.IsZero() {
			continue
		}
		name := strings.TrimRight(owner.Name, "-0123456789")
		if owner.Name != name && f.find("CronJob", pod.Namespace, name) != nil {
			runs[name] = sets.New(owner.Name).Union(runs[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if n := len(runs[name]); n > 1 {
			c = refused("exceeded quota")(f)
			c.text, c.object = c.text+fmt.Sprintf("; %d Jobs of CronJob %s run at once", n, name), "cronjob/"+name
		}
	}
	return c
}

// heldForGood finds that pods of the namespace that may not end by themselves take a quota that refuses the pods of the
// Job.
func heldForGood(f *facts) found {
	m := quotaName.FindStringSubmatch(f.refusal)
	if m == nil {
		return found{}
	}
	held := slices.ContainsFunc(f.near.all, func(pod *corev1.Pod) bool {
		of, serves := takes(pod, m[3]), endsNot(pod) || metav1.GetControllerOfNoCopy(pod) == nil
		return pod.Namespace == f.Job.Namespace && serves && !hasEnded(pod) && !of.IsZero()
	})
	return either(held, refused("exceeded quota")(f), found{})
}

// usage says what the quota of a refusal has left now, if it is given.
func (f *facts) usage(refusal string) string {
	m := quotaName.FindStringSubmatch(refusal)
	if m == nil {
		return ""
	}
	var now, more []string
	status := f.find("ResourceQuota", f.Job.Namespace, m[1]).at("status")
	for part := range strings.SplitSeq(m[2], ",") {
		name, value, _ := strings.Cut(part, "=")
		if hard := status.text("hard", name); hard != "" {
			now = append(now, status.text("used", name)+" of "+hard+" "+name)
			more = append(more, lacks(name, value, status.text("used", name), hard)...)
		}
	}
	held := f.have(m[3], func(*corev1.Pod) bool { return true })
	var own resource.Quantity
	for _, r := range f.pods {
		if r.Active {
			own.Add(takes(r.Pod, m[3]))
		}
	}
	if held == "" && !own.IsZero() {
		held = "; its own " + count(f.Progress.Active, "pod") + either(f.Progress.Active == 1, " has ", " have ") +
			own.String() + " of it, and the Job goes on with them"
	}
	return textIf(len(now) > 0, "; now "+strings.Join(now, ", ")+" are used"+
		textIf(len(more) > 0, ", and a pod needs "+list(more)+" more")) + held
}

// lacks says how much more of a resource a pod needs than a quota has left; empty if it fits.
func lacks(name, needs, used, hard string) []string {
	more, err := resource.ParseQuantity(needs)
	has, also := resource.ParseQuantity(used)
	most, too := resource.ParseQuantity(hard)
	more.Add(has)
	more.Sub(most)
	return either(err == nil && also == nil && too == nil && more.Sign() > 0, []string{more.String() + " " + name}, nil)
}

// used matches what the kubelet says of a container of a pod that it evicts (pkg/kubelet/eviction/helpers.go).
var used = regexp.MustCompile(`Threshold quantity: ([0-9A-Za-z]+), .*was using ([0-9A-Za-z]+), request is`)

// culpritOf names what may have used most of what its node was short of when a pod was evicted there for hardly
// anything; empty if none is given.
func (f *facts) culpritOf(r *record) (text string) {
	if !innocent(r.Pod.Status.Message) {
		return ""
	}
	var most resource.Quantity
	for _, v := range f.Job.Spec.Template.Spec.Volumes {
		if v.HostPath != nil {
			text = "it may have written to hostPath " + v.HostPath.Path + ", which does not count as its own"
		}
	}
	for _, pod := range f.near.all {
		m := used.FindStringSubmatch(pod.Status.Message)
		if m == nil || pod.Spec.NodeName != r.Pod.Spec.NodeName || innocent(pod.Status.Message) {
			continue
		}
		if own, err := resource.ParseQuantity(m[2]); err == nil && own.Cmp(most) > 0 {
			most, text = own, "pod "+pod.Name+ownedBy(pod)+" had used "+m[2]+" there"
		}
	}
	return text
}

// innocent reports whether a pod was evicted that used less than a hundredth of what the node should have left.
func innocent(message string) bool {
	m := used.FindStringSubmatch(message)
	if m == nil {
		return false
	}
	least, err := resource.ParseQuantity(m[1])
	own, also := resource.ParseQuantity(m[2])
	return err == nil && also == nil && own.AsApproximateFloat64() < least.AsApproximateFloat64()/100
}

// endedInQuota finds that pods which have ended take a quota of the number of objects.
func endedInQuota(f *facts) (c found) {
	c = refused("exceeded quota")(f)
	if !mentions(c.text, "requested: count/pods") {
		return found{} // it would go through all pods
	}
	owners := map[string]int{}
	for _, pod := range f.near.all {
		if hasEnded(pod) && pod.Namespace == f.Job.Namespace {
			owners[ownedBy(pod)]++
		}
	}
	if len(owners) == 0 {
		return found{}
	}
	for _, of := range slices.Sorted(maps.Keys(owners)) {
		c.text += "; " + count(owners[of], "pod") + of + " that ended"
	}
	return c
}
