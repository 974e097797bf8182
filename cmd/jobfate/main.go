package main

import (
	"os"
	"runtime/debug"

	"github.com/jobfate/jobfate/internal/cli"
)

// Most of what is read is kept, so garbage may grow more than by default, up to a
// limit from which on memory matters more than time.
const (
	softLimit      = 3 << 30
	garbagePercent = 150
)

func main() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		debug.SetGCPercent(garbagePercent)
	}
	os.Exit(cli.Run(os.Args[1:], cli.Process("jobfate")))
}
