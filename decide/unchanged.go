package decide

// isAtRest reports whether a decision has no action, and does not depend on the time. Most syncs
// follow an event that changes nothing. Reusing the last decision takes a third of the time of a new
// one.
func (s *state) isAtRest(d *Decision) bool {
	o := &s.outcome
	return d.Idle() && d.Requeue == 0 && d.Deferred == (Deferred{}) && !o.ending().Ended() &&
		o.plan.work.action != actionCreated && !s.spec.LosesPods() && s.InFlight.isNone()
}

// again returns the last decision if the Job is at rest, the snapshot is that of the decision except for
// the time, and the pods have not changed.
func (t *Pods) again(in *Snapshot, c *config) (d Decision, ok bool, err error) {
	s := t.atRest
	if s == nil || in.Job != s.Job || c != s.config || in.Backoff != s.Backoff ||
		!in.InFlight.isNone() || in.Now.IsZero() {
		return d, false, nil
	}
	err = t.update(&s.stored, s.spec.Classifier)
	if err != nil || t.census != s.census ||
		t.census.Changes != s.changes {
		return d, false, err
	}
	s.Now = in.Now
	o := &s.outcome
	return Decision{Backoff: o.plan.record, Action: o.plan.work.action, made: o}, true, nil
}
