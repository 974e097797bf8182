package census

import "github.com/jobfate/jobfate/backoff"

// News returns what the newly finished pods mean for the backoff of the whole
// Job: failures after the last success, and when the last of them was. Kept says that
// the pods which match a FailJob rule are not counted now (see AccountInputs.KeepFailsJob), and
// are no news.
func (c *Census) News(kept bool) backoff.News {
	if c.Succeeded == 0 && c.Failures == 0 {
		return backoff.News{}
	}
	var lastSuccess *Record
	for i := range c.Records {
		if r := &c.Records[i]; r.isNews() && r.Succeeded && (lastSuccess == nil || lastSuccess.finishedBefore(r)) {
			lastSuccess = r
		}
	}
	news := backoff.News{Succeeded: lastSuccess != nil}
	var last *Record
	for i := range c.Records {
		r := &c.Records[i]
		if !r.isNews() || !r.Failed || kept && r.FailsJob || lastSuccess != nil && !lastSuccess.finishedBefore(r) {
			continue
		}
		news.Failures = add(news.Failures, 1)
		if last == nil || last.finishedBefore(r) {
			last = r
		}
	}
	if last != nil {
		news.LastFailure = last.Finish()
	}
	return news
}

// isNews reports whether a pod that has finished is not recorded yet.
func (r *Record) isNews() bool { return r.Tracked && r.Valid && !r.Listed }
