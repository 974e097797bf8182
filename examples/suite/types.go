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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

//go:generate go tool -modfile=../../tools/go.mod controller-gen object paths=.
//go:generate sh -c "go tool -modfile=../../tools/go.mod controller-gen crd paths=. output:stdout >deploy/crd.yaml"

// Suite runs tests in shards, one pod each. The variable JOB_COMPLETION_INDEX of a pod is the
// number of its shard.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Shards,type=integer,JSONPath=.spec.shards
// +kubebuilder:printcolumn:name=Passed,type=string,JSONPath=.status.job.completedIndexes
// +kubebuilder:printcolumn:name=Failed,type=string,JSONPath=.status.job.failedIndexes
// +kubebuilder:printcolumn:name=Active,type=integer,JSONPath=.status.job.active
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the name must have at most 52 characters, so that the names of the pods are valid"
type Suite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is the desired state of a suite.
type Spec struct {
	// Shards is the number of pods that share the tests.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the number of shards cannot change"
	Shards int32 `json:"shards"`
	// Parallel is the number of shards that run concurrently. The default is all.
	// +kubebuilder:validation:Minimum=1
	Parallel *int32 `json:"parallel,omitempty"`
	// Retries is the number of retries of a failed shard.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Retries *int32 `json:"retries,omitempty"`
	// Paused suites have no pods.
	Paused bool `json:"paused,omitempty"`
	// Template is the template of the pods. The API server validates it when pods are created.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template corev1.PodTemplateSpec `json:"template"`
}

// Status is the observed state of a suite.
type Status struct {
	// Job is the Job status of the suite.
	Job batchv1.JobStatus `json:"job,omitempty"`
}

// SuiteList is a list of suites.
//
// +kubebuilder:object:root=true
type SuiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Suite `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "jobfate.dev", Version: "v1alpha1"}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Suite{}, &SuiteList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme, clientgoscheme.AddToScheme(scheme)
}
