package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
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
				add(q.Verb, q.Namespace, q.Name, q.UID, podtest.ToJSON(renamed(q.Pod, names)), string(q.Patch), podtest.ToJSON(q.Options))
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

// toOwn puts custom keys in the place of those that a controller of Kubernetes uses on pods.
var toOwn = strings.NewReplacer(
	batchv1.JobTrackingFinalizer, ownKeys.Finalizer,
	batchv1.JobCompletionIndexAnnotation, ownKeys.Index,
	"JOB_COMPLETION_INDEX", ownKeys.IndexVariable,
	batchv1.JobIndexFailureCountAnnotation, ownKeys.FailureCount,
	batchv1.JobIndexIgnoredFailureCountAnnotation, ownKeys.IgnoredFailureCount,
)

// renamed returns a copy of a pod with other keys, so that its maps have their order.
func renamed(pod *corev1.Pod, names *strings.Replacer) *corev1.Pod {
	return podtest.FromJSON[*corev1.Pod]([]byte(names.Replace(podtest.ToJSON(pod))))
}
