package jobtest_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// The caller of the test kit panics if its Machine decides on a pod that it was not fed. The caller
// of the cluster does not check itself.
func TestNewCaller_checks(t *testing.T) {
	for name, caller := range map[string]*cluster.Caller{"checked": jobtest.NewCaller(), "plain": cluster.NewCaller()} {
		c := decidetest.NewCluster(decidetest.ParseJob(t, "completions: 2\nparallelism: 2"))
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
