package main

import (
	"fmt"
	"html"
	"strings"
)

// width is that of all pictures, so that their letters have one size on a page.
const width = 840

// The colours are for light and for dark pages.
const style = `<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e }
.head { font-size: 14px; font-weight: 600 }
.num { font-weight: 600; fill: #0969da }
.code { font: 12px ui-monospace, SFMono-Regular, Menlo, monospace }
.paper { fill: #fff }
.box { fill: #f6f8fa; stroke: #818b98; stroke-width: 1.2 }
.pure { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.2 }
.good { fill: #dafbe1; stroke: #1a7f37; stroke-width: 1.2 }
.bad { fill: #ffebe9; stroke: #cf222e; stroke-width: 1.2 }
.line { stroke: #59636e; stroke-width: 1.4; fill: none }
.dash { stroke: #818b98; stroke-width: 1; stroke-dasharray: 4 4; fill: none }
.tip { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 } .num { fill: #58a6ff }
  .paper { fill: #0d1117 }
  .box { fill: #161b22; stroke: #656c76 } .pure { fill: #0c2d4d; stroke: #388bfd }
  .good { fill: #0f2f1a; stroke: #3fb950 } .bad { fill: #3c1618; stroke: #f85149 }
  .line { stroke: #9198a1 } .dash { stroke: #656c76 } .tip { fill: #9198a1 }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>
`

// A drawing is an SVG under way.
type drawing struct{ strings.Builder }

// newDrawing begins a drawing; the description is for those who cannot see it.
func newDrawing(height int, title, description string) *drawing {
	d := new(drawing)
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`+"\n", width, height)
	fmt.Fprintf(d, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n%s", html.EscapeString(title), html.EscapeString(description), style)
	fmt.Fprintf(d, `<rect class="paper" width="%d" height="%d"/>`+"\n", width, height)
	return d
}

func (d *drawing) end() string { return d.String() + "</svg>\n" }

// text puts lines below each other; the anchor is start, middle or end.
func (d *drawing) text(x, y int, anchor, class string, lines ...string) {
	for i, line := range lines {
		fmt.Fprintf(d, `<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", class, x, y+17*i, anchor, html.EscapeString(line))
	}
}

// box draws a box with a heading and lines in the middle of it.
func (d *drawing) box(class string, x, y, w, h int, heading string, lines ...string) {
	fmt.Fprintf(d, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`+"\n", class, x, y, w, h)
	top := y + h/2 + 5 - 17*len(lines)/2
	d.text(x+w/2, top, "middle", "head", heading)
	d.text(x+w/2, top+17, "middle", "small", lines...)
}

// arrow draws an arrow along a path.
func (d *drawing) arrow(path string) {
	fmt.Fprintf(d, `<path class="line" d="%s" marker-end="url(#tip)"/>`+"\n", path)
}

// dashed draws a dashed line.
func (d *drawing) dashed(path string) { fmt.Fprintf(d, `<path class="dash" d="%s"/>`+"\n", path) }
