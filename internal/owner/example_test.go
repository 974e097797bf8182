package owner_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/owner"
)

func ExampleOwner_Relation() {
	job := newJob()
	of, err := owner.Of(job, keys.Keys{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := newPod("anna", ownerless)
	fmt.Println("without a controller:", of.Relation(pod))

	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, job.GroupVersionKind())}
	fmt.Println("the Job's:", of.Relation(pod))

	pod.Labels["app"] = "max"
	fmt.Println("with another label:", of.Relation(pod))
	// Output:
	// without a controller: adoptable
	// the Job's: owned
	// with another label: releasable
}
