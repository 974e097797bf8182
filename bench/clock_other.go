//go:build !linux

package main

import "time"

var start = time.Now()

// clock returns the time since the start of the program. Not every system reports the CPU time
// of a thread.
func clock() time.Duration { return time.Since(start) }
