package vectors

import (
	"encoding/json"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/validation"
)

// NewJob is the input of createJob: a Job as a client sends it, with the UID that the API server
// assigns.
type NewJob struct {
	Job *batchv1.Job `json:"job"`
}

// Created is the result of createJob. Only jobfate has the advice and the bytes of the lists of
// indexes.
type Created struct {
	Errors   []Invalid `json:"errors,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	// Stored is the Job as the API server stores it if there are no errors, without the pod
	// spec of its template.
	Stored json.RawMessage `json:"stored,omitempty"`
	Advice []string        `json:"advice,omitempty"`
	Bytes  Bytes           `json:"bytes,omitzero"`
}

// Bytes bounds the lists of indexes in the status of a Job.
type Bytes struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Both      int64 `json:"both"`
	Overrun   int64 `json:"overrun"`
}

// Invalid is one error of a validation.
type Invalid struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail,omitempty"`
}

// InvalidOf returns errors in order. Errors about the entries of a map have the same field and come
// in random order, so errors with equal fields are sorted.
func InvalidOf(errs field.ErrorList) (out []Invalid) {
	for _, err := range errs {
		out = append(out, Invalid{string(err.Type), err.Field, err.Detail})
	}
	for start := 0; start < len(out); {
		end := start + 1
		for end < len(out) && out[end].Field == out[start].Field {
			end++
		}
		slices.SortFunc(out[start:end],
			func(a, b Invalid) int { return strings.Compare(a.Type+a.Detail, b.Type+b.Detail) })
		start = end
	}
	return out
}

func createJob(in NewJob) Created {
	prepared := validation.Prepared(in.Job)
	out := Created{
		Errors: InvalidOf(validation.Create(prepared)), Warnings: validation.Warnings(prepared),
		Advice: validation.Advice(prepared),
	}
	if len(out.Errors) > 0 {
		return out
	}
	out.Stored, out.Bytes = StoredJob(prepared), Bytes(validation.IndexesSize(&prepared.Spec))
	return out
}

// StoredJob returns a Job as JSON, without the pod spec of its template, for which the API server
// sets the defaults of pods.
func StoredJob(job *batchv1.Job) json.RawMessage {
	stored := *job
	stored.Spec.Template.Spec = corev1.PodSpec{}
	return objectOf(stored)
}

// Replacement is the input of updateJob and updateStatus: a Job to store in place of an old one.
// updateStatus stores only its status.
type Replacement struct {
	Old *batchv1.Job `json:"old"`
	Job *batchv1.Job `json:"job"`
}

// Refused is the result of updateJob and updateStatus.
type Refused struct {
	Errors []Invalid `json:"errors,omitempty"`
	// Alone lists the errors in the new status without the old one. Kubernetes has no such
	// check.
	Alone []Invalid `json:"alone,omitempty"`
	// Advice warns about a large status. Only jobfate has it.
	Advice []string `json:"advice,omitempty"`
}

func updateJob(in Replacement) Refused {
	return Refused{Errors: InvalidOf(validation.Update(validation.Defaulted(in.Job), validation.Defaulted(in.Old)))}
}

func updateStatus(in Replacement) Refused {
	return Refused{
		Errors: InvalidOf(validation.StatusUpdate(in.Job, in.Old)), Alone: InvalidOf(validation.Status(in.Job)),
		Advice: validation.StatusAdvice(&in.Job.Status),
	}
}

// Renamed is the input of renameRules: the new and the old names of rules.
type Renamed struct {
	Old   []string `json:"old"`
	Names []string `json:"ruleNames"`
}

func renameRules(in Renamed) Refused {
	path := field.NewPath("podFailurePolicy")
	now, was := specOf(in.Names), specOf(in.Old)
	return Refused{Errors: InvalidOf(validation.RuleNamesUpdate(now, was, path)),
		Alone: InvalidOf(validation.RuleNames(now, path))}
}
