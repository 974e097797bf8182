package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var errFault = errors.New("a fault")

// world is an API server, and a controller whose caches the test updates.
type world struct {
	t      *testing.T
	server client.WithWatch
	*groupController
	events *events.FakeRecorder

	group *JobGroup // what the caches show
	list  batchv1.JobList

	writes int
	// fault is the error of a write; done says that the write takes effect nevertheless.
	fault func(write int) (fails, done bool)
	made  map[string]int // the number of creations of each Job, by name
}

func newWorld(t *testing.T, group *JobGroup) *world {
	w := &world{t: t, made: map[string]int{}, events: events.NewFakeRecorder(100), fault: func(int) (bool, bool) { return false, false }}
	w.server = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(group).WithStatusSubresource(group, &batchv1.Job{}).Build()
	cached := interceptor.NewClient(w.server, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if w.group == nil {
				return apierrors.NewNotFound(groupVersion.WithResource("jobgroups").GroupResource(), "g")
			}
			*o.(*JobGroup) = *w.group.DeepCopyObject().(*JobGroup)
			return nil
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			w.list.DeepCopyInto(list.(*batchv1.JobList))
			return nil
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return w.write(func() error {
				name := o.GetName()
				o.SetUID(types.UID(fmt.Sprint(name, "-", w.made[name])))
				o.SetFinalizers([]string{metav1.FinalizerDeleteDependents}) // deleted in the foreground, so it is not gone at once
				err := c.Create(ctx, o, options...)
				if err == nil {
					w.made[name]++
				}
				return err
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return w.write(func() error {
				uid := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions.UID
				now := &batchv1.Job{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
					return err
				}
				if *uid != now.UID { // the fake server does not check the UID
					return apierrors.NewConflict(batchv1.Resource("jobs"), o.GetName(), errors.New("another UID"))
				}
				return c.Delete(ctx, now)
			})
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			return w.write(func() error { return c.SubResource(sub).Update(ctx, o, options...) })
		},
	})
	w.groupController = &groupController{client: cached, live: w.server, recorder: w.events}
	return w
}

func (w *world) write(do func() error) error {
	w.writes++
	fails, done := w.fault(w.writes)
	if !fails {
		return do()
	}
	if done {
		_ = do() // its answer is lost
	}
	return errFault
}

// now reads the current objects from the server.
func (w *world) now() (*JobGroup, []batchv1.Job) {
	w.t.Helper()
	group, jobs := &JobGroup{}, &batchv1.JobList{}
	if err := w.server.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "g"}, group); err != nil {
		w.t.Fatal(err)
	}
	if err := w.server.List(w.t.Context(), jobs); err != nil {
		w.t.Fatal(err)
	}
	return group, jobs.Items
}

func (w *world) showGroup() { w.group, _ = w.now() }
func (w *world) showJobs()  { _, w.list.Items = w.now() }

func (w *world) reconcile() error {
	w.t.Helper()
	_, err := w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "g"}})
	return err
}

// advance makes one change to a Job: the first g-a-1 fails, other Jobs succeed, and deleted Jobs are
// gone.
func (w *world) advance(pick int) {
	_, jobs := w.now()
	if len(jobs) == 0 {
		return
	}
	job := &jobs[pick%len(jobs)]
	switch {
	case job.DeletionTimestamp != nil:
		job.Finalizers = nil
		w.must(w.server.Update(w.t.Context(), job))
	case len(job.Status.Conditions) > 0:
	case madeAt(job) > 0:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		w.must(w.server.Status().Update(w.t.Context(), job))
	case job.Name == "g-a-1" && len(jobs) == 3:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded}}
		w.must(w.server.Status().Update(w.t.Context(), job))
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// play continues until the group has succeeded, and checks that it was restarted once.
func (w *world) play(what string, step func()) {
	w.t.Helper()
	for range 5000 {
		group, _ := w.now()
		if !group.Status.ended() {
			step()
			continue
		}
		if group.Status.Phase != Succeeded || group.Status.Restarts != 1 {
			w.t.Errorf("%s: got %s after %d restarts, want Succeeded after 1", what, group.Status.Phase, group.Status.Restarts)
		}
		for _, m := range group.members() {
			if got := w.made[m.name]; got != 2 {
				w.t.Errorf("%s: %s was made %d times, want 2", what, m.name, got)
			}
		}
		return
	}
	w.t.Errorf("%s: the group does not end", what)
}

