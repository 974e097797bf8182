package simulation

// places tracks the capacity of the cluster; each running pod takes one place.
type places struct {
	most  *int32 // the capacity; nil is no limit
	taken int32
	queue []*simPod // pods without a place, in the order of their creation
}

// admitted assigns free places to waiting pods, and returns these pods.
func (p *places) admitted() (in []*simPod) {
	for len(p.queue) > 0 && (p.most == nil || p.taken < *p.most) {
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
