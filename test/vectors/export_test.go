package vectors

import "github.com/jobfate/jobfate/backoff"

// Record opens what the tests of the package vectors_test need.
func (b *Backoff) Record() backoff.Record { return b.record() }
