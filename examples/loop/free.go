package loop

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/inflight"
	"github.com/jobfate/jobfate/tracking"
)

var errNotShown = errors.New("a pod's Job is there, and not to be seen yet")

// Free takes the finalizer off those of the pods that no Job is left to count:
// their Job is gone, or they have none. It is called before Sync, or by somebody
// who goes through all pods with the finalizer now and then. As is who calls.
func Free(api API, as tracking.Controller, v inflight.View) error {
	var live *batchv1.Job
	asked := false
	for _, pod := range v.Pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		concerns := func(job *batchv1.Job) bool {
			return job != nil && (owner == nil || owner.UID == job.UID)
		}
		if concerns(v.Job) || !as.Frees(pod, nil) {
			continue // it is for a decision to free it, or for somebody else
		}
		// That the cache shows no Job does not say that there is none.
		if !asked {
			var err error
			if live, err = api.GetJob(); err != nil {
				return err
			}
			asked = true
		}
		if concerns(live) {
			return errNotShown
		}
		if _, err := api.PatchPod(pod, as.Keys.StripPatch(pod)); failed(err) {
			return err
		}
	}
	return nil
}
