package upstream

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
)

func TestSuccessPolicyPanic(t *testing.T) {
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns"}, Spec: batch.JobSpec{
		CompletionMode: new(batch.IndexedCompletion), Parallelism: new(int32(3)),
		SuccessPolicy: &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: new("0")}}},
	}}
	defer func() {
		if recover() == nil {
			t.Error("the validation of the API server did not panic")
		}
	}()
	batchvalidation.ValidateJobCreate(job, batchvalidation.JobValidationOptions{})
}
