// Package apibehaviour plays the scripts of jobtest/kube/behaviour on a real kube-apiserver, and
// compares the answers with the recorded ones. With -record it records them.
package apibehaviour

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/jobtest/kube/behaviour"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var (
	record = flag.Bool("record", false, "record the answers")
	api    *server.Server
)

const (
	scripts = "../../../../jobtest/kube/behaviour/testdata"
	// settleTime is how long the garbage collector may take. pollTime is the interval of the
	// checks.
	settleTime, pollTime = 15 * time.Second, 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 0, func(ctx context.Context, s *server.Server) error {
		_, err := s.Apply(ctx, "", "e2e/apibehaviour/testdata/crds.yaml")
		return err
	}))
}

func TestScripts(t *testing.T) {
	all, err := behaviour.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, script := range all {
		answers := map[string][]string{}
		for _, row := range script.Rows {
			rows++
			t.Run(script.Name+"/"+row.Name, func(t *testing.T) {
				answers[row.Name] = play(t, row, fmt.Sprintf("behaviour-%d", rows))
			})
		}
		if *record && !t.Failed() {
			if err := os.WriteFile(filepath.Join(scripts, script.Name), []byte(script.Format(answers)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func play(t *testing.T, row behaviour.Row, namespace string) []string {
	player := behaviour.Player{Config: api.Config(), Settle: func(since time.Time) bool {
		time.Sleep(pollTime)
		return time.Since(since) < settleTime
	}}
	got, err := player.Play(t.Context(), row, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range row.Steps {
		if diff := cmp.Diff(step.Want, got[i]); diff != "" && !*record {
			t.Errorf("%s %s (-recorded +answered)\n%s", step.Method, step.Path, diff)
		}
	}
	return got
}
