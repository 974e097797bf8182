package main

import (
	"math"
)

// steps returns the numbers from first to last, about two for each power of ten.
func steps(first, last int) []int {
	var out []int
	for x := float64(first); x < 0.99*float64(last); x *= math.Sqrt(10) {
		out = append(out, int(math.Round(x)))
	}
	return append(out, last)
}

// drawCost draws the time of a sync of a Job with running pods, by the number of pods. It takes
// the minimum of the runs, which other work on the machine affects least.
func drawCost(m meter, z scale) ([]byte, error) {
	c := chart{title: "Time of one sync of a Job whose pods run, by pods", curves: []curve{
		{name: "real controller"},
		{name: "Decide: from nothing"},
		{name: "Machine: fed one event"},
	}}
	for _, n := range steps(10, z.pods[len(z.pods)-1]) {
		w := newWorld(running, n)
		event, err := eventSide(running, asItIs, n)
		if err != nil {
			return nil, err
		}
		r, err := m.measure(w.realSync(), w.jobfate(), event)
		if err != nil {
			return nil, err
		}
		for i := range c.curves {
			c.curves[i].points = append(c.curves[i].points, point{float64(n), float64(r.least(i))})
		}
	}
	return c.draw(), nil
}
