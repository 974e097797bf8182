package validation_test

import (
	"flag"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
)

const defaultChecks = 6000

// TestMain raises the number of checks from rapid's 100, so that they take about 15 seconds, unless a
// flag sets it.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(defaultChecks)) // then Run parses the command line
	m.Run()
}

// line is the compared part of an error.
type line struct{ Type, Field, Detail, Value string }

// lines returns the errors of Job rules in order. Errors about the entries of a map have the same path
// and come in random order, so errors with equal paths are sorted.
func lines(errs field.ErrorList) []line {
	var out []line
	for _, err := range errs {
		if apiserver.RuleOfJob(err) {
			out = append(out, line{string(err.Type), err.Field, err.Detail, badValue(err.BadValue)})
		}
	}
	for start := 0; start < len(out); {
		end := start + 1
		for end < len(out) && out[end].Field == out[start].Field {
			end++
		}
		slices.SortFunc(out[start:end], func(a, b line) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		start = end
	}
	return out
}

// badValue formats a value that has the same type in both versions of a Job, and returns "…" for
// others.
func badValue(value any) string {
	if t, ok := value.(*metav1.Time); ok {
		if t.IsZero() {
			return "null"
		}
		return t.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if kind := v.Kind(); kind == reflect.Struct || kind == reflect.Invalid || kind == reflect.Slice {
		return "…"
	}
	return fmt.Sprint(v.Interface())
}

// compare fails unless both lists have equal errors in the same order.
func compare(t rapid.TB, what string, got, want field.ErrorList) {
	t.Helper()
	if w, g := lines(want), lines(got); !slices.Equal(w, g) {
		t.Fatalf("%s (-API server +jobfate):\n%s", what, cmp.Diff(w, g))
	}
}

// unchanged fails if a function has changed its input.
func unchanged(t rapid.TB, what string, before, after *batchv1.Job) {
	t.Helper()
	if !reflect.DeepEqual(before, after) {
		t.Fatalf("%s changed its input (-before +after):\n%s", what, cmp.Diff(before, after))
	}
}

var (
	numbers = regexp.MustCompile(`-?[0-9]+`)
	quoted  = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// reach counts the messages of the API server.
type reach map[string]int

const (
	accepted      = "accepted"
	panics        = "panics"                // the API server panics
	templateMoved = "template changed"      // a changed template is accepted
	selectorKept  = "invalid selector kept" // an update with an unchanged invalid selector is accepted
)

// note counts the errors, or the absence of errors.
func (r reach) note(errs field.ErrorList) {
	none := true
	for _, err := range errs {
		if !apiserver.RuleOfJob(err) {
			continue
		}
		none = false
		message := fmt.Sprintf("%s %s: %s", string(err.Type), err.Field, quoted.ReplaceAllString(err.Detail, "…"))
		r[numbers.ReplaceAllString(message, "N")]++
	}
	if none {
		r[accepted]++
	}
}

// demand fails for every message that never occurred, unless there were fewer checks than usual.
func (r reach) demand(t *testing.T, messages []string) {
	t.Helper()
	if checks, _ := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); checks < defaultChecks {
		t.Logf("%d checks are too few to reach all messages", checks)
		return
	}
	for _, message := range messages {
		count := r.count(message)
		if testing.Verbose() {
			t.Logf("%6d %s", count, message)
		}
		if count == 0 {
			t.Errorf("the generators never caused the API server's message: %s", message)
		}
	}
}

// count returns how often a message occurred.
func (r reach) count(message string) (count int) {
	for seen, n := range r {
		if strings.HasPrefix(seen, message) {
			count += n
		}
	}
	return count
}
