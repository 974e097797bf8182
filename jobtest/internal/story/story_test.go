package story

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/jobtest/referee"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A log lists what happens in order. It omits steps in which nothing happens.
func TestLog(t *testing.T) {
	log := &Log{On: true}
	log.Say("before all steps")
	log.Begin(1, noon, "a step without lines")
	log.Mention("a mention without a following line")
	for i := range 3 {
		log.Begin(2+i, noon.Add(time.Duration(i)*time.Second), "equal steps")
		log.Say("a line")
	}
	log.Begin(5, noon, "a sync")
	log.Mention("an old cache")
	log.Indent(1)
	log.Begin(5, noon, "something else")
	log.Say("a write: %v", errors.Join(errors.New("it is late"), errors.New("it fails")))
	log.Begin(5, noon, "another step without lines")
	log.Indent(-1)
	log.Begin(6, noon, "the last step")
	log.Say("an end")
	want := `     before all steps
  2  12:00:00.000  equal steps
     a line
     the same 2 times more, until 12:00:02.000
  5  12:00:00.000  a sync
     an old cache
       meanwhile: something else
       a write: it is late; it fails
  6  12:00:00.000  the last step
     an end`
	got := strings.Join(log.Lines(60), "\n")
	if diff := cmp.Diff(want, got); diff != "" || StepsOf(got) != 3 {
		t.Errorf("%d steps, want 3\n%s", StepsOf(got), diff)
	}
}

// Repeated parts of a step are counted instead of listed.
func TestLog_Fold(t *testing.T) {
	log := &Log{On: true}
	log.Begin(1, noon, "many syncs")
	for range 4 {
		from := log.Len()
		log.Say("nothing new")
		log.Fold(from)
	}
	from := log.Len()
	log.Say("a line that Drop drops")
	log.Mention("a mention that Drop drops")
	log.Drop(from)
	log.Say("the end")
	want := `  1  12:00:00.000  many syncs
     nothing new
     and the same 3 times more
     the end`
	if diff := cmp.Diff(want, strings.Join(log.Lines(60), "\n")); diff != "" {
		t.Error(diff)
	}
}

// A log that is not recorded allocates nothing.
func TestLog_notRecorded(t *testing.T) {
	log := &Log{}
	allocs := testing.AllocsPerRun(10, func() {
		log.Begin(1, noon, "a step")
		log.Mention("a line")
		log.Say("a line")
	})
	if lines := log.Lines(60); len(lines) > 0 || allocs > 0 {
		t.Errorf("%q is recorded, with %v allocations", lines, allocs)
	}
}

// A report has at most 60 lines. It keeps the first and the last ones.
func TestReport(t *testing.T) {
	for _, n := range []int{0, 1, 53, 54, 55, 500} {
		log := &Log{On: true}
		for i := range n {
			log.Say("line %d of %d", i+1, n)
		}
		r := Report{Violation: &referee.Violation{Property: "S1", Text: "2 pods"}, Seed: 7, Of: "other/job", Again: "go test", Notes: "cause: a\n  b", Chance: true, Log: log, End: []string{"at the end:"}}
		text := r.String()
		if lines := strings.Count(text, "\n"); lines != min(n+8, Longest) {
			t.Errorf("%d lines make a report of %d, want %d", n, lines, min(n+8, Longest))
		}
		head := "S1, " + r.Violation.Meaning() + ": 2 pods\nthe Job is other/job. Seed 7. To run it again:\n  go test\ncause: a\n  b\n" +
			"It did not occur again when the same schedule ran again: the controller depends on\nchance, as on the order of a map.\n"
		last := fmt.Sprintf("line %d of %d\nat the end:\n", n, n)
		if !strings.HasPrefix(text, head) || n > 0 && (!strings.HasSuffix(text, last) || !strings.Contains(text, "line 1 of")) {
			t.Errorf("the report of %d lines is:\n%s", n, text)
		}
		if left := strings.Contains(text, fmt.Sprintf("  ... %d lines are left out ...\n", n-51)); left != (n+8 > Longest) {
			t.Errorf("of %d lines, lines are left out: %v", n, left)
		}
	}
}
