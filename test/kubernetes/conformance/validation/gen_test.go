package validation_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// gen draws Jobs: valid, nearly valid or arbitrary. It draws every field with choose, from valid and
// invalid values.
type gen struct {
	*rapid.T
	wild     bool
	breaking string // the field of a nearly valid Job that may be invalid
}

// fields lists the fields that may get invalid values. If the name begins with one of the groups below,
// the Job gets that group, so that the field exists.
var fields = []string{
	"name", "namespace", "uid", "labels", "annotations", "finalizers", "owners", "selector", "manual/selector",
	"completionMode", "indexed/completionMode", "completions", "indexed/completions", "parallelism", "indexed/parallelism",
	"backoffLimitPerIndex", "indexed/backoffLimitPerIndex", "maxFailedIndexes", "indexed/maxFailedIndexes", "indexed/many/parallelism", "indexed/many/maxFailedIndexes",
	"activeDeadlineSeconds", "backoffLimit", "ttl", "managedBy", "replacement", "failure/replacement", "failure/template/restartPolicy",
	"failure/rules", "failure/rule/action", "failure/rule/both or none",
	"failure/rule/code/container", "failure/rule/code/operator", "failure/rule/code/values",
	"failure/rule/condition/patterns", "failure/rule/condition/type", "failure/rule/condition/status",
	"indexed/success/rules", "indexed/success/rule/indexes", "indexed/success/rule/count", "indexed/success/rule/indexes and count", "success",
	"template/labels", "template/restartPolicy",

	// Fields with many invalid values are listed again.
	"selector", "manual/selector", "indexed/many/maxFailedIndexes", "indexed/many/maxFailedIndexes",
	"failure/rule/code/values", "failure/rule/code/values", "failure/rule/condition/type", "failure/rule/condition/type",
	"indexed/success/rule/indexes", "indexed/success/rule/indexes", "indexed/success/rule/indexes", "indexed/success/rule/indexes and count",
}

// statusFields lists the fields of a status that may get invalid values.
var statusFields = []string{
	"condition", "more condition", "active", "ready", "terminating", "succeeded", "failed", "uncounted",
	"completedIndexes", "failedIndexes", "startTime", "completionTime",
}

func newGen(t *rapid.T, fields []string) *gen {
	g := &gen{T: t}
	switch rapid.SampledFrom([]string{"valid", "nearly", "nearly", "nearly", "nearly", "nearly", "wild"}).Draw(t, "kind") {
	case "nearly":
		g.breaking = rapid.SampledFrom(fields).Draw(t, "broken field")
	case "wild":
		g.wild = true
	}
	return g
}

// needs reports whether the field to break belongs to the group.
func (g *gen) needs(group string) bool { return strings.Contains("/"+g.breaking, "/"+group+"/") }

// breaks reports whether to break the field.
func (g *gen) breaks(name string) bool {
	if g.wild {
		return rapid.IntRange(0, 3).Draw(g.T, name+" wild") == 0
	}
	return g.breaking == name || strings.HasSuffix(g.breaking, "/"+name)
}

// choose draws the value of a field.
func choose[T any](g *gen, name string, good []T, bad ...T) T {
	if len(bad) > 0 && g.breaks(name) {
		good = bad
	}
	return good[rapid.IntRange(0, len(good)-1).Draw(g.T, name)]
}

// chance returns true with a probability of one in n.
func (g *gen) chance(n int, name string) bool { return rapid.IntRange(0, n-1).Draw(g.T, name) == 0 }

// ps returns pointers to the values, after a nil.
func ps[T any](values ...T) []*T {
	out := []*T{nil}
	for i := range values {
		out = append(out, &values[i])
	}
	return out
}

var long = strings.Repeat("a", 64)

// job draws a Job as a user writes it. Many fields may be missing.
func (g *gen) job() *batchv1.Job {
	j := &batchv1.Job{}
	g.spec(&j.Spec)
	g.template(&j.Spec.Template)
	names := []string{"job", "a", "a-b-1"}
	if j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batchv1.IndexedCompletion {
		names = append(names, "a.b")
	}
	j.Name = choose(g, "name", names, "", "Bad_Name", long[:63], long, "a.b", strings.Repeat(long, 4))
	j.Namespace = choose(g, "namespace", []string{"ns"}, "", "Bad_Ns")
	j.UID = choose(g, "uid", []types.UID{"uid-1"}, "")
	j.Labels = choose(g, "labels", labelSets(), map[string]string{"-bad": "x"}, map[string]string{"a": "-bad"}, map[string]string{long: long})
	j.Annotations = g.annotations()
	j.Finalizers = choose(g, "finalizers", [][]string{nil, {"orphan"}, {"foregroundDeletion"}, {"kubernetes"}, {"a.b/c"}}, []string{"unknown"}, []string{"a.b/c", "x y"})
	j.OwnerReferences = g.owners()
	g.selector(j)
	return j
}

