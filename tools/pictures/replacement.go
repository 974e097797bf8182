package main

import "fmt"

// replacement draws what the two pod replacement policies make of a pod that is
// deleted at 8 s and takes 25 s to stop; its replacement ends by itself. The times are those that jobfate simulate
// gives for such a Job; TestReplacement in internal/cli sees to it.
func replacement() string {
	const left, unit = 60, 10 // pixels a second
	d := newDrawing(330, "The two pod replacement policies",
		"A pod is deleted at 8 seconds and stops at 33. With TerminatingOrFailed it counts as failed at 8 seconds and its replacement is created at 18, so two pods run until 33. With Failed it counts at 33 and its replacement is created at 43.")
	x := func(at int) int { return left + unit*at }
	bar := func(class string, from, to, y int, text string) {
		fmt.Fprintf(d, `<rect class="%s" x="%d" y="%d" width="%d" height="24" rx="4"/>`+"\n", class, x(from), y, x(to)-x(from))
		d.text((x(from)+x(to))/2, y+17, "middle", "", text)
	}
	for i, p := range []struct {
		policy            string
		counted, replaced int
		why               string
	}{
		{"TerminatingOrFailed", 8, 18, "counts as failed when it is deleted; for a while there are two"},
		{"Failed", 33, 43, "counts as failed when it has stopped; there is never more than one"},
	} {
		y := 30 + 140*i
		d.text(16, y, "start", "head", p.policy)
		d.text(196, y, "start", "small", "the pod "+p.why)
		bar("box", 0, 8, y+14, "runs")
		bar("bad", 8, 33, y+14, "terminating")
		bar("good", p.replaced, p.replaced+31, y+44, "its replacement")
		d.arrow(fmt.Sprintf("M%d %dH%d", x(p.counted), y+56, x(p.replaced)-4))
		d.text((x(p.counted)+x(p.replaced))/2, y+50, "middle", "small", "backs off")
		d.dashed(fmt.Sprintf("M%d %dV%d", x(p.counted), y+8, y+78))
		d.text(x(p.counted), y+92, "middle", "small", fmt.Sprintf("counted, %d s", p.counted))
		d.dashed(fmt.Sprintf("M%d %dV%d", x(p.replaced), y+70, y+78))
		d.text(x(p.replaced), y+92, "middle", "small", fmt.Sprintf("%d s", p.replaced))
	}
	d.text(width/2, 316, "middle", "small", "A Job with a pod failure policy always has the policy Failed. status.terminating is written with either.")
	return d.end()
}
