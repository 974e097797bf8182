package cli

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
)

// These types are the part of SARIF 2.1.0 that is used here.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
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

// sarif returns the verdicts as a SARIF log; for an update, only the one that decides.
func (all verdicts) sarif() sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "jobfate", Rules: []sarifRule{}}
	rules := map[string]bool{}
	for i, v := range all.Jobs {
		if i > 0 && all.Jobs[i-1].manifest == v.manifest {
			continue
		}
		for _, f := range v.findings() {
			rules[f.Rule] = true
			result := sarifResult{RuleID: f.Rule, Level: f.level,
				Message: sarifText{f.Field + ": " + f.Message}, Locations: make([]sarifLocation, 1)}
			at := &result.Locations[0].Physical
			at.Artifact.URI = uri(f.File)
			at.Region.Line, at.Region.Column = f.Line, f.Column
			run.Results = append(run.Results, result)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// uri returns a file name as a URI; a relative name becomes a relative URI.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
