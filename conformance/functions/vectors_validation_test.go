package functions

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/vectors"
)

var aboutValidation = []subject{
	{
		name: "createJob", oracle: "jobStrategy.PrepareForCreate, Validate",
		draw:  func(d draw) any { return d.several(newJobs, jobFields, toCreate) },
		aimed: single(newJobs, jobFields, toCreate),
		kubernetes: unlessItPanics(asks(func(in vectors.NewJob, out *vectors.Created) {
			stored, errs := apiserver.Create(in.Job)
			if out.Errors = ofJob(errs); len(out.Errors) == 0 {
				out.Stored = vectors.StoredJob(stored)
			} else {
				out.Stored = nil
			}
			out.Warnings = apiserver.Warnings(in.Job)
		})),
	},
	{
		name: "updateJob", oracle: "jobStrategy.ValidateUpdate",
		draw:  func(d draw) any { return d.several(storedJobs(), changingFields, toReplace) },
		aimed: single(storedJobs(), changingFields, toReplace),
		kubernetes: unlessItPanics(asks(func(in vectors.Replacement, out *vectors.Refused) {
			_, errs := apiserver.Update(in.Old, in.Job)
			out.Errors = ofJob(errs)
		})),
	},
	{
		name: "updateStatus", oracle: "jobStatusStrategy.ValidateUpdate",
		draw:  func(d draw) any { return d.several(jobsWithStatus(), statusFields(), toReplace) },
		aimed: single(jobsWithStatus(), statusFields(), toReplace),
		kubernetes: asks(func(in vectors.Replacement, out *vectors.Refused) {
			out.Errors = ofJob(apiserver.AcceptStatus(in.Old, in.Job))
		}),
	},
	{name: "renameRules", aimed: []any{
		vectors.Renamed{Old: []string{"a"}, Names: []string{"a"}}, vectors.Renamed{Old: []string{"a"}, Names: []string{"b"}},
		vectors.Renamed{Old: []string{"a", "b"}, Names: []string{"b", "a"}}, vectors.Renamed{Old: []string{"a"}, Names: []string{""}},
		vectors.Renamed{Old: []string{"a"}, Names: []string{"a", "b"}}, vectors.Renamed{Old: []string{"a", "b"}, Names: []string{"c"}},
		vectors.Renamed{Names: []string{"a", "a"}}, vectors.Renamed{Old: []string{"a"}}, vectors.Renamed{Old: []string{""}, Names: []string{"a b"}},
	}},
}

// ofJob returns the errors that come from rules of Jobs, each once, as the API server returns them.
func ofJob(errs field.ErrorList) []vectors.Invalid {
	return vectors.InvalidOf(slices.DeleteFunc(errs.Filter(), func(err *field.Error) bool { return !apiserver.RuleOfJob(err) }))
}

// unlessItPanics calls the API server's validation, except for Jobs for which it panics: those with
// a success policy and without completions.
func unlessItPanics(asks func(in, ours []byte) any) func(in, ours []byte) any {
	return func(in, ours []byte) (answer any) {
		defer func() {
			if recover() != nil {
				answer = nil
			}
		}()
		return asks(in, ours)
	}
}

// object is a part of a Job as JSON.
type object = map[string]any

// setting sets the field at a path of a Job. A nil value removes the field.
type setting struct {
	path  string
	value any
}

// choice is a field with possible values.
type choice struct {
	path   string
	values []any
}

// with returns a copy of a Job with settings.
func with(job object, settings ...setting) object {
	out := decoded[object]([]byte(text(job)))
	for _, s := range settings {
		at, keys := out, strings.Split(s.path, ".")
		for _, key := range keys[:len(keys)-1] {
			inner, ok := at[key].(object)
			if !ok {
				inner = object{}
				at[key] = inner
			}
			at = inner
		}
		if last := keys[len(keys)-1]; s.value == nil {
			delete(at, last)
		} else {
			at[last] = s.value
		}
	}
	return out
}

// toCreate and toReplace return the input of a creation and of an update, for a Job with settings.
func toCreate(job object, settings ...setting) (string, any) {
	return "createJob", vectors.NewJob{Job: jobOf(with(job, settings...))}
}

func toReplace(job object, settings ...setting) (string, any) {
	function := "updateStatus"
	if job["spec"].(object)["template"] != nil { // an update of the status needs no template
		function = "updateJob"
	}
	return function, vectors.Replacement{Old: jobOf(job), Job: jobOf(with(job, settings...))}
}

func jobOf(o object) *batchv1.Job { return decoded[*batchv1.Job]([]byte(text(o))) }