const workloadName, groupTemplateName = "scheduling.k8s.io/workload-name", "scheduling.k8s.io/group-template-name"

// annotations draws annotations. From 1.38 on the API server rejects a delegation annotation without the other.
func (g *gen) annotations() map[string]string {
	both := func(workload, template string) map[string]string {
		return map[string]string{workloadName: workload, groupTemplateName: template}
	}
	return choose(g, "annotations", []map[string]string{nil, {"k": "v"}, both("w", "t")}, map[string]string{"-bad": "x"},
		map[string]string{workloadName: "w"}, map[string]string{groupTemplateName: "t"}, both("", ""), both("w", ""))
}

func (g *gen) owners() []metav1.OwnerReference {
	owner := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "a.b/v1", Kind: "Owner", Name: name, UID: "owner", Controller: new(true)}
	}
	return choose(g, "owners", [][]metav1.OwnerReference{nil, {owner("A")}},
		[]metav1.OwnerReference{{}}, []metav1.OwnerReference{owner("A"), owner("B")}, []metav1.OwnerReference{owner("A"), {Kind: "Owner"}})
}

func labelSets() []map[string]string {
	return []map[string]string{nil, {}, {"app": "x"}, {"app": "x", "tier": "y"}}
}

func (g *gen) selector(j *batchv1.Job) {
	j.Spec.ManualSelector = choose(g, "manualSelector", ps(false))
	switch {
	case g.needs("manual") || g.chance(5, "manual"):
		j.Spec.ManualSelector = new(true)
		j.Spec.Template.Labels = map[string]string{"app": "x"}
		j.Spec.Selector = choose(g, "selector", []*metav1.LabelSelector{
			{MatchLabels: map[string]string{"app": "x"}},
			{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}},
		}, badSelectors()...)
	default:
		j.Spec.Selector = choose(g, "selector", []*metav1.LabelSelector{nil, nil, {}}, badSelectors()...)
	}
}

func badSelectors() []*metav1.LabelSelector {
	expr := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	return []*metav1.LabelSelector{
		nil,
		{},
		{MatchLabels: map[string]string{"app": "other"}},
		{MatchLabels: map[string]string{"-bad": "x"}},
		{MatchLabels: map[string]string{long: "x", "a/b/c": "y"}},
		{MatchLabels: map[string]string{"app": long}},
		{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "other"}},
		expr("app", "Like", "x"),
		expr("app", metav1.LabelSelectorOpIn),
		expr("app", metav1.LabelSelectorOpExists, "x"),
		expr("app", metav1.LabelSelectorOpIn, "-bad"),
		expr("app", metav1.LabelSelectorOpIn, long),
		expr("app", metav1.LabelSelectorOpNotIn, "y"),
		expr("app", metav1.LabelSelectorOpNotIn, long),
	}
}

