package vectors

import "github.com/jobfate/jobfate/backoff"

// Record and PurposeOf open what the tests of the package vectors_test need.
func (b *Backoff) Record() backoff.Record { return b.record() }

var PurposeOf = purposeOf
