package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldens are outputs of the command for the samples. The plugin must print the same when it
// reads the samples from a cluster.
var goldens = []struct{ golden, sample, job, now string }{
	{"indexes-backing-off", "indexes-backing-off", "job-backoff-limit-per-index-execute-all", "2023-08-21T10:00:09Z"},
	{"failed-by-rule", "failed-by-rule", "import", "2023-08-21T10:00:13Z"},
	{"suspended", "suspended", "nightly", "2023-08-21T10:00:00Z"},
	{"finished", "finished", "report", "2023-08-21T10:01:31Z"},
	{"backing-off", "backing-off", "crawl", "2023-08-21T10:00:40Z"},
	{"cannot-start", "cannot-start", "resize", "2023-08-21T10:00:00Z"},
	{"managed-elsewhere", "managed-elsewhere", "train", "2023-08-21T10:03:01Z"},
}

// ruleNames adds the names of rules to the responses of the server, because the Go types of the
// API lack them.
var ruleNames = map[string]*strings.Replacer{
	"failed-by-rule":    strings.NewReplacer(`{"action":"Ignore"`, `{"name":"NodeDrained","action":"Ignore"`, `{"action":"FailJob"`, `{"name":"ConfigurationError","action":"FailJob"`),
	"managed-elsewhere": strings.NewReplacer(`{"action":"FailJob"`, `{"name":"OutOfMemory","action":"FailJob"`),
}

func TestSameOutputAsTheCommand(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.golden, func(t *testing.T) {
			s := newStage(t)
			s.load(g.sample)
			s.now = at(g.now)
			if names := ruleNames[g.sample]; names != nil {
				s.answer = func(_ string, body []byte) []byte { return []byte(names.Replace(string(body))) }
			}
			for suffix, args := range map[string][]string{".txt": nil, ".ansi": {"--color=always"}, ".json": {"-o", "json"}, ".yaml": {"-oyaml"}} {
				want, err := os.ReadFile(filepath.Join("../internal/cli/testdata", g.golden+suffix))
				if err != nil {
					t.Fatal(err)
				}
				status, got, stderr := s.run(append(args, g.job)...)
				if diff := cmp.Diff(string(want), got); status != 0 || stderr != "" || diff != "" {
					t.Errorf("%s: status %d, %s (-command +plugin)\n%s", suffix, status, stderr, diff)
				}
			}
		})
	}
}