func (g *gen) spec(s *batchv1.JobSpec) {
	indexed := g.needs("indexed") || g.chance(2, "indexed")
	if indexed {
		s.CompletionMode = choose(g, "completionMode", []*batchv1.CompletionMode{new(batchv1.IndexedCompletion)}, new(batchv1.CompletionMode("Other")), new(batchv1.NonIndexedCompletion), nil)
	} else {
		s.CompletionMode = choose(g, "completionMode", ps(batchv1.NonIndexedCompletion), new(batchv1.CompletionMode("Other")), new(batchv1.CompletionMode("")), new(batchv1.IndexedCompletion))
	}
	if indexed {
		completions := ps[int32](0, 5, 5, 6, 100_000, 100_001, math.MaxInt32)[1:]
		if g.needs("many") {
			completions = completions[5:]
		}
		s.Completions = choose(g, "completions", completions, nil, new(int32(-1)))
		s.Parallelism = choose(g, "parallelism", ps[int32](0, 1, 5, 6, 10_000), new(int32(-1)), new(int32(10_001)), new(int32(100_000)), new(int32(100_001)))
		s.BackoffLimitPerIndex = choose(g, "backoffLimitPerIndex", ps[int32](0, 1), new(int32(-1)))
		if g.needs("many") {
			s.BackoffLimitPerIndex = new(int32(1))
		}
	} else {
		s.Completions = choose(g, "completions", ps[int32](0, 1, 5, math.MaxInt32), new(int32(-1)))
		s.Parallelism = choose(g, "parallelism", ps[int32](0, 1, 5, 100_001), new(int32(-1)))
		s.BackoffLimitPerIndex = choose(g, "backoffLimitPerIndex", ps[int32](), new(int32(0)), new(int32(3)))
	}
	some := []*int32{nil}
	if indexed && s.BackoffLimitPerIndex != nil {
		some = ps[int32](0, 1)
		if s.Completions != nil && *s.Completions > 100_000 {
			some = ps[int32](0, 10_000)[1:]
		}
	}
	s.MaxFailedIndexes = choose(g, "maxFailedIndexes", some, nil, new(int32(-1)), new(int32(2)), new(int32(7)), new(int32(10_001)), new(int32(100_000)), new(int32(100_001)))
	s.ActiveDeadlineSeconds = choose(g, "activeDeadlineSeconds", ps[int64](0, 1), new(int64(-1)))
	s.BackoffLimit = choose(g, "backoffLimit", ps[int32](0, 6), new(int32(-1)))
	s.TTLSecondsAfterFinished = choose(g, "ttl", ps[int32](0, 60), new(int32(-1)))
	s.Suspend = choose(g, "suspend", ps(true, false))
	s.ManagedBy = choose(g, "managedBy", ps("kubernetes.io/job-controller", "a.b/c"), new(""), new("nodomain"), new("UP.er/x"), new("a/b c"), new("a/"+long), new(strings.Repeat(long, 4)+"/x"))
	if g.needs("failure") || g.chance(2, "failure policy") {
		s.PodFailurePolicy = g.failurePolicy(s.BackoffLimitPerIndex != nil)
	}
	if s.PodFailurePolicy != nil {
		s.PodReplacementPolicy = choose(g, "replacement", ps(batchv1.Failed), new(batchv1.TerminatingOrFailed), new(batchv1.PodReplacementPolicy("Other")))
	} else {
		s.PodReplacementPolicy = choose(g, "replacement", ps(batchv1.Failed, batchv1.TerminatingOrFailed), new(batchv1.PodReplacementPolicy("Other")), new(batchv1.PodReplacementPolicy("")))
	}
	if indexed && (g.needs("success") || g.chance(2, "success policy")) || !indexed && g.breaks("success") {
		s.SuccessPolicy = g.successPolicy()
	}
}

func (g *gen) failurePolicy(perIndex bool) *batchv1.PodFailurePolicy {
	rules := []int{0, 1, 2, 20}
	if g.needs("rule") {
		rules = rules[1:3]
	}
	n := choose(g, "rules", rules, 21)
	if n > 2 {
		return &batchv1.PodFailurePolicy{Rules: slices.Repeat([]batchv1.PodFailurePolicyRule{onCodes(1)}, n)}
	}
	policy := &batchv1.PodFailurePolicy{}
	for range n {
		policy.Rules = append(policy.Rules, g.failureRule(perIndex))
	}
	return policy
}

func (g *gen) failureRule(perIndex bool) batchv1.PodFailurePolicyRule {
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	if perIndex {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
	}
	rule := batchv1.PodFailurePolicyRule{Action: choose(g, "action", actions, "", "Other", batchv1.PodFailurePolicyActionFailIndex)}
	byCode := g.needs("code") || !g.needs("condition") && g.chance(2, "by code")
	if byCode != choose(g, "both or none", []bool{false}, true) {
		rule.OnExitCodes = g.exitCodes()
	}
	if !byCode {
		rule.OnPodConditions = g.podConditions()
	}
	return rule
}

