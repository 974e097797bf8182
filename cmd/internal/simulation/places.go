package simulation

// places tracks the capacity of the cluster; each running pod takes one place.
type places struct {
	limited bool
	most    int
	taken   int
	queue   []*simPod // pods without a place, in the order of their creation
}

// set sets the capacity; nil is no limit.
func (p *places) set(most *int32) {
	p.limited = most != nil
	if p.limited {
		p.most = int(*most)
	}
}

// admitted assigns free places to waiting pods, and returns these pods.
func (p *places) admitted() (in []*simPod) {
	for len(p.queue) > 0 && (!p.limited || p.taken < p.most) {
		l := p.queue[0]
		p.queue = p.queue[1:]
		if l.gone {
			continue
		}
		p.take(l)
		in = append(in, l)
	}
	return in
}

// take gives a place to a pod.
func (p *places) take(l *simPod) {
	l.placed = true
	p.taken++
}

// leave frees the place of a pod, if it has one.
func (p *places) leave(l *simPod) {
	if l.placed {
		l.placed = false
		p.taken--
	}
}
