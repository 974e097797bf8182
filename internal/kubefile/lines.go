package kubefile

import (
	"bytes"
	"strconv"
	"strings"
)

// text is a YAML or JSON document, or an item of a list, that knows on which
// line each of its fields stands. It has been parsed before: what lines are
// found here decides nothing but what an error points at.
type text struct {
	bytes  []byte
	line   int    // of the file, on which the text starts
	prefix string // the path of the object in the text, as in "items[2]."

	lines map[string]int // from the start of the text; nil before they are needed
}

// lineOf returns the line of a field, as in "spec.rules[0].name", or that of
// the nearest field around it that is there.
func (t *text) lineOf(field string) int {
	if t.lines == nil {
		t.lines = fieldLines(t.bytes)
	}
	for path := t.prefix + field; path != ""; path = parentOf(path) {
		if n, ok := t.lines[path]; ok {
			return t.line + n
		}
	}
	return t.line + firstLine(t.bytes)
}

// parentOf cuts the last element off a path.
func parentOf(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// firstLine is the first line that is neither empty nor a comment.
func firstLine(text []byte) int {
	for n, line := range bytes.Split(text, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return n
		}
	}
	return 0
}

// fieldLines returns the line of each field, counted from 0. A key of a map
// stands as both "labels.key" and "labels[key]", as paths of errors have either.
func fieldLines(text []byte) map[string]int {
	w := walker{found: map[string]int{}}
	for _, line := range strings.Split(string(text), "\n") {
		w.lines = append(w.lines, strings.TrimRight(line, " \t\r"))
	}
	w.node(position{}, "")
	return w.found
}

// walker goes through a document line by line. It knows as much of YAML as it
// takes to tell keys, items and indentation; JSON is YAML in flow style.
type walker struct {
	lines []string
	found map[string]int
}

// position is a place in the text.
type position struct{ line, column int }

func (w *walker) rest(at position) string {
	if at.line >= len(w.lines) || at.column > len(w.lines[at.line]) {
		return ""
	}
	return w.lines[at.line][at.column:]
}

// content moves on to what comes next, over empty lines and comments.
func (w *walker) content(at position) position {
	for at.line < len(w.lines) {
		line := w.lines[at.line]
		for at.column < len(line) && (line[at.column] == ' ' || line[at.column] == '\t') {
			at.column++
		}
		if at.column < len(line) && line[at.column] != '#' {
			return at
		}
		at = position{line: at.line + 1}
	}
	return at
}

// node reads what stands at a position and returns where it ends. What is
// indented more than the node's parent belongs to it.
func (w *walker) node(at position, path string) position {
	at = w.content(at)
	switch rest := w.rest(at); {
	case rest == "":
		return at
	case rest[0] == '{' || rest[0] == '[':
		return w.flow(at, path)
	case isItem(rest):
		return w.sequence(at, path)
	}
	if _, _, ok := key(w.rest(at)); ok {
		return w.mapping(at, path)
	}
	return position{line: at.line + 1}
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

func (w *walker) sequence(at position, path string) position {
	column := at.column
	for i := 0; at.column == column && isItem(w.rest(at)); i++ {
		item := path + "[" + strconv.Itoa(i) + "]"
		w.found[item] = at.line
		next := w.content(position{at.line, column + 1})
		if next.line == at.line || next.column > column {
			w.node(next, item)
		}
		at = w.over(position{line: at.line + 1}, column)
	}
	return at
}

func (w *walker) mapping(at position, path string) position {
	column := at.column
	for at.column == column {
		name, length, ok := key(w.rest(at))
		if !ok {
			break
		}
		child := w.add(path, name, at.line)
		next := w.content(position{at.line, column + length})
		list := next.line > at.line && next.column == column && isItem(w.rest(next))
		switch value := w.rest(next); {
		case next.line == at.line && (value[0] == '|' || value[0] == '>'), next.line >= len(w.lines):
		case next.line == at.line && (value[0] == '{' || value[0] == '['), next.line > at.line && next.column > column, list:
			w.node(next, child)
		}
		at = position{line: at.line + 1}
		if list {
			at = w.items(at, column)
		} else {
			at = w.over(at, column)
		}
	}
	return at
}

// over moves on over all lines that are indented more than a column.
func (w *walker) over(at position, column int) position {
	for at = w.content(at); at.line < len(w.lines) && at.column > column; {
		at = w.content(position{line: at.line + 1})
	}
	return at
}

// items moves on over the items of a list that is indented no more than its key.
func (w *walker) items(at position, column int) position {
	for at = w.over(at, column); at.column == column && isItem(w.rest(at)); {
		at = w.over(position{line: at.line + 1}, column)
	}
	return at
}

// add notes the line of a key and returns its path.
func (w *walker) add(path, name string, line int) string {
	child := name
	if path != "" {
		child = path + "." + name
		w.found[path+"["+name+"]"] = line
	}
	w.found[child] = line
	return child
}

// key returns the key at the beginning of a text and the length of it, colon
// included. The text of a key in quotes is taken as it is.
func key(text string) (name string, length int, ok bool) {
	if text == "" {
		return "", 0, false
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return "", 0, false
		}
		after := strings.TrimLeft(text[end+2:], " ")
		if !strings.HasPrefix(after, ":") {
			return "", 0, false
		}
		return text[1 : end+1], len(text) - len(after) + 1, true
	}
	for i := range len(text) {
		if text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t') {
			return strings.TrimRight(text[:i], " "), i + 1, true
		}
	}
	return "", 0, false
}

// flow reads a value in flow style, which JSON is, and returns where it ends.
func (w *walker) flow(at position, path string) position {
	at = w.content(at)
	rest := w.rest(at)
	if rest == "" || rest[0] != '{' && rest[0] != '[' {
		return w.scalar(at)
	}
	closing := rest[0] + 2 // of { and of [ alike
	at.column++
	for i := 0; ; {
		at = w.content(at)
		switch rest := w.rest(at); {
		case rest == "":
			return at
		case rest[0] == closing:
			at.column++
			return at
		case rest[0] == ',':
			at.column++
			i++
		case closing == ']':
			item := path + "[" + strconv.Itoa(i) + "]"
			w.found[item] = at.line
			if at = w.flow(at, item); w.rest(at) == rest {
				return position{line: len(w.lines)} // no headway
			}
		default:
			line := at.line
			end := w.scalar(at)
			name := strings.Trim(w.lines[line][at.column:min(max(end.column, at.column), len(w.lines[line]))], `"' `)
			at = w.content(end)
			if !strings.HasPrefix(w.rest(at), ":") {
				return position{line: len(w.lines)}
			}
			at.column++
			at = w.flow(at, w.add(path, name, line))
		}
	}
}

// scalar moves on over a scalar in flow style. One in quotes may span lines.
func (w *walker) scalar(at position) position {
	rest := w.rest(at)
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		end := strings.IndexAny(rest, ",]}")
		if colon := strings.Index(rest+" ", ": "); colon >= 0 && (end < 0 || colon < end) {
			end = colon
		}
		if end < 0 {
			end = len(rest)
		}
		at.column += end
		return at
	}
	for quote, i := rest[0], 1; ; i++ {
		switch {
		case at.line >= len(w.lines):
			return at
		case i >= len(rest):
			at, i = position{line: at.line + 1}, -1
			rest = w.rest(at)
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] == quote:
			at.column += i + 1
			return at
		}
	}
}
