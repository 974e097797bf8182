package cli

import (
	"strings"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// pictureStyle gives each outcome a colour and a pattern. The colours are those of
// Okabe and Ito, which the colour-blind can distinguish.
const pictureStyle = `<style>
text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: #24292f }
.title { font-size: 13px; font-weight: 600 } .small { fill: #57606a }
.halo { paint-order: stroke; stroke: #fff; stroke-width: 3px; stroke-linejoin: round }
.on { fill: #fff; paint-order: stroke; stroke: #1f2328; stroke-width: 2.5px; stroke-linejoin: round; font-weight: 600 }
.paper { fill: #fff } .grid { stroke: #e2e2e2 } .mark { stroke: #57606a; stroke-dasharray: 2 3; fill: none }
.hatch { stroke: #9aa0a6; stroke-width: 1.3; fill: none } .rule { fill: #111; stroke: #fff; stroke-width: 1.2 }
.pending { fill: #f3f4f6; stroke: #8c959f; stroke-width: .8 } .lost { fill: none; stroke: #24292f; stroke-width: 1; stroke-dasharray: 3 2 }
.succeeded { fill: #009e73 } .failed { fill: url(#failed) } .evicted { fill: url(#evicted) } .deleted { fill: url(#deleted) } .unfinished { fill: url(#unfinished) }
.red { fill: #d55e00 } .orange { fill: #e69f00 } .purple { fill: #cc79a7 } .blue { fill: #56b4e9 }
.line { stroke: #1f2328; stroke-opacity: .75; fill: none }
.event { fill: #0072b2 } .condition { fill: #57606a }
.running { fill: #56b4e9; fill-opacity: .45 } .active { stroke: #0072b2; stroke-width: 1.4; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .paper { fill: #0d1117 } .grid { stroke: #2b3038 } .mark { stroke: #9198a1 }
  .halo { stroke: #0d1117 } .on { fill: #fff; stroke: #0d1117 }
  .hatch { stroke: #6b7280 } .rule { fill: #fff; stroke: #0d1117 } .pending { fill: #21262d; stroke: #768390 } .lost { stroke: #e6edf3 }
  .event { fill: #56b4e9 } .condition { fill: #9198a1 } .active { stroke: #79c0ff }
}
</style>
<defs>
<pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>
<pattern id="failed" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="red" d="M0 0H5V5H0Z"/><path class="line" d="M0 0V5M0 0H5"/></pattern>
<pattern id="evicted" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><path class="orange" d="M0 0H6V6H0Z"/><path class="line" d="M0 0V6"/></pattern>
<pattern id="deleted" width="4" height="4" patternUnits="userSpaceOnUse"><path class="purple" d="M0 0H4V4H0Z"/><path class="line" d="M0 2H1.5"/></pattern>
<pattern id="unfinished" width="5" height="5" patternUnits="userSpaceOnUse"><path class="blue" d="M0 0H5V5H0Z"/><path class="line" d="M0 0V5"/></pattern>
</defs>
`

// legendHeight is the height of both rows of the legend.
const legendHeight = 2 * lineHeight

// legend explains the bars in one row, and the signs in another.
func (p *picture) legend() {
	const column = 112.0
	x := 10.0
	entry := func(how, text string) {
		p.element(`<rect %s x="%.1f" y="27" width="16" height="10"/>`, how, x)
		p.text(x+21, 36, "start", "", text)
		x += column
	}
	entry(`class="pending"`, "not running")
	for _, o := range []simulation.Outcome{simulation.PodSucceeded, simulation.PodFailed, simulation.PodEvicted,
		simulation.PodDeleted, simulation.PodUnfinished} {
		entry(classOf(o), strings.ToLower(string(o)))
	}
	entry(`class="lost"`, "node lost")
	entry(`fill="url(#wait)"`, "backing off")
	x = 10
	sign := func(text string, width float64, draw func(x, y float64)) {
		draw(x+8, 48)
		p.text(x+21, 52, "start", "", text)
		x += width
	}
	sign("exit code", column, func(x, y float64) { p.text(x, y+4, "middle", "on", "1") })
	sign("rule matched", column,
		func(x, y float64) { p.element(`<circle class="rule" cx="%.1f" cy="%.1f" r="3.5"/>`, x, y) })
	sign("event", column, p.eventSign)
	sign("condition", column, p.conditionSign)
	sign("active pods", column,
		func(x, y float64) { p.element(`<path class="active" d="M%.1f %.1fh7v-4h9"/>`, x-8, y+2) })
	sign("of these running", column, func(x, y float64) {
		p.element(`<path class="running" d="M%.1f %.1fh16v9h-16z"/>`, x-8, y-5)
	})
}

func (p *picture) eventSign(x, y float64) {
	p.element(`<path class="event" d="M%.1f %.1fh9l-4.5 8z"/>`, x-4.5, y-4)
}

func (p *picture) conditionSign(x, y float64) {
	p.element(`<path class="condition" d="M%.1f %.1fl4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>`, x, y-4.5)
}

func classOf(o simulation.Outcome) string {
	return `class="` + strings.ToLower(string(o)) + `"`
}
