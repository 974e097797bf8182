package operate

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// The controller needs every permission of its ClusterRole. All tests run it with these
// permissions only.
func TestPermissionsAreUsed(t *testing.T) {
	t.Parallel()
	p, side := start(t, "rights", server.Options{})
	// After a creation and a status write without an answer, the controller reads live.
	p.Add(proxy.Rule{Call: proxy.Call{Verb: "create", Resource: "pods"}, Nth: 2, Do: proxy.LoseReply})
	p.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "jobs/status"}, Nth: 2, Do: proxy.LoseReply})
	w := newWorld(t, side, kubelet.Run())
	w.Create(at(4))
	w.Until("active=4 ready=4")
	// A repeated event becomes a patch of the first one.
	for _, suspend := range []bool{true, false, true, false, true} {
		w.Update(func(job *batchv1.Job) { job.Spec.Suspend = &suspend })
		w.When("the Job is suspended or resumed", func(s script.State) bool { return (len(s.Active()) == 0) == suspend })
	}
	// The API server checks the first on behalf of the controller, with the admission plugin
	// OwnerReferencesPermissionEnforcement. The second is for servers that cannot fill a cache
	// by a watch.
	await(t, "every right is used", func() string {
		unused, err := p.Counts().Unused("../../../../controller/jobfate-controller/deploy/all-namespaces/rbac.yaml",
			"update jobs/finalizers", "list jobs")
		world.Must(t, err)
		return unused
	})
}
