package cli

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// verdicts is the output of validate with -o json: fields may be added, but none is removed
// or changes its meaning. A list is never null.
type verdicts struct {
	Jobs []verdict `json:"jobs"`
	// Skipped counts the objects that are not Jobs, by kind.
	Skipped kubefile.Kinds `json:"skipped"`
	// Unreadable says which parts of the input cannot be read.
	Unreadable []string `json:"unreadable,omitempty"`
}

// verdict says whether the API server would accept a Job.
type verdict struct {
	Job jobRef `json:"job"`
	// By is the command of kubectl that updates the Job; absent if the Job is new.
	By       string    `json:"by,omitempty"`
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Accepted bool      `json:"accepted"`
	Errors   []finding `json:"errors"`
	Warnings []finding `json:"warnings"`
	// NotChecked names the parts of the Job that were not checked.
	NotChecked string `json:"notChecked"`

	manifest *kubefile.Manifest
	outer    bool // fields are those of the CronJob
}

// finding is an error or a warning about a field, with the position of the field. A missing
// field has the position of its parent. In an object from a cluster, line and column are 0.
type finding struct {
	// Rule is a code for the finding: the type of an error of the API server, or a code
	// of this program.
	Rule    string `json:"rule"`
	Field   string `json:"field"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`

	level string // error or warning
}

