package route_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// ofReplicaSet returns a copy of a pod whose controller is of another kind.
func ofReplicaSet(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.OwnerReferences[0].Kind = "ReplicaSet"
	return pod
}

// A change of a pod concerns its controllers before and after, or else all Jobs of the
// namespace that select it.
func TestOf(t *testing.T) {
	job, next := Train(1), Train(1)
	next.UID, next.Name = "next", "next"
	owned, given := PodOf(job, "a", "1"), PodOf(next, "a", "1")
	free := PodOf(job, "a", "1", Ownerless)
	bare := PodOf(job, "a", "1", Ownerless, Released)
	labelled := PodOf(job, "a", "1", Ownerless, func(p *corev1.Pod) { p.Finalizers, p.Labels = nil, map[string]string{"a": "b"} })
	strange := PodOf(job, "a", "1", Ownerless, func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} })
	foreign := ofReplicaSet(owned)
	other := Train(1)
	other.Name, other.Spec.Selector = "other", &metav1.LabelSelector{MatchLabels: map[string]string{"a": "c"}}
	bad := Train(1)
	bad.Name, bad.Spec.Selector = "bad", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}}
	theirs, manager := Train(1), "example.com/other"
	theirs.Name, theirs.Spec.ManagedBy = "theirs", &manager
	theirs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "theirs"}}
	adoptable := PodOf(job, "a", "1", Ownerless, func(p *corev1.Pod) { p.Labels = map[string]string{"a": "theirs"} })
	jobs := func(string) []*batchv1.Job { return []*batchv1.Job{job, other, bad, theirs} }
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          string
	}{
		"new":                                    {nil, owned, "[ns/train]"},
		"changed":                                {owned, owned, "[ns/train]"},
		"gone":                                   {owned, nil, "[ns/train]"},
		"given away":                             {owned, given, "[ns/train ns/next]"},
		"orphaned":                               {owned, free, "[ns/train]"},
		"orphaned, and selected by no Job":       {owned, strange, "[ns/train ns/]"},
		"adopted":                                {free, owned, "[ns/train]"},
		"new, without a controller":              {nil, bare, "[ns/train]"},
		"with the finalizer":                     {free, free, "[ns/train]"},
		"with the finalizer, selected by no Job": {strange, strange, "[ns/]"},
		"of a Job of another controller":         {nil, adoptable, "[ns/theirs ns/]"},
		"without the finalizer, unchanged":       {bare, bare, "[]"},
		"with other labels":                      {bare, labelled, "[]"},
		"with labels that a Job selects":         {labelled, bare, "[ns/train]"},
		"gone, without a controller":             {free, nil, "[]"},
		"of another kind":                        {foreign, foreign, "[]"},
		"nothing":                                {nil, nil, "[]"},
	} {
		Same(t, name, fmt.Sprint(route.Of(test.before, test.after, jobs)), test.want)
	}
	Same(t, "to that controller", fmt.Sprint(route.Of(nil, adoptable, jobs, decide.ManagedBy(manager))), "[ns/theirs]")
}

// An orphan has the finalizer, and its Job is gone, or it has no controller and no Job selects it. The orphans of one
// Job are freed together.
func TestOrphansIn(t *testing.T) {
	job := Train(1)
	another := Train(1)
	another.UID, another.Spec.Selector = "another", &metav1.LabelSelector{MatchLabels: map[string]string{"job": "another"}}
	pods := []*corev1.Pod{
		PodOf(job, "a", "11"), PodOf(job, "b", "12", Released),
		PodOf(another, "c", "13"), PodOf(job, "d", "14", Ownerless), PodOf(job, "e", "15"),
	}
	asked := []string{}
	for _, m := range route.OrphansIn(pods, []*batchv1.Job{another}) {
		m.Run(func(r machine.Request) (runtime.Object, error) {
			asked = append(asked, fmt.Sprint(r.Verb, " ", r.Name))
			return nil, notFound(r)
		})
	}
	Same(t, "requests", asked, []string{"patch pod train-d", "get the Job train", "patch pod train-a", "patch pod train-e"})
	Same(t, "orphans with all Jobs", len(route.OrphansIn(pods, []*batchv1.Job{job, another})), 0)
	theirs, manager := Train(1), "example.com/other"
	theirs.Spec.ManagedBy = &manager
	Same(t, "after a Job of another controller", len(route.OrphansIn(pods[3:4], []*batchv1.Job{theirs, job})), 0)
	bad := Train(1)
	bad.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}
	Same(t, "with a Job whose selector is invalid", len(route.OrphansIn(pods[3:4], []*batchv1.Job{bad})), 1)
	for name, want := range map[string]int{"": 1, manager: 0} {
		Same(t, "a Job of "+manager+" selects the pod: as "+name,
			len(route.OrphansIn(pods[3:4], []*batchv1.Job{theirs}, decide.ManagedBy(name))), want)
	}
	Same(t, "with a nil Job", len(route.OrphansIn(pods[:1], []*batchv1.Job{nil})), 1)
	Same(t, "of another kind", len(route.OrphansIn([]*corev1.Pod{ofReplicaSet(pods[0])}, nil)), 0)
}

// Pods of one UID in two namespaces have two Jobs.
func TestOrphansIn_namespaces(t *testing.T) {
	a, b := PodOf(Train(1), "a", "11"), PodOf(Train(1), "b", "12")
	b.Namespace = "other"
	Same(t, "Machines", len(route.OrphansIn([]*corev1.Pod{a, b}, nil)), 2)
}
