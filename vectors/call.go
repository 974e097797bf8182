package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Call is one line of a file of the folder vectors/functions: the input and output of a function.
type Call struct {
	Function string          `json:"function"`
	In       json.RawMessage `json:"in"`
	// Jobfate is the output of jobfate.
	Jobfate json.RawMessage `json:"jobfate"`
	// Kubernetes is the output of the function of Kubernetes. It is absent if it equals that
	// of jobfate, or if Oracle is absent.
	Kubernetes json.RawMessage `json:"kubernetes,omitempty"`
	// Oracle is the function of Kubernetes; absent if Kubernetes has none.
	Oracle      string   `json:"oracle,omitempty"`
	Divergences []string `json:"divergences,omitempty"`
}

// Functions has the functions of calls, by name. Each takes and returns JSON.
var Functions = map[string]func(in []byte) (any, error){
	"delay":         calls(delay),
	"wait":          calls(wait),
	"record":        calls(record),
	"finishTime":    calls(finishTime),
	"restarts":      calls(restarts),
	"indexFailures": calls(indexFailures),
	"fromDraft":     calls(fromDraft),
	"toDraft":       calls(toDraft),
	"readIndexes":   calls(readIndexes),
	"parseIndexes":  calls(parseIndexes),
	"checkIndexes":  calls(checkIndexes),
	"sets":          calls(sets),
	"failurePolicy": calls(failurePolicy),
	"failedRule":    calls(failedRule),
	"ruleNames":     calls(ruleNames),
	"successPolicy": calls(successPolicy),
	"orphan":        calls(orphan),
	"route":         calls(route),
	"podIndex":      calls(podIndex),
	"checkKeys":     calls(checkKeys),
	"readStatus":    calls(readStatus),
	"equalStatus":   calls(equalStatus),
	"statusPatch":   calls(statusPatch),
	"demand":        calls(demand),
	"count":         calls(count),
	"enterTracking": calls(enterTracking),
	"leaveTracking": calls(leaveTracking),
	"gauge":         calls(gauge),
	"createJob":     calls(createJob),
	"updateJob":     calls(updateJob),
	"updateStatus":  calls(updateStatus),
	"renameRules":   calls(renameRules),
}

// Run returns the output of jobfate.
func (c *Call) Run() (json.RawMessage, error) {
	f := Functions[c.Function]
	if f == nil {
		return nil, fmt.Errorf("there is no function %q", c.Function)
	}
	out, err := f(c.In)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Function, err)
	}
	return json.Marshal(out)
}

// calls returns a function that takes JSON and rejects unknown fields.
func calls[In, Out any](f func(In) Out) func([]byte) (any, error) {
	return func(text []byte) (any, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return nil, err
		}
		return f(in), nil
	}
}

// objectOf returns an API value as JSON that does not depend on the release of the API types: keys
// are sorted, and null values are absent.
func objectOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil || string(data) == "null" {
		return nil
	}
	return tidied(data, false)
}

// patchOf returns a merge patch in the same form. Null values are kept, except in lists, because null
// removes a field.
func patchOf(data []byte) json.RawMessage {
	if data == nil {
		return nil
	}
	return tidied(data, true)
}

func tidied(data []byte, nulls bool) json.RawMessage {
	var v any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if numbers.Decode(&v) != nil {
		return data
	}
	tidy(v, nulls)
	data, _ = json.Marshal(v) // it was JSON
	return data
}

func tidy(v any, nulls bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if tidy(value, nulls); value == nil && !nulls {
				delete(v, key)
			}
		}
	case []any:
		for _, value := range v {
			tidy(value, false)
		}
	}
}
