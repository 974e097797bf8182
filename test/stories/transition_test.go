package stories

import (
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/tracking/counting"
)

// migrator is a program that moves a Job to tracking with finalizers. Before each of its writes
// it may be killed, and pods may end.
type migrator struct {
	before func() (killed bool)
	done   bool
}

var errKilled = errors.New("killed")

// Sync implements cluster.Controller.
func (m *migrator) Sync(client *cluster.Client) (time.Duration, error) {
	move := counting.EnterTracking(client.Job, client.Pods, tracking.Keys{})
	for _, p := range move.Pods {
		if m.before() {
			return 0, errKilled
		}
		if _, err := client.PatchPod(p.Pod, p.Patch); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
	}
	if move.Status != nil {
		if m.before() {
			return 0, errKilled
		}
		if _, err := client.PatchStatus(move.Status); err != nil {
			return 0, err
		}
	}
	m.done = move.Status == nil
	return 0, nil
}

// KEP-2307 § Upgrade: a Job with lingering pods is migrated while pods end and the migration
// is killed. The legacy algorithm has counted some of the pods. At the end each pod is
// counted once, and no pod has a finalizer.
func TestEnterTracking_countsEachPodOnce(t *testing.T) {
	for _, mode := range []string{"NonIndexed", "Indexed"} {
		t.Run(mode, func(t *testing.T) {
			job := parseJob(t, "parallelism: 8\nbackoffLimit: 100\ncompletions: 100\ncompletionMode: "+mode)
			rapid.Check(t, func(r *rapid.T) { migrate(r, newCluster(job.DeepCopy())) })
		})
	}
}

func migrate(t *rapid.T, c *cluster.Cluster) {
	var legacy batchv1.JobStatus
	ended := map[corev1.PodPhase]int32{}
	for n := range rapid.IntRange(0, 8).Draw(t, "pods") {
		phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase")
		pod := podIn(c.Job(), n+1, corev1.PodPending)
		pod.Finalizers = nil
		uid := c.Add(pod).UID
		switch phase {
		case corev1.PodRunning:
			c.Start(uid)
		case corev1.PodSucceeded:
			c.End(uid, 0)
		case corev1.PodFailed:
			c.End(uid, 1)
		}
		// The legacy algorithm has counted the pod, which may be gone now.
		switch counted := rapid.Bool().Draw(t, "counted"); {
		case !counted:
		case phase == corev1.PodFailed:
			legacy.Failed++
		case phase == corev1.PodSucceeded && *c.Job().Spec.CompletionMode == batchv1.NonIndexedCompletion:
			legacy.Succeeded++
		}
		ended[phase]++
	}
	c.SetStatus(legacy)
	end := func() {
		for _, pod := range c.Pods() {
			if !cluster.HasEnded(pod) && rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				code := int32(rapid.IntRange(0, 1).Draw(t, "code"))
				c.End(pod.UID, code)
				ended[[]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[code]]++
			}
		}
	}
	m := &migrator{before: func() bool {
		if rapid.Bool().Draw(t, "time passes") {
			end()
		}
		return rapid.IntRange(0, 3).Draw(t, "killed") == 0
	}}
	live := c.NewCache(true)
	for range 1000 {
		if m.done {
			break
		}
		if err := c.Run(m, live).Err; err != nil && !errors.Is(err, errKilled) && !apierrors.IsConflict(err) {
			t.Fatalf("the migration: %v", err)
		}
	}
	for _, pod := range c.Pods() {
		if !m.done || !cluster.HasEnded(pod) && !builtin.HasFinalizer(pod) {
			t.Fatalf("done: %t, and the pod %s has no finalizer", m.done, pod.Name)
		}
	}
	caller := jobtest.NewCaller()
	for n := range 10 {
		if n < 6 {
			end()
		}
		if out := c.Run(caller, live); out.Err != nil {
			t.Fatalf("jobfate: %v", out.Err)
		}
	}
	st := c.Job().Status
	held := 0
	for _, pod := range c.Pods() {
		if cluster.HasEnded(pod) && builtin.HasFinalizer(pod) {
			held++
		}
	}
	got := fmt.Sprintf("%d succeeded, %d failed, %d held", st.Succeeded, st.Failed, held)
	if want := fmt.Sprintf("%d succeeded, %d failed, 0 held", ended[corev1.PodSucceeded], ended[corev1.PodFailed]); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// "Starting in 1.27, the job controller will ignore the annotation … and will
// start tracking every Job with finalizers." (KEP-2307 § Jobs with legacy
// tracking)
func TestLegacyAnnotationIsIgnored(t *testing.T) {
	decide := func(annotations map[string]string) string {
		job := specJob(t, "completions: 3\nparallelism: 2")
		job.Annotations = annotations
		finished, counted := podIn(job, 1, corev1.PodSucceeded), podIn(job, 2, corev1.PodFailed)
		counted.Finalizers = nil
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{finished, counted}, Now: job.CreationTimestamp.Time}))
		return toJSON([]any{d.Delete, d.Create, d.Status, d.Strip, d.Requeue})
	}
	want := decide(nil)
	for _, name := range []string{batchv1.JobTrackingFinalizer, "batch.kubernetes.io/job-completion"} {
		Same(t, "with the annotation "+name, decide(map[string]string{name: ""}), want)
	}
}

// "This means that terminated pods without finalizers will be ignored and
// replacement pods might be created (with finalizers)." (KEP-2307 § Jobs with
// legacy tracking)
func TestLegacyPodsAreIgnored(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	legacy := podIn(job, 1, corev1.PodSucceeded)
	legacy.Finalizers = nil
	d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{legacy}, Now: job.CreationTimestamp.Time}))
	Same(t, "succeeded, to strip, to create", fmt.Sprint(d.Status.Succeeded, len(d.Strip), len(d.Create)), "0 0 1")
	Same(t, "finalizers of the replacement", d.Create[0].Pod().Finalizers, []string{batchv1.JobTrackingFinalizer})
}
