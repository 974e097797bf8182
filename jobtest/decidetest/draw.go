package decidetest

import (
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Inputs generates inputs, some of them with writes that the snapshot does not show.
func Inputs(m jobtest.Mix) *rapid.Generator[decide.Input] {
	return rapid.Custom(func(t *rapid.T) decide.Input {
		in := Input(jobtest.Snapshots(m).Draw(t, "snapshot"))
		if oneIn(t, 6, "unobserved creations") {
			in.InFlight.Creations = rapid.IntRange(1, 2).Draw(t, "creations")
		}
		if oneIn(t, 12, "unobserved deletions") {
			in.InFlight.Deletions = rapid.IntRange(1, 2).Draw(t, "deletions")
		}
		if oneIn(t, 6, "unobserved removals") {
			for _, pod := range in.Pods {
				if oneIn(t, 3, "removal unobserved") {
					in.InFlight.Stripped = append(in.InFlight.Stripped, pod.UID)
				}
			}
		}
		return in
	})
}

func oneIn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

// Lived generates inputs of a Machine during the life of a Job, with caches that lag.
func Lived() *rapid.Generator[decide.Input] {
	return rapid.Custom(func(t *rapid.T) (seen decide.Input) {
		caller := cluster.NewCaller()
		inside.Deciding(caller.Machine, func(in decide.Input, c decide.Config) (*decide.Outcome, error) {
			seen = in
			return decide.Decide(in, c)
		})
		jobtest.Lead(t, caller)
		return seen
	})
}
