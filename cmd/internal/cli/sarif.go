package cli

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
)

// These types are the part of SARIF 2.1.0 that is used here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name  string      `json:"name"`
				Rules []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				Line   int `json:"startLine"`
				Column int `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// sarif returns the verdicts as a SARIF log, with what is unreadable in the input; for an update, only the verdict that
// decides.
func (all verdicts) sarif(unreadable []error) sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Rules = "jobfate", []sarifRule{}
	rules := map[string]bool{}
	add := func(rule, level, message string, at ...sarifLocation) {
		rules[rule] = true
		run.Results = append(run.Results, sarifResult{rule, level, sarifText{message}, at})
	}
	for _, err := range unreadable {
		at := []sarifLocation{}
		if part := (kubefile.Unreadable{}); errors.As(err, &part) {
			file, line := part.Position()
			at = append(at, locationOf(file, line, 1))
		}
		add(unreadableRule, "error", err.Error(), at...)
	}
	for i, v := range all.Jobs {
		if i > 0 && all.Jobs[i-1].manifest == v.manifest {
			continue
		}
		for _, f := range v.findings() {
			add(f.Rule, f.level, f.Field+": "+f.Message, locationOf(f.File, f.Line, f.Column))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{ruleText(id)}})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func locationOf(file string, line, column int) (at sarifLocation) {
	at.Physical.Artifact.URI = uri(file)
	at.Physical.Region.Line, at.Physical.Region.Column = line, column
	return at
}

// unreadableRule is the rule of what cannot be read: a field, or a part of the input.
const unreadableRule = "Unreadable"

// ruleText describes a rule in a few words.
func ruleText(id string) string {
	for _, t := range trapTable {
		if t.rule == id {
			return t.short
		}
	}
	rejects := "The API server rejects a field: " + field.ErrorType(id).String()
	return cmp.Or(ruleTexts[id], rejects)
}

// ruleTexts describes the rules that are neither traps nor types of errors of the API server.
var ruleTexts = map[string]string{
	unreadableRule:   "A file, an object or a field cannot be read",
	"UnknownField":   "The API does not have the field",
	"DuplicateField": "A field occurs twice",
	"Unrendered":     "A placeholder of a template is left",
	"APIWarning":     "The API server warns about a field",
	"Advice":         "The Kubernetes enhancement proposals advise against it",
	"JobRejected":    "The API server accepts the CronJob, but not its Jobs",
	neverScheduled:   "The schedule of the CronJob matches no date",
	shortStart:       "startingDeadlineSeconds is shorter than the interval of the CronJob controller",
	"NoStatus":       "The Job has no status",
	"NotApplied":     "The old object lacks the annotation of kubectl apply",
	"NotMerged":      "kubectl apply cannot merge the manifest into the old object",
	"OtherJob":       "The manifest names another object than the old one",
	"Conflict":       "The manifest is for another version of the object",
}

// uri returns a file name as a URI; a relative name becomes a relative URI.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