func (g *gen) exitCodes() *batchv1.PodFailurePolicyOnExitCodesRequirement {
	many := make([]int32, 256)
	for i := range many {
		many[i] = int32(i + 1)
	}
	return &batchv1.PodFailurePolicyOnExitCodesRequirement{
		ContainerName: choose(g, "container", ps("main", "init"), new("other"), new("")),
		Operator:      choose(g, "operator", []batchv1.PodFailurePolicyOnExitCodesOperator{"In", "NotIn"}, "", "Other"),
		Values:        choose(g, "values", [][]int32{{1}, {1, 2}, {-1, 300}, many[:255]}, nil, []int32{}, []int32{0, 1}, []int32{1, 1}, []int32{2, 1}, []int32{3, 1, 1, 0}, many),
	}
}

func (g *gen) podConditions() []batchv1.PodFailurePolicyOnPodConditionsPattern {
	n := choose(g, "patterns", []int{1, 2, 20}, 0, 21)
	patterns := slices.Repeat([]batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget", Status: corev1.ConditionTrue}}, n)
	if n > 0 {
		patterns[0].Type = choose(g, "type", []corev1.PodConditionType{"DisruptionTarget", "a.b/c"}, "", "-bad", "a/b/c", "/x", corev1.PodConditionType(long), "BAD/x", corev1.PodConditionType(strings.Repeat(long, 4)+"/x"))
		patterns[0].Status = choose(g, "status", []corev1.ConditionStatus{"True", "False", "Unknown"}, "", "Other")
	}
	return patterns
}

func (g *gen) successPolicy() *batchv1.SuccessPolicy {
	n := choose(g, "rules", []int{1, 2}, 0, 21)
	policy := &batchv1.SuccessPolicy{Rules: make([]batchv1.SuccessPolicyRule, n)}
	for i := range policy.Rules {
		if i > 1 {
			policy.Rules[i].SucceededCount = new(int32(0))
			continue
		}
		policy.Rules[i] = batchv1.SuccessPolicyRule{
			SucceededIndexes: choose(g, "indexes", ps("", "0", "1,3", "0-2,4"), indexLists(g)...),
			SucceededCount:   choose(g, "count", ps[int32](0), nil, new(int32(-1)), new(int32(1)), new(int32(4)), new(int32(7))),
		}
		if policy.Rules[i].SucceededIndexes == nil && policy.Rules[i].SucceededCount == nil && !g.breaks("indexes and count") {
			policy.Rules[i].SucceededCount = new(int32(0))
		}
	}
	return policy
}

var tooLongList = strings.Repeat("0", 64*1024+1)

// indexLists returns invalid lists of indexes. One of them is a random text.
func indexLists(g *gen) []*string {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("0123456789,-+ x")), 0, 12, -1).Draw(g.T, "index text")
	return ps("0,1", "0-2,4", "1-3", "2,1", "2,2", "3-1", "2-2", "1-2-3", "x", "1-x", "0,,1", "5", "6", "4-6", "+1", "007", "-1", "1-", ",", "99999999999999999999", "0-2147483646", "2147483646", text, "3-2-1", tooLongList, tooLongList, tooLongList, "1-2-3")[1:]
}

func (g *gen) template(t *corev1.PodTemplateSpec) {
	t.Labels = choose(g, "template/labels", labelSets(), map[string]string{batchv1.JobNameLabel: "other"}, map[string]string{"controller-uid": "other"}, map[string]string{"-bad": "x"}, map[string]string{"app": "-bad"})
	t.Annotations = choose(g, "template annotations", []map[string]string{nil, {"k": "v"}})
	t.Spec.RestartPolicy = choose(g, "template/restartPolicy", []corev1.RestartPolicy{corev1.RestartPolicyNever}, "", "Always", "OnFailure", "Other")
	t.Spec.Containers = []corev1.Container{container("main")}
	if g.chance(2, "init container") {
		t.Spec.InitContainers = []corev1.Container{container("init")}
	}
	t.Spec.NodeSelector = choose(g, "nodeSelector", []map[string]string{nil, {"zone": "a"}})
	t.Spec.Affinity = choose(g, "affinity", affinities())
}

func container(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "image", ImagePullPolicy: corev1.PullAlways, TerminationMessagePolicy: corev1.TerminationMessageReadFile}
}

func affinities() []*corev1.Affinity {
	node := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}}}}
	other := &corev1.NodeAffinity{}
	pod := &corev1.PodAffinity{}
	return []*corev1.Affinity{nil, nil, {}, {NodeAffinity: node}, {NodeAffinity: other}, {PodAffinity: pod}, {NodeAffinity: node, PodAffinity: pod}, {PodAntiAffinity: &corev1.PodAntiAffinity{}}}
}