// place is the position of a finding, in the format of compilers.
func (f finding) place() string {
	if f.Line == 0 {
		return f.File // an object from a cluster
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

func newVerdict(m *kubefile.Manifest, status bool) verdict {
	notChecked := "some fields of the pod template"
	if status {
		notChecked = "everything but the status"
	}
	line, _ := m.Whole().Position("")
	return verdict{
		Job: refOf(m.Job), File: m.At.File, Line: line, Accepted: true, NotChecked: notChecked,
		Errors: []finding{}, Warnings: []finding{}, manifest: m,
	}
}

// find returns a finding about a field of the Job or, while outer is set, of the CronJob.
func (v *verdict) find(level, rule, name, message string) finding {
	f := finding{Rule: rule, Field: v.path(name), File: v.File, Message: message, level: level}
	at := v.manifest.At
	if v.isOuter(name) {
		at = v.manifest.Cron.At
	}
	f.Line, f.Column = at.Position(name)
	return f
}

// isOuter reports whether a field is one of the CronJob, whose name the Job has.
func (v *verdict) isOuter(name string) bool {
	return v.manifest.Cron != nil && (v.outer || name == "metadata.name")
}

// path returns the path of a field of the Job in the object that contains the Job.
func (v *verdict) path(name string) string {
	if path := v.manifest.Path; path != "" && !v.isOuter(name) {
		return strings.TrimSuffix(path+"."+name, ".")
	}
	return name
}

func (v *verdict) refuse(rule, name, message string) {
	v.Accepted = false
	v.Errors = append(v.Errors, v.find("error", rule, name, message))
}

func (v *verdict) refuseAll(errs field.ErrorList) {
	for _, err := range errs {
		v.refuse(string(err.Type), err.Field, body(err))
	}
}

func (v *verdict) warn(rule, name, message string) {
	v.Warnings = append(v.Warnings, v.find("warning", rule, name, message))
}

// warnText adds a warning that begins with the field.
func (v *verdict) warnText(rule, text string) {
	name, message, _ := strings.Cut(text, ": ")
	v.warn(rule, name, message)
}

// hints adds the warnings of the API server, and others about the spec of a Job.
func (v *verdict) hints(job *batchv1.Job, warnings []string) {
	for _, text := range warnings {
		v.warnText("APIWarning", text)
	}
	whole := defaulting.Job(job)
	for _, t := range trapTable {
		t.find(whole, func(field, message string) { v.warn(t.rule, field, message) })
	}
	v.advice(job)
}

func (v *verdict) advice(job *batchv1.Job) {
	for _, text := range validation.Advice(job) {
		v.warnText("Advice", text)
	}
}

// oddities adds what a strict decoder rejects. The cluster has stored the known fields, so they are
// only warnings. With loose, unknown fields of the pod template are ignored: they do not influence
// the Job.
func (v *verdict) oddities(odd kubefile.Oddities, object reflect.Type, known []string, loose bool) {
	for _, p := range odd.Problems {
		v.refuse(unreadableRule, p.Field, p.Message)
	}
	add := v.refuse
	if loose || v.Line == 0 {
		add = v.warn
	}
	for _, name := range odd.Duplicates {
		add("DuplicateField", name, "the field occurs twice; kubectl takes the last one")
	}
	for _, name := range odd.Unknown {
		message := "unknown field in this version of jobfate; kubectl rejects it unless the cluster knows it"
		if ruleName.MatchString(name) {
			message = "KEP-4443 proposes names of rules; kubectl rejects them unless the cluster knows them"
		} else if near := suggestion(object, name); near != "" {
			message = "unknown field; did you mean " + v.path(near) + "?"
		}
		switch {
		case slices.Contains(known, name):
			v.warn("UnknownField", name, message)
		case !loose || !strings.HasPrefix(name, "spec.template."):
			add("UnknownField", name, message)
		}
	}
}

// ownText lists the fields whose text may contain what looks like a placeholder.
var ownText = []string{"annotations", "args", "command", "value"}

// unrendered warns of placeholders in the texts of a value.
func (v *verdict) unrendered(value any, path string) {
	switch value := value.(type) {
	case string:
		plain := path == "metadata.name" || strings.HasSuffix(path, ".image")
		if text := kubefile.Unrendered(value, plain); text != "" {
			v.warn("Unrendered", path, text)
		}
	case []any:
		for i, item := range value {
			v.unrendered(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !slices.Contains(ownText, name) {
				v.unrendered(value[name], strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
}

var ruleName = regexp.MustCompile(`^spec\.podFailurePolicy\.rules\[\d+\]\.name$`)

// sorted returns the verdict with its findings in the order of the file.
func (v verdict) sorted() verdict {
	slices.SortStableFunc(v.Errors, byPosition)
	slices.SortStableFunc(v.Warnings, byPosition)
	return v
}

func byPosition(a, b finding) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// findings returns errors and warnings in the order of the file.
func (v verdict) findings() []finding {
	all := slices.Concat(v.Errors, v.Warnings)
	slices.SortStableFunc(all, byPosition)
	return all
}

// text returns the verdicts in the format of compilers.
func (all verdicts) text(p paint) string {
	var b strings.Builder
	for rest := all.Jobs; len(rest) > 0; {
		n := 1 // the number of verdicts about the first Job
		for n < len(rest) && rest[n].manifest == rest[0].manifest {
			n++
		}
		if rest[0].By != "" {
			summaries(&b, p, rest[:n])
		}
		for _, f := range together(rest[:n]) {
			color := map[string]string{"error": red, "warning": yellow}[f.level]
			write(&b, "%s: %s %s: %s\n", f.place(), p.text(bold+";"+color, f.level+":"), p.text(bold, f.Field),
				f.Message)
		}
		if rest[0].By == "" {
			summaries(&b, p, rest[:n])
		}
		rest = rest[n:]
	}
	if len(all.Skipped) > 0 {
		write(&b, "%s objects of other kinds, which were not checked: %s\n", p.text(bold, "note:"), all.Skipped)
	}
	return b.String()
}

// together returns the findings of verdicts about one Job, each once, those of the first verdict first. The message of
// a finding that not all of them have names the command.
func together(answers []verdict) (all []finding) {
	for _, v := range answers {
		for _, f := range v.findings() {
			shared := !slices.ContainsFunc(answers,
				func(other verdict) bool { return !slices.Contains(other.findings(), f) })
			if !shared {
				f.Message += " [" + v.By + "]"
			}
			if !shared || !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// summaries writes the lines about a Job as a whole.
func summaries(out *strings.Builder, p paint, all []verdict) {
	for _, v := range all {
		how, kind := p.text(green, "accepted"), kindOf(v.manifest)
		if !v.Accepted {
			how = p.text(red, "rejected")
		}
		if v.By != "" {
			kind = v.By + ": " + kind
		}
		name := cmp.Or(v.Job.Name, v.manifest.Object().GetGenerateName(), "without a name")
		write(out, "%s: %s %s %s, %s, %s; not checked: %s\n", v.manifest.Whole().At(""), kind, name, how,
			count(len(v.Errors), "error"), count(len(v.Warnings), "warning"), v.NotChecked)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// body returns the text of an error without its field, and without a composite value, which
// would be too long.
func body(err *field.Error) string {
	switch {
	case strings.Contains(err.Detail, newUID):
		return err.Type.String() + ": the API server sets this label to the UID of the new Job, unless " +
			"spec.manualSelector is true; leave it out"
	case err.Detail == "`selector` not auto-generated":
		return err.Type.String() + ": " + err.Detail + "; leave it out, or set spec.manualSelector"
	}
	value := reflect.ValueOf(err.BadValue)
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return err.Type.String() + ": " + err.Detail
	}
	return err.ErrorBody()
}

// addDifferences adds to each error about an immutable field where the first difference is.
func (v *verdict) addDifferences(m *kubefile.Manifest, old, job *batchv1.Job) {
	was, is := apirules.Fields(old), apirules.Fields(job)
	for i := range v.Errors {
		f := &v.Errors[i]
		if path := difference(valueAt(was, f.Field), valueAt(is, f.Field), f.Field); path != "" && path != f.Field {
			f.Line, f.Column = m.At.Position(path)
			f.Message += "; the first difference is at " + path
		}
	}
}

// valueAt returns the value of a field; nil if there is none, or if the path leads into a
// list.
func valueAt(job map[string]any, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(job, strings.Split(path, ".")...)
	return value
}

// difference returns the path of the first field in which two values differ; empty if they
// are equal.
func difference(a, b any, path string) string {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			all := maps.Clone(x)
			maps.Copy(all, y)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if d := difference(x[name], y[name], path+"."+name); d != "" {
					return d
				}
			}
			return ""
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if d := difference(x[i], y[i], fmt.Sprintf("%s[%d]", path, i)); d != "" {
					return d
				}
			}
			return ""
		}
	}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return path
}
