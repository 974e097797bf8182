package machine

import (
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// KEP-2307 § Deleted Jobs: pods whose Job is gone lose their finalizer, if they have not changed since. The Job is
// read live first, because a cache that shows no Job may be stale.
func TestFree(t *testing.T) {
	job := Train(1)
	another := Train(1)
	another.UID = "another"
	a, bare, e := PodOf(job, "a", "11"), PodOf(job, "d", "14", Ownerless), PodOf(job, "e", "15")
	for name, test := range map[string]struct {
		pods  []*corev1.Pod // nil: bare
		live  *batchv1.Job
		fails error
		want  []string
		err   bool
	}{
		"the Job is gone":         {pods: []*corev1.Pod{a}, want: []string{"get the Job", "patch pod train-a"}},
		"the Job of two is gone":  {pods: []*corev1.Pod{a, e}, want: []string{"get the Job", "patch pod train-a", "patch pod train-e"}},
		"another Job of its name": {pods: []*corev1.Pod{a}, live: another, want: []string{"get the Job", "patch pod train-a"}},
		"the Job exists":          {pods: []*corev1.Pod{a}, live: job, want: []string{"get the Job"}, err: true},
		"no controller":           {want: []string{"patch pod train-d"}},
		"a pod has changed":       {fails: errConflict, want: []string{"patch pod train-d"}, err: true},
		"a pod is gone":           {fails: notFound(Request{}), want: []string{"patch pod train-d"}},
		"the Job cannot be read":  {pods: []*corev1.Pod{a}, fails: errTimeout, want: []string{"get the Job"}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{job: test.live}
			o := Free(nil, []*corev1.Pod{bare})
			if test.pods != nil {
				o = Free(metav1.GetControllerOf(test.pods[0]), test.pods)
			}
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
	o := Free(nil, []*corev1.Pod{bare})
	if r := o.Next(); o.Answer(Request{ID: r[0].ID + 1}, nil, nil) == nil || o.Answer(r[0], nil, nil) != nil || o.Answer(r[0], nil, nil) == nil {
		t.Error("an unknown or second answer is accepted, or the first one is not")
	}
	o = Free(nil, []*corev1.Pod{bare})
	o.Next()
	o.Next()
	Same(t, "the error is that of no answer", errors.Is(o.Result().Err, errNoAnswer), true)
	if err := o.Begin(fresh(job)); err == nil || len(o.Next()) > 0 {
		t.Errorf("a Machine that frees orphans begins a sync: %v", err)
	}
}
