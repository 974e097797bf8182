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
	names  []string
	points [][]point // of each name
}

type point struct{ x, y float64 } // a number, and nanoseconds

func newChart(title string, names ...string) chart {
	return chart{title: title, names: names, points: make([][]point, len(names))}
}

// add measures the sides, one for each name, and adds a point to each curve.
func (c *chart) add(m meter, x int, sides ...side) error {
	r, err := m.measure(sides...)
	if err != nil {
		return fmt.Errorf("%s, %d: %w", c.title, x, err)
	}
	for i := range c.names {
		c.points[i] = append(c.points[i], point{float64(x), float64(r.median(i))})
	}
	return nil
}

// The sizes of the drawing.
const (
	chartWidth  = 360
	chartHeight = 300
	marginLeft  = 58
	marginRight = 14
	marginTop   = 44
	marginFoot  = 40
)

const style = `<style>
text { font: 11px system-ui, sans-serif; fill: #333 }
.title { font-size: 12px; font-weight: 600 }
.grid { stroke: #ddd; stroke-width: 1 }
.curve { fill: none; stroke-width: 2 }
.c0 { stroke: #0b62c4 } .c1 { stroke: #c4510b } .c2 { stroke: #6b7280; stroke-dasharray: 4 3 }
.d0 { fill: #0b62c4 } .d1 { fill: #c4510b } .d2 { fill: #6b7280 }
.paper { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .grid { stroke: #333 } .paper { fill: #0d1117 }
  .c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #8b949e }
  .d0 { fill: #58a6ff } .d1 { fill: #f0883e } .d2 { fill: #8b949e }
}
</style>
`

// draw puts the charts side by side into an SVG, light or dark as the reader
// likes it.
func draw(charts []chart) []byte {
	var b bytes.Buffer
	width := chartWidth * len(charts)
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, chartHeight)
	b.WriteString("<title>Time of a decision and of the codec, on logarithmic axes</title>\n" + style)
	fmt.Fprintf(&b, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, chartHeight)
	for i, c := range charts {
		fmt.Fprintf(&b, "<g transform=\"translate(%d 0)\">\n", i*chartWidth)
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// An axis maps powers of ten to places.
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

func (c chart) draw(b *bytes.Buffer) {
	least, most := point{math.Inf(1), math.Inf(1)}, point{}
	for _, curve := range c.points {
		for _, p := range curve {
			least = point{min(least.x, p.x), min(least.y, p.y)}
			most = point{max(most.x, p.x), max(most.y, p.y)}
		}
	}
	x := newAxis(least.x, most.x, marginLeft, chartWidth-marginRight)
	y := newAxis(least.y, most.y, chartHeight-marginFoot, marginTop)
	fmt.Fprintf(b, "<text class=\"title\" x=\"%d\" y=\"16\">%s</text>\n", 10, c.title)
	for e := x.low; e <= x.high; e++ {
		at := x.at(math.Pow10(e))
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", at, y.from, y.to)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">10%s</text>\n", at, y.from+16, raised(e))
	}
	for e := y.low; e <= y.high; e++ {
		at := y.at(math.Pow10(e))
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", x.from, at, x.to)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", marginLeft-6, at+4, span(time.Duration(math.Pow10(e))))
	}
	for i, name := range c.names {
		fmt.Fprintf(b, "<path class=\"curve c%d\" d=\"", i)
		for k, p := range c.points[i] {
			fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(k, 1)], x.at(p.x), y.at(p.y))
		}
		b.WriteString("\"/>")
		left := 14 + 110*i
		fmt.Fprintf(b, "<rect class=\"d%d\" x=\"%d\" y=\"26\" width=\"10\" height=\"4\"/><text x=\"%d\" y=\"32\">%s</text>\n", i, left, left+14, name)
	}
}

// raised writes an exponent.
func raised(e int) string {
	const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
	out := ""
	for _, d := range fmt.Sprint(e) {
		out += string([]rune(digits)[d-'0'])
	}
	return out
}
