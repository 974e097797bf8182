package explore

import "github.com/jobfate/jobfate/jobtest/cluster"

// Most things that happen do not touch each other, and then their order makes no
// difference: a pod that ends while the controller talks about another one may as
// well end when it is done. Of all such orders one is tried. That leaves out most
// states and none in which anything could go wrong:
//
//   - A cache catches up with an object only just before a reader uses what it
//     shows, the controller when it begins a sync, or before the object changes,
//     for then it can show this version no more.
//   - In the middle of a sync a pod changes only if that can make a difference to
//     the next request of the controller.
//
// [Config.AllOrders] switches this off.

// objects are the Job and pods, a bit for each.
type objects uint8

const theJob objects = 1 << 7

func onePod(i int) objects { return 1 << i }

// lagging returns the objects of which a cache shows another version than is
// stored.
func (s *state) lagging() (o objects) {
	if s.job != s.seenJob || s.behind || s.past {
		o |= theJob
	}
	for i := range s.pods {
		if s.pods[i].stored != s.pods[i].seen {
			o |= onePod(i)
		}
	}
	return o
}

// show lets the caches catch up with some objects. The Job comes first: of pods
// that lag when it is shown more is known.
func (x *search) show(s *state, o objects) state {
	next := *s
	if o&theJob != 0 {
		next.showJob()
	}
	for i := range x.Pods {
		if o&onePod(i) != 0 {
			next.showPod(i)
		}
	}
	return next
}

// caughtUp is a state when the caches show everything. When all orders are tried,
// and in the middle of a sync, they do not catch up by themselves.
func (x *search) caughtUp(s *state) (state, objects) {
	shown := s.lagging()
	if x.AllOrders || s.at != 0 || shown == 0 {
		return *s, 0
	}
	return x.show(s, shown), shown
}

// cacheMoves let a cache catch up with an object, at any time.
func (x *search) cacheMoves(s *state, yield visitor) {
	if !x.AllOrders {
		return
	}
	lagging := s.lagging()
	if lagging&theJob != 0 {
		yield(move{what: showJob}, x.show(s, theJob), nil)
	}
	for i := range x.Pods {
		if lagging&onePod(i) != 0 {
			yield(move{what: showPod, place: uint8(i)}, x.show(s, onePod(i)), nil)
		}
	}
}

// eitherWay makes moves that change an object: after the cache has caught up with
// it, and without.
func (x *search) eitherWay(s *state, o objects, yield visitor, moves func(*state, visitor)) {
	moves(s, yield)
	if !x.AllOrders && s.lagging()&o != 0 {
		next := x.show(s, o)
		moves(&next, yield.after(o))
	}
}

// everyWay makes moves after the caches have caught up with any of the objects.
func (x *search) everyWay(s *state, yield visitor, moves func(*state, visitor)) {
	moves(s, yield)
	if x.AllOrders {
		return
	}
	lagging := s.lagging()
	for o := lagging; o != 0; o = (o - 1) & lagging {
		next := x.show(s, o)
		moves(&next, yield.after(o))
	}
}

// target is the object that the next request of the controller changes, if there
// is one.
func (x *search) target(s *state) objects {
	r := x.positions[s.at].request
	i := x.named(s, r.Name)
	if i < 0 {
		i = placeOf(r) // a pod that is gone
	}
	switch {
	case r.Verb == cluster.Status:
		return theJob
	case (r.Verb == cluster.Patch || r.Verb == cluster.Delete) && i >= 0:
		return onePod(i)
	}
	return 0
}

// matters reports whether it can make a difference that a pod changes now, and not
// when the controller has had its next request answered. It does if the request is
// about the pod, or if the pod goes, for that frees its place. And anything may
// lead to a place for a pod that is to be created, or to the end of a Job that is
// being deleted.
func (x *search) matters(s, next *state, i int) bool {
	if x.AllOrders || s.at == 0 || next.pods[i].stored == 0 || x.target(s) == onePod(i) {
		return true
	}
	switch r := x.positions[s.at].request; r.Verb {
	case cluster.List:
		return true
	case cluster.GetPod:
		return x.named(s, r.Name) == i
	case cluster.Create:
		return x.freePlace(s) < 0
	case cluster.Status, cluster.Get:
		job := x.jobs.values[s.job]
		return job != nil && job.DeletionTimestamp != nil
	}
	return false
}
