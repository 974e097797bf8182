package behaviour

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed testdata/*.txt
var testdata embed.FS

// Script is a file of rows.
type Script struct {
	// Name is the name of the file, without its folder.
	Name   string
	Header string // comments above the first row
	Rows   []Row
}

// Row is a sequence of steps in its own namespace.
type Row struct {
	Name  string
	Steps []Step
}

// Step is a request and its recorded answer.
type Step struct {
	Method, Path string
	Header       [][2]string
	// Show lists the fields to compare; all fields if it is empty.
	Show []string
	// Eventually says to repeat the request until the recorded answer comes.
	Eventually bool
	Body       string
	Want       string
}

// Scripts returns all scripts, by name.
func Scripts() ([]Script, error) {
	files, err := fs.Glob(testdata, "testdata/*.txt")
	if err != nil {
		return nil, err
	}
	var scripts []Script
	for _, file := range files {
		text, err := testdata.ReadFile(file)
		if err != nil {
			return nil, err
		}
		script, err := parse(path.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, script)
	}
	return scripts, nil
}

func parse(name, text string) (Script, error) {
	header, rest, _ := strings.Cut(text, "== ")
	script := Script{Name: name, Header: header}
	for part := range strings.SplitSeq(rest, "\n== ") {
		title, body, _ := strings.Cut(part, "\n")
		row := Row{Name: title}
		for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
			step, err := parseStep(block)
			if err != nil {
				return script, fmt.Errorf("%s, %s: %w", name, title, err)
			}
			row.Steps = append(row.Steps, step)
		}
		if slices.ContainsFunc(script.Rows, func(r Row) bool { return r.Name == title }) {
			return script, fmt.Errorf("%s: two rows have the name %s", name, title)
		}
		script.Rows = append(script.Rows, row)
	}
	return script, nil
}

func parseStep(block string) (Step, error) {
	request, want, _ := strings.Cut(strings.TrimSpace(block), "\n----")
	lines := strings.Split(request, "\n")
	step := Step{Want: strings.TrimSpace(want)}
	var ok bool
	if step.Method, step.Path, ok = strings.Cut(lines[0], " "); !ok {
		return step, fmt.Errorf("%q is not a request", lines[0])
	}
	for i, line := range lines[1:] {
		name, value, isHeader := strings.Cut(line, ": ")
		switch {
		case line == "eventually":
			step.Eventually = true
		case strings.HasPrefix(line, "show "):
			step.Show = strings.Split(strings.ReplaceAll(line[len("show "):], " ", ""), ",")
		case isHeader && !strings.ContainsAny(name, `{["`):
			step.Header = append(step.Header, [2]string{name, value})
		default:
			step.Body = strings.Join(lines[1+i:], "\n")
			return step, nil
		}
	}
	return step, nil
}

// Format returns the text of a script with other answers, given by row and step.
func (s Script) Format(answers map[string][]string) string {
	var b strings.Builder
	b.WriteString(s.Header)
	for i, row := range s.Rows {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "== %s\n", row.Name)
		for j, step := range row.Steps {
			if j > 0 {
				b.WriteString("\n")
			}
			want := step.Want
			if got := answers[row.Name]; j < len(got) {
				want = got[j]
			}
			b.WriteString(step.request() + "----\n" + want + "\n")
		}
	}
	return b.String()
}

func (s *Step) request() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", s.Method, s.Path)
	for _, h := range s.Header {
		fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
	}
	if s.Eventually {
		b.WriteString("eventually\n")
	}
	if len(s.Show) > 0 {
		b.WriteString("show " + strings.Join(s.Show, ", ") + "\n")
	}
	if s.Body != "" {
		b.WriteString(s.Body + "\n")
	}
	return b.String()
}
