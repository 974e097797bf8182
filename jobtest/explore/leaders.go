package explore

// With the fault otherLeader there are two leaders. One of them acts, and the state has it in its fields. The other
// one is frozen at any request or between two syncs, and so are its caches. Each change from one to the other is a
// fault. The one that is frozen when no fault is left never continues.

// parked is the part of a state that belongs to the frozen leader. Pods and Jobs are stored only
// where a mark refers to them, as they were when it froze.
type parked struct {
	state
	inDoubt bool // of the ghost
}

// park returns the number of the leader in the fields of a state.
func (x *search) park(s *state) uint32 {
	p := parked{*s, x.ghosts.values[s.ghost].InDoubt}
	p.ghost, p.faults, p.edits, p.other = 0, 0, 0, 0
	if p.mark == unknown {
		p.job = 0
	}
	for i := range p.pods {
		if p.pods[i].mark == unknown {
			p.pods[i].stored = 0
		}
	}
	return x.parked.number(p, p)
}

// otherLeader freezes the leader, and starts a second one with fresh or with stale caches. If there
// are two, the other one continues.
func (x *search) otherLeader(s *state, m move, yield visitor) {
	next := *s
	next.other = x.park(s)
	if s.other == 0 {
		next.faults--
		next.since = 0
		x.restart(&next, m, nil, yield)
		return
	}
	p := &x.parked.values[s.other]
	next.seenJob, next.memory, next.at, next.behind, next.past = p.seenJob, p.memory, p.at, p.behind, p.past
	next.since = p.since
	if next.mark = p.mark; s.job != p.job {
		next.mark = unknown
	}
	for i := range next.pods {
		old, now := &p.pods[i], &next.pods[i]
		now.seen, now.mark, now.past = old.seen, old.mark, old.past && old.seen != now.stored
		if old.stored != now.stored {
			now.mark = unknown
		}
	}
	next.ghost = x.ghostOf(s.ghost, true, p.inDoubt)
	next.faults--
	yield(m, next, nil)
}

// keepSince records after a move, for each leader, which of the pods that are stale in its cache
// have changed only since the Job was stored. The status of another process says nothing about such
// changes.
func (x *search) keepSince(before, s *state) {
	if !x.twoLeaders {
		return
	}
	s.since = onlySince(s, before, s)
	if s.other != 0 {
		p := x.parked.values[s.other]
		p.since = onlySince(&p.state, before, s)
		s.other = x.parked.number(p, p)
	}
}

// onlySince returns these pods for the leader in the fields of a state.
func onlySince(leader, before, now *state) uint8 {
	since := leader.since
	for i := range leader.pods {
		seen, stored := leader.pods[i].seen, now.pods[i].stored
		switch bit := uint8(1) << i; {
		case seen == stored:
			since &^= bit
		case seen == before.pods[i].stored:
			since |= bit
		case stored == before.pods[i].stored && now.job != before.job:
			since &^= bit
		}
	}
	return since
}

type ghostKey struct {
	ghost           uint32
	behind, inDoubt bool
}

// ghostOf returns a ghost with its facts about the leader that continues. That leader does not know
// the failures that the other one has counted.
func (x *search) ghostOf(ghost uint32, behind, inDoubt bool) uint32 {
	return x.leaderGhosts.get(ghostKey{ghost, behind, inDoubt}, func() uint32 {
		g := x.ghosts.values[ghost].Clone()
		g.Behind, g.InDoubt = behind, inDoubt
		g.Forgive()
		return x.ghostNumber(g)
	})
}

// seeing returns a ghost of a leader that observes what the other one has written.
func (x *search) seeing(ghost uint32) uint32 {
	if g := &x.ghosts.values[ghost]; g.Behind {
		return x.ghostOf(ghost, false, g.InDoubt)
	}
	return ghost
}
