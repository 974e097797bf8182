package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// jobWith returns a valid Job with additional lines in its spec.
func jobWith(spec string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\nspec:\n" + spec +
		"  template:\n    spec:\n      restartPolicy: Never\n      containers:\n      - {name: main, image: b}\n"
}

// policy returns a pod failure policy.
func policy(rules ...string) string {
	return "  podFailurePolicy:\n    rules:\n    - " + strings.Join(rules, "\n    - ") + "\n"
}

// TestTraps tests each row of the table with Jobs that have the trap, and similar Jobs that
// do not.
func TestTraps(t *testing.T) {
	const perIndex = "  completionMode: Indexed\n  completions: 10\n  parallelism: 10\n  backoffLimitPerIndex: 3\n"
	exit := func(action, operator, codes string) string {
		return fmt.Sprintf("{action: %s, onExitCodes: {operator: %s, values: [%s]}}", action, operator, codes)
	}
	on := func(action, types string) string {
		return fmt.Sprintf("{action: %s, onPodConditions: [%s]}", action, types)
	}
	of := func(container string) string {
		return fmt.Sprintf("{action: Count, onExitCodes: {containerName: %s, operator: In, values: [3]}}", container)
	}
	const ruled = "restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"
	pod := func(restartPolicy, container string) string {
		return "  template:\n    spec:\n      restartPolicy: " + restartPolicy + "\n      containers:\n      - {name: main, image: b, " + container + "}\n"
	}
	for _, tc := range []struct {
		rule, spec string
		want       []string // the field and the beginning of the message; none: no trap
	}{
		{"BackoffLimitBeforeIndexes", perIndex + "  backoffLimit: 6\n", []string{"10:3: warning: spec.backoffLimit: the Job fails after more than 6 failures of all indexes together, although the limits per index allow 40"}},
		{"BackoffLimitBeforeIndexes", perIndex + "  backoffLimit: 38\n", []string{"after more than 38 failures of all indexes together, although the limits per index allow 40"}},
		{"BackoffLimitBeforeIndexes", perIndex + "  backoffLimit: 39\n", nil},
		{"BackoffLimitBeforeIndexes", perIndex + "  backoffLimit: 34\n  maxFailedIndexes: 5\n", []string{"spec.backoffLimit: the Job fails after more than 34 failures of all indexes together, although the limits per index allow 35"}},
		{"BackoffLimitBeforeIndexes", perIndex + "  backoffLimit: 35\n  maxFailedIndexes: 5\n", nil},
		{"BackoffLimitBeforeIndexes", perIndex, nil},
		{"BackoffLimitBeforeIndexes", "  backoffLimit: 0\n  completions: 10\n", nil},
		{"ShadowedRule", policy(exit("Count", "In", "1, 2, 3"), exit("FailJob", "In", "2, 3")), []string{"9:7: warning: spec.podFailurePolicy.rules[1]: it never takes effect: rule 0 (Count) matches every pod"}},
		{"ShadowedRule", policy(exit("Count", "In", "1, 2"), exit("FailJob", "In", "2, 3")), nil},
		{"ShadowedRule", policy(exit("Count", "NotIn", "1"), exit("FailJob", "In", "2, 3")), []string{"rules[1]: it never takes effect: rule 0"}},
		{"ShadowedRule", policy(exit("Count", "NotIn", "2"), exit("FailJob", "In", "2, 3")), nil},
		{"ShadowedRule", policy(exit("Count", "NotIn", "1"), exit("FailJob", "NotIn", "1, 2")), []string{"rules[1]: it never takes effect"}},
		{"ShadowedRule", policy(exit("Count", "NotIn", "1, 2"), exit("FailJob", "NotIn", "1")), nil},
		{"ShadowedRule", policy(exit("Count", "In", "1, 2"), exit("FailJob", "NotIn", "1")), nil},
		{"ShadowedRule", policy(exit("Count", "In", "3"), of("main")), []string{"rules[1]: it never takes effect"}},
		{"ShadowedRule", policy(of("main"), of("main")), []string{"rules[1]: it never takes effect"}},
		{"ShadowedRule", policy(of("main"), exit("Count", "In", "3")), nil},
		{"ShadowedRule", policy(on("Ignore", "{type: A}, {type: B}"), on("FailJob", "{type: B, status: 'True'}")), []string{"rules[1]: it never takes effect: rule 0 (Ignore)"}},
		{"ShadowedRule", policy(on("Ignore", "{type: A}"), on("FailJob", "{type: A}, {type: B}")), nil},
		{"ShadowedRule", policy(on("Ignore", "{type: A}"), on("FailJob", "{type: A, status: 'False'}")), nil},
		{"ShadowedRule", policy(on("Ignore", "{type: A}"), exit("FailJob", "In", "1")), nil},
		{"EndlessIgnore", policy(exit("Ignore", "In", "42")), []string{"8:8: warning: spec.podFailurePolicy.rules[0].action: a pod that always fails this way is replaced forever"}},
		{"EndlessIgnore", policy(exit("Ignore", "In", "42")) + "  activeDeadlineSeconds: 60\n", nil},
		{"EndlessIgnore", policy(on("Ignore", "{type: DisruptionTarget}")), nil},
		{"EndlessIgnore", policy(exit("Count", "In", "42")), nil},
		{"EndlessIgnore", policy(exit("FailJob", "NotIn", "0"), exit("Ignore", "In", "42")), nil},
		{"ImpossibleExitCode", policy(exit("Count", "In", "-1, 3, 256")), []string{"values[0]: a container on Linux exits with 0 to 255, never with -1", "values[2]: a container on Linux exits with 0 to 255, never with 256"}},
		{"ImpossibleExitCode", policy(exit("Count", "In", "1, 255"), on("Ignore", "{type: A}")), nil},
		{"ImpossibleExitCode", policy(exit("Count", "In", "256")) + pod("Never\n      os: {name: windows}", "tty: true"), nil},
		{"ImpossibleExitCode", policy(exit("Count", "In", "256")) + pod("Never\n      nodeSelector: {kubernetes.io/os: windows}", "tty: true"), nil},
		{"EndlessRestart", pod("Never", ruled), []string{"10:75: warning: spec.template.spec.containers[0].restartPolicyRules[0]: a container that always exits this way (In [42]) is restarted in place forever, because no limit counts that; set activeDeadlineSeconds"}},
		{"EndlessRestart", "  activeDeadlineSeconds: 60\n" + pod("Never", ruled), nil},
		{"EndlessRestart", pod("Never\n      activeDeadlineSeconds: 60", ruled), nil},
		{"EndlessRestart", pod("OnFailure", ruled), nil},
		{"EndlessRestart", pod("Never", "restartPolicy: Never"), nil},
		{"EndlessRestart", pod("Never\n      initContainers: [{name: a, image: b, restartPolicy: Always}]", "tty: true"), nil},
		{"EndlessRestart", pod("Never\n      initContainers: [{name: a, image: b, restartPolicy: OnFailure}]", "tty: true"), []string{"initContainers[0].restartPolicy: a container that always fails is"}},
		{"EndlessRestart", pod("Never", "restartPolicy: OnFailure"), []string{"containers[0].restartPolicy: a container that always fails is restarted in place forever"}},
		{"EndlessRestart", pod("Never", "restartPolicy: Always"), []string{"containers[0].restartPolicy: the container is restarted after exit code 0 too, so the pod never succeeds"}},
		{"DroppedField", "  scheduling: {schedulingPolicy: {basic: {}}}\n", []string{"6:3: warning: spec.scheduling: the API server drops this alpha field, unless its gate WorkloadWithJob is on"}},
		{"DroppedField", "", nil},
	} {
		input := jobWith(tc.spec)
		if strings.Contains(tc.spec, "template:") {
			input = strings.TrimSuffix(input, jobWith("")[strings.Index(jobWith(""), "  template:"):])
		}
		got := runWith(input, "validate")
		if got.Status != exitOK {
			t.Fatalf("got status %d, %s%s of\n%s", got.Status, got.Stdout, got.Stderr, input)
		}
		found := strings.Contains(runWith(input, "validate", "-o", "json").Stdout, fmt.Sprintf(`"rule": %q`, tc.rule))
		if found != (len(tc.want) > 0) {
			t.Errorf("%s: found %t, want %t, in\n%s", tc.rule, found, len(tc.want) > 0, input)
		}
		for _, want := range tc.want {
			checkPart(t, tc.rule, got.Stdout, want)
		}
	}
	// The API server itself rejects this Job.
	got := runWith(jobWith("  completionMode: Indexed\n  completions: 10\n  parallelism: 10\n  maxFailedIndexes: 1\n"), "validate")
	checkParts(t, "a limit of failed indexes without one per index", got, exitNo, []string{"error: spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified", "rejected, 1 error"})
}

