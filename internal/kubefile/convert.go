package kubefile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// converter makes JSON of the YAML of a pod as kubectl prints it: block style,
// one scalar a line, keys without quotes. It gives up on everything else, which
// is then left to the YAML parser: what it does convert it converts alike.
type converter struct {
	lines [][]byte // used again, as out is
	at    int      // the next line
	out   []byte
}

// pod converts what is kept of a pod. It reports whether it could.
func (c *converter) pod(text []byte) (value []byte, ok bool) {
	if bytes.IndexByte(text, '\t') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		return nil, false
	}
	c.lines, c.at, c.out = c.lines[:0], 0, c.out[:0]
	for line := range bytes.SplitSeq(bytes.TrimRight(text, "\n"), []byte("\n")) {
		c.lines = append(c.lines, line)
	}
	indent := spaces(c.lines[0])
	prefix := string(bytes.Repeat([]byte(" "), indent))
	kind := bytes.Index(text, []byte("\n"+prefix+"kind: Pod\n"))
	if kind < 0 || !c.mapping(indent, keepOfPod) || c.at < len(c.lines) {
		return nil, false
	}
	return c.out, true
}

// mapping converts the keys at an indentation.
func (c *converter) mapping(indent int, k keep) bool {
	c.out = append(c.out, '{')
	var room [16][]byte
	names := room[:0] // so far: no key may occur twice
	for first := true; c.at < len(c.lines); {
		line := c.lines[c.at]
		n := spaces(line)
		if n < indent {
			break
		}
		if n > indent || isDashed(line[n:]) {
			return false
		}
		name, value, ok := plainKey(line[n:])
		if !ok || slices.ContainsFunc(names, func(n []byte) bool { return bytes.Equal(n, name) }) {
			return false
		}
		names = append(names, name)
		c.at++
		sub, kept := k.within(name)
		if !kept {
			c.skip(indent)
			continue
		}
		if !first {
			c.out = append(c.out, ',')
		}
		first = false
		c.out = append(append(append(c.out, '"'), name...), '"', ':')
		if !c.value(value, indent, sub) {
			return false
		}
	}
	c.out = append(c.out, '}')
	return true
}

// skip passes over what belongs to a key: what is indented more, and a list that
// is not.
func (c *converter) skip(indent int) {
	for ; c.at < len(c.lines); c.at++ {
		line := c.lines[c.at]
		n := spaces(line)
		if n < len(line) && n <= indent && !(n == indent && isDashed(line[n:])) {
			return
		}
	}
}

// value converts the value of a key, whose text on the line of the key is given.
func (c *converter) value(text []byte, indent int, k keep) bool {
	next := -1 // the indentation of the next line
	item := false
	if c.at < len(c.lines) {
		line := c.lines[c.at]
		next = spaces(line)
		if next == len(line) || line[next] == '#' {
			return false
		}
		item = isDashed(line[next:])
	}
	switch {
	case len(text) > 0:
		return next <= indent && c.scalar(text)
	case item && next >= indent:
		return c.sequence(next, k)
	case next > indent:
		return c.mapping(next, k)
	}
	c.out = append(c.out, "null"...)
	return true
}

// sequence converts the items at an indentation.
func (c *converter) sequence(indent int, k keep) bool {
	c.out = append(c.out, '[')
	for first := true; c.at < len(c.lines); first = false {
		line := c.lines[c.at]
		n := spaces(line)
		if n < indent || n == indent && !isDashed(line[n:]) {
			break
		}
		if n > indent || len(line) < n+3 || line[n+2] == ' ' || isDashed(line[n+2:]) {
			return false
		}
		if !first {
			c.out = append(c.out, ',')
		}
		if _, _, ok := plainKey(line[n+2:]); ok {
			inner := bytes.Clone(line)
			inner[n] = ' '
			c.lines[c.at] = inner
			if !c.mapping(n+2, k) {
				return false
			}
			continue
		}
		c.at++
		if c.at < len(c.lines) && spaces(c.lines[c.at]) > indent || !c.scalar(line[n+2:]) {
			return false
		}
	}
	c.out = append(c.out, ']')
	return true
}

// plainKey splits a line into a key without quotes and the text of its value.
func plainKey(line []byte) (name, value []byte, ok bool) {
	end := bytes.IndexByte(line, ':')
	if end <= 0 || end+1 < len(line) && line[end+1] != ' ' {
		return nil, nil, false
	}
	for _, b := range line[:end] {
		if !isWord(b) && b != '/' && b != '.' && b != '-' {
			return nil, nil, false
		}
	}
	if !isLetter(line[0]) || isAmbiguous(line[:end]) {
		return nil, nil, false
	}
	return line[:end], bytes.TrimLeft(line[end+1:], " "), true
}

// isAmbiguous reports whether a plain scalar is no text, in one YAML or another.
func isAmbiguous(text []byte) bool {
	if len(text) > len("false") {
		return false
	}
	switch strings.ToLower(string(text)) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isWord(b byte) bool   { return isLetter(b) || isDigit(b) || b == '_' }

// scalar converts a scalar that stands on one line.
func (c *converter) scalar(text []byte) bool {
	switch {
	case len(text) >= 2 && text[0] == '"':
		inner := text[1 : len(text)-1]
		if text[len(text)-1] != '"' || bytes.ContainsAny(inner, "\"\\") || !printable(inner) {
			return false
		}
		c.out = append(c.out, text...)
		return true
	case len(text) >= 2 && text[0] == '\'':
		inner := text[1 : len(text)-1]
		if text[len(text)-1] != '\'' || bytes.IndexByte(inner, '\'') >= 0 || !printable(inner) {
			return false
		}
		quoted, _ := json.Marshal(string(inner)) // a text always has a JSON
		c.out = append(c.out, quoted...)
		return true
	case isNumber(text), string(text) == "true", string(text) == "false", string(text) == "null", string(text) == "{}", string(text) == "[]":
		c.out = append(c.out, text...)
		return true
	case isPlain(text) || isUID(text) || isName(text):
		c.out = append(append(append(c.out, '"'), text...), '"')
		return true
	}
	return false
}

func printable(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

// isNumber reports whether a text is a whole number, and no larger than any
// reader takes.
func isNumber(text []byte) bool {
	if len(text) == 0 || len(text) > 15 || text[0] == '0' && len(text) > 1 {
		return false
	}
	for _, b := range text {
		if !isDigit(b) {
			return false
		}
	}
	return true
}

// isPlain reports whether a text can be nothing but a text.
func isPlain(text []byte) bool {
	if !isLetter(text[0]) || isAmbiguous(text) {
		return false
	}
	for _, b := range text {
		if !isWord(b) && b != '-' && b != '.' && b != '/' {
			return false
		}
	}
	return true
}

// isName reports whether a text begins with a digit and is no number and no time,
// as "3d-render" and "10.0.0.1".
func isName(text []byte) bool {
	dots, letters := 0, 0
	for _, b := range text {
		switch {
		case b == '.':
			dots++
		case 'g' <= b && b <= 'w' && b != 'o':
			letters++ // that no number has
		case !isDigit(b) && b != '-' && b != '/' && !('a' <= b && b <= 'z'):
			return false
		}
	}
	return isDigit(text[0]) && (dots > 1 || letters > 0)
}

// isUID reports whether a text has the form of a UID, which may begin with a
// digit and is no number for its dashes.
func isUID(text []byte) bool {
	if len(text) != 36 {
		return false
	}
	for i, b := range text {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (b == '-') || !dash && !isDigit(b) && !('a' <= b && b <= 'f') {
			return false
		}
	}
	return true
}