// Statuses have few possible values, so that two of them often agree in some fields.

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func times() []*metav1.Time {
	var out []*metav1.Time
	for _, t := range []time.Time{epoch, epoch.Add(300 * time.Millisecond), epoch.In(time.FixedZone("", 3600)), epoch.Add(time.Second), epoch.Add(-time.Hour), {}} {
		out = append(out, &metav1.Time{Time: t})
	}
	return append(out, nil, nil)
}

// status draws a status that is mostly valid: the conditions and lists are consistent unless the field
// is broken.
func (g *gen) status(s *batchv1.JobSpec) batchv1.JobStatus {
	var st batchv1.JobStatus
	end := rapid.SampledFrom([]string{"running", "running", "succeeding", "failing", "complete", "failed"}).Draw(g.T, "end")
	finished := end == "complete" || end == "failed"
	conditions := map[string][]batchv1.JobConditionType{
		"succeeding": {batchv1.JobSuccessCriteriaMet},
		"failing":    {batchv1.JobFailureTarget},
		"complete":   {batchv1.JobSuccessCriteriaMet, batchv1.JobComplete},
		"failed":     {batchv1.JobFailureTarget, batchv1.JobFailed},
	}[end]
	for _, kind := range conditions {
		st.Conditions = append(st.Conditions, batchv1.JobCondition{Type: kind, Status: choose(g, "condition", []corev1.ConditionStatus{"True"}, "False", "Unknown")})
	}
	if kind := choose(g, "more condition", []batchv1.JobConditionType{"", "Other"}, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget); kind != "" {
		st.Conditions = append(st.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	if status := rapid.SampledFrom([]corev1.ConditionStatus{"", "", "True", "False"}).Draw(g.T, "suspended"); status != "" {
		st.Conditions = append(st.Conditions, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: status})
	}
	pods := []int32{0, 1, 3}
	if finished {
		pods = pods[:1]
	}
	st.Active = choose(g, "active", pods, -1, 2)
	st.Ready = choose(g, "ready", []*int32{nil, new(int32(0)), new(st.Active)}, new(int32(-1)), new(int32(2)), new(int32(4)))
	st.Terminating = choose(g, "terminating", ps(pods...), new(int32(-1)), new(int32(2)))
	st.Succeeded = choose(g, "succeeded", []int32{0, 1, 2}, -1)
	st.Failed = choose(g, "failed", []int32{0, 1, 2}, -1)
	g.uncounted(&st, finished)
	g.statusIndexes(&st, s)
	st.StartTime = choose(g, "startTime", times()[:2], times()...)
	if end == "complete" {
		st.CompletionTime = choose(g, "completionTime", times()[1:4], times()...)
	} else {
		st.CompletionTime = choose(g, "completionTime", times()[5:], times()...)
	}
	return st
}

func (g *gen) uncounted(st *batchv1.JobStatus, finished bool) {
	type uncounted = batchv1.UncountedTerminatedPods
	good := []*uncounted{nil, {}, {Succeeded: []types.UID{"a"}}, {Failed: []types.UID{"a", "b"}}}
	if finished {
		good = good[:2]
	}
	st.UncountedTerminatedPods = choose(g, "uncounted", good, &uncounted{Succeeded: []types.UID{"c"}}, &uncounted{Succeeded: []types.UID{""}}, &uncounted{Failed: []types.UID{"", ""}},
		&uncounted{Succeeded: []types.UID{"a", "a"}}, &uncounted{Succeeded: []types.UID{"a"}, Failed: []types.UID{"b", "a"}}, &uncounted{Failed: []types.UID{"b", "a", "b"}})
}

func (g *gen) statusIndexes(st *batchv1.JobStatus, s *batchv1.JobSpec) {
	completed := []string{""}
	if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion && s.Completions != nil && *s.Completions >= 5 {
		completed = append(completed, "0", "0,1", "0-2")
	}
	failed := []*string{nil}
	if len(completed) > 1 && s.BackoffLimitPerIndex != nil {
		failed = ps("", "3", "3,4")
	}
	var wild []string
	for _, list := range indexLists(g) {
		wild = append(wild, *list)
	}
	st.CompletedIndexes = choose(g, "completedIndexes", completed, wild...)
	st.FailedIndexes = choose(g, "failedIndexes", failed, append(indexLists(g), new(""), nil)...)
}

// changeTemplate changes a field of a template.
func (g *gen) changeTemplate(t *corev1.PodTemplateSpec) {
	s := &t.Spec
	first := func(cs []corev1.Container, change func(*corev1.Container)) {
		if len(cs) > 0 {
			change(&cs[0])
		}
	}
	cpu := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	changes := []func(){
		func() { s.NodeSelector = map[string]string{"zone": "b"} },
		func() { s.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}} },
		func() { s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}} },
		func() { s.Affinity = rapid.SampledFrom(affinities()).Draw(g.T, "new affinity") },
		func() { t.Annotations = map[string]string{"new": "x"} },
		func() {
			labels := map[string]string{"new": "x"}
			maps.Copy(labels, t.Labels)
			t.Labels = labels
		},
		func() { t.Name = "named" },
		func() { first(s.Containers, func(c *corev1.Container) { c.Resources = cpu }) },
		func() { first(s.InitContainers, func(c *corev1.Container) { c.Resources = cpu }) },
		func() { first(s.Containers, func(c *corev1.Container) { c.Name, c.Resources = "renamed", cpu }) },
		func() { first(s.Containers, func(c *corev1.Container) { c.Image = "other" }) },
		func() { s.Containers = append(s.Containers, container("more")) },
		func() { s.InitContainers = append(s.InitContainers, container("more")) },
		func() { s.Containers = nil },
		func() { s.HostNetwork = true },
		func() { s.SecurityContext = &corev1.PodSecurityContext{} },
		func() { s.ServiceAccountName, s.DeprecatedServiceAccount = "account", "" },
		func() { s.DeprecatedServiceAccount = "account" },
		func() { s.RestartPolicy = corev1.RestartPolicyOnFailure },
		func() { s.PriorityClassName = "high" },
	}
	changes[rapid.IntRange(0, len(changes)-1).Draw(g.T, "template change")]()
}

