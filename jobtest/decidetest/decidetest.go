// Package decidetest helps to test decisions. It draws snapshots with writes in flight, parses
// Jobs and makes their pods.
package decidetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

const noTemplate = `
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
`

// ParseJob parses a Job in YAML. A text without "kind: Job" is only its spec. ParseJob also
// returns the names of the rules of its pod failure policy, for which the API has no field.
func ParseJob(t testing.TB, manifest string) (job *batchv1.Job, names []string) {
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

// SpecJob returns a Job with the given spec as the API server stores it.
func SpecJob(t testing.TB, manifest string) *batchv1.Job {
	t.Helper()
	job, _ := ParseJob(t, manifest)
	return NewCluster(t, job).Job()
}

// NewCluster returns a cluster with the Job.
func NewCluster(t testing.TB, job *batchv1.Job) *cluster.Cluster {
	t.Helper()
	job.Namespace = jobtest.Namespace
	c, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		t.Fatalf("the API server rejects the Job: %v", err)
	}
	return c
}

// PodIn returns a pod of the Job in a phase. n is the number of the pod, from 1 on.
func PodIn(job *batchv1.Job, n int, phase corev1.PodPhase) *corev1.Pod {
	now := job.CreationTimestamp
	d := podtest.Must(decide.Job(decide.Snapshot{Job: fresh(job), Now: now.Time}))
	i := slices.IndexFunc(d.Create, func(c decide.Creation) bool {
		return c.Index == tracking.NoIndex || int(c.Index) == n-1
	})
	pod := cluster.NewPod(d.Create[i].Pod(), n, now)
	pod.ResourceVersion = "1"
	switch phase {
	case corev1.PodRunning:
		return cluster.StartPod(pod, now.Time)
	case corev1.PodSucceeded:
		return cluster.EndPod(pod, 0, now.Time)
	case corev1.PodFailed:
		return cluster.EndPod(pod, 1, now.Time)
	}
	return pod
}

// WithoutFinalizers returns a copy of the pod that has no finalizers.
func WithoutFinalizers(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Finalizers = nil
	return pod
}

// fresh returns the Job without a status, not suspended, with enough parallelism for any
// pod of the tests.
func fresh(job *batchv1.Job) *batchv1.Job {
	job = job.DeepCopy()
	job.Status, job.DeletionTimestamp = batchv1.JobStatus{}, nil
	job.Spec.Suspend, job.Spec.Parallelism = new(false), new(int32(1000))
	return job
}

// MustDecide decides on a snapshot. It ends the test if there is an error.
func MustDecide(t testing.TB, s decide.Snapshot, opts ...decide.Option) decide.Decision {
	t.Helper()
	d, err := decide.Job(s, opts...)
	if err != nil {
		t.Fatalf("Decide: %v", err)
	}
	return d
}

// Settle returns the result of removing the finalizers of some pods after a decision.
func Settle(d decide.Decision, gone ...*corev1.Pod) decide.Settled {
	return d.Settle(podtest.UIDsOf(gone)...)
}

// Inputs generates inputs, some of them with writes that the snapshot does not show.
func Inputs(m jobtest.Mix) *rapid.Generator[decide.Snapshot] {
	return rapid.Custom(func(t *rapid.T) decide.Snapshot {
		in := jobtest.Snapshots(m).Draw(t, "snapshot")
		if podtest.OneIn(t, 6, "unobserved creations") {
			in.InFlight.Creations = rapid.IntRange(1, 2).Draw(t, "creations")
		}
		if podtest.OneIn(t, 12, "unobserved deletions") {
			in.InFlight.Deletions = rapid.IntRange(1, 2).Draw(t, "deletions")
		}
		if podtest.OneIn(t, 6, "unobserved removals") {
			for _, pod := range in.Pods {
				if podtest.OneIn(t, 3, "removal unobserved") {
					in.InFlight.Stripped = append(in.InFlight.Stripped, pod.UID)
				}
			}
		}
		return in
	})
}

// ToJSON returns a value as indented JSON.
func ToJSON(v any) string {
	return string(podtest.Must(json.MarshalIndent(v, "", " ")))
}

// Explanation lists the explanation of the Job and its indexes, and the notes.
func Explanation(d decide.Decision) (lines []string) {
	e := explain.Of(d)
	lines = append(lines, fmt.Sprintf("%s: %s", e.Job().Code, e.Job().Text))
	for r := range e.Indexes() {
		lines = append(lines, fmt.Sprintf("%s: %s", r.Code, r))
	}
	for _, n := range e.Notes() {
		lines = append(lines, fmt.Sprintf("note %s: %s", n.Code, n.Text))
	}
	return lines
}
