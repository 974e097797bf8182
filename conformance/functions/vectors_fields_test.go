package functions

import (
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

func values[T any](list ...T) (all []any) {
	for _, v := range list {
		all = append(all, v)
	}
	return all
}

func long(n int) string { return strings.Repeat("a", n) }

// jobFields lists the fields of a Job with values on both sides of each rule.
var jobFields = []choice{
	{"metadata.name", values("", "Bad_Name", "a.b", long(61), long(62), long(63), long(64), long(254))},
	{"metadata.namespace", values("", "Bad_Ns")},
	{"metadata.uid", values("")},
	{"metadata.labels", values(object{}, object{"app": "y"}, object{"-bad": "x"})},
	{"metadata.annotations", values(object{"-bad": "x"})},
	{"metadata.finalizers", values([]string{"orphan"}, []string{"foregroundDeletion"}, []string{"kubernetes"}, []string{"a.b/c"}, []string{"unknown"}, []string{"a.b/c", "x y"})},
	{"spec.manualSelector", values[any](nil, false, true)},
	{"spec.selector", values[any](nil, object{}, labelled("app", "x"), labelled("app", "other"), labelled("-bad", "x"), labelled("a/b/c", "y"), labelled("app", long(64)),
		labelled(batchv1.ControllerUidLabel, "other"), labelled(batchv1.ControllerUidLabel, "uid"), labelled("job-name", "job"),
		expression("app", "Like", "x"), expression("app", "In"), expression("app", "Exists", "x"), expression("app", "Exists"), expression("app", "In", "-bad"),
		expression("app", "NotIn", "y"), expression("app", "NotIn", long(64)))},
	{"spec.template.metadata.labels", values(object{}, object{"app": "x"}, object{"app": "z"}, object{"app": "-bad"}, object{"-bad": "x"}, object{"job-name": "other"}, object{"controller-uid": "other"},
		object{batchv1.JobNameLabel: "other"}, object{batchv1.ControllerUidLabel: "other"})},
	{"spec.completionMode", values[any](nil, "Indexed", "NonIndexed", "Other", "")},
	{"spec.completions", values[any](nil, -1, 0, 1, 2, 4, 5, 6, 10, 11, 100_000, 100_001, 2147483647)},
	{"spec.parallelism", values[any](nil, -1, 0, 1, 2, 5, 6, 10_000, 10_001, 100_000, 100_001)},
	{"spec.backoffLimitPerIndex", values[any](nil, -1, 0, 3)},
	{"spec.maxFailedIndexes", values[any](nil, -1, 0, 1, 5, 6, 10_000, 10_001, 100_000, 100_001)},
	{"spec.activeDeadlineSeconds", values(-1, 0, 1)},
	{"spec.backoffLimit", values(-1, 0, 7)},
	{"spec.ttlSecondsAfterFinished", values(-1, 0, 1)},
	{"spec.suspend", values(true)},
	{"spec.managedBy", values("kubernetes.io/job-controller", "a.b/c", "", "nodomain", "UP.er/x", "a/b c", "a/"+long(61), "a/"+long(62))},
	{"spec.podReplacementPolicy", values("Failed", "TerminatingOrFailed", "Other", "")},
	{"spec.podFailurePolicy", values[any](nil, object{})},
	{"spec.podFailurePolicy.rules", failureRules()},
	{"spec.successPolicy", values[any](nil, object{})},
	{"spec.successPolicy.rules", successRules()},
	{"spec.template.spec.restartPolicy", values("", "Always", "OnFailure", "Other")},
}

func labelled(key, value string) object { return object{"matchLabels": object{key: value}} }

func expression(key, operator string, values ...string) object {
	return object{"matchExpressions": []object{{"key": key, "operator": operator, "values": values}}}
}

// repeated returns a list of equal elements.
func repeated[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

func failureRules() (all []any) {
	codes := func(operator string, values ...int) object {
		return object{"action": "Ignore", "onExitCodes": object{"operator": operator, "values": values}}
	}
	of := func(container string) object {
		return object{"action": "Count", "onExitCodes": object{"operator": "In", "values": []int{1}, "containerName": container}}
	}
	pattern := func(kind, status string) object { return object{"type": kind, "status": status} }
	on := func(patterns ...object) object { return object{"action": "Ignore", "onPodConditions": patterns} }
	var many []int
	for i := range 256 {
		many = append(many, i+1)
	}
	disrupted := pattern("DisruptionTarget", "True")
	for _, rule := range []object{
		codes("In", 1), codes("In", 1, 2), codes("In", 1, 1), codes("In", 2, 1), codes("In", 0), codes("NotIn", 0), codes("NotIn", 0, 0), codes("In", 3, 1, 1, 0), codes("In", -1, 300),
		codes("In"), codes(""), codes("", 1), codes("Other", 1), codes("In", many...), codes("In", many[:255]...), of("main"), of("other"), of(""),
		on(), on(disrupted), on(object{"type": "DisruptionTarget"}), on(pattern("DisruptionTarget", "False")), on(pattern("a.b/c", "Unknown")), on(pattern("DisruptionTarget", "Other")),
		on(pattern("", "True")), on(pattern("-bad", "True")), on(pattern("a/b/c", "True")), on(pattern("/x", "True")), on(pattern("BAD/x", "True")),
		on(pattern(long(63), "True")), on(pattern(long(64), "True")), on(pattern(long(253)+"/x", "True")), on(pattern(long(254)+"/x", "True")), on(pattern("a/", "True")), on(pattern("a/"+long(64), "True")),
		on(disrupted, pattern("", "")), on(repeated(20, disrupted)...), on(repeated(21, disrupted)...),
		{"action": "FailIndex", "onExitCodes": object{"operator": "In", "values": []int{1}}}, {"action": "Other", "onPodConditions": []object{disrupted}},
		{"onPodConditions": []object{disrupted}}, {"action": "Count"},
		{"action": "FailJob", "onExitCodes": object{"operator": "In", "values": []int{1}}, "onPodConditions": []object{disrupted}},
	} {
		all = append(all, []object{rule})
	}
	return append(all, []object{}, repeated(20, codes("In", 1)), repeated(21, codes("In", 1)), []object{codes("In", 1), codes("In")})
}

func successRules() (all []any) {
	for _, indexes := range []string{
		"", "0", "0,1", "0-2,4", "1-3", "4", "5", "4-5", "2,1", "1,1", "3-1", "2-2", "1-2-3", "x", "1-x", "0,,1", ",", "+1", "007", "-1", "1-", "99999999999999999999", "0-9", "0-10",
		strings.Repeat("0", 64*1024), strings.Repeat("0", 64*1024+1),
	} {
		all = append(all, []object{{"succeededIndexes": indexes}})
	}
	for _, count := range []int{-1, 0, 1, 4, 5, 6} {
		all = append(all, []object{{"succeededCount": count}}, []object{{"succeededCount": count, "succeededIndexes": "0-3"}})
	}
	return append(all, []object{}, []object{{}}, repeated(20, object{"succeededCount": 1}), repeated(21, object{"succeededCount": 1}), []object{{"succeededCount": 1}, {}})
}

// changingFields are fields that an update may change, always or only while a Job is suspended, and
// fields that it may not change.
var changingFields = func() []choice {
	merged := func(a, b object) object {
		out := maps.Clone(a)
		maps.Copy(out, b)
		return out
	}
	named := func(name string, more object) object { return merged(object{"name": name, "image": "i"}, more) }
	cpu := object{"resources": object{"requests": object{"cpu": "1"}}}
	node := object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []object{{"matchExpressions": []object{{"key": "k", "operator": "Exists"}}}}}}}
	spread := object{"podAntiAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": []object{{"topologyKey": "k"}}}}
	return []choice{
		{"metadata.name", values("other")},
		{"metadata.finalizers", values([]string{"a.b/c"}, []string{"unknown"})},
		{"spec.manualSelector", values(true)},
		{"spec.selector", values[any](nil, labelled("app", "x"), labelled("a/b/c", "y"), expression("app", "In", "-bad"), expression("app", "NotIn", "-bad"), expression("app", "Like", "x"))},
		{"spec.template.metadata.labels", values(object{}, object{"app": "x"}, object{"controller-uid": "uid", "job-name": "job"}, object{"controller-uid": "uid", "job-name": "job", batchv1.JobNameLabel: "job"},
			object{"controller-uid": "uid", "job-name": "job", batchv1.ControllerUidLabel: "uid"})},
		{"spec.completionMode", values[any](nil, "Indexed", "NonIndexed")},
		{"spec.completions", values[any](nil, -1, 1, 2, 5, 6)},
		{"spec.parallelism", values[any](nil, -1, 1, 2, 5, 6)},
		{"spec.backoffLimitPerIndex", values[any](nil, -1, 1, 2)},
		{"spec.maxFailedIndexes", values[any](nil, 1)},
		{"spec.backoffLimit", values(1)},
		{"spec.suspend", values(true, false)},
		{"spec.managedBy", values("a.b/c")},
		{"spec.podReplacementPolicy", values("Failed", "Other")},
		{"spec.podFailurePolicy", values[any](nil, object{})},
		{"spec.successPolicy", values[any](nil, object{}, object{"rules": []object{{"succeededCount": 2}}})},
		{"metadata.uid", values("other")},
		{"spec.template.metadata.annotations", values(object{"a": "b"})},
		{"spec.template.metadata.name", values("named")},
		{"spec.template.spec.nodeSelector", values(object{"zone": "b"})},
		{"spec.template.spec.tolerations", values([]object{{"key": "k", "operator": "Exists"}})},
		{"spec.template.spec.schedulingGates", values([]object{{"name": "gate"}})},
		{"spec.template.spec.affinity", values(object{}, node, spread, merged(node, spread))},
		{"spec.template.spec.containers", values[any](nil, []object{named("main", cpu)}, []object{named("other", nil)}, []object{named("main", object{"image": "j"})},
			[]object{named("main", nil), named("more", nil)}, []object{named("other", cpu)})},
		{"spec.template.spec.initContainers", values([]object{named("init", nil)})},
		{"spec.template.spec.hostNetwork", values(true)},
		{"spec.template.spec.securityContext", values(object{})},
		{"spec.template.spec.serviceAccountName", values("account")},
		{"spec.template.spec.serviceAccount", values("account")},
		{"spec.template.spec.priorityClassName", values("high")},
	}
}()

