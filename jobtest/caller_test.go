package jobtest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// The caller of the test kit panics if its Machine decides on a pod that it was not fed. The caller
// of the cluster does not check itself.
func TestNewCaller_checks(t *testing.T) {
	for name, caller := range map[string]*cluster.Caller{"checked": jobtest.NewCaller(), "plain": cluster.NewCaller()} {
		job, two := chaos.Job(1), int32(2)
		job.Spec.Parallelism, job.Spec.Completions, job.Spec.CompletionMode = &two, &two, nil
		job.Spec.BackoffLimitPerIndex, job.Spec.MaxFailedIndexes, job.Spec.SuccessPolicy = nil, nil, nil
		job.Spec.PodFailurePolicy, job.Spec.Suspend = nil, nil
		c, err := cluster.New(job, jobtest.Noon())
		if err != nil {
			t.Fatal(err)
		}
		cache := c.NewCache(true)
		caller.Feeding = true
		for range 3 {
			if out := c.Run(caller, cache); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
		other := c.Pods()[0].DeepCopy()
		other.Status.Phase = corev1.PodRunning
		caller.Machine.Feed(other.Name, other)
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			c.Run(caller, cache)
			return ""
		}()
		if want := name == "checked"; strings.Contains(said, "1 pods that it was fed and 1 others") != want {
			t.Errorf("%s: the panic is %q", name, said)
		}
	}
}
