package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// change changes a manifest of testdata/updates or cmd/testdata/creations, as a line of their cases.tsv.
type change struct {
	reason string
	job    string // the file
	by     string // a strategic merge patch of the manifest; or "old text => new text" in the file
	want   string // the fields that the API server rejects
}

// states lists Jobs of the same manifest in other states: their file, whether kubectl create has
// created them, and their status.
var states = map[string]struct {
	file    string
	created bool
	status  string
}{
	"plain": {file: "plain"}, "indexed": {file: "indexed"}, "manual": {file: "manual"}, "suspended": {file: "suspended"},
	"created":  {file: "plain", created: true},
	"started":  {file: "suspended", status: `{startTime: "2023-08-21T10:00:00Z"}`},
	"stopped":  {file: "suspended", status: `{startTime: "2023-08-21T10:00:00Z", conditions: [{type: Suspended, status: "True"}]}`},
	"stopping": {file: "suspended", status: `{startTime: "2023-08-21T10:00:00Z", active: 1, conditions: [{type: Suspended, status: "True"}]}`},
}

// kubectl validate -f says what the API server answers to the real kubectl: for each change in the
// manifest, and for the same change in the output of kubectl get.
func TestValidate_updates(t *testing.T) {
	changes := changesOf(t, "testdata/updates/cases.tsv", 80)
	k := newTool(t)
	live := map[string]*batchv1.Job{}
	for name, state := range states {
		how := "apply"
		if state.created {
			how = "create"
		}
		k.mustRun(how, "-f", k.write(name+".yaml", manifestOf(name)))
		job := k.job(name)
		if state.status != "" {
			k.must(yaml.Unmarshal([]byte(state.status), &job.Status))
			_, err := api.Client.BatchV1().Jobs(k.namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
			k.must(err)
		}
		live[name] = k.job(name)
	}
	for _, c := range changes {
		t.Run(c.job+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			k := k.of(t)
			file := k.write("manifest.yaml", c.change(t, manifestOf(c.job)))
			answers := k.validate(c.job, file)
			k.compare(answers, "apply", file, c.want)
			k.compare(answers, "replace", file, "")

			if strings.Contains(c.by, " => ") {
				return
			}
			job := live[c.job].DeepCopy()
			job.ManagedFields, job.ResourceVersion = nil, ""
			file = k.write("shown.yaml", c.change(t, string(Must(yaml.Marshal(job)))))
			answers = k.validate(c.job, file)
			k.compare(answers, "apply", file, "")
			k.compare(answers, "replace", file, "")
		})
	}
}

// jobfate validate --old says what the API server answers to the real kubectl when a CronJob changes.
func TestValidate_cronJobUpdates(t *testing.T) {
	k := newTool(t)
	command := k.command()
	text := change{job: "cron", by: "  jobTemplate: =>   startingDeadlineSeconds: 60\n  timeZone: UTC\n  jobTemplate:"}.created(t)
	k.mustRun("apply", "-f", k.write("cron.yaml", text))
	cron, err := api.Client.BatchV1().CronJobs(k.namespace).Get(t.Context(), "cron", metav1.GetOptions{})
	k.must(err)
	cron.TypeMeta, cron.ManagedFields = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, nil
	old := k.write("old.yaml", string(Must(yaml.Marshal(cron))))
	for _, c := range []change{
		{"nothing", "cron", " => ", ""},
		{"the schedule", "cron", `"*/5 => "*/7`, ""},
		{"a wrong schedule", "cron", `"*/5 => "*/0`, "spec.schedule"},
		{"a time zone in the schedule", "cron", `"*/5 => "TZ=UTC */5`, "spec.schedule"},
		{"an unknown time zone", "cron", "timeZone: UTC => timeZone: Mars/Base", "spec.timeZone"},
		{"no time zone and deadline", "cron", "  startingDeadlineSeconds: 60\n  timeZone: UTC\n => ", ""},
		{"no concurrencyPolicy", "cron", "  jobTemplate: =>   concurrencyPolicy: null\n  jobTemplate:", ""},
		{"the image", "cron", "main:1 => main:2", ""},
		{"the restart policy", "cron", "Never => Always", "spec.jobTemplate.spec.template.spec.restartPolicy"},
		{"a negative backoffLimit", "cron", "    spec:\n      template: =>     spec:\n      backoffLimit: -1\n      template:", "spec.jobTemplate.spec.backoffLimit"},
		{"completions", "cron", "    spec:\n      template: =>     spec:\n      completions: 4\n      template:", ""},
		{"manualSelector", "cron", "    spec:\n      template: =>     spec:\n      manualSelector: true\n      template:", "spec.jobTemplate.spec.manualSelector"},
		{"an invalid label", "cron", "name: cron => name: cron\n  labels: {team: b c}", "metadata.labels"},
		{"another UID", "cron", "name: cron => name: cron\n  uid: 00000000-0000-0000-0000-000000000001", "metadata.uid"},
		{"an old version", "cron", `name: cron => name: cron` + "\n  resourceVersion: '1'", "metadata.resourceVersion"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			k := k.of(t)
			file := k.write("cron.yaml", c.change(t, text))
			answers := k.answers(command, "validate", "--old", old, "-o", "json", file)
			k.compare(answers, "apply", file, c.want)
			k.compare(answers, "replace", file, "")
		})
	}
}

