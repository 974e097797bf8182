package census

import "time"

// News is when the pods finished that no status has recorded yet.
type News struct{ Succeeded, Failed []time.Time }

// News returns the newly finished pods, for the backoff of the whole Job. Kept says that
// the pods which match a FailJob rule are not counted now (see
// AccountInputs.KeepFailsJob), and are no news.
func (c *Census) News(kept bool) (news News) {
	if c.Succeeded == 0 && c.Failures == 0 {
		return News{}
	}
	for i := range c.Records {
		switch r := &c.Records[i]; {
		case !r.isNews():
		case r.Succeeded:
			news.Succeeded = append(news.Succeeded, r.Finish())
		case r.Failed && !(kept && r.FailsJob):
			news.Failed = append(news.Failed, r.Finish())
		}
	}
	return news
}

// isNews reports whether a pod that has finished is not recorded yet.
func (r *Record) isNews() bool { return r.Tracked && r.Valid && !r.Listed }
