package cluster

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// Caller is the reference controller. It drives a [machine.Machine], and releases orphans.
type Caller struct {
	// Machine is the memory of the Job.
	Machine *machine.Machine
	// Feeding says to pass all pods to the Machine once, and from then on only the changed
	// ones.
	Feeding bool
	// StatusElsewhere says to act as if another object held the status: the version of the Job in a cache does not say
	// that of the status.
	StatusElsewhere bool

	shown map[string]*corev1.Pod // the pods that the Machine was fed, by name
	given func(runtime.Object)   // what Guard has returned for this sync
	// Order returns the order in which to send the n requests of a batch. If it is nil,
	// they are sent in their order.
	Order func(n int) []int
	// Progress, if set, gets the state of the sync before each batch of requests and at
	// the end.
	Progress func(machine.Result)
	// Options apply to the next syncs.
	Options []decide.Option
	// Check, if set, is called at the end of each sync with the pods that the Machine was fed,
	// by name; they are nil without Feeding.
	Check func(d decide.Decision, fed map[string]*corev1.Pod)
	// Guard, if set, is called before each sync with its view. What it returns, if anything, is called with
	// the object of each answer, before the Machine gets it, and with nil at the end of the sync.
	Guard func(v *View) func(answer runtime.Object)
}

var errAgain = errors.New("something failed")

// NewCaller returns a caller with an empty memory.
func NewCaller(options ...decide.Option) *Caller {
	return &Caller{Machine: machine.New(), Options: options}
}

// Clone returns a caller with the same memory. The two share only immutable data.
func (c *Caller) Clone() *Caller {
	return &Caller{Machine: c.Machine.Clone(), Options: c.Options, Progress: c.Progress, Feeding: c.Feeding,
		StatusElsewhere: c.StatusElsewhere, shown: c.shown, Check: c.Check, Guard: c.Guard}
}

// Explain says what the caller is waiting to observe; empty if nothing.
func (c *Caller) Explain() string {
	if c.Machine.Idle() {
		return ""
	}
	return "the controller is " + c.Machine.String()
}

// Sync carries out one decision.
func (c *Caller) Sync(client *Client) (time.Duration, error) {
	if err := c.releaseOrphans(client); err != nil {
		return 0, err
	}
	if c.Guard != nil {
		if c.given = c.Guard(&client.View); c.given != nil {
			defer c.given(nil)
		}
	}
	if err := c.Machine.Begin(c.viewOf(&client.View), c.Options...); err != nil {
		return 0, err
	}
	c.drive(client)
	r := c.Machine.Result()
	if c.Check != nil {
		c.Check(r.Decision, c.shown)
	}
	if r.Err != nil {
		return r.Requeue, fmt.Errorf("%w: %w", errAgain, r.Err)
	}
	return r.Requeue, nil
}

// viewOf returns the view to pass to the Machine. With Feeding it first feeds the changed
// pods.
func (c *Caller) viewOf(v *View) machine.View {
	view := machine.View{Job: v.Job, Pods: v.Pods, Now: v.Now, JobsVersion: v.JobsVersion,
		PodsVersion: v.PodsVersion, Barrier: v.Barrier}
	if c.StatusElsewhere && v.Job != nil {
		job := *v.Job
		view.Job, view.StatusVersion, job.ResourceVersion = &job, job.ResourceVersion, "1"
	}
	if !c.Feeding {
		return view
	}
	shown := make(map[string]*corev1.Pod, len(v.Pods))
	for _, pod := range v.Pods {
		shown[pod.Name] = pod
	}
	if c.shown != nil {
		view.Fed, view.Pods = true, nil
		for name, pod := range shown {
			if pod != c.shown[name] {
				c.Machine.Feed(name, pod)
			}
		}
		for name := range c.shown {
			if shown[name] == nil {
				c.Machine.Feed(name, nil)
			}
		}
	}
	c.shown = shown
	return view
}

// drive sends the requests of the Machine until there are no more.
func (c *Caller) drive(client *Client) {
	for {
		batch := c.Machine.Next()
		if c.Progress != nil {
			c.Progress(c.Machine.Result())
		}
		if len(batch) == 0 {
			return
		}
		var order []int
		if c.Order != nil {
			order = c.Order(len(batch))
		}
		for i := range batch {
			if order != nil {
				i = order[i]
			}
			if !c.exchange(client, batch[i]) {
				c.Machine.Abandon()
				return
			}
		}
	}
}

// exchange sends a request, and passes the answer, if any, to the Machine. It reports whether the sync continues.
func (c *Caller) exchange(client *Client, r machine.Request) bool {
	object, err := client.Do(r)
	switch {
	case errors.Is(err, ErrGivenUp):
		return false
	case !errors.Is(err, ErrNoAnswer):
		if c.given != nil && object != nil {
			c.given(object)
		}
		_ = c.Machine.Answer(r, object, err) // fails only for an unknown request
	}
	return true
}

// Do sends a request of a [machine.Machine].
func (c *Client) Do(r machine.Request) (runtime.Object, error) {
	q := &Request{Verb: verbs[r.Verb], Namespace: r.Namespace, Name: r.Name, UID: r.UID, Pod: r.Pod,
		Patch: r.Patch, Options: r.Options}
	a, err := c.Send(q)
	switch {
	case err != nil:
		return nil, err
	case a.Job != nil:
		return a.Job, nil
	case a.Pod != nil:
		return a.Pod, nil
	case r.Verb == machine.ListPods:
		list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: a.Version}}
		for _, pod := range a.Pods {
			list.Items = append(list.Items, *pod)
		}
		return list, nil
	}
	return nil, nil
}

var verbs = map[machine.Verb]Verb{
	machine.GetJob:      Get,
	machine.ListPods:    List,
	machine.GetPod:      GetPod,
	machine.CreatePod:   Create,
	machine.PatchPod:    Patch,
	machine.DeletePod:   Delete,
	machine.PatchStatus: Status,
}

// releaseOrphans removes the finalizer of the pods whose Job is gone or that no Job
// selects.
func (c *Caller) releaseOrphans(client *Client) error {
	for _, orphans := range route.OrphansIn(client.Pods, client.Jobs, c.Options...) {
		(&Caller{Machine: orphans}).drive(client)
		if err := orphans.Result().Err; err != nil {
			return err
		}
	}
	return nil
}

// Callers is a reference controller for several Jobs. It creates a caller for each Job when
// it first needs it.
type Callers struct {
	New func() *Caller
	of  map[types.NamespacedName]*Caller
}

// Sync implements [Controller].
func (c *Callers) Sync(client *Client) (time.Duration, error) {
	if c.of == nil {
		c.of = map[types.NamespacedName]*Caller{}
	}
	if c.of[client.Name] == nil {
		c.of[client.Name] = c.New()
	}
	own := *client
	own.Pods = podsIn(client.Pods, client.Name.Namespace)
	return c.of[client.Name].Sync(&own)
}
