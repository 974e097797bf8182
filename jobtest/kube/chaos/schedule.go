package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// schedule is a run of a [Creator].
type schedule struct {
	Creator
	*driver.Schedule
	want    string // the end of a run without faults
	factory func(*Env) reconcile.Reconciler
	seed    uint64

	server *kube.Server
	users  client.Client
	stored *kube.Cache
	kind   schema.GroupVersionKind // of the owners
	owners []client.Object         // as users created them
	p      *creating
	judged int64 // revision
	end    string

	serial lock // serves one request at a time: a Reconciler may start goroutines

	mu    sync.Mutex // guards what an observer uses
	kinds []schema.GroupVersionKind
	uids  map[types.UID]types.NamespacedName // of all owners so far
	made  map[string]*purpose
}

// purpose is the last Job for a purpose.
type purpose struct {
	name string
	uid  types.UID
	gone bool // another client has deleted it
}

// creating is a process of a controller that creates Jobs.
type creating struct {
	process
	schedule *schedule
	due      map[reconcile.Request]time.Time
	request  reconcile.Request // in progress
	killed   bool
	last     answer
}

const (
	agent = "controller" // the user agent of the controller
	// patience is the number of rounds without faults after which everything must have
	// ended, and patienceAfterwards the number of further rounds in which the controller
	// may still write.
	patience, patienceAfterwards = 300, 25
)

// live runs the schedule.
func (s *schedule) live() {
	s.Part(1)
	if err := s.begin(); err != nil {
		s.Violate("chaos", "%v", err)
		return
	}
	s.start()
	defer func() { s.p.end() }()
	after := 0 // steps after the end
	s.Run(func() bool {
		s.choose(driver.AsStep)
		if s.judge(); s.end != "" {
			after++
		}
		return after <= 20
	})
	if !s.Broken() {
		s.Part(2)
		s.runToEnd()
	}
}

// begin makes the API server, and creates the objects.
func (s *schedule) begin() (err error) {
	s.serial = make(lock, 1)
	s.uids, s.made = map[types.UID]types.NamespacedName{}, map[string]*purpose{}
	s.server = kube.New(kube.Options{Seed: s.seed, Kinds: s.Kinds})
	s.server.Observe(s.observe)
	s.stored = s.server.NewCache(s.Scheme)
	if s.users, err = s.server.Client("users", s.Scheme, nil); err != nil {
		return err
	}
	objects := s.Objects(s.seed)
	if s.kind, err = apiutil.GVKForObject(objects[0], s.Scheme); err != nil {
		return err
	}
	for _, o := range objects {
		if gvk, _ := apiutil.GVKForObject(o, s.Scheme); gvk == s.kind {
			s.owners = append(s.owners, o.DeepCopyObject().(client.Object))
		}
		if err := s.users.Create(context.Background(), o); err != nil {
			return err
		}
	}
	return nil
}

// start starts the controller, with caches that may lag.
func (s *schedule) start() {
	if s.p != nil {
		s.p.end()
	}
	p := &creating{schedule: s, due: map[reconcile.Request]time.Time{}}
	p.Env = newEnv(s.server)
	p.cache, p.ask, p.log = s.server.NewCache(s.Scheme), s.intercept, &s.Log
	if !s.Faultless {
		for _, kind := range s.seen() {
			if s.Chance(60, "stale cache") {
				_ = p.cache.Jump(kind, max(0, s.server.Revision()-s.Int64N(24))) // nothing is compacted
			}
		}
	}
	if err := p.connect(changingReader{p}, s.Scheme); err != nil {
		s.Violate("chaos", "%v", err)
		return
	}
	p.Reconciler = s.factory(p.Env)
	for _, o := range s.owners {
		p.due[reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}] = time.Now()
	}
	s.p = p
}

// changingReader reads the cache of a process, which may change between two reads.
type changingReader struct{ *creating }

// Get implements [client.Reader].
func (g changingReader) Get(ctx context.Context, key client.ObjectKey, out client.Object,
	opts ...client.GetOption) error {
	if err := g.schedule.beforeRead(ctx); err != nil {
		return err
	}
	return g.cache.Get(ctx, key, out, opts...)
}

// List implements [client.Reader].
func (g changingReader) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	if err := g.schedule.beforeRead(ctx); err != nil {
		return err
	}
	return g.cache.List(ctx, out, opts...)
}

func (s *schedule) beforeRead(ctx context.Context) error {
	s.serial.Lock()
	defer s.serial.Unlock()
	if s.p == nil || !s.p.running {
		return errOutside
	}
	s.meanwhile(8)
	return ctx.Err()
}

// intercept runs actions before a request is served, and draws the fault of the request.
func (s *schedule) intercept(r *kube.Request) kube.Verdict {
	s.serial.Lock()
	defer s.serial.Unlock()
	request := driver.Request{Resource: r.Resource.GroupResource(), Name: r.Name,
		Writes: r.Verb != "get" && r.Verb != "list", Creates: r.Verb == "create"}
	if s.p == nil || !s.p.running {
		return kube.Verdict{Err: errOutside}
	}
	i, fault := s.Fault(request, func() {
		s.judge()
		s.meanwhile(15)
	})
	if i >= 0 {
		s.Log.Say("%s %s %s: %s", r.Verb, r.Resource.Resource, r.Name, driver.Faults[i].Name)
	}
	s.p.killed = fault.Killed
	return kube.Verdict{Err: s.p.answer(fault.Err), Lost: fault.Lost}
}

// reconcile calls Reconcile as a controller that watches the owners and their Jobs.
func (s *schedule) reconcile(request reconcile.Request) {
	p := s.p
	s.Log.Begin(s.Step, time.Now(), "reconcile "+request.String())
	s.mentionLagging()
	delete(p.due, request)
	p.request = request
	s.Syncs++
	s.Log.Indent(1)
	p.running = true
	p.last = p.reconcile(request)
	p.running = false
	s.Log.Indent(-1)
	if p.killed {
		s.Log.Say("the controller is killed and restarts")
		s.start()
		return
	}
	if v := (&referee.Violation{}); errors.As(errors.Join(p.failed(), p.last.err), &v) {
		s.Found(v)
	}
	if p.last.err != nil {
		s.Log.Say("Reconcile %v", p.last)
	}
	at := time.Now().Add(p.last.again)
	if already, ok := p.due[request]; p.last.again > 0 && (!ok || at.Before(already)) {
		p.due[request] = at
	}
}

// wake makes the owner of the object of an event due.
func (p *creating) wake(e kube.Event) {
	s, o := p.schedule, e.Object
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
	if gvkOf(o) != s.kind {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil || owner.Kind != s.kind.Kind {
			return
		}
		request.Name = owner.Name
	}
	p.due[request] = time.Now()
}

// show makes the cache show the next event of a kind.
func (p *creating) show(kind schema.GroupVersionKind) bool {
	e, ok := p.cache.Step(kind)
	if ok {
		p.wake(e)
	}
	return ok
}

func (p *creating) showAll() {
	for _, kind := range p.schedule.seen() {
		for p.show(kind) {
		}
	}
}

// seen returns the kinds that have had objects.
func (s *schedule) seen() []schema.GroupVersionKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kinds)
}
