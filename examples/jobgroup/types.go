// +kubebuilder:object:generate=true
// +groupName=jobfate.dev
// +versionName=v1alpha1

package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
)

//go:generate go tool -modfile=../../tools/go.mod controller-gen object paths=.
//go:generate sh -c "go tool -modfile=../../tools/go.mod controller-gen crd paths=. output:stdout >deploy/crd.yaml"

// JobGroup is a group of Jobs that restart or fail together, depending on the reason for which one of
// them fails.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Restarts,type=integer,JSONPath=.status.restarts
// +kubebuilder:printcolumn:name=Last failure,type=date,JSONPath=.status.counted.lastFailure
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:printcolumn:name=Message,type=string,JSONPath=.status.message,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40",message="the name must have at most 40 characters, so that the names of the Jobs are valid"
type JobGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is the desired state of a group.
type Spec struct {
	// Jobs lists the Jobs. A changed spec applies to Jobs that are created afterwards.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.size() == oldSelf.size() && self.all(job, oldSelf.exists(old, old.name == job.name))",message="the names of the Jobs cannot change"
	// +listType=map
	// +listMapKey=name
	Jobs []Template `json:"jobs"`
	// FailurePolicy decides what happens to the group when a Job fails.
	FailurePolicy group.Policy `json:"failurePolicy,omitempty"`
}

// Template is the template of equal Jobs.
type Template struct {
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Replicas is the number of Jobs of this template, numbered from 0.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the number of Jobs cannot change"
	Replicas int32 `json:"replicas,omitempty"`
	// PodFailurePolicy is the pod failure policy of the Jobs. Its rules may have names (KEP-4443).
	PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy,omitempty"`
	// Spec is the spec of the Jobs. The API server validates it when a Job is created.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec batchv1.JobSpec `json:"spec"`
}

// Status is the observed state of a group.
type Status struct {
	// Phase is Running, Restarting while Jobs of earlier attempts exist, OldState while Jobs of later attempts than
	// those of Failures exist, or a phase of Failures.
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message,omitempty"`
	// Restarts is the number of restarts of the group, its templates and its Jobs.
	Restarts int32 `json:"restarts"`
	// Failures records what has been decided. The Jobs to create and delete depend on it alone.
	Failures group.State `json:"failures,omitempty"`
	// Counted is the number of failures that were decided, and the time of the last one.
	Counted backoff.Record `json:"counted,omitempty"`
	// Succeeded lists the Jobs that have succeeded, by their position.
	Succeeded string `json:"succeeded,omitempty"`
}

// members returns the members of a group.
func (g *JobGroup) members() (all []group.Member) {
	for _, t := range g.Spec.Jobs {
		for n := range t.Replicas {
			all = append(all, group.Member{Name: fmt.Sprintf("%s-%s-%d", g.Name, t.Name, n), Template: t.Name})
		}
	}
	return all
}

// check checks what the schema cannot express.
func (g *JobGroup) check() (errs field.ErrorList) {
	path := field.NewPath("spec")
	for i, t := range g.Spec.Jobs {
		at := path.Child("jobs").Index(i).Child("podFailurePolicy")
		errs = append(errs, failurepolicy.RuleNames(t.PodFailurePolicy, at)...)
	}
	return append(errs, g.Spec.FailurePolicy.Check(g.members(), path.Child("failurePolicy"))...)
}

// JobGroupList is a list of groups.
//
// +kubebuilder:object:root=true
type JobGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobGroup `json:"items"`
}

var groupVersion = schema.GroupVersion{Group: "jobfate.dev", Version: "v1alpha1"}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &JobGroup{}, &JobGroupList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme, clientgoscheme.AddToScheme(scheme)
}
