package main

import "fmt"

// architecture draws the packages that decide, and the way of an input through the
// files of internal/decide.
func architecture() string {
	d := newDrawing(692, "How jobfate is built",
		"The root stands on internal/machine, and both on internal/decide, as explain does; that stands on the leaves. Inside internal/decide an input becomes a view, a plan, an outcome and a settled status, in this order.")
	d.box("box", 40, 16, 360, 50, "jobfate", "Machine, Decide, and what callers act on")
	d.box("box", 440, 16, 360, 50, "explain", "why, and whether it can still succeed")
	d.box("box", 40, 92, 360, 50, "internal/machine", "a sync: requests out, answers in")
	d.arrow("M440 41H404")
	d.arrow("M220 66V88")
	d.arrow("M220 142V174")
	d.arrow("M620 66V174")

	fmt.Fprintln(d, `<g transform="translate(0 74)">`)
	fmt.Fprintf(d, `<rect class="pure" x="20" y="104" width="800" height="276" rx="8"/>`+"\n")
	d.text(36, 128, "start", "head", "internal/decide: values in four steps, none changes after it is made")
	columns := []struct {
		x           int
		value, made string
		files       []string
	}{
		{34, "Input", "what the caller knows", []string{"input.go", "the caller's settings", "check.go", "what is refused"}},
		{230, "View", "made by Read", []string{"view.go, policy.go", "spec, status, pods read", "totals.go", "counted together", "rebuild.go", "the backoff record"}},
		{426, "Plan", "made by plan", []string{"plan.go", "how the Job stands", "manage.go, choose.go", "how many, which indexes", "remove.go, create.go", "pods to delete, to create"}},
		{622, "Outcome", "made by Close; then Settle", []string{"outcome.go", "the end, what is due", "status.go, settle.go", "before and after finalizers", "metrics.go", "what to count"}},
	}
	for i, c := range columns {
		d.box("box", c.x, 144, 184, 46, c.value, c.made)
		if i > 0 {
			d.arrow(fmt.Sprintf("M%d 167H%d", c.x-12, c.x-2))
		}
		for n := 0; n < len(c.files); n += 2 {
			y := 222 + 58*n/2
			d.text(c.x+8, y, "start", "code", c.files[n])
			d.text(c.x+8, y+18, "start", "small", c.files[n+1])
		}
	}
	d.arrow("M420 380V404")

	rows := [][]struct{ name, about string }{
		{{"jobstatus", "reads statuses, the demand"}, {"tracking", "counts pods, for any controller"}},
		{{"internal/lifecycle", "how a Job ends"}, {"internal/census", "the pods in one pass"}, {"internal/owner, keys", "a Job's pods, finalizers"}},
		{{"failurepolicy", "rules"}, {"backoff", "delays, limits"}, {"indexset", "sets of indexes"}},
	}
	for n, row := range rows {
		y, wide := 408+76*n, (760-40*(len(row)-1))/len(row)
		for i, leaf := range row {
			d.box("box", 40+(wide+40)*i, y, wide, 44, leaf.name, leaf.about)
		}
		if n > 0 {
			d.arrow(fmt.Sprintf("M420 %dV%d", y-32, y-4))
		}
	}
	fmt.Fprintln(d, "</g>")
	return d.end()
}
