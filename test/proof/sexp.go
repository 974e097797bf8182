package proof

import (
	"fmt"
	"strconv"
	"strings"
)

// expr is an S-expression: a word or a text in quotes, or a list.
type expr struct {
	word string
	list []expr
	line int
}

func (e expr) isList() bool { return e.word == "" }

// head returns the first word of a list.
func (e expr) head() string {
	if len(e.list) == 0 {
		return ""
	}
	return e.list[0].word
}

// String returns the expression as SMT-LIB reads it.
func (e expr) String() string {
	if !e.isList() {
		return e.word
	}
	parts := make([]string, len(e.list))
	for i, x := range e.list {
		parts[i] = x.String()
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// read reads the expressions of a file. A comment goes from a semicolon to the end of the line.
func read(text string) ([]expr, error) {
	var open []expr
	top := expr{}
	add := func(x expr) {
		at := &top
		if len(open) > 0 {
			at = &open[len(open)-1]
		}
		at.list = append(at.list, x)
	}
	line := 1
	for text != "" {
		switch c := text[0]; {
		case c == '\n':
			line++
			text = text[1:]
		case c == ' ' || c == '\t':
			text = text[1:]
		case c == ';':
			_, rest, _ := strings.Cut(text, "\n")
			text = "\n" + rest
		case c == '(':
			open = append(open, expr{line: line})
			text = text[1:]
		case c == ')':
			if len(open) == 0 {
				return nil, fmt.Errorf("line %d: a parenthesis too many", line)
			}
			last := open[len(open)-1]
			open = open[:len(open)-1]
			add(last)
			text = text[1:]
		case c == '"':
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			add(expr{word: quoted, line: line})
			text = text[len(quoted):]
		default:
			n := strings.IndexAny(text, " \t\n();")
			if n < 0 {
				n = len(text)
			}
			add(expr{word: text[:n], line: line})
			text = text[n:]
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("line %d: a parenthesis is not closed", open[0].line)
	}
	return top.list, nil
}

// rewrite replaces the words of an expression.
func (e expr) rewrite(word func(string) (expr, bool)) expr {
	if !e.isList() {
		if x, ok := word(e.word); ok {
			return x
		}
		return e
	}
	next := expr{list: make([]expr, len(e.list)), line: e.line}
	for i, x := range e.list {
		next.list[i] = x.rewrite(word)
	}
	return next
}
