// +kubebuilder:object:generate=true
// +groupName=jobfate.dev
// +versionName=v1alpha1

package main

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool -modfile=../../tools/go.mod controller-gen object paths=.
//go:generate sh -c "go tool -modfile=../../tools/go.mod controller-gen crd paths=. output:stdout >deploy/crd.yaml"

// Suite runs tests in shards: a pod each, which finds its number in the variable
// JOB_COMPLETION_INDEX.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Shards,type=integer,JSONPath=.spec.shards
// +kubebuilder:printcolumn:name=Passed,type=string,JSONPath=.status.job.completedIndexes
// +kubebuilder:printcolumn:name=Failed,type=string,JSONPath=.status.job.failedIndexes
// +kubebuilder:printcolumn:name=Active,type=integer,JSONPath=.status.job.active
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a name has 52 characters at most, so that those of the pods are not too long"
type Suite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is what a user asks for.
type Spec struct {
	// Shards is how many pods share the tests.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the number of shards cannot change"
	Shards int32 `json:"shards"`
	// Parallel is how many shards run at the same time. The default is all.
	// +kubebuilder:validation:Minimum=1
	Parallel *int32 `json:"parallel,omitempty"`
	// Retries is how often a shard that failed runs again.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Retries *int32 `json:"retries,omitempty"`
	// Paused suites have no pods.
	Paused bool `json:"paused,omitempty"`
	// Template makes the pods. The API server checks it when it creates them.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`
}

// Status is how far the suite is.
type Status struct {
	// Job is the status of the Job that the suite stands for.
	Job batchv1.JobStatus `json:"job,omitempty"`
}

// SuiteList is what the API server lists.
//
// +kubebuilder:object:root=true
type SuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Suite `json:"items"`
}

// addToScheme adds the kind to a scheme.
func addToScheme(scheme *runtime.Scheme) error {
	gv := schema.GroupVersion{Group: "jobfate.dev", Version: "v1alpha1"}
	scheme.AddKnownTypes(gv, &Suite{}, &SuiteList{})
	metav1.AddToGroupVersion(scheme, gv)
	return nil
}
