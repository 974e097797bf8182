package jobfate_test

import "github.com/jobfate/jobfate/internal/decidetest"

// Functions that make the Jobs and pods of the tests.
var (
	parseJob   = decidetest.ParseJob
	specJob    = decidetest.SpecJob
	newCluster = decidetest.NewCluster
	podIn      = decidetest.PodIn
)
