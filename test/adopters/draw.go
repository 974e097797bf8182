package adopters

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

var noon = jobtest.Noon()

// Lives generates the Jobs that watchers observe while a controller runs a Job: one after each sync.
func Lives() *rapid.Generator[[]*batchv1.Job] {
	return rapid.Custom(func(t *rapid.T) (seen []*batchv1.Job) {
		c, err := cluster.New(jobtest.LivelyJobs().Draw(t, "job"), noon)
		if err != nil {
			t.Fatalf("the API server rejects a generated Job: %v", err)
		}
		caller, cache := jobtest.NewCaller(), c.NewCache(true)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			out := c.Run(caller, cache)
			if c.Job() == nil {
				break
			}
			seen = append(seen, c.Job())
			jobtest.Life{}.Happen(t, c, out.At)
		}
		return seen
	})
}

// anyJobs generates Jobs that may contradict themselves, with the fields that the API server always sets.
var anyJobs = rapid.Custom(func(t *rapid.T) *batchv1.Job {
	job := podtest.DrawJob(t)
	for _, field := range []**int32{&job.Spec.Parallelism, &job.Spec.Completions, &job.Spec.BackoffLimit} {
		*field = new(rapid.Int32Range(0, 12).Draw(t, "number"))
	}
	for i := range job.Status.Conditions {
		job.Status.Conditions[i].Message = fmt.Sprint("message ", i)
	}
	return job
})
