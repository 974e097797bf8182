package keys_test

import (
	"fmt"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/keys"
)

// The counts of a failed pod determine the delay and the counts of its replacement.
func ExampleKeys_CountsOf() {
	var names keys.Keys
	pod := names.CountsOf(map[string]string{"batch.kubernetes.io/job-index-failure-count": "2"})
	fmt.Println("delay", backoff.Policy{}.Delay(pod.Total()+1))

	replacement := map[string]string{}
	names.PutCounts(replacement, pod.Next(true))
	fmt.Println(replacement)
	// Output:
	// delay 40s
	// map[batch.kubernetes.io/job-index-failure-count:3]
}