// jobsWithStatus returns Jobs whose status is updated. They cover the specs that the rules
// distinguish, with old statuses.
func jobsWithStatus() (all []object) {
	plain := object{"metadata": object{"name": "job", "namespace": "ns", "uid": "uid", "resourceVersion": "1"}, "spec": object{"completions": 5, "parallelism": 2}, "status": object{}}
	indexed := with(plain, setting{"spec.completionMode", "Indexed"})
	perIndex := with(indexed, setting{"spec.backoffLimitPerIndex", 1})
	done := setting{"status.completedIndexes", "0,1"}
	start, end := setting{"status.startTime", clock(10)}, setting{"status.completionTime", clock(20)}
	complete := []setting{start, end, {"status.succeeded", 5}, {"status.conditions", conditions(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)}}
	failed := []setting{start, {"status.failed", 1}, {"status.conditions", conditions(batchv1.JobFailureTarget, batchv1.JobFailed)}}
	suspended := setting{"status.conditions", conditions(batchv1.JobSuspended)}
	return []object{
		plain, indexed, perIndex,
		with(plain, start, setting{"status.active", 1}, setting{"status.ready", 1}, setting{"status.failed", 2}, setting{"status.succeeded", 2}, setting{"status.terminating", 1}),
		with(plain, complete...), with(plain, failed...), with(plain, start, suspended), with(plain, suspended),
		with(plain, start, setting{"status.conditions", conditions(batchv1.JobSuccessCriteriaMet)}),
		with(plain, start, setting{"status.conditions", conditions(batchv1.JobFailureTarget)}),
		with(plain, start, end, setting{"status.conditions", conditions(batchv1.JobComplete)}),
		with(plain, setting{"status.uncountedTerminatedPods", object{"succeeded": []string{"a"}, "failed": []string{"b"}}}),
		with(plain, setting{"spec.suspend", true}, setting{"spec.completions", 0}), with(plain, setting{"spec.completions", 0}),
		with(plain, setting{"spec.completions", nil}),
		with(indexed, done, setting{"status.succeeded", 2}), with(indexed, setting{"spec.parallelism", 5}, done, setting{"status.succeeded", 2}),
		with(perIndex, done, setting{"status.failedIndexes", "3"}), with(perIndex, setting{"status.failedIndexes", "1-2"}), with(perIndex, setting{"status.completedIndexes", "2-1"}),
		with(indexed, setting{"spec.successPolicy.rules", []object{{"succeededCount": 1}}}),
	}
}

