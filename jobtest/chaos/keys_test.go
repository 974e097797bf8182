package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// ownKeys holds the keys of a controller for a custom kind.
var ownKeys = tracking.Keys{
	Finalizer:           "example.com/counted",
	Index:               "example.com/part",
	IndexVariable:       "PART",
	FailureCount:        "example.com/part-failures",
	IgnoredFailureCount: "example.com/part-ignored-failures",
	ControllerUID:       "example.com/suite-uid",
	JobName:             "example.com/suite",
}

// With custom keys a controller behaves as with those of Kubernetes: in random schedules with all
// faults it sends the same requests except for the names, and violates no property.
func TestOwnKeys(t *testing.T) {
	for seed := range uint64(schedules() / 10) {
		if diff := cmp.Diff(lifeWith(t, tracking.Keys{}, toOwn, seed), lifeWith(t, ownKeys, strings.NewReplacer(), seed)); diff != "" {
			t.Fatalf("seed %d: with the keys of Kubernetes (-) and custom keys (+):\n%s", seed, diff)
		}
	}
}

// lifeWith returns the requests and results of a controller with some keys, after replacing names.
func lifeWith(t *testing.T, keys tracking.Keys, names *strings.Replacer, seed uint64) (life []string) {
	t.Helper()
	add := func(what ...any) { life = append(life, names.Replace(fmt.Sprint(what...))) }
	r := Run(Config{Seed: seed, Mode: Mode(seed % 2), Rules: referee.Rules{Keys: keys}, Controller: func() cluster.Controller {
		caller := jobtest.NewCaller(decide.Keys(keys))
		return &bugs.Caller{
			Caller: caller,
			Ask: func(q *cluster.Request) {
				add(q.Verb, q.Namespace, q.Name, q.UID, encoded(renamed(q.Pod, names)), string(q.Patch), encoded(q.Options))
			},
			After: func(requeue time.Duration) time.Duration {
				r := caller.Machine.Result()
				add(r.Requeue, r.Err, r.Gone, r.Events, r.Metrics)
				return requeue
			},
		}
	}})
	if r.Violation != nil {
		t.Fatal(r.Story)
	}
	return life
}

// The referee judges a controller with custom keys by these keys: it finds bugs.
func TestOwnKeys_judged(t *testing.T) {
	caller := func() *cluster.Caller { return jobtest.NewCaller(decide.Keys(ownKeys)) }
	amended := func(how func(decide.Snapshot, *decide.Decision)) func() cluster.Controller {
		return func() cluster.Controller {
			c := caller()
			inside.Decide(c.Machine, inside.Amended(how))
			return c
		}
	}
	for _, bug := range []struct {
		name, property string
		controller     func() cluster.Controller
	}{
		{"the finalizer is removed before the status is stored", "S2", amended(func(_ decide.Snapshot, d *decide.Decision) {
			if d.Status != nil {
				d.Status.UncountedTerminatedPods = nil
			}
		})},
		{"finalizers stay after the end", "L2 L3", amended(func(s decide.Snapshot, d *decide.Decision) {
			if s.Job.DeletionTimestamp != nil {
				d.Strip = nil
			}
		})},
		{"the failure count of an index starts again", "S13", func() cluster.Controller {
			return &bugs.Caller{Caller: caller(), Ask: func(q *cluster.Request) {
				if q.Verb == cluster.Create && q.Pod.Annotations[ownKeys.FailureCount] != "" {
					q.Pod = q.Pod.DeepCopy()
					q.Pod.Annotations[ownKeys.FailureCount] = "0"
				}
			}}
		}},
	} {
		r := firstOf(400, func(seed uint64) Config {
			return Config{Seed: seed, Mode: Mode(seed % 2), Rules: referee.Rules{Keys: ownKeys}, Controller: bug.controller}
		})
		if r.Violation == nil || !slices.Contains(strings.Fields(bug.property), r.Violation.Property) {
			t.Errorf("%s: got %v, want a violation of %s", bug.name, r.Violation, bug.property)
		}
	}
}

// toOwn puts custom keys in the place of those that a controller of Kubernetes uses on pods.
var toOwn = strings.NewReplacer(
	batchv1.JobTrackingFinalizer, ownKeys.Finalizer,
	batchv1.JobCompletionIndexAnnotation, ownKeys.Index,
	"JOB_COMPLETION_INDEX", ownKeys.IndexVariable,
	batchv1.JobIndexFailureCountAnnotation, ownKeys.FailureCount,
	batchv1.JobIndexIgnoredFailureCountAnnotation, ownKeys.IgnoredFailureCount,
)

// renamed returns a copy of a pod with other keys, so that its maps have their order.
func renamed(pod *corev1.Pod, names *strings.Replacer) (copied *corev1.Pod) {
	if err := json.Unmarshal([]byte(names.Replace(encoded(pod))), &copied); err != nil {
		panic(err)
	}
	return copied
}
