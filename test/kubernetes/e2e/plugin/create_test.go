package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// anyFields stands for fields that the case does not name.
const anyFields = "?"

// changesOf reads a table of changes: the reason, the name of the Job, the change, and the fields that the API server
// rejects.
func changesOf(t *testing.T, file string, least int) (all []change) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(string(Must(os.ReadFile(file)))), "\n")[1:] {
		f := append(strings.Split(line, "\t"), "", "")
		all = append(all, change{f[0], f[1], cmp.Or(strings.ReplaceAll(f[2], `\n`, "\n"), " => "), f[3]})
	}
	if len(all) < least {
		t.Fatalf("%s: %d cases are too few", file, len(all))
	}
	return all
}

// jobfate validate says what the API server answers to a new Job or CronJob.
func TestValidate_creations(t *testing.T) {
	k, cases := newTool(t), changesOf(t, "../../../../cmd/testdata/creations/cases.tsv", 190)
	var texts []string
	for _, c := range cases {
		texts = append(texts, c.created(t))
	}
	for i, n := 0, len(cases); i < 2*n; i++ { // two changes at once
		c, other := cases[i%n], cases[(31*i+17)%n]
		old, now, _ := strings.Cut(other.by, " => ")
		text := strings.Replace(texts[i%n], old, now, 1)
		var object any
		if c.job == other.job && text != texts[i%n] && yaml.UnmarshalStrict([]byte(text), &object) == nil {
			texts = append(texts, text)
			cases = append(cases, change{c.reason + " and " + other.reason, c.job, "", anyFields})
		}
	}
	t.Logf("%d manifests", len(cases))
	answers := k.create(k.command(), texts)
	for i, c := range cases {
		t.Run(c.job+"/"+c.reason, func(t *testing.T) {
			k := k.of(t)
			got := k.post(texts[i])
			if got.strict { // the API server looks no further
				answers[i].errors = slices.DeleteFunc(answers[i].errors, func(e string) bool { return !strings.Contains(e, ": unknown field: ") })
			}
			if diff := gocmp.Diff(got.errors, answers[i].errors); diff != "" {
				t.Errorf("(-API server +jobfate):\n%s", diff)
			}
			if fields := strings.Join(got.fields, " "); fields != c.want && c.want != anyFields {
				t.Errorf("the API server rejects %q, want %q", fields, c.want)
			}
		})
	}
}

