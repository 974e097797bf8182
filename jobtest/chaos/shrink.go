package chaos

import "github.com/jobfate/jobfate/jobtest/internal/shrink"

// shrink returns a run of a shorter schedule with the same violation, and with its tale.
func (r *run) shrink() *run {
	var happened []string
	for i, name := range events() {
		if r.used[i] && name != "sync" {
			happened = append(happened, name)
		}
	}
	told, again := shrink.Search(r, r.plan.Upto(r.step), happened, r.Retries, func(p shrink.Plan, told bool) *run {
		next := newRun(r.Config, p)
		next.tale.Told = told
		next.live()
		return next
	})
	told.fickle = !again
	return told
}
