package stories

import (
	"testing"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/decide"
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
)

func mustDecide[S jobfate.Snapshot | decide.Input](t testing.TB, s S, opts ...jobfate.Option) jobfate.Decision {
	t.Helper()
	return decidetest.MustDecide(t, s, opts...)
}

func ptrTo[T any](v T) *T { return &v }
