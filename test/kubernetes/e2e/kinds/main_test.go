// Package kinds runs controllers of kinds of one's own: examples/jobgroup and examples/suite as processes with the
// permissions of their manifests, with both user stories of KEP-4443 and kills, and the code of docs/adopting.md.
package kinds

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var (
	api  *server.Server
	must = world.Must
)

func TestMain(m *testing.M) { os.Exit(server.Run(m, &api, 0, nil)) }

// read reads a sample of an example.
func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("../../../../examples/" + file)
	must(t, err)
	object := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(text, &object.Object))
	return object
}
