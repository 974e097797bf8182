package jobfate_test

import "github.com/jobfate/jobfate/internal/decidetest"

// The Jobs and pods of the tests.
var (
	parseJob   = decidetest.ParseJob
	specJob    = decidetest.SpecJob
	newCluster = decidetest.NewCluster
	podIn      = decidetest.PodIn
)
