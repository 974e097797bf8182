//go:build !linux

package main

import "time"

var start = time.Now()

// clock returns the time since the start: not every system tells how long a
// thread has had a processor.
func clock() time.Duration { return time.Since(start) }
