package chaos

import "github.com/jobfate/jobfate/jobtest/internal/shrink"

// shrink returns a run of a shorter schedule with the same violation, and with its log.
func (r *run) shrink() *run {
	var happened []string
	for i, name := range events() {
		if r.used[i] && name != "sync" {
			happened = append(happened, name)
		}
	}
	logged, again := shrink.Search(r, r.plan.Upto(r.step), happened, r.Retries, func(p shrink.Plan, logged bool) *run {
		next := newRun(r.Config, p)
		next.log.On = logged
		next.live()
		return next
	})
	logged.unrepeated = !again
	return logged
}
