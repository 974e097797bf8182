package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

const (
	// leaseNamespace is the namespace of the lease that the manifests allow.
	leaseNamespace = "jobfate"
	// leaseName is the lease of the name server.ManagedBy.
	leaseName = "jobfate.dev-controller"
	// takeover is the longest time until another replica leads. A lease that is not released
	// expires after 15 s.
	takeover = time.Minute
)

// One of two replicas leads, and the other takes over between two writes of the leader. The
// manifests allow one lease, so the tests do not run in parallel.
func TestLeadersChange(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	t.Run("killed and stopped", func(t *testing.T) {
		r := startReplicas(t)
		compareDisturbed(t, r.side(), small(), func(over <-chan struct{}) {
			r.changes(t, random, over, kill, (*server.Controller).Stop)
		})
	})
	// A leader is frozen until the other replica leads, and then continues without knowing
	// that. Both may create the same pods, so more pods may fail. Each is counted.
	t.Run("frozen", func(t *testing.T) {
		same := func(a, b script.State) string { return gocmp.Diff(outcomeOf(a), outcomeOf(b)) }
		r := startReplicas(t)
		compareDisturbedBy(t, r.side(), small(), same, func(over <-chan struct{}) { r.changes(t, random, over, (*server.Controller).Freeze) })
	})
}

func kill(c *server.Controller) error {
	c.Kill()
	return nil
}

// outcome is the part of a final state that does not depend on the number of created pods.
type outcome struct {
	Conditions               []string
	Completed, FailedIndexes string
}

func outcomeOf(s script.State) (o outcome) {
	if s.Job == nil {
		return o
	}
	o = outcome{Conditions: script.Conditions(s.Job), Completed: s.Job.Status.CompletedIndexes}
	if failed := s.Job.Status.FailedIndexes; failed != nil {
		o.FailedIndexes = *failed
	}
	return o
}

// replicas are two controllers for the same Jobs, the leader first.
type replicas struct {
	controllers [2]*server.Controller
	proxies     [2]*proxy.Proxy
	holder      string // the holder of the lease
}

func startReplicas(t *testing.T) *replicas {
	holder, err := heldBy(t.Context())
	world.Must(t, err)
	r := &replicas{holder: holder}
	for i := range r.controllers {
		p, side := throughProxy(t, fmt.Sprintf("replica-%d", i),
			"--qps=60", "--burst=60", // so low that the Jobs last for all leader changes
			"--managed-by="+server.ManagedBy, "--leader-elect=true", "--leader-elect-namespace="+leaseNamespace)
		r.controllers[i], r.proxies[i] = side.Controller, p
		if i == 0 {
			world.Must(t, r.awaitLeader(t.Context()))
		}
	}
	return r
}

func (r *replicas) side() world.Side {
	return world.Jobfate(r.controllers[0])
}

// heldBy returns the holder of the lease, which may be a replica of an earlier test.
func heldBy(ctx context.Context) (string, error) {
	lease, err := api.Client.CoordinationV1().Leases(leaseNamespace).Get(ctx, leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || lease.Spec.HolderIdentity == nil {
		return "", err
	}
	return *lease.Spec.HolderIdentity, nil
}

// changes ends one leader after another in the given way.
func (r *replicas) changes(t *testing.T, random *rand.Rand, over <-chan struct{}, ends ...func(*server.Controller) error) {
	for n, end := range ends {
		if err := r.change(t.Context(), random.Uint64(), end, over); err != nil {
			t.Errorf("change %d of the leader: %v", n+1, err)
			return
		}
	}
}

// change ends the leader at one of its writes, waits until the other replica leads, and
// restarts the first.
func (r *replicas) change(ctx context.Context, seed uint64, end func(*server.Controller) error, over <-chan struct{}) error {
	leader := r.controllers[0]
	var once sync.Once
	ended := make(chan error, 1)
	rules := disturbWrites(r.proxies[0], seed, 1./writesOfLife, proxy.After(func() {
		once.Do(func() {
			go func() { ended <- end(leader) }() // a leader that stops first waits for this write
		})
	}))
	select {
	case err := <-ended:
		if err != nil {
			return err
		}
	case <-over:
		return errors.New("all Jobs ended before the change")
	}
	r.proxies[0].Remove(rules...)
	if err := r.awaitLeader(ctx); err != nil {
		return err
	}
	r.controllers[0], r.controllers[1] = r.controllers[1], r.controllers[0]
	r.proxies[0], r.proxies[1] = r.proxies[1], r.proxies[0]
	// A thawed leader ends when it finds that it has lost the lease.
	if err := leader.Thaw(); err == nil {
		select {
		case <-leader.Done():
		case <-time.After(takeover):
			return errors.New("the old leader has not ended")
		}
	}
	leader.Kill()
	return leader.Start()
}

// awaitLeader waits until another process holds the lease.
func (r *replicas) awaitLeader(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, takeover, true, func(ctx context.Context) (bool, error) {
		holder, err := heldBy(ctx)
		if holder == "" || holder == r.holder {
			return false, err
		}
		r.holder = holder
		return true, nil
	})
}
