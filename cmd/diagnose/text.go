package diagnose

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// What the sentences are made of.

// clock renders a time in UTC, as RFC 3339 does, without the date if it is today's.
func (f *facts) clock(t time.Time) string {
	const day = 24 * time.Hour
	return t.UTC().Format(either(t.Truncate(day).Equal(f.Now.Truncate(day)), "15:04:05Z07:00", time.RFC3339))
}

// ago says how long ago something was.
func (f *facts) ago(t time.Time) string { return duration.HumanDuration(max(0, f.Now.Sub(t))) + " ago" }

// lasting says for how long a state has lasted.
func (f *facts) lasting(since time.Time) string {
	return textIf(!since.IsZero(), "for "+duration.HumanDuration(max(0, f.Now.Sub(since))))
}

// named returns the name of a pod, with its index.
func (f *facts) named(r *record) string {
	return "pod " + r.Pod.Name + textIf(f.Indexed() && r.Index >= 0, " (index "+strconv.Itoa(int(r.Index))+")")
}

// count renders a number of things: "3 pods".
func count[N int | int32](n N, thing string) string {
	return strconv.Itoa(int(n)) + " " + thing + textIf(n != 1, "s")
}

// also renders a number of things as a further clause; empty if there are none.
func also[N int | int32](before string, n N, thing, after string) string {
	return textIf(n > 0, "; "+before+count(n, thing)+after)
}

// textIf returns a text that applies under a condition, and "" if it does not hold.
func textIf(holds bool, text string) string { return either(holds, text, "") }

// either returns a if a condition holds, and b if it does not.
func either[T any](holds bool, a, b T) T {
	if holds {
		return a
	}
	return b
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" }), separator)
}

// oneLine puts a message on one line, without what client-go puts before the last of many events.
func oneLine(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	if strings.Contains(message, "/subscriptions/") {
		message = azure.ReplaceAllString(message, "$1")
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
}

// withoutDigits returns what the messages of pods that failed for the same reason share.
func withoutDigits(message string) string {
	return strings.Map(func(r rune) rune { return either(r >= '0' && r <= '9', -1, r) }, message)
}

// azure matches the path of a resource, of which the last part is its name.
var azure = regexp.MustCompile(`/subscriptions/[^\s()]*/([^\s()/]+)`)

// failing lists what lines that say what went wrong are likely to have.
var failing = []string{"error", "exception", "caused by", "fatal", "panic", "fail", "denied", "refused", "cannot",
	"can't", "could not", "not found", "invalid", "no such", "timed out", "killed", "mismatch", "does not exist",
	"doesn't exist", "violates", "unable to", "forbidden", "unauthorized", "undefined", "unknown column"}

// frame matches a line of a stack, what stands between two of them, and a line that only counts errors.
var frame = regexp.MustCompile(`^\s*(at |File "|\^|\.\.\. )|another exception occurred:$|the following exception:$|` +
	`^Traceback |(?i)\berrors?=\d|\bfailed=\d|\b\d+ (errors?|failures?|failed|warnings?)\b`)

// essence returns a message or, of one that is long, the last lines that are likely to say what went wrong.
func essence(message string) string {
	const long, most = 400, 2
	lines := strings.Split(strings.TrimSpace(message), "\n")
	if len(message) <= long || len(lines) <= most {
		return message
	}
	var said []string
	for i, line := range slices.Backward(lines) {
		if len(said) >= most || !speaks(line, failing...) || frame.MatchString(line) {
			continue
		}
		next := lines[min(i+1, len(lines)-1)] // of a panic in Rust, the next line says which
		if strings.HasSuffix(line, ":") && !slices.Contains(said, next) && next != line {
			line += "\n" + next
		}
		said = append(said, line)
	}
	slices.Reverse(said)
	return "… " + strings.Join(either(len(said) > 0, said, lines[len(lines)-most:]), "\n")
}

// firstOf returns the first element for which is holds, and the zero value if there is none.
func firstOf[T any](all []T, is func(T) bool) (one T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		one = all[i]
	}
	return one
}

// mentions reports whether a text has one of the parts.
func mentions(text string, parts ...string) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
