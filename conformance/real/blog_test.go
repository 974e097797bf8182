package real_test

import (
	"slices"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/real"
)

// A cluster is a Job with its pods. All writes are observed before the next sync.
type cluster struct {
	t    *testing.T
	job  *batchv1.Job
	pods []*corev1.Pod
	now  int
	real.Memory
	seen int // the number of pods ever created
}

// sync runs one sync, with the validation of the API server, and applies its writes.
func (c *cluster) sync() real.Output {
	c.t.Helper()
	out := mustSync(c.t, real.Input{Job: c.job, Pods: c.pods, Now: at(c.now), Memory: c.Memory, Validate: true})
	if statuses := out.Statuses(); len(statuses) > 0 {
		c.job = c.job.DeepCopy()
		c.job.Status = *statuses[len(statuses)-1]
	}
	stripped := out.Done(real.Strip)
	c.pods = slices.DeleteFunc(c.pods, func(p *corev1.Pod) bool { return slices.Contains(stripped, p.Name) })
	for _, sent := range out.Created() {
		pod := sent.DeepCopy()
		c.seen++
		pod.Name = pod.GenerateName + strconv.Itoa(c.seen)
		pod.UID = types.UID(pod.Name)
		pod.Namespace = c.job.Namespace
		pod.CreationTimestamp = *timeAt(c.now)
		pod.Status.Phase = corev1.PodRunning
		c.pods = append(c.pods, pod)
	}
	c.Memory = real.Memory{Backoff: out.Backoff, Finished: out.Finished}
	return out
}

// exit ends the running pod of an index.
func (c *cluster) exit(index int, code int32) {
	c.t.Helper()
	for i, p := range c.pods {
		if p.Annotations[batchv1.JobCompletionIndexAnnotation] != strconv.Itoa(index) || p.Status.Phase != corev1.PodRunning {
			continue
		}
		pod := p.DeepCopy()
		exit(code, c.now)(pod)
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase = corev1.PodFailed
		}
		c.pods[i] = pod
		return
	}
	c.t.Fatalf("at %d s: index %d has no running pod", c.now, index)
}

// running lists the indexes of the running pods, with the number of failures of each.
func (c *cluster) running() string {
	list := ""
	for _, p := range c.pods {
		if p.Status.Phase == corev1.PodRunning {
			list += p.Annotations[batchv1.JobCompletionIndexAnnotation] + "×" +
				p.Annotations[batchv1.JobIndexFailureCountAnnotation] + " "
		}
	}
	return list
}

// "this example container returns an error, and fails, when it is run as the
// second or third index in any Job (even after a retry)"
// (Kubernetes 1.28: Improved failure handling for Jobs)
func TestBlogExample(t *testing.T) {
	c := &cluster{t: t, job: newJob(t, size(2, 8), indexed, perIndex(1))}
	c.sync()
	steps := []struct {
		at      int
		exits   map[int]int32
		running string // after the sync: index × failures so far
		timer   bool   // a timer is set
	}{
		{1, nil, "0×0 1×0 ", false},
		{2, map[int]int32{0: 0, 1: 1}, "2×0 ", false}, // 1 backs off, and no timer is set for it
		{4, map[int]int32{2: 1}, "", true},            // 1 and 2 back off and block 3
		{12, nil, "1×1 ", false},
		{14, nil, "1×1 2×1 ", false},
		{15, map[int]int32{1: 1, 2: 1}, "3×0 4×0 ", false},
		{16, map[int]int32{3: 0, 4: 0}, "5×0 6×0 ", false},
		{17, map[int]int32{5: 0}, "6×0 7×0 ", false},
		{18, map[int]int32{6: 0, 7: 0}, "", false},
	}
	var out real.Output
	for _, s := range steps {
		c.now = s.at
		for i := range 8 {
			if code, ok := s.exits[i]; ok {
				c.exit(i, code)
			}
		}
		out = c.sync()
		if got := c.running(); got != s.running {
			t.Errorf("at %d s: running %q, want %q", s.at, got, s.running)
		}
		if got := len(out.Requeues) > 0; got != s.timer {
			t.Errorf("at %d s: timers %v, want any: %v", s.at, out.Requeues, s.timer)
		}
	}

	// "The output ends with a status similar to"
	s := c.job.Status
	if s.CompletedIndexes != "0,3-7" || *s.FailedIndexes != "1,2" || s.Succeeded != 6 || s.Failed != 4 {
		t.Errorf("got completed %s, failed %s, %d succeeded, %d failed; want 0,3-7, 1,2, 6, 4",
			s.CompletedIndexes, *s.FailedIndexes, s.Succeeded, s.Failed)
	}
	if got, want := conditions(&s), "FailureTarget(FailedIndexes) Failed(FailedIndexes)"; got != want {
		t.Errorf("got conditions %s, want %s", got, want)
	}
	if !out.Finished {
		t.Error("the memory of the controller does not say that the Job finished")
	}
	if again := c.sync(); len(again.Calls) > 0 {
		t.Errorf("the controller writes to a finished Job: %s", trace(again))
	}
}
