package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltestingjob "sigs.k8s.io/kueue/pkg/util/testingjobs/job"
)

// The PodSet of a Job with fewer completions than parallelism has a pod for each completion.
func TestReclaimablePodsOfFewerCompletions(t *testing.T) {
	job := utiltestingjob.MakeJob("job", "ns").Parallelism(8).Completions(4).Obj()
	job.Status.Active, job.Status.Succeeded = 3, 1
	got, err := (*Job)(job).ReclaimablePods(t.Context(), nil)
	want := []kueue.ReclaimablePod{{Name: kueue.DefaultPodSetName, Count: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ReclaimablePods() (-want +got):\n%s\nerror: %v", diff, err)
	}
}
