package validation_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

func ExampleCreate() {
	job := &batchv1.Job{}
	job.Namespace, job.Name, job.UID = "default", "pi", "a-uid"
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	job.Spec.MaxFailedIndexes = new(int32(5))
	for _, err := range validation.Create(defaulting.Prepared(job)) {
		fmt.Println(err)
	}
	// Output:
	// spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified
	// spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions
	// spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"
}

// Two versions of a manifest. Both need all defaults before they are compared: the old one states
// two defaults that the new one leaves out.
func ExampleUpdate() {
	withDefaults := func(manifest *batchv1.Job) *batchv1.Job {
		job := defaulting.WithGeneratedSelector(defaulting.Job(manifest))
		job.Spec.Template.Spec = *defaulting.PodSpec(&job.Spec.Template.Spec)
		return job
	}
	old := &batchv1.Job{}
	old.Namespace, old.Name, old.UID, old.ResourceVersion = "default", "pi", "a-uid", "1"
	old.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	old.Spec.Template.Spec.Containers = []corev1.Container{{Name: "pi", Image: "perl:5.34"}}
	job := old.DeepCopy()
	old.Spec.Completions = new(int32(1))
	old.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	job.Spec.BackoffLimit = new(int32(0))
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	for _, err := range validation.Update(withDefaults(job), withDefaults(old)) {
		fmt.Println(err)
	}
	// Output:
	// spec.completionMode: Invalid value: "Indexed": field is immutable
}

// If an index is both completed and failed, the API server rejects every further change of
// the lists.
func ExampleStatusUpdate() {
	old := &batchv1.Job{}
	old.Namespace, old.Name, old.UID, old.ResourceVersion = "default", "pi", "a-uid", "1"
	old.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	old.Spec.Completions, old.Spec.BackoffLimitPerIndex = new(int32(10)), new(int32(1))
	old.Status.Failed = 2

	job := old.DeepCopy()
	job.Status.CompletedIndexes, job.Status.FailedIndexes = "0-4", new("4,7")
	job.Status.Failed = 1
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	for _, err := range validation.StatusUpdate(job, old) {
		fmt.Println(err)
	}
	// Output:
	// status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition
	// status.startTime: Required value: startTime is required for finished job
	// status.failedIndexes: Invalid value: "4,7": failedIndexes and completedIndexes overlap at index: 4
	// status.failed: Invalid value: 1: cannot decrease the failed counter
}

func ExampleIndexesSize() {
	spec := batchv1.JobSpec{
		CompletionMode:       new(batchv1.IndexedCompletion),
		Completions:          new(int32(100_000)),
		Parallelism:          new(int32(1_000)),
		BackoffLimitPerIndex: new(int32(3)),
		MaxFailedIndexes:     new(int32(100)),
	}
	fmt.Printf("%+v\n", validation.IndexesSize(&spec))
	// Output:
	// {Completed:13212 Failed:600 Both:13812 Overrun:6000}
}
