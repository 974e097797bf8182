package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/jobtest"
)

// printed returns the Job and its pods as kubectl get job,pods -o json does.
func printed(job *batchv1.Job, pods []*corev1.Pod) string {
	job = job.DeepCopy()
	job.APIVersion, job.Kind = "batch/v1", "Job"
	list := corev1.List{Items: []runtime.RawExtension{{Object: job}}}
	list.APIVersion, list.Kind = "v1", "List"
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.APIVersion, pod.Kind = "v1", "Pod"
		list.Items = append(list.Items, runtime.RawExtension{Object: pod})
	}
	return string(encode(list))
}

// TestRandomSnapshots explains random snapshots. Both formats must agree, and the
// order of the pods must not matter.
func TestRandomSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(t, "snapshot")
		now := s.Now.UTC().Format(time.RFC3339)
		text := runWith(printed(s.Job, s.Pods), "explain", "--now", now)
		asJSON := runWith(printed(s.Job, s.Pods), "explain", "--now", now, "-o", "json")
		if text.Status != exitOK || asJSON.Status != exitOK {
			t.Fatalf("got %q and %q, want no error", text.Stderr, asJSON.Stderr)
		}
		r := fromJSON[report](t, asJSON.Stdout)
		if want := r.Reason.Code + ": " + r.Reason.Text + "\n"; !strings.HasPrefix(text.Stdout, want) {
			t.Fatalf("got text\n%s\nwant it to begin with %q", text.Stdout, want)
		}
		steps := len(r.Claims) + len(r.Deletions) + len(r.Creations) + len(r.Status) + len(r.Finalizers) + len(r.Settled)
		if idle := strings.Contains(text.Stdout, "\nNext: nothing.\n"); idle != (steps == 0) {
			t.Fatalf("got text\n%s\nwhere the JSON has %d steps", text.Stdout, steps)
		}
		slices.Reverse(s.Pods)
		if again := runWith(printed(s.Job, s.Pods), "explain", "--now", now); again.Stdout != text.Stdout {
			t.Fatalf("with the pods in reverse: got\n%s\nwant\n%s", again.Stdout, text.Stdout)
		}
	})
}
