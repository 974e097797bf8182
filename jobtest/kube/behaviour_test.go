package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/kube/behaviour"
)

var exampleGroup = schema.GroupVersion{Group: "example.com", Version: "v1"}

var (
	widgets = kube.Kind{GroupVersionKind: exampleGroup.WithKind("Widget"), Status: true}
	gadgets = kube.Kind{GroupVersionKind: exampleGroup.WithKind("Gadget")}
)

// TestBehaviour plays scripts whose answers were recorded from a real API server.
func TestBehaviour(t *testing.T) {
	scripts := Must(behaviour.Scripts())
	rows := 0
	for _, script := range scripts {
		for _, row := range script.Rows {
			rows++
			t.Run(script.Name+"/"+row.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := kube.New(kube.Options{Kinds: []kube.Kind{widgets, gadgets}})
					collector := kube.Collector{Server: s}
					player := behaviour.Player{Config: s.Config(),
						Settle: func(time.Time) bool { return collector.Step() }}
					got := Must(player.Play(t.Context(), row, "behaviour-1"))
					for i, step := range row.Steps {
						if diff := cmp.Diff(step.Want, got[i]); diff != "" {
							t.Errorf("%s %s (-API server +here)\n%s", step.Method, step.Path, diff)
						}
					}
				})
			})
		}
	}
	if rows < 50 {
		t.Errorf("there are %d rows, want at least 50", rows)
	}
}
