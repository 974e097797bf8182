package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// TestFollowOmitsRepetitions checks which views are printed if views follow each other.
func TestFollowOmitsRepetitions(t *testing.T) {
	for format, begin := range map[string][3]string{ // of the views that are printed
		"text": {"Suspended: ", "\nSuspended: ", "\nBackoffUnknown: "},
		"json": {"{\n  \"job\":", "{\n  \"job\":", "{\n  \"job\":"},
		"yaml": {"---\nalso:", "---\nalso:", "---\nalso:"},
	} {
		in, env := oneJob(), testEnvironment()
		job, now := in.Jobs[0].Job, env.Clock()
		var out bytes.Buffer
		env.Stdout, env.Clock = &out, func() time.Time { return now }
		env = env.Safe()
		x := &Explain{}
		x.format = format
		f := x.Follow(env, nil)
		for _, step := range []struct {
			reason  string
			change  func()
			changed bool   // in the cluster, not only the time
			want    string // its beginning; empty: nothing is printed
		}{
			{"the first", func() { job.Spec.Suspend = new(true) }, false, begin[0]},
			{"only the time has changed", func() { now = now.Add(time.Hour) }, true, ""},
			{"the status has changed", func() { job.Status.Failed = 1 }, true, begin[1]},
			{"the same reason as time goes on", func() { job.Status.Failed = 2 }, false, ""},
			{"another reason", func() { job.Spec.Suspend = nil }, false, begin[2]},
		} {
			step.change()
			v := Must(x.One(env, in))
			out.Reset()
			NoError(t, f.Show(v, step.changed))
			if got := out.String(); !strings.HasPrefix(got, step.want) || step.want == "" && got != "" {
				t.Errorf("%s, %s: got %q, want %q", format, step.reason, got, step.want)
			}
		}
	}
}

// oneJob returns a Job whose next step is to create pods.
func oneJob() Objects {
	in := namespaceOf(2)
	in.Jobs = in.Jobs[1:]
	in.Pods, in.PodsAt = nil, nil
	return in
}

func TestFitting(t *testing.T) {
	p := paint{on: true}
	for _, tc := range []struct {
		reason        string
		text          string
		width, height int
		want          []string
	}{
		{"as it is", "a\n\nb\n", 80, 24, []string{"a", "", "b"}},
		{"a line that just fits", "abcd\n", 4, 24, []string{"abcd"}},
		{"a long line", "abcdefghi\n", 4, 24, []string{"abcd", "efgh", "i"}},
		{"characters of several bytes", "äöüß…\n", 4, 24, []string{"äöüß", "…"}},
		{"colours have no width", p.text(red, "abcd") + "\n", 4, 24, []string{p.text(red, "abcd")}},
		{"colours continue in the next line", p.text(red, "abcde") + "\n", 4, 24, []string{control("\x1b[31m") + "abcd", "e" + control("\x1b[0m")}},
		{"an escaped character has the width of its escape", "a\x1bb\n", 4, 24, []string{`a\u0`, `01bb`}},
		{"too many lines; one line is left for the cursor", "a\nb\nc\nd\ne\n", 80, 4, []string{"a", "b", "… 3 more lines"}},
		{"lines that just fit", "a\nb\nc\n", 80, 4, []string{"a", "b", "c"}},
		{"no room at all", "ab\nc\n", 0, 0, []string{"… 3 more lines"}},
	} {
		Same(t, tc.reason, fitting(tc.text, tc.width, tc.height), tc.want)
	}
}

// TestFollowReplaces checks that each view is one write, which overwrites the lines of the
// previous view before it clears the rest of the screen.
func TestFollowReplaces(t *testing.T) {
	in, env := oneJob(), testEnvironment()
	stdout := &console.Writes{}
	env.Stdout = stdout
	env = env.Safe()
	x := &Explain{}
	x.format = "text"
	f := x.Follow(env, func() (int, int) { return 80, 6 })
	v := Must(x.One(env, in))
	for range 2 {
		NoError(t, f.Show(v, false))
	}
	NoError(t, f.End(v))
	writes := stdout.Take()
	Same(t, "writes", len(writes), 3)
	lines := 0 // of the last write
	for i, write := range writes {
		up, rest, _ := strings.Cut(strings.TrimPrefix(write, hold), "CreatingPods")
		want := map[bool]string{true: fmt.Sprintf("\r\x1b[%dA", lines)}[i > 0]
		if up != want || !strings.HasSuffix(rest, restOfLine+"\n"+restBelow+release) || strings.Count(write, restBelow) != 1 {
			t.Errorf("write %d: got %q", i, write)
		}
		if lines = strings.Count(write, "\n"); strings.Count(write, restOfLine+"\n") != lines || i < 2 && lines != 5 {
			t.Errorf("write %d has %d lines, or does not clear the rest of each: %q", i, lines, write)
		}
		Same(t, fmt.Sprintf("write %d is cut", i), strings.Contains(write, " more lines"), i < 2)
	}
	x.format = "json" // views follow each other
	if x.Follow(env, func() (int, int) { return 80, 24 }).size != nil {
		t.Error("JSON replaces the previous view")
	}
}
