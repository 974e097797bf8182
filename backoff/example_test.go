package backoff_test

import (
	"fmt"
	"time"

	"github.com/jobfate/jobfate/backoff"
)

func Example() {
	noon := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	var policy backoff.Policy // 10s, 20s, 40s and so on, up to 10 minutes

	// Two pods of the Job failed, three seconds apart.
	record := backoff.Record{Job: "8ad4"}
	record = record.With(nil, []time.Time{noon})
	record = record.With(nil, []time.Time{noon.Add(3 * time.Second)})
	fmt.Println("wait", policy.Remaining(record.Failures, record.LastFailure, noon.Add(5*time.Second)))

	// Then one succeeded.
	record = record.With([]time.Time{noon.Add(9 * time.Second)}, nil)
	fmt.Println("wait", policy.Remaining(record.Failures, record.LastFailure, noon.Add(9*time.Second)))
	// Output:
	// wait 18s
	// wait 0s
}
