package main

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/failurepolicy"
)

// JobGroup is a group of Jobs that restart or fail together. deploy/crd.yaml has the schema of its
// fields.
type JobGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is the desired state of a group.
type Spec struct {
	Jobs          []Template    `json:"jobs"`
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// Template is the template of equal Jobs.
type Template struct {
	Name     string  `json:"name"`
	Replicas int     `json:"replicas"`
	Spec     JobSpec `json:"spec"`
}

// JobSpec is a Job spec in which the rules of the pod failure policy may have names (KEP-4443).
type JobSpec struct {
	batchv1.JobSpec  `json:",inline"`
	PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy,omitempty"`
}

// FailurePolicy decides what happens to the group when one of its Jobs fails. The first rule that
// matches the failure decides. If none matches, the group is restarted.
type FailurePolicy struct {
	MaxRestarts int    `json:"maxRestarts,omitempty"`
	Rules       []Rule `json:"rules,omitempty"`
}

// Rule matches Jobs whose condition Failed has one of the reasons, and whose template is one of the
// targets. Without targets it matches every template.
type Rule struct {
	Action               Action   `json:"action"`
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
	OnJobFailureReasons  []string `json:"onJobFailureReasons"`
}

func (r *Rule) targets(template string) bool {
	return len(r.TargetReplicatedJobs) == 0 || slices.Contains(r.TargetReplicatedJobs, template)
}

// Action is the response to a failed Job.
type Action string

// The actions, the weakest first.
const (
	FailJob      Action = "FailJob"      // leave it failed; the others continue
	RestartJob   Action = "RestartJob"   // delete it and create it again
	RestartGroup Action = "RestartGroup" // delete all and create them again
	FailGroup    Action = "FailGroup"    // fail the group
)

// Status is the observed state of a group.
type Status struct {
	Phase    Phase  `json:"phase,omitempty"`
	Restarts int    `json:"restarts"`
	Message  string `json:"message,omitempty"`
	// Restarted is the number of the last restart, by the name of the Job. A Job that was
	// created before its last restart is replaced. This field is all that a restart needs to
	// continue.
	Restarted map[string]int `json:"restarted,omitempty"`
}

// Phase summarizes a status.
type Phase string

// The phases. Succeeded and Failed are final.
const (
	Running    Phase = "Running"
	Restarting Phase = "Restarting" // Jobs from before a restart still exist
	Succeeded  Phase = "Succeeded"
	Failed     Phase = "Failed"
)

func (s Status) ended() bool { return s.Phase == Succeeded || s.Phase == Failed }

// member is a Job that the group should have.
type member struct {
	name     string
	template *Template
}

func (g *JobGroup) members() (all []member) {
	for i := range g.Spec.Jobs {
		t := &g.Spec.Jobs[i]
		for n := range t.Replicas {
			all = append(all, member{fmt.Sprintf("%s-%s-%d", g.Name, t.Name, n), t})
		}
	}
	return all
}

var groupVersion = schema.GroupVersion{Group: "jobfate.dev", Version: "v1alpha1"}

// JobGroupList is a list of groups.
type JobGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobGroup `json:"items"`
}

// DeepCopyObject returns a copy of a group. The copy shares rules and names, which never change.
func (g *JobGroup) DeepCopyObject() runtime.Object {
	c := *g
	c.ObjectMeta = *g.ObjectMeta.DeepCopy()
	c.Spec.Jobs = make([]Template, len(g.Spec.Jobs))
	for i, t := range g.Spec.Jobs {
		t.Spec.JobSpec = *t.Spec.JobSpec.DeepCopy()
		c.Spec.Jobs[i] = t
	}
	c.Status.Restarted = maps.Clone(g.Status.Restarted)
	return &c
}

// DeepCopyObject returns a copy of a list.
func (l *JobGroupList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]JobGroup, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*JobGroup)
	}
	return &c
}
