package jobset

import (
	"context"
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	_ "sigs.k8s.io/jobset/pkg/controllers"
	_ "sigs.k8s.io/jobset/pkg/webhooks"
)

// The structs have the names and fields of those in JobSet's packages controllers and webhooks.

type childJobs struct {
	active     []*batchv1.Job
	successful []*batchv1.Job
	failed     []*batchv1.Job
	previous   []*batchv1.Job
}

type statusUpdateOpts struct {
	shouldUpdate bool
	events       []*eventParams
}

type eventParams struct {
	object       runtime.Object
	eventType    string
	eventReason  string
	eventMessage string
}

type jobSetWebhook struct {
	client client.Client
}

//go:linkname executeFailurePolicy sigs.k8s.io/jobset/pkg/controllers.executeFailurePolicy
func executeFailurePolicy(ctx context.Context, set *v1alpha2.JobSet, jobs *childJobs, update *statusUpdateOpts) error

//go:linkname setDefaults sigs.k8s.io/jobset/pkg/webhooks.(*jobSetWebhook).Default
func setDefaults(hook *jobSetWebhook, ctx context.Context, set *v1alpha2.JobSet) error

//go:linkname validateCreate sigs.k8s.io/jobset/pkg/webhooks.(*jobSetWebhook).ValidateCreate
func validateCreate(hook *jobSetWebhook, ctx context.Context, set *v1alpha2.JobSet) (admission.Warnings, error)
