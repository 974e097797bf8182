package decidetest

import (
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest"
)

// Inputs generates inputs, some of them with writes that the snapshot does not show.
func Inputs(m jobtest.Mix) *rapid.Generator[decide.Snapshot] {
	return rapid.Custom(func(t *rapid.T) decide.Snapshot {
		in := jobtest.Snapshots(m).Draw(t, "snapshot")
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
