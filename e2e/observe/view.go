package observe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const (
	// DefaultPatience is how long a view waits for an expected state while nothing changes. It
	// is long enough for a busy machine, and matters only to tests that fail.
	DefaultPatience = 90 * time.Second
	// atMost times the patience is the longest wait while other changes occur.
	atMost = 5
	// storyLines is the number of lines of the story that are printed.
	storyLines = 150
)

// View follows one Job and the pods of its namespace. It is not safe for concurrent use.
type View struct {
	feed *Feed

	state      State
	always     []invariant
	patience   time.Duration
	story      []string
	lastStatus string
	lastPods   map[string]string
}

type invariant struct {
	what  string
	holds func(State) bool
}

// Watch follows the Job of a name, its events, and the pods of its namespace, until the context
// is done.
func Watch(ctx context.Context, client kubernetes.Interface, namespace, job string) *View {
	v := &View{
		patience: DefaultPatience,
		state:    State{All: map[string]*corev1.Pod{}, Events: map[string]*corev1.Event{}},
		lastPods: map[string]string{},
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(strip))
	wanted := func(o any) bool {
		switch o := o.(type) {
		case *batchv1.Job:
			return o.Name == job
		case *corev1.Event:
			return o.InvolvedObject.Kind == "Job" && o.InvolvedObject.Name == job
		}
		return true
	}
	v.feed = newFeed(wanted, factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Events().Informer())
	factory.Start(ctx.Done())
	return v
}

// strip drops unused fields, which take most of the memory.
func strip(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// Patience sets how long the view waits, instead of DefaultPatience.
func (v *View) Patience(d time.Duration) { v.patience = d }

// Always checks an invariant in every later state.
func (v *View) Always(what string, holds func(State) bool) {
	v.always = append(v.always, invariant{what, holds})
}

// Until advances the view until the Job has a STATE of package script and nothing else, and returns the state.
func (v *View) Until(t testing.TB, state string) State {
	t.Helper()
	return v.When(t, state+" and nothing else", func(s State) bool { return s.is(state) })
}

// When advances the view until a function holds, and returns the state in which it holds.
// This may be the current state.
func (v *View) When(t testing.TB, what string, holds func(State) bool) State {
	t.Helper()
	began := time.Now()
	for !holds(v.state) {
		c, ok := v.take(t.Context(), time.After(v.patience))
		if took := time.Since(began); !ok || took > atMost*v.patience {
			t.Fatalf("not observed within %s: %s\n%s", took, what, v.Story())
		}
		v.step(t, c)
	}
	return v.state.clone()
}

// State returns the current state of the view.
func (v *View) State() State { return v.state.clone() }

// Agree advances two views until a function finds no difference between their states.
func Agree(t testing.TB, a, b *View, difference func(a, b State) string) {
	t.Helper()
	late := time.After(a.patience)
	for {
		a.catchUp(t)
		b.catchUp(t)
		differs := difference(a.state, b.state)
		if differs == "" {
			return
		}
		select {
		case <-a.feed.News:
		case <-b.feed.News:
		case <-late:
			t.Fatalf("still different after %s:\n%s\nfirst (-): %s\n\nsecond (+): %s", a.patience, differs,
				a.Story(), b.Story())
		}
	}
}

// catchUp processes all pending changes.
func (v *View) catchUp(t testing.TB) {
	t.Helper()
	for c, ok := v.feed.Next(); ok; c, ok = v.feed.Next() {
		v.step(t, c)
	}
}

// step processes one change.
func (v *View) step(t testing.TB, c Change) {
	t.Helper()
	v.apply(c)
	for _, a := range v.always {
		if !a.holds(v.state) {
			t.Fatalf("must always hold: %s\n%s", a.what, v.Story())
		}
	}
}

// take waits for the next change.
func (v *View) take(ctx context.Context, late <-chan time.Time) (Change, bool) {
	for {
		if c, ok := v.feed.Next(); ok {
			return c, true
		}
		select {
		case <-v.feed.News:
		case <-late:
			return Change{}, false
		case <-ctx.Done():
			return Change{}, false
		}
	}
}

func (v *View) apply(c Change) {
	at := c.At.Seconds()
	switch o := c.Object.(type) {
	case *batchv1.Job:
		if c.Gone {
			v.state.Job, v.lastStatus = nil, ""
			v.note("%8.3fs job is gone", at)
			return
		}
		v.state.Job = o
		if s := Status(o); s != v.lastStatus {
			v.lastStatus = s
			v.note("%8.3fs job: %s", at, s)
		}
	case *corev1.Event:
		if c.Gone {
			delete(v.state.Events, o.Name)
			return
		}
		v.state.Events[o.Name] = o
		v.note("%8.3fs event %s, %d times: %s", at, o.Reason, o.Count, o.Message)
	case *corev1.Pod:
		if c.Gone {
			delete(v.state.All, o.Name)
			delete(v.lastPods, o.Name)
			v.note("%8.3fs pod %s is gone", at, o.Name)
			return
		}
		v.state.All[o.Name] = o
		if s := describe(o); s != v.lastPods[o.Name] {
			v.lastPods[o.Name] = s
			v.note("%8.3fs pod %s: %s", at, o.Name, s)
		}
	}
}

func (v *View) note(format string, args ...any) {
	v.story = append(v.story, fmt.Sprintf(format, args...))
	if len(v.story) > 2*storyLines {
		v.story = append(v.story[:0], v.story[len(v.story)-storyLines:]...)
	}
}

// Story returns the last lines of the changes that the view has processed.
func (v *View) Story() string {
	lines := v.story
	if len(lines) > storyLines {
		lines = lines[len(lines)-storyLines:]
	}
	return "observed:\n" + strings.Join(lines, "\n")
}

// Await waits until a function reports nothing missing, for what no watch reports.
func Await(t testing.TB, patience time.Duration, what string, missing func() string) {
	t.Helper()
	late := time.After(patience)
	for text := missing(); text != ""; text = missing() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatalf("not reached within %s: %s: %s", patience, what, text)
		}
	}
}

// Basics adds invariants that hold for every Job.
func (v *View) Basics() {
	var before batchv1.JobStatus
	var uid types.UID
	v.Always("the count of failures never decreases, an ended Job stays ended, and ready is at most active",
		func(s State) bool {
			if s.Job == nil {
				return true
			}
			was := before
			if uid != s.Job.UID {
				was = batchv1.JobStatus{}
			}
			before, uid = s.Job.Status, s.Job.UID
			ended := Ended(&batchv1.Job{Status: was})
			return s.Job.Status.Failed >= was.Failed && (!ended || Ended(s.Job)) &&
				value(s.Job.Status.Ready) <= s.Job.Status.Active
		})
}