// change returns the text of a Job with the change.
func (c change) change(t *testing.T, text string) string {
	t.Helper()
	if old, now, found := strings.Cut(c.by, " => "); found {
		if !strings.Contains(text, old) {
			t.Fatalf("%s: the manifest has no %q", c.reason, old)
		}
		return strings.Replace(text, old, now, 1)
	}
	job, patch := Must(yaml.YAMLToJSON([]byte(text))), Must(yaml.YAMLToJSON([]byte(c.by)))
	return string(Must(strategicpatch.StrategicMergePatch(job, patch, batchv1.Job{})))
}

// manifestOf returns the manifest of a Job of states.
func manifestOf(name string) string {
	file := states[name].file
	text := string(Must(os.ReadFile("testdata/updates/" + file + ".yaml")))
	return strings.Replace(text, "name: "+file+"\n", "name: "+name+"\n", 1)
}

// tool runs kubectl and the plugin.
type tool struct {
	*testing.T
	home, namespace string
}

func newTool(t *testing.T) tool {
	t.Helper()
	namespace, err := api.Namespace(t.Context(), "update")
	world.Must(t, err)
	return tool{T: t, home: t.TempDir(), namespace: namespace}
}

func (k tool) of(t *testing.T) tool { k.T = t; return k }

func (k tool) must(err error) {
	k.Helper()
	world.Must(k.T, err)
}

