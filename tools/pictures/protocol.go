package main

import "fmt"

// step is a message from one to another: the server is 0, the caller 1, the library 2.
type step struct {
	from, to int
	text     string
	back     string // what is returned, or comes with it
}

var steps = []step{
	{0, 1, "the Job, its pods", "and the time, what is in flight, the backoff record"},
	{1, 2, "Decide(snapshot)", "a decision"},
	{1, 0, "adopt and release pods", ""},
	{1, 0, "delete pods, or create some", ""},
	{1, 2, "Revise, if some of that failed", "the decision as it is then"},
	{1, 0, "store the status", ""},
	{1, 1, "remember the backoff record; events, metrics", ""},
	{1, 0, "remove finalizers", ""},
	{1, 2, "Settle(pods without finalizer)", "a status, perhaps the last"},
	{1, 0, "store that status", ""},
	{1, 1, "look again: on a change, after Requeue, or soon after an error", ""},
}

// protocol draws the steps of the caller's protocol as messages between three.
func protocol() string {
	const top, row = 78, 37
	const server, caller, library = 110, 420, 730
	height := top + row*len(steps) + 62
	d := newDrawing(height, "The caller's protocol",
		"Your controller takes a snapshot from the API server, asks jobfate for a decision, and writes in this order: claims, deletions or creations, the status, the removal of finalizers, the settled status.")
	d.box("box", server-90, 14, 180, 44, "API server")
	d.box("box", caller-90, 14, 180, 44, "your controller", "does all I/O")
	d.box("pure", library-90, 14, 180, 44, "jobfate", "pure functions")
	foot := top + row*len(steps)
	for _, x := range []int{server, caller, library} {
		d.dashed(fmt.Sprintf("M%d 58V%d", x, foot))
	}
	number := 0
	for i, s := range steps {
		y := top + row*i + 14
		number++
		label := fmt.Sprint(number)
		if i == len(steps)-2 {
			number--
			label = ""
		}
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
		if s.back != "" && s.from == 1 {
			d.text(left+155, y+19, "middle", "small", "returns "+s.back)
		} else if s.back != "" {
			d.text(left+155, y+19, "middle", "small", s.back)
		}
	}
	d.text(width/2, foot+26, "middle", "small", "Stopped between any two of these, the controller begins again with 1. No pod is counted twice, and none is lost:",
		"a pod stands in a stored status before its finalizer goes (6 before 8), and is counted when it is gone (9).")
	return d.end()
}
