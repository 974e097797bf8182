package chaos

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	engine "github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// Creator says how to test a controller that creates Jobs for the objects of another kind.
// The Jobs run without pods: they end as Outcome says.
type Creator struct {
	// Schedules is the number of schedules; by default 1,000. The flag -chaos.schedules
	// overrides it.
	Schedules int
	// Scheme has the Go types that the controller uses. Kinds are those of them that are
	// custom resources.
	Scheme *runtime.Scheme
	Kinds  []kube.Kind
	// Objects returns the objects that users have created before the controller starts.
	// Reconcile is called for those of the same kind as the first one.
	Objects func(seed uint64) []client.Object
	// Purpose names the purpose of a Job among the Jobs of its owner, for example an index
	// and the number of the attempt. A second Job for the same purpose violates a property,
	// unless another client has deleted the first.
	Purpose func(*batchv1.Job) string
	// Outcome returns the reason with which a Job fails; empty means that it completes. It
	// should depend on the seed and the purpose only, so that every run ends in the same
	// way.
	Outcome func(seed uint64, job *batchv1.Job) string
	// Judge describes how everything has ended; empty means not yet. Every run must end
	// like a run without faults. An error is a violation of a condition of the test itself.
	// Judge is called after each change, with a reader of the stored objects.
	Judge func(now client.Reader) (end string, violation error)
}

// Test runs schedules of faults like [Config.Test].
func (c Creator) Test(t *testing.T, factory func(*Env) reconcile.Reconciler) {
	t.Helper()
	test(t, c.Schedules, c.run(t, factory))
}

// Search runs the schedules and returns what Test reports.
func (c Creator) Search(t *testing.T, factory func(*Env) reconcile.Reconciler) engine.Report {
	t.Helper()
	return search(c.Schedules, c.run(t, factory))
}

// run returns a function that runs one schedule. It first runs the schedule without faults
// to learn how it ends.
func (c Creator) run(t *testing.T,
	factory func(*Env) reconcile.Reconciler) func(seed uint64, retries int) engine.Report {
	return func(seed uint64, retries int) engine.Report {
		var total engine.Report
		want := ""
		run := func(p driver.Plan, logged bool) *schedule {
			s := &schedule{Creator: c, Schedule: driver.NewSchedule(seed, p), want: want, factory: factory, seed: seed}
			s.Log.On, s.Faultless = logged, len(p.Steps) == 0
			synctest.Test(t, func(*testing.T) { s.live() })
			total.Syncs, total.Writes = total.Syncs+s.Syncs, total.Writes+s.Writes
			return s
		}
		found := run(driver.Plan{}, false)
		if !found.Broken() {
			want = found.end
			last := 1 + rand.New(rand.NewPCG(seed, 3)).IntN(200) // in some schedules, the faults stop early
			found = run(driver.Until(last, driver.Untrue...), false)
		}
		if total.Violation = found.Violation(); found.Broken() && retries >= 0 {
			logged := driver.Search(found, 600, run)
			total.Violation, total.Story = logged.Violation(), logged.story(fmt.Sprintf(rerunCommand, t.Name(), seed))
		}
		return total
	}
}
