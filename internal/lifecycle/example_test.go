package lifecycle_test

import (
	"fmt"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// If a Job can end in several ways, the first in the table decides.
func ExampleEndOf() {
	two := int32(2)
	facts := lifecycle.Inputs{
		Completions: &two,
		Completed:   indexset.Of(0, 1), Succeeded: 2, Settled: true,
		PastDeadline: true,
	}
	end := lifecycle.EndOf(&facts)
	fmt.Println(end.Rule(), end.Interim, end.Terminal())

	facts.PastDeadline = false
	end = lifecycle.EndOf(&facts)
	fmt.Println(end.Rule(), end.Interim, end.Terminal())
	// Output:
	// Deadline FailureTarget Failed
	// Completions SuccessCriteriaMet Complete
}