// changeSpec changes a field of a Job outside the template.
func (g *gen) changeSpec(j *batchv1.Job) {
	other := newGen(g.T, fields)
	spec := &batchv1.JobSpec{}
	other.spec(spec)
	changes := []func(){
		func() { g.changeTemplate(&j.Spec.Template) },
		func() { g.changeTemplate(&j.Spec.Template) },
		func() { g.changeTemplate(&j.Spec.Template); g.changeTemplate(&j.Spec.Template) },
		func() { j.Spec.Completions = spec.Completions },
		func() { j.Spec.Completions, j.Spec.Parallelism = new(int32(6)), new(int32(6)) },
		func() { j.Spec.Completions, j.Spec.Parallelism = new(int32(1)), nil },
		func() { j.Spec.Parallelism = spec.Parallelism },
		func() { j.Spec.CompletionMode = spec.CompletionMode },
		func() { j.Spec.PodFailurePolicy = spec.PodFailurePolicy },
		func() { j.Spec.BackoffLimitPerIndex = spec.BackoffLimitPerIndex },
		func() { j.Spec.ManagedBy = spec.ManagedBy },
		func() { j.Spec.SuccessPolicy = spec.SuccessPolicy },
		func() { j.Spec.Suspend = spec.Suspend },
		func() { j.Spec.Selector = rapid.SampledFrom(badSelectors()).Draw(g.T, "bad selector") },
		func() { j.Name = "other" },
		func() { j.UID = rapid.SampledFrom([]types.UID{"", "other"}).Draw(g.T, "new uid") },
		func() { j.ResourceVersion = "" },
		func() { j.Annotations = (&gen{T: g.T, wild: true}).annotations() },
		func() { j.OwnerReferences = (&gen{T: g.T, wild: true}).owners() },
		func() { j.Spec.MaxFailedIndexes = spec.MaxFailedIndexes },
		func() { j.DeletionTimestamp, j.DeletionGracePeriodSeconds = times()[0], new(int64(1)) },
		func() { j.Finalizers = append(j.Finalizers, "unknown") },
		func() { delete(j.Spec.Template.Labels, batchv1.JobNameLabel) },
		func() { delete(j.Spec.Template.Labels, batchv1.ControllerUidLabel) },
		func() { template := j.Spec.Template; j.Spec = *spec; j.Spec.Template = template },
	}
	changes[rapid.IntRange(0, len(changes)-1).Draw(g.T, "change")]()
}
