package retryfailed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/examples/retryfailed"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

func example() *batchv1.Job {
	job := PlainJob("suites")
	job.Spec.Completions, job.Spec.Parallelism = new(int32(10)), new(int32(5))
	job.Spec.CompletionMode, job.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(int32)
	return job
}

// play runs a Job to its end. A pod fails if the index that it works on is bad.
func play(job *batchv1.Job, bad indexset.Set) *batchv1.Job {
	c := Must(cluster.New(job, Noon()))
	controller, cache := cluster.NewCaller(), c.NewCache(true)
	for c.Job().Status.CompletionTime == nil && len(c.Job().Status.Conditions) < 2 {
		out := c.Run(controller, cache)
		for _, pod := range c.Pods() {
			code := int32(0)
			if bad.Contains(work(pod)) {
				code = 1
			}
			c.End(pod.UID, code)
		}
		c.Now = c.Now.Add(max(out.After, time.Second))
	}
	return c.Job()
}

// work returns the index of the first Job that a pod works on. A program in a container would
// compute it in the same way.
func work(pod *corev1.Pod) int32 {
	var i int32
	fmt.Sscan(pod.Annotations[batchv1.JobCompletionIndexAnnotation], &i)
	for _, env := range pod.Spec.Containers[0].Env {
		if env.Name == retryfailed.Variable {
			for index := range indexset.MustParse(env.Value).All() {
				if i == 0 {
					return index
				}
				i--
			}
		}
	}
	return i
}

// Three of ten indexes fail. They run again, and one of them fails again.
func ExampleFailed() {
	job := play(example(), indexset.Of(2, 5, 8))
	fmt.Println(job.Name, "failed:", *job.Status.FailedIndexes)

	second := Must(retryfailed.Failed(job, "suites-2"))
	fmt.Println(second.Name, "runs", *second.Spec.Completions, "indexes:", second.Annotations[retryfailed.Annotation])

	third := Must(retryfailed.Failed(play(second, indexset.Of(5)), "suites-3"))
	fmt.Println(third.Name, "runs", *third.Spec.Completions, "index:", third.Annotations[retryfailed.Annotation])
	// Output:
	// suites failed: 2,5,8
	// suites-2 runs 3 indexes: 2,5,8
	// suites-3 runs 1 index: 5
}

// Unfinished also returns the indexes that the Job had not started.
func TestUnfinished(t *testing.T) {
	job := example()
	job.Spec.MaxFailedIndexes = new(int32(1))
	next := Must(retryfailed.Unfinished(play(job, indexset.Of(0, 1, 2, 3)), "suites-2"))
	Same(t, "indexes to run again", next.Annotations[retryfailed.Annotation], "0-3,5-9")
	play(next, indexset.Set{}) // the API server accepts the Job
}

func TestErrors(t *testing.T) {
	done := play(example(), indexset.Set{})
	damaged := done.DeepCopy()
	damaged.Annotations = map[string]string{retryfailed.Annotation: "3-1"}
	for _, test := range []struct {
		name string
		job  *batchv1.Job
		set  indexset.Set
		want string
	}{
		{"it runs", example(), indexset.Of(1), "has not ended"},
		{"nothing failed", done, indexset.Set{}, "no such indexes"},
		{"annotation", damaged, indexset.Of(1), "the annotation"},
	} {
		_, err := retryfailed.Job(test.job, "again", test.set)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}
