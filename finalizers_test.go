package jobfate

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// "The job controller reports errors updating the Job status and/or patching Pods. [...] this can still
// happen if there is a buggy webhook that prevents pod updates to remove finalizers" (KEP-2307 § Known
// failure modes). The error names the pod and says what the webhook says. The pod stays recorded and is
// counted once the webhook lets the patch pass.
func TestFinalizers_webhookRefusesThePatch(t *testing.T) {
	const denied = `admission webhook "policy.example.com" denied the request: no team label`
	job := train(1)
	pod := podOf(job, "a", "11", Succeeded)
	m, s := newMachine(), &server{job: job}
	for range 2 {
		v := fresh(s.job, pod)
		v.JobsVersion = "3000"
		asked := run(t, m, v, s.except(PatchPod, refusal(apierrors.NewBadRequest(denied))))
		Same(t, "last request", asked[len(asked)-1], "patch pod train-a")
		err := m.Result().Err
		if err == nil || !strings.Contains(err.Error(), "removing the finalizer of pod train-a") || !strings.Contains(err.Error(), denied) {
			t.Errorf("the error is %v, want one that names the pod and the webhook", err)
		}
		recorded := s.job.Status.UncountedTerminatedPods.Succeeded
		if len(recorded) != 1 || recorded[0] != "a" || s.job.Status.Succeeded != 0 {
			t.Errorf("the status has %d succeeded and records %v, want a recorded and not counted", s.job.Status.Succeeded, recorded)
		}
	}
	v := fresh(s.job, pod)
	v.JobsVersion = "3000"
	run(t, m, v, s.answer)
	Same(t, "ended", m.Result().Ended, true)
	Same(t, "succeeded", s.job.Status.Succeeded, 1)
}