// The controller is stopped before and after each of its writes.
func TestStoppedAtEachWrite(t *testing.T) {
	for _, done := range []bool{false, true} {
		for stop, writes := 1, 1; stop <= writes; stop++ {
			w := newWorld(t, newGroup(3, 5))
			w.fault = func(write int) (bool, bool) { return write == stop, done }
			n := 0
			w.play(fmt.Sprintf("stopped at write %d, carried out %t", stop, done), func() {
				w.showGroup()
				w.showJobs()
				if err := w.reconcile(); err != nil && !errors.Is(err, errFault) {
					t.Errorf("the turn: %v", err)
				}
				w.advance(n)
				n++
			})
			writes = w.writes
		}
	}
}

// The caches lag independently, and a tenth of the writes fail or lose their answers.
func TestLaggingCaches(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, newGroup(3, 5))
		w.fault = func(int) (bool, bool) { return random.IntN(10) == 0, random.IntN(2) == 0 }
		w.play(fmt.Sprintf("seed %d", seed), func() {
			switch random.IntN(4) {
			case 0:
				w.showGroup()
			case 1:
				w.showJobs()
			case 2:
				w.advance(random.IntN(3))
			default:
				_ = w.reconcile() // it is called again
			}
		})
	}
}

// After a restart of the group, the cache of a new process shows the group, but none of the old
// Jobs, some of which still exist. The controller creates no Job beside them. TestSchedules found
// this bug.
func TestCacheHidesJobsFromBeforeARestart(t *testing.T) {
	w := newWorld(t, newGroup(3, 5))
	w.showGroup()
	w.must(w.reconcile())
	w.advance(1) // g-a-1 fails
	w.showGroup()
	w.showJobs()
	w.must(w.reconcile())
	w.advance(0) // g-a-0 is gone
	w.showGroup()
	w.list.Items = nil
	w.must(w.reconcile())
	if _, jobs := w.now(); len(jobs) != 2 || w.made["g-a-0"] != 1 {
		t.Errorf("%d Jobs exist, and g-a-0 was created %d times, want 2 and 1", len(jobs), w.made["g-a-0"])
	}
}

// If the name of a Job is taken, the controller sends an event and retries.
func TestNameIsTaken(t *testing.T) {
	group := newGroup(1, 0)
	w := newWorld(t, group)
	w.must(w.server.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g-a-0"}}))
	w.showGroup()
	if err := w.reconcile(); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got the error %v, want already exists", err)
	}
	if event := <-w.events.Events; !strings.Contains(event, "CannotCreate") {
		t.Errorf("got the event %q, want CannotCreate", event)
	}
}

// A Job that the API server rejects fails the group.
func TestInvalidJob(t *testing.T) {
	w := newWorld(t, newGroup(1, 0))
	w.showGroup()
	w.groupController.client = interceptor.NewClient(w.groupController.client.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "g-a-0", nil)
		},
	})
	w.must(w.reconcile())
	if got, _ := w.now(); got.Status.Phase != Failed || !strings.Contains(got.Status.Message, "invalid") {
		t.Errorf("got %+v, want Failed with the server's message", got.Status)
	}
}

// A group that is gone or being deleted creates no Jobs.
func TestGroupIsGone(t *testing.T) {
	group := newGroup(1, 0)
	group.Finalizers = []string{"keep"}
	w := newWorld(t, group)
	w.must(w.reconcile()) // the cache does not show it
	w.must(w.server.Delete(t.Context(), group))
	w.showGroup()
	w.must(w.reconcile())
	if len(w.made) > 0 {
		t.Errorf("made %v, want nothing", w.made)
	}
}
