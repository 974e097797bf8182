// Package effort sets the size of the searches in tests. By default they are small, so that
// "go test ./..." stays quick. With the flag -long they are as large as .ci/run requires.
package effort

import (
	"flag"
	"fmt"
)

var long = flag.Bool("long", false, "search as far as .ci/run does")

// Flag defines a flag for the size of a search. It returns a function that returns the value
// of the flag or, if the flag is not set, one of the two defaults.
func Flag(name, usage string, quick, full int) func() int {
	value := flag.Int(name, 0, fmt.Sprintf("%s; 0 means %d, with -long %d", usage, quick, full))
	return func() int {
		switch {
		case *value > 0:
			return *value
		case *long:
			return full
		}
		return quick
	}
}
