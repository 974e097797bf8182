package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// terminal emulates the terminal sequences that the plugin uses: it moves the cursor up, and
// clears lines and everything below. It keeps the lines that scroll off the screen.
type terminal struct {
	width, height int
	rows          [][]rune // including those that have scrolled off the screen
	row, column   int
}

func newTerminal(width, height int) *terminal {
	return &terminal{width: width, height: height, rows: [][]rune{nil}}
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)(\d*)([A-Za-z])`)

func (v *terminal) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			v.obey(t, m[1]+m[3], m[2])
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			v.column = 0
		case '\n':
			v.row, v.column = v.row+1, 0
			if v.row == len(v.rows) {
				v.rows = append(v.rows, nil)
			}
		case '\x1b':
			t.Fatalf("an unknown sequence before %q", text)
		default:
			if v.column < v.width { // lines are not wrapped
				row := v.rows[v.row]
				for len(row) <= v.column {
					row = append(row, ' ')
				}
				row[v.column] = r
				v.rows[v.row] = row
				v.column++
			}
		}
	}
}

func (v *terminal) obey(t *testing.T, command, number string) {
	t.Helper()
	switch command {
	case "A":
		n, _ := strconv.Atoi(number)
		v.row = max(v.row-n, len(v.rows)-v.height, 0)
	case "K":
		v.rows[v.row] = v.rows[v.row][:min(v.column, len(v.rows[v.row]))]
	case "J":
		v.rows[v.row] = v.rows[v.row][:min(v.column, len(v.rows[v.row]))]
		v.rows = v.rows[:v.row+1]
	case "?h", "?l":
		if !slices.Contains([]string{"7", "2026"}, number) {
			t.Errorf("an unknown mode %s", number)
		}
	default:
		t.Errorf("an unknown sequence %s %s", command, number)
	}
}

// lines returns all lines, including those that have scrolled off the screen.
func (v *terminal) lines() (lines []string) {
	for _, row := range v.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return lines
}

// want checks the first lines.
func (v *terminal) want(t *testing.T, lines ...string) {
	t.Helper()
	got := v.lines()
	if len(got) < len(lines) || !slices.Equal(got[:len(lines)], lines) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	if len(got) > v.height {
		t.Errorf("got %d lines, more than the %d of the screen", len(got), v.height)
	}
}