// Of texts that are read differently, jobfate validate rejects more than kubectl: docs/command.md says so.
func TestValidate_texts(t *testing.T) {
	k := newTool(t)
	command := k.command()
	for _, c := range []struct {
		reason, by string
		kubectl    bool   // whether kubectl accepts it
		status     int    // of jobfate validate
		want       string // a part of its output
	}{
		{"nothing", " => ", true, 0, "accepted"},
		{"an unknown field", "spec: => spec:\n  backofLimit: 1", false, 3, ":6:3: error: spec.backofLimit: unknown field"},
		{"a field twice", "spec: => spec:\n  backoffLimit: 1\n  backoffLimit: 2", true, 3, ":7:3: error: spec.backoffLimit: the field occurs twice"},
		{"a wrong type", "spec: => spec:\n  backoffLimit: '1'", false, 3, ":6:3: error: spec.backoffLimit: cannot unmarshal string"},
		{"a number in another notation", "spec: => spec:\n  backoffLimit: 1e1", true, 0, "accepted"},
		{"a word for true", "spec: => spec:\n  suspend: yes", true, 0, "accepted"},
		{"a key that is a number", "spec: => spec:\n  1: a", false, 3, ":6:3: error: spec.1: unknown field"},
		{"Helm", "name: job => name: {{ .Values.name }}", false, 1, `line 4: "{{ .Values.name }}" is a placeholder`},
		{"Helm around a part", "spec: => spec:\n{{- if .Values.x }}\n  suspend: true\n{{- end }}", false, 1, `line 6: "{{- if .Values.x }}" is a placeholder`},
		{"Helm around everything", "apiVersion => {{- if .Values.x }}\napiVersion", false, 1, `line 1: "{{- if .Values.x }}" is a placeholder`},
		{"a name for envsubst", "name: job => name: ${NAME}", false, 3, `:4:3: warning: metadata.name: "${NAME}" is a placeholder`},
		{"a number for envsubst", "spec: => spec:\n  parallelism: ${N}", false, 3, `:6:3: error: spec.parallelism: "${N}" is a placeholder`},
		{"an image for envsubst", "main:1 => main:${TAG}", true, 0, `warning: spec.template.spec.containers[0].image: "${TAG}" is a placeholder`},
		{"a variable of a shell", `main:1 => main:1
        args: ["echo ${HOME} {{ x }}"]`, true, 0, "0 warnings"},
		{"a tab", "  template: => \ttemplate:", false, 1, "found character that cannot start any token"},
		{"what follows an end mark", "apiVersion => apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n...\napiVersion", true, 0, "Job job accepted"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			k := k.of(t)
			file := k.write("job.yaml", change{job: "job", by: c.by}.created(t))
			if text, err := k.run("create", "--dry-run=server", "-f", file); (err == nil) != c.kubectl {
				t.Errorf("kubectl: got %v: %s", err, text)
			}
			cmd := exec.CommandContext(t.Context(), command, "validate", file)
			text, _ := cmd.CombinedOutput() // the exit status is checked
			if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(text), c.want) {
				t.Errorf("jobfate: got status %d, want %d, and %q in\n%s", got, c.status, c.want, text)
			}
		})
	}
}

// command builds jobfate.
func (k tool) command() string {
	k.Helper()
	path, err := server.BuildMain(k.Context(), "../../cmd/jobfate")
	k.must(err)
	return path
}

// created returns a manifest of cmd/testdata/creations with the change.
func (c change) created(t *testing.T) string {
	t.Helper()
	return c.change(t, string(Must(os.ReadFile("../../../../cmd/testdata/creations/"+c.job+".yaml"))))
}

// create validates all manifests at once.
func (k tool) create(command string, texts []string) (all []verdict) {
	k.Helper()
	file := k.write("all.yaml", strings.Join(texts, "---\n"))
	jobs, _ := k.output(command, "validate", "-o", "json", file)
	if len(jobs) != len(texts) {
		k.Fatalf("%d Jobs of %d", len(jobs), len(texts))
	}
	for _, job := range jobs {
		var v verdict
		for _, e := range job.Errors {
			if strings.HasPrefix(e.Message, "unknown field") {
				e.Message = "unknown field"
			}
			v.add(e.Field, e.Message)
		}
		all = append(all, v)
	}
	return all
}

// post sends a manifest to the API server as kubectl does, and returns its answer.
func (k tool) post(text string) (v verdict) {
	k.Helper()
	var object struct{ Kind string }
	body := Must(yaml.YAMLToJSON([]byte(text)))
	k.must(json.Unmarshal(body, &object))
	err := api.Client.BatchV1().RESTClient().Post().Namespace(k.namespace).Resource(strings.ToLower(object.Kind)+"s").
		Param("dryRun", "All").Param("fieldValidation", "Strict").Body(body).Do(k.Context()).Error()
	var status *apierrors.StatusError
	switch {
	case err == nil:
		return v
	case !errors.As(err, &status):
		k.Fatal(err)
	case apierrors.IsInvalid(err):
		for _, cause := range status.ErrStatus.Details.Causes {
			v.add(cause.Field, cause.Message)
		}
		return v
	}
	_, list, found := strings.Cut(err.Error(), "strict decoding error: ")
	if !found {
		k.Fatal(err)
	}
	for _, one := range strings.Split(list, ", ") {
		var field string
		_, err := fmt.Sscanf(one, "unknown field %q", &field)
		k.must(err)
		v.add(field, "unknown field")
	}
	v.strict = true
	return v
}
