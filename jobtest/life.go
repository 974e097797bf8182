package jobtest

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Life describes what happens to a Job and its pods in a cluster, except the actions of its
// controller.
type Life struct {
	// Tampered says that clients edit pods in ways that break controllers.
	Tampered bool
	// Lag is the percentage of the changed pods that lag in a cache. A changed Job lags half as often.
	Lag int
}

// Lead drives a Job part of the way, and stops after a sync of the controller with a lagging cache.
func Lead(t *rapid.T, controller cluster.Controller) {
	d := rapidDice{t}
	life := Life{Tampered: d.Chance(15, "tampered"), Lag: pick(d, "lag", 0, 0, 0, 20, 60)} // most lives are quiet
	c, err := cluster.New(LivelyJobs().Draw(t, "job"), noon)
	if err != nil {
		t.Fatalf("the API server rejects a generated Job: %v", err)
	}
	cache := c.NewCache(false)
	out := c.Run(controller, cache)
	for range d.Among(40, "steps") {
		life.Happen(t, c, out.At)
		c.CollectGarbage()
		life.catchUp(t, cache)
		if cache.View().Job == nil {
			return
		}
		out = c.Run(controller, cache)
	}
}

// Happen makes one event happen and returns its name: a kubelet reports, a user interferes,
// or time passes. Due is when the controller's requeue is due; zero if there is none. The
// name is empty if nothing happens.
func (l Life) Happen(t *rapid.T, c *cluster.Cluster, due time.Time) string {
	s := &Scene{c, rapidDice{t}, builtIn}
	n := s.Among(200, "event")
	if len(c.Pods()) == 0 {
		n = 155 + n*45/200 // no event of a pod is possible
	}
	switch {
	case n < 155:
		return l.podHappens(s)
	case n < 180:
		return passTime(s, due)
	case n < 198:
		return happens(s, jobEvents, nil)
	}
	return ""
}

// catchUp makes a cache catch up with the Job and the pods that do not lag. The Job lags less often, because a
// controller waits for its own status.
func (l Life) catchUp(t *rapid.T, cache *cluster.Cache) {
	lags := func(percent int) bool { return percent > 0 && (rapidDice{t}).Chance(percent, "unseen") }
	lagging, versions := cache.Lagging()
	if versions > 0 && !lags(l.Lag/2) {
		for range versions {
			cache.ShowJob()
		}
	}
	for _, uid := range slices.Clone(lagging) {
		if !lags(l.Lag) {
			cache.ShowPod(uid)
		}
	}
}

// builtIn holds the names that the built-in Job controller uses on pods.
var builtIn = tracking.Keys{Finalizer: batchv1.JobTrackingFinalizer, Index: batchv1.JobCompletionIndexAnnotation,
	FailureCount:        batchv1.JobIndexFailureCountAnnotation,
	IgnoredFailureCount: batchv1.JobIndexIgnoredFailureCountAnnotation}

// passTime advances the time. Clocks have fractions of a second, stored times do not.
func passTime(s *Scene, due time.Time) string {
	if due.After(s.Now) && s.Chance(50, "to the requeue") {
		s.Now = due
		return "the requeue is due"
	}
	s.Now = s.Now.Add(pick(s, "time", time.Second, 300*time.Millisecond, 10*time.Second, 40*time.Second, 3*time.Minute))
	return "time passes"
}

// podHappens makes an event of a pod happen.
func (l Life) podHappens(s *Scene) string {
	pods, events := s.Pods(), podEvents
	if l.Tampered && s.Chance(15, "tampering") {
		if events = tamperings; l.Lag > 0 {
			events = events[:len(events)-1]
		}
	} else if going := slices.DeleteFunc(s.Pods(), cluster.HasEnded); len(going) > 0 && !s.Chance(10, "any pod") {
		pods = going // ended pods have few events
	}
	return happens(s, events, pick(s, "pod", pods...))
}

// happens makes one of the events happen to a pod, or to the Job if pod is nil.
func happens(s *Scene, events []Event, pod *corev1.Pod) string {
	var fit []weight[*Event]
	for i := range events {
		if e := &events[i]; e.Life > 0 && e.fits(s, pod) {
			fit = append(fit, w(e.Life, e))
		}
	}
	if len(fit) == 0 {
		return ""
	}
	e := weighted(s, "what", fit...)
	if !e.happenTo(s, pod) {
		return ""
	}
	return e.Name
}
