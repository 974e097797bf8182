package main

import "fmt"

// step is a message from one to another: the server is 0, the caller 1, the library 2.
type step struct {
	from, to int
	text     string
}

var steps = []step{
	{0, 1, "the Job and its pods, as caches show them"},
	{1, 2, "Begin(view)"},
	{2, 1, "Next: read live, if in doubt"},
	{1, 0, "send each, and Answer"},
	{2, 1, "Next: adopt, release"},
	{1, 0, "send each, and Answer"},
	{2, 1, "Next: delete pods, or create some"},
	{1, 0, "send each, and Answer"},
	{2, 1, "Next: store the status"},
	{1, 0, "send it, and Answer"},
	{2, 1, "Next: remove finalizers"},
	{1, 0, "send each, and Answer"},
	{2, 1, "Next: store the status that counts them"},
	{1, 0, "send it, and Answer"},
	{2, 1, "Result: events, metrics, error"},
	{1, 1, "look again: on a change, after Requeue, or soon after an error"},
}

// protocol draws a sync as messages between three.
func protocol() string {
	const top, row = 78, 37
	const server, caller, library = 110, 420, 730
	height := top + row*len(steps) + 62
	d := newDrawing(height, "A sync",
		"Your controller hands what its caches show to a Machine of jobfate, and sends what it asks for, in this order: live reads, claims, deletions or creations, the status, the removal of finalizers, the status that counts them.")
	d.box("box", server-90, 14, 180, 44, "API server")
	d.box("box", caller-90, 14, 180, 44, "your controller", "does all I/O")
	d.box("pure", library-90, 14, 180, 44, "jobfate.Machine", "no I/O")
	foot := top + row*len(steps)
	for _, x := range []int{server, caller, library} {
		d.dashed(fmt.Sprintf("M%d 58V%d", x, foot))
	}
	for i, s := range steps {
		y := top + row*i + 14
		label := fmt.Sprint(i + 1)
		lanes := []int{server, caller, library}
		from, to := lanes[s.from], lanes[s.to]
		switch {
		case from == to:
			fmt.Fprintf(d, `<rect class="box" x="%d" y="%d" width="480" height="24" rx="5"/>`+"\n", caller-240, y-14)
			d.text(caller, y+3, "middle", "", s.text)
			d.text(caller-228, y+3, "start", "num", label)
			continue
		case from < to:
			d.arrow(fmt.Sprintf("M%d %dH%d", from+4, y+4, to-4))
		default:
			d.arrow(fmt.Sprintf("M%d %dH%d", from-4, y+4, to+4))
		}
		left := min(from, to)
		d.text(left+14, y-2, "start", "num", label)
		d.text(left+155, y-2, "middle", "", s.text)
	}
	d.text(width/2, foot+26, "middle", "small", "Stopped between any two of these, the controller begins again with 1. No pod is counted twice, and none is lost:",
		"a pod stands in a stored status before its finalizer goes (10 before 12), and is counted when it is gone (14).")
	return d.end()
}
