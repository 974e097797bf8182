package proof

import "github.com/jobfate/jobfate/jobtest/explore"

// searched follows a search. Each state of the search has the world of the path on which the search
// has first reached it.
type searched struct {
	*Follower
	worlds []*world
}

// observe checks a move of the search.
func (s *searched) observe(o explore.Observed) {
	for len(s.worlds) <= max(o.From, o.To) {
		s.worlds = append(s.worlds, nil)
	}
	w := s.worlds[o.From]
	if w != nil && (o.Swapped || o.Parked) {
		next := *w
		for i := range next.by {
			if id := next.by[i].id; id != 0 {
				next.by[i].id = 3 - id
			}
		}
		w = &next
	}
	for i := range o.Events {
		w = s.follow(w, &o.Events[i])
	}
	s.Steps++
	if w != nil && o.Alone {
		w = s.drop(w, 2)
	}
	if s.worlds[o.To] == nil {
		s.worlds[o.To] = w
	}
}

// drop forgets a process that never acts again. A new one takes its place.
func (f *Follower) drop(w *world, id int) *world {
	at := w.slot(id)
	if at < 0 {
		return w
	}
	next := *w
	next.pods = append([]*pod(nil), w.pods...)
	next.by[at] = process{}
	f.step(&next, "start", at, [3]int16{}, func(p *pod) { p.restart(at) })
	return &next
}
