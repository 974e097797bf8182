package jobtest

import (
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/slowpath"
)

// NewCaller returns a reference controller that checks itself: it panics if its Machine uses pods that it was not fed
// or, in one sync of 8, decides differently from [decide.Job] on the same view, or changes an object that it was given.
func NewCaller(options ...decide.Option) *cluster.Caller {
	c := cluster.NewCaller(options...)
	slowpath.Check(c.Machine, checked)
	c.Check, c.Guard = checkFed, guard(new(atomic.Uint32))
	return c
}

// A decision from scratch, the comparison, and copies of the objects take time. Only one sync of 64 is guarded in full:
// the others do not notice a change behind a pointer.
const checked, inFull = 8, 64

// guard panics if a Machine changes an object of the caller's caches, or an answer.
func guard(syncs *atomic.Uint32) func(*cluster.View) func(runtime.Object) {
	return func(v *cluster.View) func(runtime.Object) {
		n := syncs.Add(1)
		if n%checked != 0 {
			return nil
		}
		given := make(podtest.Inputs, 0, len(v.Pods)+4)
		add := given.AddFields
		if n%inFull == 0 {
			add = given.Add
		}
		add(v.Job)
		for _, pod := range v.Pods {
			add(pod)
		}
		return func(answer runtime.Object) {
			if answer != nil {
				add(answer)
			} else if changed := given.Changed(); changed != "" {
				panic("the Machine writes into its input: " + changed)
			}
		}
	}
}

// checkFed panics if a Machine has decided on pods of the cache that it was not fed.
func checkFed(d decide.Decision, fed map[string]*corev1.Pod) {
	f := d.Facts()
	if f == nil || fed == nil {
		return
	}
	var own, others int
	check := func(pod *corev1.Pod) {
		if fed[pod.Name] == pod {
			own++
		} else {
			others++
		}
	}
	for _, r := range f.Pods() {
		check(r.Pod)
	}
	for _, pod := range f.Others() {
		check(pod)
	}
	if own > 0 && others > 0 { // after a live read, none of the pods was fed
		panic(fmt.Sprintf("the Machine decides on %d pods that it was fed and %d others", own, others))
	}
}
