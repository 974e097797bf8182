package jobfate_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

const noTemplate = `
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
`

// parseJob reads a Job in YAML; a text without "kind: Job" is only its spec. It
// returns the names of the failure policy's rules as well, which the API has no
// room for.
func parseJob(t testing.TB, manifest string) (job *batchv1.Job, names []string) {
	t.Helper()
	if !strings.Contains(manifest, "kind: Job") {
		manifest = "spec:\n  " + strings.ReplaceAll(strings.TrimSpace(manifest), "\n", "\n  ")
	}
	if !strings.Contains(manifest, "template:") {
		manifest = strings.TrimRight(manifest, "\n ") + noTemplate
	}
	var named struct {
		Spec struct {
			PodFailurePolicy failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	job = &batchv1.Job{}
	for _, into := range []any{job, &named} {
		if err := yaml.Unmarshal([]byte(manifest), into); err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
	}
	isNamed := false
	for _, rule := range named.Spec.PodFailurePolicy.Rules {
		names = append(names, rule.Name)
		isNamed = isNamed || rule.Name != ""
	}
	if !isNamed {
		names = nil
	}
	return job, names
}

// specJob is a Job as the API server stores it, with the given spec.
func specJob(t testing.TB, manifest string) *batchv1.Job {
	t.Helper()
	job, _ := parseJob(t, manifest)
	return newCluster(t, job).Job()
}

func newCluster(t testing.TB, job *batchv1.Job) *cluster.Cluster {
	t.Helper()
	job.Namespace = jobtest.Namespace
	c, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		t.Fatalf("the API server refuses the Job: %v", err)
	}
	return c
}
