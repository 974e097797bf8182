package kubefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// chunk is what stands between two separators: one YAML document, or any
// number of JSON values.
type chunk struct {
	text []byte
	line int // of the file, on which the chunk starts
}

var byteOrderMark = []byte("\uFEFF")

// chunks splits a file at its separators, lines that begin with --- or with the
// dots that end a document. Neither a JSON text nor a YAML scalar can hold such a
// line, so splitting comes first, and then each chunk shows whether it is YAML or
// JSON. The YAML parser itself passes over all but the first document.
func chunks(r io.Reader) ([]chunk, error) {
	in := bufio.NewReader(r)
	current := chunk{line: 1}
	var out []chunk
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if rest, ok := afterSeparator(line); ok {
			out = append(out, current)
			current, line = chunk{line: number}, rest
		}
		current.text = append(current.text, line...)
		if err != nil { // the end of the file
			return append(out, current), nil
		}
	}
}

// afterSeparator returns what follows the marker on a line that begins or ends a
// document.
func afterSeparator(line []byte) (rest []byte, ok bool) {
	for _, marker := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(marker))
		if ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0) {
			return bytes.TrimLeft(rest, " \t\r"), true
		}
	}
	return nil, false
}

// document is a document as JSON, and its text as it stands in the file.
type document struct {
	value json.RawMessage
	text  *text
}

// documents returns those of a chunk, and the error that met the one after the
// last.
func (c chunk) documents() ([]document, error) {
	if !yaml.IsJSONBuffer(c.text) {
		return c.yaml()
	}
	var out []document
	decoder := json.NewDecoder(bytes.NewReader(c.text))
	for {
		var value json.RawMessage
		start := decoder.InputOffset()
		switch err := decoder.Decode(&value); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, fmt.Errorf("line %d: %w", c.lineAt(err), err)
		}
		line := c.line + bytes.Count(c.text[:start], []byte("\n"))
		out = append(out, document{value, &text{bytes: c.text[start:decoder.InputOffset()], line: line}})
	}
}

// lineAt returns the line of the file on which an error of the JSON decoder
// lies; without a position of its own that is the last.
func (c chunk) lineAt(err error) int {
	end := len(c.text)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		end = min(end, int(syntax.Offset))
	}
	return c.line + bytes.Count(bytes.TrimRight(c.text[:end], "\n"), []byte("\n"))
}

func (c chunk) yaml() ([]document, error) {
	var value json.RawMessage
	// A key that occurs twice is an error, above all because that is what two
	// documents without a separator look like.
	if err := yaml.UnmarshalStrict(c.text, &value); err != nil {
		return nil, errors.New(c.relocate(err.Error()))
	}
	if len(value) == 0 || string(value) == "null" {
		return nil, nil
	}
	return []document{{value, &text{bytes: c.text, line: c.line}}}, nil
}

var (
	yamlPrefix = regexp.MustCompile(`^error converting YAML to JSON: (yaml: )?(unmarshal errors:\s*)?`)
	yamlLine   = regexp.MustCompile(`line (\d+)`)
)

// relocate makes the lines in a message of the YAML parser, which count from
// the start of the document, lines of the file. Of several messages it keeps the
// first: there may be as many as there are lines.
func (c chunk) relocate(message string) string {
	message = yamlPrefix.ReplaceAllString(message, "")
	message, _, _ = strings.Cut(message, "\n")
	message = yamlLine.ReplaceAllStringFunc(message, func(match string) string {
		n, _ := strconv.Atoi(match[len("line "):]) // the expression has digits only
		return "line " + strconv.Itoa(n+c.line-1)
	})
	if strings.Contains(message, "already set in map") {
		message += " (a line --- must stand between two documents)"
	}
	return message
}
