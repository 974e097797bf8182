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

// JobGroup is a group of Jobs that restart or fail together. What its fields may
// hold is in deploy/crd.yaml.
type JobGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// Spec is what a user asks for.
type Spec struct {
	Jobs          []Template    `json:"jobs"`
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`
}

// Template makes Jobs that are alike.
type Template struct {
	Name     string  `json:"name"`
	Replicas int     `json:"replicas"`
	Spec     JobSpec `json:"spec"`
}

// JobSpec is that of a Job, but the rules of its pod failure policy may have
// names (KEP-4443).
type JobSpec struct {
	batchv1.JobSpec  `json:",inline"`
	PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy,omitempty"`
}

// FailurePolicy says what becomes of the group when one of its Jobs fails. The
// first rule that fits a failure decides; when none does, the group is restarted.
type FailurePolicy struct {
	MaxRestarts int    `json:"maxRestarts,omitempty"`
	Rules       []Rule `json:"rules,omitempty"`
}

// Rule fits Jobs whose condition Failed has one of the reasons, and which a template
// with one of the names has made. Without names every template will do.
type Rule struct {
	Action               Action   `json:"action"`
	TargetReplicatedJobs []string `json:"targetReplicatedJobs,omitempty"`
	OnJobFailureReasons  []string `json:"onJobFailureReasons"`
}

func (r *Rule) targets(template string) bool {
	return len(r.TargetReplicatedJobs) == 0 || slices.Contains(r.TargetReplicatedJobs, template)
}

// Action is what is done about a Job that has failed.
type Action string

// The actions, the weakest first.
const (
	FailJob      Action = "FailJob"      // leave it failed; the others run on
	RestartJob   Action = "RestartJob"   // make it anew
	RestartGroup Action = "RestartGroup" // make all anew
	FailGroup    Action = "FailGroup"    // restart nothing any more
)

// Status is what has become of the group.
type Status struct {
	Phase    Phase  `json:"phase,omitempty"`
	Restarts int    `json:"restarts"`
	Message  string `json:"message,omitempty"`
	// Restarted has the number of the last restart of each Job that has been
	// restarted. A Job that was made before it is to go, and another takes its
	// place. This is all that has to be known to go on with a restart.
	Restarted map[string]int `json:"restarted,omitempty"`
}

// Phase sums up a status.
type Phase string

// The phases. Succeeded and Failed last.
const (
	Running    Phase = "Running"
	Restarting Phase = "Restarting" // Jobs from before a restart are still there
	Succeeded  Phase = "Succeeded"
	Failed     Phase = "Failed"
)

func (s Status) ended() bool { return s.Phase == Succeeded || s.Phase == Failed }

// member is a Job that the group wants.
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

// JobGroupList is what the API server lists.
type JobGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobGroup `json:"items"`
}

// DeepCopyObject makes a runtime.Object of a group. Rules and names are shared with
// the copy, since they never change; controller-gen would write code that copies
// all.
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

// DeepCopyObject makes a runtime.Object of a list.
func (l *JobGroupList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]JobGroup, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*JobGroup)
	}
	return &c
}