// answerOf returns the errors of jobfate.
func answerOf(function string, in any) string {
	out, err := vectors.Functions[function]([]byte(text(in)))
	if err != nil {
		panic(err) // the value was built here
	}
	if created, ok := out.(vectors.Created); ok {
		return text(created.Errors) + text(created.Warnings) + text(created.Advice) + text(created.Bytes)
	}
	return text(out)
}

// single returns inputs with one setting each. If several Jobs lead to the same answer, it uses the
// first.
func single(jobs []object, fields []choice, make func(object, ...setting) (string, any)) (all []any) {
	seen := map[string]bool{}
	for _, job := range jobs {
		_, in := make(job)
		all = append(all, in)
		for _, f := range fields {
			for _, value := range f.values {
				function, in := make(job, setting{f.path, value})
				if key := f.path + text(value) + answerOf(function, in); !seen[key] {
					seen[key] = true
					all = append(all, in)
				}
			}
		}
	}
	return all
}

// several draws an input with up to four settings, and drops the settings that do not change the
// answer.
func (d draw) several(jobs []object, fields []choice, make func(object, ...setting) (string, any)) any {
	job := pick(d, jobs...)
	var settings []setting
	for range 2 + d.IntN(3) {
		f := pick(d, fields...)
		settings = append(settings, setting{f.path, pick(d, f.values...)})
	}
	answer := answerOf(make(job, settings...))
	for i := 0; i < len(settings); {
		if fewer := slices.Delete(slices.Clone(settings), i, i+1); answerOf(make(job, fewer...)) == answer {
			settings = fewer
		} else {
			i++
		}
	}
	_, in := make(job, settings...)
	return in
}

// newJobs are Jobs to create, one for each part of the spec that has its own rules.
var newJobs = func() []object {
	pod := object{"restartPolicy": "Never", "containers": []object{{"name": "main", "image": "i"}}}
	plain := object{"metadata": object{"name": "job", "namespace": "ns", "uid": "uid"}, "spec": object{"template": object{"spec": pod}}}
	indexed := with(plain, setting{"spec.completionMode", "Indexed"}, setting{"spec.completions", 5}, setting{"spec.parallelism", 2})
	perIndex := with(indexed, setting{"spec.backoffLimitPerIndex", 1})
	exitCode := []object{{"action": "FailJob", "onExitCodes": object{"operator": "In", "values": []int{1}}}}
	return []object{
		plain, indexed, perIndex,
		with(perIndex, setting{"spec.completions", 100_001}, setting{"spec.maxFailedIndexes", 10_000}),
		with(plain, setting{"spec.podFailurePolicy.rules", exitCode}),
		with(perIndex, setting{"spec.podFailurePolicy.rules", exitCode}),
		with(indexed, setting{"spec.successPolicy.rules", []object{{"succeededIndexes": "0-2", "succeededCount": 2}}}),
		with(plain, setting{"spec.manualSelector", true}, setting{"spec.selector.matchLabels", object{"app": "x"}},
			setting{"spec.template.metadata.labels", object{"app": "x"}}),
	}
}()

// storedJobs returns Jobs to update: waiting, running, and suspended in several ways.
func storedJobs() (all []object) {
	for i, job := range newJobs {
		stored := decoded[object]([]byte(text(validation.Prepared(jobOf(job)))))
		stored = with(stored, setting{"metadata.resourceVersion", "1"}, setting{"metadata.creationTimestamp", nil},
			setting{"spec.template.metadata.creationTimestamp", nil})
		all = append(all, stored)
		if i > 1 {
			continue
		}
		suspend, start := setting{"spec.suspend", true}, setting{"status.startTime", clock(0)}
		seen := setting{"status.conditions", conditions(batchv1.JobSuspended)}
		all = append(all, with(stored, suspend), with(stored, suspend, start), with(stored, suspend, start, seen),
			with(stored, start, setting{"status.active", 1}), with(stored, suspend, seen, setting{"status.active", 1}),
			with(stored, suspend, start, setting{"status.conditions", []object{{"type": batchv1.JobSuspended, "status": "False"}}}),
			with(stored, setting{"spec.template.metadata.labels", object{"controller-uid": "uid", "job-name": "job"}}),
			with(stored, setting{"spec.selector.matchExpressions", []object{{"key": "app", "operator": "NotIn", "values": []string{"-bad"}}}}))
	}
	return all
}

func clock(seconds int) string { return fmt.Sprintf("2026-01-01T12:00:%02dZ", seconds) }

// conditions returns True conditions of the given types.
func conditions(types ...batchv1.JobConditionType) []object {
	all := []object{}
	for _, t := range types {
		all = append(all, object{"type": t, "status": corev1.ConditionTrue})
	}
	return all
}
