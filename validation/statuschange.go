package validation

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change is a status and the one before it.
type change struct{ now, was view }

// The facts about a change on which rules depend.

func finishedChanged(c *change) bool      { return c.now.finished != c.was.finished }
func completeChanged(c *change) bool      { return c.now.complete != c.was.complete }
func failedChanged(c *change) bool        { return c.now.failed != c.was.failed }
func failureTargetChanged(c *change) bool { return c.now.failureTarget != c.was.failureTarget }

func successCriteriaMetChanged(c *change) bool {
	return c.now.successCriteriaMet != c.was.successCriteriaMet
}

func completedIndexesChanged(c *change) bool { return c.now.CompletedIndexes != c.was.CompletedIndexes }
func failedIndexesChanged(c *change) bool {
	return !samePointee(c.now.FailedIndexes, c.was.FailedIndexes)
}

func activeChanged(c *change) bool      { return c.now.Active != c.was.Active }
func readyChanged(c *change) bool       { return !samePointee(c.now.Ready, c.was.Ready) }
func terminatingChanged(c *change) bool { return !samePointee(c.now.Terminating, c.was.Terminating) }
func startTimeChanged(c *change) bool   { return !sameTime(c.now.StartTime, c.was.StartTime) }
func completionTimeChanged(c *change) bool {
	return !sameTime(c.now.CompletionTime, c.was.CompletionTime)
}

func uncountedChanged(c *change) bool {
	now, was := c.now.UncountedTerminatedPods, c.was.UncountedTerminatedPods
	if now == nil || was == nil {
		return now != was
	}
	return !slices.Equal(now.Succeeded, was.Succeeded) || !slices.Equal(now.Failed, was.Failed)
}

// resuming reports whether the controller records that the Job was resumed.
func resuming(c *change) bool { return c.was.suspended && c.now.resumed }

// scalable reports whether the Job is Indexed and its completions equal its parallelism. Such
// a Job may be scaled down, which removes succeeded indexes.
func scalable(c *change) bool {
	return indexed(c.now.spec) && samePointee(c.now.spec.Completions, c.now.spec.Parallelism)
}

// either returns a fact that holds when one of the given facts holds.
func either(facts ...func(*change) bool) func(*change) bool {
	return func(c *change) bool {
		return slices.ContainsFunc(facts, func(fact func(*change) bool) bool { return fact(c) })
	}
}

// set reports whether the API server sees a time. The zero time is sent as null.
func set(t *metav1.Time) bool { return t != nil && !t.IsZero() }

// seconds returns the time as the API server sees it, without a fraction.
func seconds(t *metav1.Time) time.Time { return t.Time.Truncate(time.Second) }

func sameTime(a, b *metav1.Time) bool {
	if !set(a) || !set(b) {
		return set(a) == set(b)
	}
	return seconds(a).Equal(seconds(b))
}