func TestEveryTrapIsTested(t *testing.T) {
	source := readFile(t, "findings_test.go")
	for _, trap := range trapTable {
		if trap.short == "" {
			t.Errorf("%s has no description", trap.rule)
		}
		if !strings.Contains(source, fmt.Sprintf("{%q, ", trap.rule)) {
			t.Errorf("TestTraps has no %s", trap.rule)
		}
	}
}

func TestFindings(t *testing.T) {
	elastic := readFile(t, manifest("elastic.yaml"))
	cron := "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: nightly\nspec:\n  schedule: '@daily'\n  jobTemplate:\n    spec:\n      parallelism: -1\n      completoins: 3\n" +
		"      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - {name: main, image: b}\n"
	named := jobWith(policy("{name: First, action: Count, onExitCodes: {operator: In, values: [3]}}"))
	for _, tc := range []struct {
		reason, stdin string
		args          []string
		status        int
		want          []string
	}{
		{"another kind is skipped", elastic + "---\nkind: ConfigMap\napiVersion: v1\n---\nkind: ConfigMap\napiVersion: v1\n", nil, exitOK,
			[]string{"Job elastic accepted, 0 errors, 0 warnings; not checked: some fields of the pod template\n", "note: objects of other kinds, which were not checked: ConfigMap (2)\n"}},
		{"a CronJob", cron, []string{"--loose"}, exitNo,
			[]string{"standard input:9:7: error: spec.jobTemplate.spec.parallelism: Invalid value: -1", "standard input:10:7: warning: spec.jobTemplate.spec.completoins: ", "did you mean spec.jobTemplate.spec.completions?", ":1: CronJob nightly rejected, 1 error, 1 warning; not checked: some fields"}},
		{"the fields of a CronJob", strings.NewReplacer("'@daily'", "'@dayly'\n  timeZone: Mars", "completoins: 3", "completions: 3").Replace(cron), nil, exitNo,
			[]string{":6:3: error: spec.schedule: Invalid value: \"@dayly\": unrecognized descriptor: @dayly\n", ":7:3: error: spec.timeZone: Invalid value: \"Mars\": unknown time zone Mars\n", ":10:7: error: spec.jobTemplate.spec.parallelism: "}},
		{"a CronJob whose Jobs are rejected", strings.NewReplacer("name: nightly", "name: "+strings.Repeat("a", 52), "parallelism: -1", "completionMode: Indexed", "completoins: 3", "completions: 30").Replace(cron), nil, exitOK,
			[]string{":4:3: warning: metadata.name: the API server accepts the CronJob, but not its Jobs: Invalid value: ", "-29000000-29\n"}},
		{"an unknown field of a CronJob", strings.NewReplacer("  schedule", "  sched: 1\n  schedule", "  metadata:", "").Replace(cron), nil, exitNo, []string{":6:3: error: spec.sched: unknown field"}},
		{"a field of a CronJob of the wrong type", strings.Replace(cron, "'@daily'", "5", 1), nil, exitNo, []string{":6:3: error: spec.schedule: cannot unmarshal number into string; quote it: \"5\"\n"}},
		{"words that YAML takes for a bool", strings.Replace(jobWith(""), "  name: a\n", "  name: a\n  labels: {country: no, on: 'yes', size: 1e3}\n", 1), nil, exitNo,
			[]string{":5:12: error: metadata.labels.country: cannot unmarshal bool into string; quote it: \"no\"\n", "metadata.labels.size: cannot unmarshal number into string; quote it: \"1e3\"\n", "2 errors"}},
		{"a bool in JSON", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":true}}`, nil, exitNo, []string{"error: metadata.name: cannot unmarshal bool into string; quote it: \"true\"\n"}},
		{"an object where a text is wanted", strings.Replace(jobWith(""), "image: b", "image: {a: b}", 1), nil, exitNo, []string{".image: cannot unmarshal object into string\n"}},
		{"a whole number with a fraction in JSON, which kubectl sends without", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"completions":3.0,"parallelism":1e0,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"b"}]}}}}`, nil, exitOK, []string{"Job a accepted, 0 errors, 0 warnings"}},
		{"a fraction", jobWith("  completions: 3.5\n"), nil, exitNo, []string{"error: spec.completions: cannot unmarshal number 3.5 into int32\n"}},
		{"a CronJob with a generated name", strings.NewReplacer("name: nightly", "generateName: a-", "parallelism: -1", "parallelism: 1", "completoins", "completions").Replace(cron), nil, exitOK, []string{"CronJob none accepted, 0 errors, 0 warnings"}},
		{"a schedule without a date", strings.NewReplacer("'@daily'", "0 0 31 2 *", "parallelism: -1", "parallelism: 1", "completoins", "completions").Replace(cron), nil, exitOK, []string{":6:3: warning: spec.schedule: it matches no date, so the CronJob creates no Job\n"}},
		{"the same, suspended, to create Jobs from it by hand", strings.NewReplacer("'@daily'", "0 0 31 2 *\n  suspend: true", "parallelism: -1", "parallelism: 1", "completoins", "completions").Replace(cron), nil, exitOK, []string{"0 errors, 0 warnings"}},
		{"a schedule on leap days, a deadline of a controller's interval", strings.NewReplacer("'@daily'", "0 0 29 2 *\n  startingDeadlineSeconds: 10", "parallelism: -1", "parallelism: 1", "completoins", "completions").Replace(cron), nil, exitOK, []string{"0 errors, 0 warnings"}},
		{"a short deadline", strings.NewReplacer("'@daily'", "'@daily'\n  startingDeadlineSeconds: 9", "parallelism: -1", "parallelism: 1", "completoins", "completions").Replace(cron), nil, exitOK, []string{":7:3: warning: spec.startingDeadlineSeconds: the CronJob may not be scheduled: its controller checks things every 10 seconds\n"}},
		{"a CronJob with a selector", strings.NewReplacer("parallelism: -1", "selector: {}", "completoins: 3", "manualSelector: true").Replace(cron), nil, exitNo,
			[]string{":9:7: error: spec.jobTemplate.spec.selector: Invalid value: ", "`selector` will be auto-generated\n", ":10:7: error: spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"\n", "2 errors, 1 warning"}},
		{"a CronJob without a template", "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: a\nspec: {}\n", nil, exitNo, []string{":5:1: error: spec.schedule: Required value\n", ":5:1: error: spec.jobTemplate.spec.template.spec.containers: Required value\n"}},
		{"a misspelt field", jobWith("  backofflimit: 2\n"), []string{"--loose"}, exitOK, []string{"standard input:6:3: warning: spec.backofflimit: unknown field; did you mean spec.backoffLimit?\n"}},
		{"the same, strictly", jobWith("  backofflimit: 2\n"), nil, exitNo, []string{"standard input:6:3: error: spec.backofflimit: ", "rejected, 1 error"}},
		{"a field that is similar to none", jobWith("  novelty: 2\n"), nil, exitNo, []string{"error: spec.novelty: unknown field in this version of jobfate; kubectl rejects"}},
		{"a field of the template, strictly", strings.Replace(jobWith(""), "image: b", "imag: b", 1), nil, exitNo,
			[]string{"error: spec.template.spec.containers[0].imag: unknown field; did you mean spec.template.spec.containers[0].image?"}},
		{"another, not strictly", strings.Replace(jobWith(""), "image: b", "image: b, imag: b", 1), []string{"--loose"}, exitOK, []string{"0 warnings"}},
		{"the name of a rule", named, []string{"--loose"}, exitOK, []string{"standard input:8:8: warning: spec.podFailurePolicy.rules[0].name: KEP-4443 proposes names"}},
		{"an invalid quantity", strings.Replace(jobWith(""), "image: b", "image: b, resources: {limits: {cpu: 2x, memory: 1Gj}}", 1), nil, exitNo,
			[]string{"standard input:10:53: error: spec.template.spec.containers[0].resources.limits.cpu: quantities must match", "resources.limits.memory: ", "rejected, 2 errors"}},
		{"fields of the wrong type, in the order of the file", jobWith("  parallelism: many\n  completions: [1]\n"), nil, exitNo,
			[]string{":6:3: error: spec.parallelism: cannot unmarshal string into int32\nstandard input:7:3: error: spec.completions: cannot unmarshal array into int32\n"}},
		{"a field twice", `{"apiVersion":"batch/v1","kind":"Job","spec":{"parallelism":1,"parallelism":2}}`, nil, exitNo, []string{"error: spec.parallelism: the field occurs twice"}},
		{"a key of YAML twice", jobWith("  parallelism: 1\n  parallelism: 2\n"), nil, exitNo, []string{":7:3: error: spec.parallelism: the field occurs twice; kubectl takes the last one\n", "rejected, 1 error"}},
		{"the same, not strictly", jobWith("  parallelism: 1\n  parallelism: 2\n"), []string{"--loose"}, exitOK, []string{":7:3: warning: spec.parallelism: the field occurs twice"}},
		{"a key twice in an item of a list", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(jobWith("  suspend: true\n  suspend: no\n")), "\n", "\n  ") + "\n", nil, exitNo, []string{":10:5: error: spec.suspend: the field occurs twice"}},
		{"placeholders", strings.Replace(jobWith("  suspend: ${HELD}\n"), "image: b", "image: 'b:{{ .Tag }}', args: ['${HOME}']", 1), nil, exitNo,
			[]string{":6:3: error: spec.suspend: \"${HELD}\" is a placeholder: render the template first", ".image: \"{{ .Tag }}\" is a placeholder", "1 error, 1 warning"}},
		{"variables of a shell, of kustomize and of Flux", strings.NewReplacer("image: b", "image: 'b:$TAG', volumeMounts: [{name: $(A), mountPath: /a, subPathExpr: $(POD)}], args: [$HOME]", "name: a\n", "name: a-$ITEM\n").Replace(jobWith("  parallelism: $PAR\n  completions: '${N:-1}'\n")), nil, exitNo,
			[]string{"metadata.name: \"$ITEM\" is a placeholder", "spec.parallelism: \"$PAR\" is a placeholder", "spec.completions: \"${N:-1}\" is a placeholder", ".image: \"$TAG\" is a placeholder", "2 errors, 2 warnings"}},
		{"a variable of kustomize in an image", strings.Replace(jobWith(""), "image: b", "image: $(IMAGE)", 1), nil, exitOK, []string{".image: \"$(IMAGE)\" is a placeholder", "1 warning"}},
		{"what Helm renders for a value that is missing", strings.Replace(jobWith(""), "image: b", "image: b/<no value>", 1), nil, exitOK, []string{".image: \"<no value>\" is a placeholder", "1 warning"}},
		{"a kind in the wrong case, after a Job", elastic + "---\napiVersion: batch/v1\nkind: Cronjob\n", nil, exitInput, []string{`standard input: document 2 is a Cronjob of apiVersion "batch/v1"; want the kind CronJob`}},
		{"a label with another UID", strings.Replace(jobWith(""), "    spec:\n", "    metadata: {labels: {controller-uid: 00000000-0000-0000-0000-000000000000}}\n    spec:\n", 1), nil, exitNo,
			[]string{":7:25: error: spec.template.metadata.labels[controller-uid]: Invalid value: the API server sets this label to the UID of the new Job, unless spec.manualSelector is true; leave it out\n", "1 error"}},
		{"a selector", jobWith("  selector: {matchLabels: {a: b}}\n"), nil, exitNo, []string{"error: spec.selector: Invalid value: `selector` not auto-generated; leave it out, or set spec.manualSelector\n"}},
	} {
		checkParts(t, tc.reason, runWith(tc.stdin, append([]string{"validate"}, tc.args...)...), tc.status, tc.want)
	}
}

// TestRenamedRule updates a Job with names of rules. The policy is immutable, so the names
// are, too.
func TestRenamedRule(t *testing.T) {
	job := jobWith(policy("{name: First, action: Count, onExitCodes: {operator: In, values: [3]}}", "{action: Count, onExitCodes: {operator: In, values: [4]}}"))
	live := edited(t, job, "metadata:\n", "metadata:\n  namespace: default\n  uid: u\n", "spec:\n  p", "spec:\n  selector: {matchLabels: {u: u}}\n  p",
		"template:\n", "template:\n    metadata: {labels: {u: u}}\n") // not a manifest, but the Job in a cluster
	for _, tc := range []struct {
		reason, job string
		status      int
		want        string
	}{
		{"the same names", job, exitOK, "kubectl apply: Job a accepted, 0 errors, "},
		{"another name", strings.Replace(job, "First", "Second", 1), exitNo, `standard input:8:8: error: spec.podFailurePolicy.rules[0].name: Invalid value: "Second": field is immutable`},
		{"a removed name", strings.Replace(job, "name: First, ", "", 1), exitNo, `standard input:8:7: error: spec.podFailurePolicy.rules[0].name: Invalid value: "": field is immutable`},
		{"an added name", strings.Replace(job, "- {action", "- {name: Other, action", 1), exitNo, `standard input:9:8: error: spec.podFailurePolicy.rules[1].name: Invalid value: "Other": field is immutable`},
	} {
		for _, old := range []string{job, live} {
			got := runWith(tc.job, "validate", "--loose", "--by", "apply", "--old", tempFile(t, "old.yaml", old))
			checkParts(t, tc.reason, got, tc.status, []string{tc.want})
			if errors := strings.Count(got.Stdout, ": error: "); errors != strings.Count(tc.want, ": error: ") {
				t.Errorf("%s: got %d errors in\n%s", tc.reason, errors, got.Stdout)
			}
		}
	}
}

func TestSuggestion(t *testing.T) {
	for path, want := range map[string]string{
		"spec.backofflimit": "spec.backoffLimit", "spec.backOffLimitPerIndex": "spec.backoffLimitPerIndex", "spec.podFailurePolicy.rules[3].onExitCode": "spec.podFailurePolicy.rules[3].onExitCodes",
		"metdata": "metadata", "spec.template.spec.containers[0].comand": "spec.template.spec.containers[0].command", "spec.nothing": "", "nowhere.at.all": "", "": "", "spec.template.metadata.lables": "spec.template.metadata.labels",
	} {
		if got := suggestion(reflect.TypeFor[batchv1.Job](), path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestSARIF checks what a CI system reads.
func TestSARIF(t *testing.T) {
	got := runWith("", "validate", "-o", "sarif", manifest("wrong.yaml"))
	if got.Status != exitNo {
		t.Errorf("got status %d, want %d", got.Status, exitNo)
	}
	checkGolden(t, "validate-wrong.sarif", got.Stdout)
	log := fromJSON[sarifLog](t, got.Stdout)
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if r.Short.Text == "" || strings.Contains(r.Short.Text, "unknown error") {
			t.Errorf("got %+v, want a description", r)
		}
	}
	for _, tc := range []struct {
		reason, stdin string
		args          []string
		want          string // the positions of what cannot be read
	}{
		{"a document", jobWith("") + "---\n\nkind: Job\nspec: [\n", []string{"-"}, "standard%20input:14"},
		{"a missing file", jobWith(""), []string{"-", "nowhere.yaml"}, "nowhere.yaml:1"},
		{"the same alone", "", []string{"nowhere.yaml"}, "nowhere.yaml:1"},
		{"no Job", "a: 1\n---\nkind: Job\napiVersion: batch/v2\n", nil, "standard%20input:1 standard%20input:3"},
		{"only other kinds", "kind: ConfigMap\napiVersion: v1\n", nil, "standard%20input:1"},
		{"tabs", "kind: Job\n\tspec: {}\n", nil, "standard%20input:2"},
		{"JSON", "{\n  \"a\": 1,}", nil, "standard%20input:2"},
		{"no old Job", jobWith(""), []string{"--old", "nowhere.yaml"}, "nowhere.yaml:1"},
		{"two old Jobs", jobWith(""), []string{"--old", tempFile(t, "old.yaml", jobWith("")+"---\n"+jobWith(""))}, "old.yaml:12"},
		{"two new Jobs", jobWith("") + "---\n" + jobWith(""), []string{"--old", manifest("elastic.yaml")}, "standard%20input:12"},
	} {
		got := runWith(tc.stdin, append([]string{"validate", "-o", "sarif"}, tc.args...)...)
		var at []string
		for _, r := range fromJSON[sarifLog](t, got.Stdout).Runs[0].Results {
			p := r.Locations[0].Physical
			at = append(at, fmt.Sprintf("%s:%d", p.Artifact.URI, p.Region.Line))
			if r.RuleID != "Unreadable" || r.Level != "error" || p.Region.Column != 1 || !strings.Contains(got.Stderr, strings.TrimSpace(r.Message.Text)) {
				t.Errorf("%s: got %+v, want the error %s", tc.reason, r, got.Stderr)
			}
		}
		if got.Status != exitInput || !strings.HasSuffix(strings.Join(at, " "), tc.want) {
			t.Errorf("%s: got status %d, %s, want %d, %s", tc.reason, got.Status, at, exitInput, tc.want)
		}
	}
	for file, want := range map[string]string{"a b.yaml": "a%20b.yaml", "/tmp/ü.yaml": "file:///tmp/%C3%BC.yaml", "a/b.yaml": "a/b.yaml"} {
		if got := uri(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
