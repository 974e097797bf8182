// Package decidetest helps to test decisions. It draws snapshots with writes in flight, parses
// Jobs and makes their pods.
package decidetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
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

// ParseJob parses a Job in YAML. A text without "kind: Job" is only its spec.
func ParseJob(t testing.TB, manifest string) *batchv1.Job {
	t.Helper()
	if !strings.Contains(manifest, "kind: Job") {
		manifest = "spec:\n  " + strings.ReplaceAll(strings.TrimSpace(manifest), "\n", "\n  ")
	}
	if !strings.Contains(manifest, "template:") {
		manifest = strings.TrimRight(manifest, "\n ") + noTemplate
	}
	job := &batchv1.Job{}
	if err := yaml.Unmarshal([]byte(manifest), job); err != nil {
		t.Fatalf("%v in\n%s", err, manifest)
	}
	return job
}

// SpecJob returns a Job with the given spec as the API server stores it.
func SpecJob(t testing.TB, manifest string) *batchv1.Job {
	t.Helper()
	return NewCluster(ParseJob(t, manifest)).Job()
}

// NewCluster returns a cluster with the Job.
func NewCluster(job *batchv1.Job) *cluster.Cluster {
	job.Namespace = jobtest.Namespace
	return podtest.Must(cluster.New(job, jobtest.Noon()))
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

// Explanation lists what the explanation of a decision says, beginning with the Job.
func Explanation(d decide.Decision) []string {
	e := explain.Of(d)
	lines := []string{text(e.Job()), "prospect " + text(e.Prospect())}
	for _, r := range e.Waits() {
		lines = append(lines, "waits for "+text(r))
	}
	for r := range e.Indexes() {
		lines = append(lines, string(r.Code)+": "+r.String())
	}
	for _, r := range e.Notes() {
		lines = append(lines, "note "+text(r))
	}
	return lines
}

// text returns a reason with the time until it holds.
func text(r explain.Reason) string {
	if r.Until.IsZero() {
		return fmt.Sprintf("%s: %s", r.Code, r.Text)
	}
	return fmt.Sprintf("%s until %s: %s", r.Code, r.Until.UTC().Format(time.TimeOnly), r.Text)
}
