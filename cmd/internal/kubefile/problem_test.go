package kubefile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadDocument_errors checks errors that no text has.
func TestReadDocument_errors(t *testing.T) {
	broken := Source{Name: "f", Reader: iotest.ErrReader(errors.New("no more"))}
	if _, err := ReadDocument(broken, "a thing", nil); err == nil || err.Error() != "f: no more" {
		t.Errorf("got %v, want f: no more", err)
	}
	if _, err := ReadDocument(Source{Name: "f", Reader: strings.NewReader("")}, "a thing", nil); err == nil || err.Error() != "f: the input is empty; want a thing" {
		t.Errorf("got %v, want that it is empty", err)
	}
	if _, err := ReadDocument(Source{Name: "f", Reader: strings.NewReader("a: 1\n")}, "a thing", func(text []byte) error {
		if string(text) == `{"a":1}` {
			return errors.New("only as a whole")
		}
		return nil
	}); err == nil || err.Error() != "f:1: a: only as a whole" {
		t.Errorf("got %v, want f:1: a: only as a whole", err)
	}
}

// TestOneLongLine looks up fields of JSON on a single line: the text is parsed once.
func TestOneLongLine(t *testing.T) {
	const owners = 25_000
	list := strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v1","kind":"A","name":"a","uid":"b","controller":true},`, owners), ",")
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","ownerReferences":[` + list + `]},"spec":{},"status":{}}`
	in, err := Read(Source{Name: "f", Reader: strings.NewReader(job)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range owners {
		line, column := in.Jobs[0].At.Position(fmt.Sprintf("metadata.ownerReferences[%d].uid", i))
		if want := strings.Index(job, `"uid"`) + 1 + i*(len(list)+1)/owners; line != 1 || column != want {
			t.Fatalf("owner %d: got line %d, column %d, want 1, %d", i, line, column, want)
		}
	}
	allocs := testing.AllocsPerRun(10, func() { in.Jobs[0].At.Position("metadata.ownerReferences[1].uid") })
	if allocs > 10 {
		t.Errorf("a lookup makes %v allocations, as if it parsed the text again", allocs)
	}
}
