package explore_test

import (
	"fmt"

	"github.com/jobfate/jobfate/jobtest/explore"
)

// A search finds no violation of the reference caller, which may be killed at every write.
func ExampleSearches() {
	for _, s := range explore.Searches() {
		if s.Name == "killed/no retry" {
			r, err := s.Run(100, nil)
			fmt.Println(r.States >= 100, "found:", r.Found, err)
		}
	}
	// Output:
	// true found: <nil> <nil>
}
