package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobfate/jobfate/cmd/internal/apirules"
)

// A trap is a policy that the API server accepts, and whose effect differs from what users expect.
type trap struct {
	rule  string
	short string // what it is about, for programs that show a list of rules
	find  func(job *batchv1.Job, warn warning)
}

// warning reports what is wrong with a field.
type warning func(field, message string)

// trapTable has the traps in the order in which they are reported. find gets Jobs with
// defaults.
var trapTable = []trap{
	// The limit of the Job counts the failures of all indexes. Above it the Job fails, even
	// if its indexes have retries left.
	{"BackoffLimitBeforeIndexes", "The backoffLimit ends the Job before its indexes fail",
		backoffLimitBeforeIndexes},
	// The first rule that matches a pod applies, in the order of the rules.
	{"ShadowedRule", "An earlier rule of the pod failure policy matches the same pods", shadowedRules},
	// An exit code on Linux has 8 bits.
	{"ImpossibleExitCode", "No container exits with a code of the pod failure policy", impossibleExitCodes},
	// Ignored failures count towards no limit, so the pod is replaced forever.
	{"EndlessIgnore", "A pod that always fails in an ignored way is replaced forever", endlessIgnore},
	// Restarts in place are not failures of the pod (KEP-5307). With the restart policy OnFailure of the pod
	// the backoffLimit counts them.
	{"EndlessRestart", "A container may be restarted in place forever", endlessRestart},
	// The deadline has passed when the controller first looks.
	{"NoTime", "The Job fails as soon as it starts", noTime},
	// The gate of the field is off by default in Kubernetes 1.37 (KEP-5547).
	{"DroppedField", "The API server drops an alpha field by default", droppedField},
}

func droppedField(job *batchv1.Job, warn warning) {
	if job.Spec.Scheduling != nil {
		warn("spec.scheduling", "the API server drops this alpha field, unless its gate WorkloadWithJob is on")
	}
}

func noTime(job *batchv1.Job, warn warning) {
	if seconds := job.Spec.ActiveDeadlineSeconds; seconds != nil && *seconds <= 0 {
		warn("spec.activeDeadlineSeconds", "the Job fails as soon as it starts; leave the field out for no deadline")
	}
}

func backoffLimitBeforeIndexes(job *batchv1.Job, warn warning) {
	spec := &job.Spec
	if spec.BackoffLimitPerIndex == nil || spec.Completions == nil || spec.BackoffLimit == nil ||
		*spec.BackoffLimit == math.MaxInt32 {
		return
	}
	perIndex, completions := int64(*spec.BackoffLimitPerIndex), int64(*spec.Completions)
	failed := completions // the number of indexes that may fail
	if spec.MaxFailedIndexes != nil {
		failed = min(failed, int64(*spec.MaxFailedIndexes))
	}
	most, enough := completions*perIndex+failed, completions*perIndex+failed
	if failed == completions {
		enough-- // the last of them all fails the last index, and so ends the Job anyway
	}
	if int64(*spec.BackoffLimit) < enough {
		warn("spec.backoffLimit", fmt.Sprintf("the Job fails after more than %d failures of all indexes together, "+
			"although the limits per index allow %d; without backoffLimit only the limits per index count",
			*spec.BackoffLimit, most))
	}
}

func rulesOf(job *batchv1.Job) []batchv1.PodFailurePolicyRule {
	if job.Spec.PodFailurePolicy == nil {
		return nil
	}
	return job.Spec.PodFailurePolicy.Rules
}

func shadowedRules(job *batchv1.Job, warn warning) {
	rules := rulesOf(job)
	for i := range rules {
		if first := shadowOf(rules, i); first >= 0 {
			warn(fmt.Sprintf("spec.podFailurePolicy.rules[%d]", i), fmt.Sprintf(
				"it never takes effect: rule %d (%s) matches every pod that it matches", first, rules[first].Action))
		}
	}
}

// shadowOf returns the first rule that matches every pod that rule i matches; -1 if there is none.
func shadowOf(rules []batchv1.PodFailurePolicyRule, i int) int {
	return slices.IndexFunc(rules[:i],
		func(earlier batchv1.PodFailurePolicyRule) bool { return covers(&earlier, &rules[i]) })
}

func impossibleExitCodes(job *batchv1.Job, warn warning) {
	pod := &job.Spec.Template.Spec
	os := corev1.OSName(pod.NodeSelector[corev1.LabelOSStable])
	if pod.OS != nil && pod.OS.Name == corev1.Windows || os == corev1.Windows {
		return
	}
	for i, rule := range rulesOf(job) {
		if rule.OnExitCodes == nil {
			continue
		}
		for n, code := range rule.OnExitCodes.Values {
			if code < 0 || code > 255 {
				warn(fmt.Sprintf("spec.podFailurePolicy.rules[%d].onExitCodes.values[%d]", i, n),
					fmt.Sprintf("a container on Linux exits with 0 to 255, never with %d", code))
			}
		}
	}
}

