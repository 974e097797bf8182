package jobtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/internal/slowpath"
)

// NewCaller returns a reference controller that checks itself: it panics if its Machine decides
// differently from [jobfate.Decide] on the same view, or uses pods that it was not fed.
func NewCaller(options ...jobfate.Option) *cluster.Caller {
	c := cluster.NewCaller(options...)
	slowpath.Check(c.Machine)
	c.Check = checkFed
	return c
}

// checkFed panics if a Machine has decided on pods of the cache that it was not fed.
func checkFed(d jobfate.Decision, fed map[string]*corev1.Pod) {
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
