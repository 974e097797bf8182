package draft_test

import (
	"fmt"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/backoff/draft"
)

func ExampleConvert() {
	fields, err := draft.Convert(draft.Limit{BackoffLimit: new(int32(2)), BackoffLimitTarget: backoff.TargetIndex})
	fmt.Println("backoffLimitPerIndex:", *fields.BackoffLimitPerIndex, err)
	// Output: backoffLimitPerIndex: 2 <nil>
}
