package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/internal/kubefile"
)

// verdicts is the output of validate with -o json: fields are added, but none is
// removed or changes its meaning. A list is never null.
type verdicts struct {
	Jobs []verdict `json:"jobs"`
}

// verdict is what would become of a Job.
type verdict struct {
	Job      jobRef    `json:"job"`
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Accepted bool      `json:"accepted"`
	Errors   []finding `json:"errors"`
	Warnings []finding `json:"warnings"`
}

// finding is something about a field, and the line on which it stands or, when
// it is not there, the nearest field around it.
type finding struct {
	Field   string `json:"field"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func newVerdict(m *kubefile.Manifest, errs field.ErrorList, warnings []string) verdict {
	at := func(name, message string) finding {
		return finding{Field: name, File: m.At.File, Line: m.At.Line(name), Message: message}
	}
	v := verdict{
		Job:      refOf(m.Job),
		File:     m.At.File,
		Line:     m.At.Line(""),
		Accepted: len(errs) == 0,
		Errors:   mapped(errs, func(err *field.Error) finding { return at(err.Field, body(err)) }),
		Warnings: mapped(warnings, func(text string) finding {
			name, message, _ := strings.Cut(text, ": ")
			return at(name, message)
		}),
	}
	for _, name := range m.Unknown {
		v.Warnings = append(v.Warnings, at(name, "not a field that this version knows; kubectl refuses a field that the cluster does not know"))
	}
	return v
}

// text returns the verdicts as compilers print errors.
func (all verdicts) text(p paint) string {
	var b strings.Builder
	for _, v := range all.Jobs {
		for _, f := range v.Errors {
			fmt.Fprintf(&b, "%s:%d: %s %s: %s\n", f.File, f.Line, p.text(bold+";"+red, "error:"), p.text(bold, f.Field), f.Message)
		}
		for _, f := range v.Warnings {
			fmt.Fprintf(&b, "%s:%d: %s %s: %s\n", f.File, f.Line, p.text(bold+";"+yellow, "warning:"), p.text(bold, f.Field), f.Message)
		}
		how := p.text(green, "accepted")
		if !v.Accepted {
			how = p.text(red, "refused")
		}
		fmt.Fprintf(&b, "%s:%d: Job %s %s, %s, %s\n", v.File, v.Line, orNone(v.Job.Name), how,
			count(len(v.Errors), "error"), count(len(v.Warnings), "warning"))
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// body is the text of an error without its field, and without a value that is
// too large to be read.
func body(err *field.Error) string {
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

// tellDifferences adds to each error about a field that must not change where
// in it the first difference is.
func (v *verdict) tellDifferences(m *kubefile.Manifest, old, job *batchv1.Job) {
	was, is := plainly(old), plainly(job)
	for i := range v.Errors {
		f := &v.Errors[i]
		if path := difference(valueAt(was, f.Field), valueAt(is, f.Field), f.Field); path != "" && path != f.Field {
			f.Line = m.At.Line(path)
			f.Message += "; it differs at " + path
		}
	}
}

// plainly returns what the JSON of a Job says.
func plainly(job *batchv1.Job) (out any) {
	text, _ := json.Marshal(job) // a Job always has a JSON
	_ = json.Unmarshal(text, &out)
	return out
}

// valueAt returns the value of a field, nil when there is none. A path into a list
// has none.
func valueAt(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}

// difference returns the path of the first field in which two values differ,
// empty when there is none.
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
