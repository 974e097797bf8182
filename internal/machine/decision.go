package machine

import "github.com/jobfate/jobfate/internal/decide"

// decide makes the decision. It needs no request.
func (s *sync) decide() []exchange {
	version := s.view.version()
	if s.pending.Status = older(version, s.Known); !s.pending.Status {
		s.Known = version
	}
	outcome, err := s.outcome()
	if err != nil {
		s.end(err)
		return nil
	}
	s.setOutcome(outcome)
	if !s.claimed {
		s.claims = outcome.Claims
	}
	s.writes = newWrites(outcome, version)
	return nil
}

// input returns the input of the decision, without the pods, which are in the tally.
func (s *sync) input() decide.Input {
	return decide.Input{
		Job:            s.view.Job,
		Now:            s.view.Now,
		InFlight:       s.pending.InFlight,
		Backoff:        s.Backoff,
		BackoffInDoubt: !s.Sure,
		LastStatus:     s.LastStatus,
	}
}

func (s *sync) outcome() (*decide.Outcome, error) {
	in := s.input()
	if s.Machine.Decide != nil || s.Check != nil {
		in.Pods = s.view.Pods
		if s.view.Fed {
			in.Pods = s.tally.Pods()
		}
	}
	if s.Machine.Decide != nil {
		return s.Machine.Decide(in, *s.config)
	}
	outcome, err := s.tally.Decide(in, s.config)
	if s.Check != nil {
		s.Check(in, *s.config, outcome, err)
	}
	return outcome, err
}

// setOutcome sets the outcome to carry out.
func (s *sync) setOutcome(outcome *decide.Outcome) {
	s.result.Outcome = outcome
	s.result.Requeue = least(outcome.Requeue, s.pending.nextRead(s.view.Now))
}
