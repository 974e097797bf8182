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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/jobtest/kube/behaviour"
)

var (
	record = flag.Bool("record", false, "record the answers")
	api    *server.Server
)

const (
	scripts = "../../jobtest/kube/behaviour/testdata"
	// settleTime is how long the garbage collector may take. pollTime is the interval of the
	// checks.
	settleTime, pollTime = 15 * time.Second, 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 0, func(ctx context.Context, s *server.Server) error {
		return define(ctx, s.Client)
	}))
}

// define creates the custom resources of the scripts.
func define(ctx context.Context, client kubernetes.Interface) error {
	for plural, kind := range map[string]string{"widgets": "Widget", "gadgets": "Gadget"} {
		subresources := "{}"
		if plural == "widgets" {
			subresources = `{"status": {}}`
		}
		definition := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": {"name": "%[1]s.example.com"},
			"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": %[1]q, "kind": %[2]q},
			"versions": [{"name": "v1", "served": true, "storage": true, "subresources": %[3]s,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`, plural, kind, subresources)
		rest := client.Discovery().RESTClient()
		if err := rest.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
			SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
			Body([]byte(definition)).Do(ctx).Error(); err != nil {
			return fmt.Errorf("defining %s: %w", plural, err)
		}
		err := wait.PollUntilContextTimeout(ctx, pollTime, settleTime, true, func(ctx context.Context) (bool, error) {
			return rest.Get().AbsPath("/apis/example.com/v1/namespaces/default/"+plural).Do(ctx).Error() == nil, nil
		})
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", plural, err)
		}
	}
	return nil
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
