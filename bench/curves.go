package main

import (
	"fmt"
	"math"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
)

// drawCurves measures how the time grows with pods, intervals and completions,
// and draws it.
func drawCurves(m meter, z scale) ([]byte, error) {
	var charts []chart
	for _, measure := range []func(meter, scale) (chart, error){overPods, overIntervals, overCompletions} {
		c, err := measure(m, z)
		if err != nil {
			return nil, err
		}
		charts = append(charts, c)
	}
	return draw(charts), nil
}

const (
	nameOurs  = "jobfate"
	nameReal  = "real controller"
	nameFloor = "floor"
)

// steps returns the numbers from first to last, about two for each power of ten.
func steps(first, last int) []int {
	var out []int
	for x := float64(first); x < 0.99*float64(last); x *= math.Sqrt(10) {
		out = append(out, int(math.Round(x)))
	}
	return append(out, last)
}

func overPods(m meter, z scale) (chart, error) {
	c := newChart("one decision, all pods running, by pods", nameOurs, nameReal, nameFloor)
	for _, n := range steps(10, z.pods[len(z.pods)-1]) {
		w, err := newWorld(running, n)
		if err != nil {
			return c, err
		}
		if err := c.add(m, n, w.jobfate(), w.realSync(), w.floor()); err != nil {
			return c, err
		}
	}
	return c, nil
}

func overIntervals(m meter, z scale) (chart, error) {
	c := newChart("parse and format, by intervals", nameOurs, nameReal)
	for _, n := range steps(1, z.intervals[len(z.intervals)-1]) {
		text := random(n).String()
		err := c.add(m, n,
			timed(func() { sink += len(indexset.MustParse(text).String()) }),
			timed(func() { sink += len(real.ParseIndexes(text, math.MaxInt32).String()) }))
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// overCompletions keeps the pods and lets the completions grow.
func overCompletions(m meter, z scale) (chart, error) {
	n := z.pods[0]
	c := newChart(fmt.Sprintf("one decision, %s pods running, by completions", many(n)), nameOurs, nameReal, nameFloor)
	w, err := newWorld(running, n)
	if err != nil {
		return c, err
	}
	for _, completions := range steps(n, int(z.completed)) {
		w := w.withCompletions(int32(completions))
		if err := c.add(m, completions, w.jobfate(), w.realSync(), w.floor()); err != nil {
			return c, err
		}
	}
	return c, nil
}
