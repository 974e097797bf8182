package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// output holds the flags for the format of the output.
type output struct {
	format string // text, json or yaml
	color  string // auto, always or never
}

// flags adds the flags; more are additional formats of the command.
func (o *output) flags(fs *flag.FlagSet, more ...string) {
	formats := append([]string{"text", "json", "yaml"}, more...)
	oneOf(fs, &o.format, "o", "the `format` of the output: "+alternatives(formats)+" (default text)", formats...)
	oneOf(fs, &o.color, "color", "`when` to colour the text: auto, always or never (default auto: on a "+
		"terminal,\nunless NO_COLOR is set)", "auto", "always", "never")
}

// paint returns the colours and the width to use.
func (o output) paint(env Environment) (p paint) {
	if env.StdoutTerminal && env.Width != nil {
		p.width = env.Width()
	}
	plain := !env.StdoutTerminal || env.Getenv("NO_COLOR") != "" || env.Getenv("TERM") == "dumb"
	p.on = o.color == "always" || o.color != "never" && !plain
	return p
}

// print prints a value in the requested format; text renders it as text.
func (o output) print(env Environment, value any, text func(paint) string) error {
	out, err := o.formatted(env, value, text)
	if err != nil {
		return err
	}
	return env.print(out)
}

func (o output) formatted(env Environment, value any, text func(paint) string) (string, error) {
	switch o.format {
	case "json":
		return toJSON(value), nil
	case "yaml":
		return toYAML(value)
	}
	return text(o.paint(env)), nil
}

func toJSON(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(value) // cannot fail for the outputs
	return visible(b.String(), escapeJSON)
}

// toYAML returns the JSON of the value as YAML.
func toYAML(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var plain any
	if err := utiljson.Unmarshal(text, &plain); err != nil {
		return "", err
	}
	if text, err = json.Marshal(plain); err != nil { // now with sorted keys
		return "", err
	}
	// JSON is YAML. A node that encodes the value itself fails on a list with a text that begins
	// with an empty line.
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(visible(string(text), escapeRune)), &node); err != nil {
		return "", err
	}
	restyle(&node)
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	err = e.Encode(&node)
	return visible(b.String(), escapeRune), err
}

// restyle gives each value the style of the encoder, except that it double-quotes texts with
// characters to escape and texts of several lines.
func restyle(n *yaml.Node) {
	var own yaml.Node
	if n.Style = 0; n.Tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
		if !strings.Contains(n.Value, "\n") && visible(n.Value, escapeRune) == n.Value && own.Encode(n.Value) == nil {
			n.Style = own.Style
		}
	}
	for _, inner := range n.Content {
		restyle(inner)
	}
}

// paint colours text if it is on.
type paint struct {
	on    bool
	width int // of the terminal; 0 if there is none
}

// The colours are those of the terminal's palette, so they suit light and dark terminals.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p paint) text(code, text string) string {
	if !p.on || code == "" {
		return text
	}
	return control("\x1b["+code+"m") + text + control("\x1b[0m")
}
