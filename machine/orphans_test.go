package machine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// KEP-2307 § Deleted Jobs: pods whose Job is gone lose their finalizer, if they have not changed since. The Job is
// read live first, because a cache that shows no Job may be stale.
func TestOrphans(t *testing.T) {
	job := Train(1)
	another := Train(1)
	another.UID, another.Spec.Selector = "another", &metav1.LabelSelector{MatchLabels: map[string]string{"job": "another"}}
	pods := []*corev1.Pod{
		PodOf(job, "a", "11"), PodOf(job, "b", "12", Released),
		PodOf(another, "c", "13"), PodOf(job, "d", "14", Ownerless), PodOf(job, "e", "15"),
	}
	for name, test := range map[string]struct {
		from  []*corev1.Pod
		live  *batchv1.Job
		fails error
		want  []string
		err   bool
	}{
		"the Job is gone":         {from: pods[:3], want: []string{"get the Job", "patch pod train-a"}},
		"the Job of two is gone":  {from: []*corev1.Pod{pods[0], pods[4]}, want: []string{"get the Job", "patch pod train-a", "patch pod train-e"}},
		"another Job of its name": {from: pods[:3], live: another, want: []string{"get the Job", "patch pod train-a"}},
		"the Job exists":          {from: pods[:3], live: job, want: []string{"get the Job"}, err: true},
		"no controller":           {want: []string{"patch pod train-d"}},
		"a pod has changed":       {fails: errConflict, want: []string{"patch pod train-d"}, err: true},
		"a pod is gone":           {fails: notFound(Request{}), want: []string{"patch pod train-d"}},
		"the Job cannot be read":  {from: pods[:3], fails: errTimeout, want: []string{"get the Job"}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{job: test.live}
			from := test.from
			if from == nil {
				from = pods[3:4]
			}
			all := OrphansIn(from, []*batchv1.Job{another})
			if len(all) != 1 {
				t.Fatalf("OrphansIn returns %d, want 1", len(all))
			}
			o := all[0]
			asked := drive(t, o, func(r Request) (runtime.Object, error) {
				if test.fails != nil {
					return nil, test.fails
				}
				if r.Namespace != job.Namespace || r.Name == "" {
					t.Errorf("%s: namespace %q, name %q", r.Verb, r.Namespace, r.Name)
				}
				if r.Verb == PatchPod && !strings.Contains(string(r.Patch), `"resourceVersion"`) {
					t.Errorf("the patch names no version: %s", r.Patch)
				}
				return s.answer(r)
			})
			Same(t, "requests", asked, test.want)
			if err := o.Result().Err; (err != nil) != test.err || !o.Idle() {
				t.Errorf("the error is %v, and %s", err, o)
			}
		})
	}
	if all := OrphansIn(pods, []*batchv1.Job{job, another}); len(all) != 0 {
		t.Errorf("with all Jobs OrphansIn returns %d, want none: the last pod is selected", len(all))
	}
	theirs, manager := Train(1), "example.com/other"
	theirs.Spec.ManagedBy = &manager
	if all := OrphansIn(pods[3:4], []*batchv1.Job{theirs, job}); len(all) != 0 {
		t.Errorf("after a Job of another controller OrphansIn returns %d, want none", len(all))
	}
	bad := Train(1)
	bad.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "?"}}
	if all := OrphansIn(pods[3:4], []*batchv1.Job{bad}); len(all) != 1 {
		t.Errorf("with a Job whose selector is invalid OrphansIn returns %d, want 1", len(all))
	}
	for name, want := range map[string]int{"": 1, manager: 0} {
		if all := OrphansIn(pods[3:4], []*batchv1.Job{theirs}, decide.ManagedBy(name)); len(all) != want {
			t.Errorf("a Job of %s selects the pod: as %q OrphansIn returns %d, want %d", manager, name, len(all), want)
		}
	}
	if all := OrphansIn(pods[:1], []*batchv1.Job{nil}); len(all) != 1 {
		t.Errorf("with a nil Job OrphansIn returns %d, want 1", len(all))
	}
	if all := OrphansIn([]*corev1.Pod{ofReplicaSet(pods[0])}, nil); len(all) != 0 {
		t.Errorf("of another kind OrphansIn returns %d, want none", len(all))
	}
	one := func() *Machine { return OrphansIn(pods[3:4], nil)[0] }
	o := one()
	if r := o.Next(); o.Answer(Request{ID: r[0].ID + 1}, nil, nil) == nil || o.Answer(r[0], nil, nil) != nil || o.Answer(r[0], nil, nil) == nil {
		t.Error("an unknown or second answer is accepted, or the first one is not")
	}
	o = one()
	o.Next()
	if o.Next(); !errors.Is(o.Result().Err, errNoAnswer) {
		t.Errorf("without an answer: error %v, want %v", o.Result().Err, errNoAnswer)
	}
	if err := o.Begin(fresh(job)); err == nil || len(o.Next()) > 0 {
		t.Errorf("a Machine of OrphansIn begins a sync: %v", err)
	}
}

// ofReplicaSet returns a copy of a pod whose controller is of another kind.
func ofReplicaSet(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.OwnerReferences[0].Kind = "ReplicaSet"
	return pod
}

// A change of a pod concerns its controllers before and after, or else all Jobs of the
// namespace that select it.
func TestRouteOf(t *testing.T) {
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
		Same(t, name, fmt.Sprint(RouteOf(test.before, test.after, jobs)), test.want)
	}
	Same(t, "to that controller", fmt.Sprint(RouteOf(nil, adoptable, jobs, decide.ManagedBy(manager))), "[ns/theirs]")
}