// cronTraps reports the traps of a CronJob outside its template.
func cronTraps(c *batchv1.CronJob, warn func(rule, field, message string)) {
	zone := *cmp.Or(c.Spec.TimeZone, new(""))
	// The schedules repeat within a few years, so that the time of the check does not matter.
	anyTime := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	suspended := c.Spec.Suspend != nil && *c.Spec.Suspend
	if !suspended && apirules.NextRun(c.Spec.Schedule, zone, anyTime).IsZero() {
		warn(neverScheduled, "spec.schedule", "it matches no date, so the CronJob creates no Job")
	}
	if deadline := c.Spec.StartingDeadlineSeconds; deadline != nil && *deadline < 10 {
		warn(shortStart, "spec.startingDeadlineSeconds",
			"the CronJob may not be scheduled: its controller checks things every 10 seconds")
	}
}

// The rules of cronTraps.
const (
	neverScheduled = "NeverScheduled"
	shortStart     = "ShortStartingDeadline"
)

// covers reports whether a rule matches every pod that another one matches.
func covers(a, b *batchv1.PodFailurePolicyRule) bool {
	if b.OnExitCodes != nil {
		return a.OnExitCodes != nil && coversCodes(a.OnExitCodes, b.OnExitCodes)
	}
	return len(b.OnPodConditions) > 0 && sets.New(a.OnPodConditions...).HasAll(b.OnPodConditions...)
}

func coversCodes(a, b *batchv1.PodFailurePolicyOnExitCodesRequirement) bool {
	if a.ContainerName != nil && (b.ContainerName == nil || *a.ContainerName != *b.ContainerName) {
		return false
	}
	const in = batchv1.PodFailurePolicyOnExitCodesOpIn
	switch aIn, bIn := a.Operator == in, b.Operator == in; {
	case aIn && bIn: // a includes all codes of b
		return sets.New(a.Values...).HasAll(b.Values...)
	case !aIn && bIn: // a excludes no code of b
		return !sets.New(a.Values...).HasAny(b.Values...)
	case !aIn && !bIn: // b excludes each code that a excludes
		return sets.New(b.Values...).HasAll(a.Values...)
	}
	return false // a matches only listed codes, b almost all
}

func endlessIgnore(job *batchv1.Job, warn warning) {
	if job.Spec.ActiveDeadlineSeconds != nil || job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return
	}
	rules := rulesOf(job)
	for i, rule := range rules {
		ignores := rule.Action == batchv1.PodFailurePolicyActionIgnore && rule.OnExitCodes != nil
		if ignores && shadowOf(rules, i) < 0 {
			warn(fmt.Sprintf("spec.podFailurePolicy.rules[%d].action", i),
				"a pod that always fails this way is replaced forever, because no limit counts it; set "+
					"activeDeadlineSeconds, or ignore only pod conditions")
		}
	}
}

func endlessRestart(job *batchv1.Job, warn warning) {
	pod := &job.Spec.Template.Spec
	limited := job.Spec.ActiveDeadlineSeconds != nil || pod.ActiveDeadlineSeconds != nil ||
		pod.RestartPolicy != corev1.RestartPolicyNever
	const endless = "is restarted in place forever, because no limit counts that; set activeDeadlineSeconds"
	for i, c := range slices.Concat(pod.Containers, pod.InitContainers) {
		path := fmt.Sprintf("spec.template.spec.containers[%d].", i)
		init := i - len(pod.Containers)
		if init >= 0 {
			path = fmt.Sprintf("spec.template.spec.initContainers[%d].", init)
		}
		policy := *cmp.Or(c.RestartPolicy, new(corev1.ContainerRestartPolicy))
		switch always := policy == corev1.ContainerRestartPolicyAlways; {
		case always && init >= 0: // a sidecar
			continue
		case always:
			warn(path+"restartPolicy", "the container is restarted after exit code 0 too, so the pod never succeeds")
		case limited:
		case policy == corev1.ContainerRestartPolicyOnFailure:
			warn(path+"restartPolicy", "a container that always fails "+endless)
		}
		for n, rule := range c.RestartPolicyRules {
			if rule.ExitCodes != nil && !limited {
				warn(fmt.Sprintf("%srestartPolicyRules[%d]", path, n),
					fmt.Sprintf("a container that always exits this way (%s %v) %s", rule.ExitCodes.Operator,
						rule.ExitCodes.Values, endless))
			}
		}
	}
}
