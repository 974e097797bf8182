package main

import (
	"bytes"
	"encoding/json"
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// output is how a command reads and prints.
type output struct {
	maxInput sizeLimit
	format   string // text, json or yaml
	color    string // auto, always or never
}

// flags adds the flags; more are formats that only one command has.
func (o *output) flags(fs *flag.FlagSet, more ...string) {
	formats := append([]string{"text", "json", "yaml"}, more...)
	oneOf(fs, &o.format, "o", "the `format` of the output: "+alternatives(formats)+" (default text)", formats...)
	oneOf(fs, &o.color, "color", "`when` the text is coloured: auto, always or never (default auto: on a terminal,\nunless NO_COLOR is set)", "auto", "always", "never")
	fs.Var(&o.maxInput, "max-input", "how many `bytes` are read at most, as in 500Mi (default 1Gi)")
}

// paint returns the colours to use.
func (o output) paint(env environment) paint {
	switch o.color {
	case "always":
		return paint{true}
	case "never":
		return paint{}
	}
	return paint{env.shown && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"}
}

// print prints a value in the format asked for; text makes the text.
func (o output) print(env environment, value any, text func(paint) string) error {
	switch o.format {
	case "json":
		return env.print(toJSON(value))
	case "yaml":
		out, err := toYAML(value)
		if err != nil {
			return err
		}
		return env.print(out)
	}
	return env.print(text(o.paint(env)))
}

func toJSON(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(value) // what is printed always has a JSON
	return b.String()
}

// toYAML returns the YAML of what the JSON of the value is.
func toYAML(value any) (string, error) {
	var b bytes.Buffer
	s := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, nil, nil, serializer.SerializerOptions{Yaml: true})
	err := s.Encode(object{value}, &b)
	return b.String(), err
}

// object makes a value one that the serializers of Kubernetes take.
type object struct{ value any }

func (o object) MarshalJSON() ([]byte, error)     { return json.Marshal(o.value) }
func (o object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o object) DeepCopyObject() runtime.Object   { return o }

// paint colours text, or leaves it.
type paint struct{ on bool }

// The colours are those of the terminal's own palette, so that they suit light
// and dark ones.
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
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
