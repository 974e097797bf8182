package main

import (
	"os"
	"runtime/debug"

	"github.com/jobfate/jobfate/internal/cli"
)

// Most of the input stays in memory, so the garbage collector runs less often than by default. Above
// a limit of the heap it runs more often, because memory then matters more than time.
const (
	softLimit      = 3 << 30
	garbagePercent = 150
)

// A simulation keeps little of the memory that it uses.
const simulationPercent = 800

func main() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(softLimit)
		debug.SetGCPercent(percent(os.Args))
	}
	os.Exit(cli.Run(os.Args[1:], cli.Process("jobfate")))
}

func percent(args []string) int {
	if len(args) > 1 && args[1] == "simulate" {
		return simulationPercent
	}
	return garbagePercent
}
