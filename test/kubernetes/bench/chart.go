package main

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// A chart has curves on two logarithmic axes.
type chart struct {
	title  string
	curves []curve
}

type curve struct {
	name   string
	points []point
}

type point struct{ x, y float64 } // a number, and nanoseconds

// The sizes of the drawing. The names of the curves are at their right ends.
const (
	chartWidth  = 720
	chartHeight = 380
	marginLeft  = 64
	marginRight = 190
	marginTop   = 40
	marginFoot  = 44
)

const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.grid { stroke: #d8dee4; stroke-width: 1 }
.curve { fill: none; stroke-width: 2.5 }
.c0 { stroke: #6b7280 } .c1 { stroke: #c4510b } .c2 { stroke: #0b62c4 }
.d0 { fill: #6b7280 } .d1 { fill: #c4510b } .d2 { fill: #0b62c4 }
.paper { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .grid { stroke: #30363d } .paper { fill: #0d1117 }
  .c0 { stroke: #9198a1 } .c1 { stroke: #f0883e } .c2 { stroke: #58a6ff }
  .d0 { fill: #9198a1 } .d1 { fill: #f0883e } .d2 { fill: #58a6ff }
}
</style>
`

// An axis maps powers of ten to positions.
type axis struct {
	low, high int // exponents
	from, to  float64
}

func newAxis(least, most, from, to float64) axis {
	a := axis{int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most))), from, to}
	if a.high == a.low {
		a.high++
	}
	return a
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-float64(a.low))/float64(a.high-a.low)*(a.to-a.from)
}

// draw returns an SVG for light and dark mode.
func (c chart) draw() []byte {
	least, most := point{math.Inf(1), math.Inf(1)}, point{}
	for _, curve := range c.curves {
		for _, p := range curve.points {
			least = point{min(least.x, p.x), min(least.y, p.y)}
			most = point{max(most.x, p.x), max(most.y, p.y)}
		}
	}
	x := newAxis(least.x, most.x, marginLeft, chartWidth-marginRight)
	y := newAxis(least.y, most.y, chartHeight-marginFoot, marginTop)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n",
		chartWidth, chartHeight)
	fmt.Fprintf(&b, "<title>%s, on logarithmic axes</title>\n%s", c.title, style)
	fmt.Fprintf(&b, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, "<text class=\"title\" x=\"10\" y=\"22\">%s</text>\n", c.title)
	for e := x.low; e <= x.high; e++ {
		at := x.at(math.Pow10(e))
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", at, y.from, y.to)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", at, y.from+20, raised(e))
	}
	for e := y.low; e <= y.high; e++ {
		at := y.at(math.Pow10(e))
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", x.from, at, x.to)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", marginLeft-8, at+4,
			span(time.Duration(math.Pow10(e))))
	}
	for i, curve := range c.curves {
		fmt.Fprintf(&b, "<path class=\"curve c%d\" d=\"", i)
		for k, p := range curve.points {
			fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(k, 1)], x.at(p.x), y.at(p.y))
		}
		b.WriteString("\"/>\n")
		for _, p := range curve.points {
			fmt.Fprintf(&b, "<circle class=\"d%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", i, x.at(p.x), y.at(p.y))
		}
		end := curve.points[len(curve.points)-1]
		fmt.Fprintf(&b, "\n<text class=\"d%d\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", i, x.at(end.x)+10,
			y.at(end.y)+4, curve.name)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// raised writes a power of ten.
func raised(e int) string {
	const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
	out := "10"
	for _, d := range fmt.Sprint(e) {
		out += string([]rune(digits)[d-'0'])
	}
	return out
}

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
