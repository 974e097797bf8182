package jobtest_test

import (
	"fmt"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest"
)

// A property of decisions, to be checked with rapid.Check in a test: no more pods
// are created than parallelism allows. Here it is tried on ten snapshots.
func ExampleSnapshots() {
	snapshots := jobtest.Snapshots(jobtest.Wild())
	for seed := range 10 {
		s := snapshots.Example(seed)
		d, err := jobfate.Decide(s)
		if err != nil {
			continue // a snapshot that cannot be understood
		}
		if created, most := len(d.Create), int(*s.Job.Spec.Parallelism); created > most {
			fmt.Printf("%d pods created, at most %d may be\n", created, most)
		}
	}
	fmt.Println("checked")
	// Output:
	// checked
}
