package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
)

const (
	// leaseNamespace is where the manifests allow the controller a lease.
	leaseNamespace = "jobfate"
	// leaseName goes with the name that they answer to, server.ManagedBy.
	leaseName = "jobfate.dev-controller"
	// takeover is how long it may take until another replica leads: the lease of one
	// that does not give it up lasts for 15 s.
	takeover = time.Minute
)

// Of two replicas one leads. The leader is frozen in the midst of its writes until
// the other leads, and goes on when it does not know that yet; it is killed; it is
// stopped.
func TestLeadersChange(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	r := startReplicas(t)
	changes := 0
	survive(t, r.side(), small(), func(over <-chan struct{}) {
		for _, end := range []func(*server.Controller) error{
			func(c *server.Controller) error { return c.Freeze() },
			func(c *server.Controller) error { c.Kill(); return nil },
			(*server.Controller).Stop,
		} {
			if err := r.change(t.Context(), random.Uint64(), end, over); err != nil {
				t.Errorf("change %d of the leader: %v", changes+1, err)
				return
			}
			changes++
		}
	})
}

// replicas are two controllers for the same Jobs, the one that leads first.
type replicas struct {
	controllers [2]*server.Controller
	proxies     [2]*proxy.Proxy
	holder      string // of the lease
}

func startReplicas(t *testing.T) *replicas {
	r := &replicas{}
	for i := range r.controllers {
		p, side := throughProxy(t, fmt.Sprintf("replica-%d", i),
			"--qps=60", "--burst=60", // so that there is work for all three
			"--managed-by="+server.ManagedBy, "--leader-elect=true", "--leader-elect-namespace="+leaseNamespace)
		r.controllers[i], r.proxies[i] = side.Controller, p
		if i == 0 {
			if err := r.awaitLeader(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func (r *replicas) side() world.Side {
	return world.Jobfate(r.controllers[0])
}

// change has the leader end at one of its writes, waits until the other leads, and
// starts the first again.
func (r *replicas) change(ctx context.Context, seed uint64, end func(*server.Controller) error, over <-chan struct{}) error {
	leader := r.controllers[0]
	var once sync.Once
	ended := make(chan error, 1)
	rules := disturbWrites(r.proxies[0], seed, 1./writesOfLife, proxy.After(func() {
		once.Do(func() {
			go func() { ended <- end(leader) }() // one that stops waits for this write
		})
	}))
	select {
	case err := <-ended:
		if err != nil {
			return err
		}
	case <-over:
		return errors.New("all Jobs had ended before")
	}
	r.proxies[0].Remove(rules...)
	if err := r.awaitLeader(ctx); err != nil {
		return err
	}
	r.controllers[0], r.controllers[1] = r.controllers[1], r.controllers[0]
	r.proxies[0], r.proxies[1] = r.proxies[1], r.proxies[0]
	// One that was frozen ends by itself when it finds that it leads no more.
	if err := leader.Thaw(); err == nil {
		<-leader.Done()
	}
	leader.Kill()
	return leader.Start()
}

// awaitLeader waits until somebody else holds the lease.
func (r *replicas) awaitLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, takeover)
	defer cancel()
	w, err := api.Client.CoordinationV1().Leases(leaseNamespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", leaseName).String(),
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if ok && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" && *lease.Spec.HolderIdentity != r.holder {
			r.holder = *lease.Spec.HolderIdentity
			return nil
		}
	}
	return errors.New("nobody else has taken the lease")
}
