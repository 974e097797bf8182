package jobset_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/jobset/pkg/constants"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/jobset"
)

// JobSet matches patterns against the message of Failed. docs/conditions.tsv lists the messages, which
// test/kubernetes/conformance/sync.TestConditions compares with Kubernetes. A pattern here matches exactly the listed
// causes, and the webhook accepts it.
func TestMessagePatterns(t *testing.T) {
	text := Must(os.ReadFile("../../../../docs/conditions.tsv"))
	messages := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); f[1] == string(batchv1.JobFailed) {
			messages[f[0]] = f[4]
		}
	}
	if len(messages) < 8 {
		t.Fatalf("%d messages of Failed are listed: %v", len(messages), messages)
	}
	for pattern, matches := range map[string]func(when string) bool{
		`matching FailJob rule at index 1$`:             is("a rule matches an exit code"),
		`^Container main for pod ns/.* exit code 1 `:    prefix("a rule matches", "init container", "condition"),
		`^Container setup for `:                         is("a rule matches an exit code of an init container"),
		`has condition DisruptionTarget`:                is("a rule matches a condition"),
		`^Job has reached the specified backoff limit$`: is("the backoff limit is exceeded"),
		`longer than specified deadline`:                is("the deadline is exceeded"),
		`^Job has failed indexes$`:                      is("an index has failed"),
		`maximal number of failed indexes$`:             is("too many indexes have failed"),
	} {
		set := setWith(failJobSet(nil, []string{pattern}))
		if err := jobset.Validate(set); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for when, message := range messages {
			want := constants.RestartJobSetActionReason
			if matches(when) {
				want = constants.FailJobSetActionReason
			}
			if _, got := run(t, set, failedJob("", message)); got != want {
				t.Errorf("pattern %q, message %q: got %s, want %s", pattern, message, got, want)
			}
		}
	}
	for when, message := range messages {
		set := setWith(failJobSet(nil, []string{"^" + regexp.QuoteMeta(message) + "$"}))
		if _, got := run(t, set, failedJob("", message)); got != constants.FailJobSetActionReason {
			t.Errorf("%s: the whole message is matched: got %s", when, got)
		}
	}
}

func is(want string) func(string) bool { return func(when string) bool { return when == want } }

// prefix accepts the causes with a prefix that do not end in one of the others.
func prefix(prefix string, not ...string) func(string) bool {
	return func(when string) bool {
		for _, suffix := range not {
			if strings.HasSuffix(when, suffix) {
				return false
			}
		}
		return strings.HasPrefix(when, prefix)
	}
}