func (k tool) write(name, text string) string {
	k.Helper()
	file := filepath.Join(k.TempDir(), name)
	k.must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// run runs kubectl, and returns what it prints as an error.
func (k tool) run(args ...string) (string, error) {
	k.Helper()
	cmd := exec.CommandContext(k.Context(), kubectl, append([]string{"--kubeconfig", kubeconfig, "-n", k.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+k.home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	return stderr.String(), err
}

func (k tool) mustRun(args ...string) {
	k.Helper()
	if text, err := k.run(args...); err != nil {
		k.Fatalf("kubectl %q: %v\n%s", args, err, text)
	}
}

func (k tool) job(name string) *batchv1.Job {
	k.Helper()
	job, err := api.Client.BatchV1().Jobs(k.namespace).Get(k.Context(), name, metav1.GetOptions{})
	k.must(err)
	job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	return job
}

// verdict is an answer to a command.
type verdict struct {
	errors []string // field, type and the end of the message of each, sorted
	fields []string // sorted
	status int      // the exit status of the plugin, which answers two commands at once
	strict bool     // the errors are those of a strict decoder
}

// add adds an error whose message begins with its type.
func (v *verdict) add(field, message string) {
	message, _, _ = strings.Cut(message, "; the first difference is at ")
	kind, _, _ := strings.Cut(message, ":")
	v.errors = union(v.errors, field+": "+kind+": … "+message[strings.LastIndex(": "+message, ": "):])
	v.fields = union(v.fields, field)
}

func union(set []string, more string) []string {
	set = append(slices.Clone(set), more)
	slices.Sort(set)
	return slices.Compact(set)
}

// validate runs the plugin, and returns its answers by command.
func (k tool) validate(name, file string) map[string]verdict {
	k.Helper()
	return k.answers(binary, "--kubeconfig", kubeconfig, "-n", k.namespace, "validate", name, "-f", file, "-o", "json")
}

// answer is what validate says about a Job in JSON.
type answer struct {
	By       string
	Accepted bool
	Errors   []struct{ Rule, Field, Message string }
}

// output runs a program that validates, and returns what it says and its exit status.
func (k tool) output(program string, args ...string) ([]answer, int) {
	k.Helper()
	cmd := exec.CommandContext(k.Context(), program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		k.Fatal(err)
	}
	var out struct{ Jobs []answer }
	if err := json.Unmarshal(text, &out); err != nil {
		k.Fatalf("%v: %s%s", err, text, &stderr)
	}
	return out.Jobs, cmd.ProcessState.ExitCode()
}

// answers runs a program, and returns its answers by command.
func (k tool) answers(program string, args ...string) map[string]verdict {
	k.Helper()
	jobs, status := k.output(program, args...)
	all := map[string]verdict{}
	for _, job := range jobs {
		v := verdict{status: status}
		for _, e := range job.Errors {
			if e.Rule == "Conflict" {
				e.Message = "Conflict: " + e.Message
			}
			v.add(e.Field, e.Message)
		}
		if job.Accepted != (len(v.errors) == 0) {
			k.Errorf("accepted: %t, with the errors %q", job.Accepted, v.errors)
		}
		all[strings.TrimPrefix(job.By, "kubectl ")] = v
	}
	if apply := all["apply"]; (apply.status == 0) != (len(apply.errors) == 0) || len(all) != 2 {
		k.Errorf("got status %d and %v, want 0 if kubectl apply is accepted", apply.status, all)
	}
	return all
}

// compare compares the answer of the plugin with that of the API server to kubectl, and the fields
// in it with those that are wanted, if any.
func (k tool) compare(answers map[string]verdict, command, file, want string) {
	k.Helper()
	text, err := k.run(command, "--dry-run=server", "-f", file)
	server := serverVerdict(text)
	if (err == nil) != (len(server.errors) == 0) {
		k.Fatalf("kubectl %s: %v, with the errors %q in\n%s", command, err, server.errors, text)
	}
	if diff := gocmp.Diff(server.errors, answers[command].errors); diff != "" {
		k.Errorf("kubectl %s of %s (-API server +jobfate):\n%s\nin full: %.3000s", command, filepath.Base(file), diff, text)
	}
	if got := strings.Join(server.fields, " "); want != "" && got != want {
		k.Errorf("kubectl %s: the API server rejects %q, want %q", command, got, want)
	}
}

var (
	invalid  = regexp.MustCompile(`(?m)(?:is invalid: |^\* )([a-z]\S*): ((?:Invalid value|Required value|Unsupported value|Forbidden|Duplicate value|Too long|Too many)\b.*)$`)
	conflict = regexp.MustCompile(`Operation cannot be fulfilled on (?:cron)?jobs\.batch "[^"]*": (.*)`)
)

// serverVerdict reads the answer of the API server in what kubectl prints.
func serverVerdict(text string) (v verdict) {
	for _, match := range invalid.FindAllStringSubmatch(text, -1) {
		v.add(match[1], match[2])
	}
	if match := conflict.FindStringSubmatch(text); match != nil {
		field := "metadata.resourceVersion"
		if strings.Contains(match[1], "UID") {
			field = "metadata.uid"
		}
		v.add(field, "Conflict: "+match[1])
	}
	return v
}
