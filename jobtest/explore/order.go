package explore

import "github.com/jobfate/jobfate/jobtest/cluster"

// Most events are independent, and then their order makes no difference: if a pod ends
// during a request about another pod, it may as well end after the request. The search
// tries one of these orders. That omits most states but finds the same violations:
//
//   - A cache catches up with an object only just before the controller begins a sync, or
//     before the object changes, after which the cache cannot show this version any more.
//   - During a sync a pod changes only if that can affect the next request of the
//     controller.
//
// config.AllOrders switches this off.

// objects is a set of objects: a bit for the Job and for each pod.
type objects uint8

const theJob objects = 1 << 7

func onePod(i int) objects { return 1 << i }

// lagging returns the objects for which a cache does not show the stored version.
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

// show makes the caches catch up with some objects. The Job comes first: showing it marks
// pods that still lag.
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

// caughtUp returns a state after the caches have caught up, and the objects with which they
// did. With AllOrders, and during a sync, the caches do not catch up by themselves.
func (x *search) caughtUp(s *state) (state, objects) {
	shown := s.lagging()
	if x.AllOrders || s.at != 0 || shown == 0 {
		return *s, 0
	}
	return x.show(s, shown), shown
}

// cacheMoves yields the moves in which a cache catches up with an object.
func (x *search) cacheMoves(s *state, yield visitor) {
	if !x.AllOrders {
		return
	}
	lagging := s.lagging()
	if lagging&theJob != 0 {
		yield(move{kind: showJob}, x.show(s, theJob), nil)
	}
	for i := range x.Pods {
		if lagging&onePod(i) != 0 {
			yield(move{kind: showPod, place: uint8(i)}, x.show(s, onePod(i)), nil)
		}
	}
}

// eitherWay yields the moves that change an object, each twice: with and without the cache
// catching up first.
func (x *search) eitherWay(s *state, o objects, yield visitor, moves func(*state, visitor)) {
	moves(s, yield)
	if !x.AllOrders && s.lagging()&o != 0 {
		next := x.show(s, o)
		moves(&next, yield.after(o))
	}
}

// everyWay yields moves for each set of objects with which the caches may have caught up.
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

// target returns the object that the next request of the controller changes, if any.
func (x *search) target(s *state) objects {
	r := x.positions[s.at].request
	i := x.named(s, r.Name)
	if i < 0 {
		i = placeOf(r) // the pod is gone
	}
	switch {
	case r.Verb == cluster.Status:
		return theJob
	case (r.Verb == cluster.Patch || r.Verb == cluster.Delete) && i >= 0:
		return onePod(i)
	}
	return 0
}

// matters reports whether a pod that changes now can have another effect than after the
// next request of the controller. It can if the request is about the pod, or if the pod is
// removed, which frees its place. Any change may free a place for a pod to create, or end
// the deletion of the Job. With two leaders, it matters which changes come before a status.
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
		return job != nil && job.DeletionTimestamp != nil || x.twoLeaders && r.Verb == cluster.Status // see keepSince
	}
	return false
}
