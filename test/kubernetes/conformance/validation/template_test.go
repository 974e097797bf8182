package validation_test

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/validation"
)

// TestJobTemplate compares the answers to creations and updates of CronJobs.
func TestJobTemplate(t *testing.T) {
	seen := reach{}
	rapid.Check(t, func(t *rapid.T) {
		g := newGen(t, fields)
		drawn := g.job()
		old, path := cronJobOf(drawn), field.NewPath("spec", "jobTemplate")
		reasons, err := realCronJob(old, nil)
		got := validation.JobTemplate(&old.Spec.JobTemplate, nil, path, asReleased())
		if err == nil {
			want := errorsOf(below(reasons))
			seen.note(want)
			compare(t, "JobTemplate", errorsOf(below(answer(got))), want)
		}
		for range 2 {
			g.changeSpec(drawn)
		}
		changed := cronJobOf(drawn)
		reasons, err = realCronJob(changed, old)
		got = validation.JobTemplate(&changed.Spec.JobTemplate, &old.Spec.JobTemplate, path, asReleased())
		if err == nil {
			compare(t, "JobTemplate in an update", errorsOf(below(answer(got))), errorsOf(below(reasons)))
		}
	})
	seen.demand(t, append(list(`
		FieldValueInvalid spec.selector:
		FieldValueNotSupported spec.manualSelector:
		FieldValueRequired spec.backoffLimitPerIndex:
		accepted
	`), messagesFrom38()...))
}

// cronJobOf returns a CronJob that creates the Job, with the defaults of the API server.
func cronJobOf(j *batchv1.Job) *batchv1.CronJob {
	j = apiserver.Decoded(j)
	c := &batchv1.CronJob{}
	c.Name, c.Namespace, c.ResourceVersion, c.Spec.Schedule = "cron", "ns", "1", "@daily"
	c.Spec.JobTemplate.Annotations, c.Spec.JobTemplate.Spec = j.Annotations, j.Spec
	legacyscheme.Scheme.Default(c)
	return c
}

// realCronJob does what the API server does with a request to create a CronJob, or to update it if there is an old
// one, up to the storage, and returns why it is rejected.
func realCronJob(c, old *batchv1.CronJob) (reasons []metav1.StatusCause, err error) {
	ctx := request.WithRequestInfo(request.WithNamespace(context.Background(), "ns"),
		&request.RequestInfo{APIGroup: "batch", APIVersion: "v1", Resource: "cronjobs"})
	internal := func(c *batchv1.CronJob) *batch.CronJob {
		var out batch.CronJob
		if err := legacyscheme.Scheme.Convert(c.DeepCopy(), &out, nil); err != nil {
			panic(err)
		}
		return &out
	}
	_, err = tolerant(func() field.ErrorList {
		now := internal(c)
		if old == nil {
			rest.FillObjectMetaSystemFields(now)
			reasons = causes(rest.BeforeCreate(cronjob.Strategy, ctx, now))
		} else {
			reasons = causes(rest.BeforeUpdate(cronjob.Strategy, ctx, now, internal(old)))
		}
		return nil
	})
	return reasons, err
}

// below returns the errors in the template of a CronJob, with their fields in a Job.
func below(reasons []metav1.StatusCause) (all []metav1.StatusCause) {
	for _, c := range reasons {
		if name, found := strings.CutPrefix(c.Field, "spec.jobTemplate."); found {
			c.Field = name
			all = append(all, c)
		}
	}
	return all
}
