package jobtest_test

import (
	"fmt"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
)

// This checks a property of decisions: no more pods are created than parallelism allows. A
// test would use rapid.Check; the example checks ten snapshots.
func ExampleSnapshots() {
	snapshots := jobtest.Snapshots(jobtest.Wild())
	for seed := range 10 {
		s := snapshots.Example(seed)
		d, err := decide.Job(s)
		if err != nil {
			continue // an invalid snapshot
		}
		if created, most := len(d.Create), int(*s.Job.Spec.Parallelism); created > most {
			fmt.Printf("%d pods are created, but at most %d may be\n", created, most)
		}
	}
	fmt.Println("checked")
	// Output:
	// checked
}
