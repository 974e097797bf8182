package diagnose_test

import (
	"encoding/json"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/apirules"
	"github.com/jobfate/jobfate/decide"
)

// now is the time of the snapshots.
var now = time.Date(2026, 5, 1, 12, 30, 0, 0, time.UTC)

// given holds what kubectl cases.
type given struct {
	decide.Snapshot
	diagnose.Evidence
}

func read(t *testing.T, documents ...string) given {
	t.Helper()
	g := given{decide.Snapshot{Now: now}, diagnose.Evidence{NextRun: apirules.NextRun}}
	for _, document := range documents {
		must(t, g.add(document))
	}
	return g
}

// add adds an object. Those without a type of the API, and a second Job, are objects of any kind.
func (g *given) add(document string) error {
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	decode := func(into any) error { return json.Unmarshal([]byte(document), into) }
	if err := decode(&kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "batch/v1 Job":
		if g.Job == nil {
			g.Job = &batchv1.Job{}
			return decode(g.Job)
		}
	case "v1 Pod":
		g.Pods = append(g.Pods, &corev1.Pod{})
		return decode(g.Pods[len(g.Pods)-1])
	case "v1 Event":
		g.Events = append(g.Events, &corev1.Event{})
		return decode(g.Events[len(g.Events)-1])
	case "v1 NodeList": // all of the cluster
		var list corev1.NodeList
		err := decode(&list)
		for i := range list.Items {
			g.Nodes, g.AllNodes = append(g.Nodes, &list.Items[i]), true
		}
		return err
	case "v1 Node":
		g.Nodes = append(g.Nodes, &corev1.Node{})
		return decode(g.Nodes[len(g.Nodes)-1])
	}
	u := &unstructured.Unstructured{}
	g.Objects = append(g.Objects, u)
	return decode(&u.Object)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
