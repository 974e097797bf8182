package stories

import (
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// Short names for functions that every story needs.
var (
	parseJob   = decidetest.ParseJob
	specJob    = decidetest.SpecJob
	newCluster = decidetest.NewCluster
	podIn      = decidetest.PodIn
	without    = decidetest.WithoutFinalizers
	toJSON     = decidetest.ToJSON
	mustDecide = decidetest.MustDecide
)