// statusFields returns the fields of a status, with values on both sides of each rule.
func statusFields() []choice {
	indexes := values("", "0", "0,1", "1", "0-2", "1-3", "3", "3,4", "0-4", "4", "5", "4-5", "2,1", "2-1,3", "1,1", "2-2", "1-2-3", "x", "0,x,3", "1-x", "0,,1", "+1", "007", "-1", "1-")
	all := []choice{
		{"status.active", values(-1, 0, 1, 2)},
		{"status.ready", values[any](nil, -1, 0, 1, 2)},
		{"status.terminating", values[any](nil, -1, 0, 1)},
		{"status.succeeded", values(-1, 0, 1, 2, 3)},
		{"status.failed", values(-1, 0, 1, 2, 3)},
		{"status.startTime", values[any](nil, clock(9), clock(10), clock(20), clock(21), clock(22))},
		{"status.completionTime", values[any](nil, clock(9), clock(10), clock(20), clock(21))},
		{"status.completedIndexes", indexes},
		{"status.failedIndexes", append(values[any](nil), indexes...)},
		{"status.uncountedTerminatedPods", values[any](nil, object{}, object{"succeeded": []string{"a"}}, object{"failed": []string{"b"}}, object{"succeeded": []string{"a"}, "failed": []string{"b"}},
			object{"succeeded": []string{"a", "a"}}, object{"failed": []string{"b", "b"}}, object{"succeeded": []string{"a"}, "failed": []string{"a"}}, object{"succeeded": []string{""}},
			object{"failed": []string{""}}, object{"succeeded": []string{"a", "b"}}, object{"succeeded": []string{"a"}, "failed": []string{"c"}})},
	}
	types := []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget}
	var lists []any
	for set := range 1 << len(types) {
		var some []batchv1.JobConditionType
		for i, t := range types {
			if set&(1<<i) != 0 {
				some = append(some, t)
			}
		}
		lists = append(lists, conditions(some...))
	}
	for _, t := range append(types, batchv1.JobSuspended) {
		lists = append(lists, []object{{"type": t, "status": "False"}}, []object{{"type": t, "status": "Unknown"}}, append(conditions(t), object{"type": t, "status": "False"}))
	}
	return append(all, choice{"status.conditions", append(lists, conditions(batchv1.JobSuspended))})
}
