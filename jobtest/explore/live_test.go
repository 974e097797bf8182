package explore

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest"
)

// reader is a controller that reads the Job live before it writes a status. If the Job has
// the status that it knows, it writes with the resource version of the read.
type reader struct {
	Searchable
	updates bool
}

func (l reader) Clone() Searchable { return reader{l.Searchable.Clone(), l.updates} }

func (l reader) Sync(client *cluster.Client) (time.Duration, error) {
	send, known := client.Send, client.Job
	client.Send = func(r *cluster.Request) (cluster.Answer, error) {
		if r.Verb != cluster.Status {
			a, err := send(r)
			if r.Verb == cluster.Get && err == nil && a.Job != nil {
				known = a.Job
			}
			return a, err
		}
		read, err := send(&cluster.Request{Verb: cluster.Get})
		if err != nil {
			return cluster.Answer{}, err
		}
		if read.Job == nil {
			return send(r) // and gets NotFound
		}
		if encoded(read.Job.Status) != encoded(known.Status) {
			return cluster.Answer{}, apierrors.NewConflict(batchv1.Resource("jobs"), known.Name, errChanged)
		}
		sent, err := l.onto(read, r)
		if err != nil {
			return cluster.Answer{}, err
		}
		a, err := send(sent)
		if err == nil {
			known = a.Job
		}
		return a, err
	}
	return l.Searchable.Sync(client)
}

// onto returns a status write with the resource version of a read.
func (l reader) onto(read cluster.Answer, r *cluster.Request) (*cluster.Request, error) {
	var patch map[string]any
	if err := json.Unmarshal(r.Patch, &patch); err != nil {
		return nil, err
	}
	patch["metadata"] = map[string]any{"uid": read.Job.UID, "resourceVersion": read.Job.ResourceVersion}
	data, err := json.Marshal(patch)
	if err != nil || !l.updates {
		return &cluster.Request{Verb: cluster.Status, Patch: data}, err
	}
	next, err := cluster.PatchStatus(read.Job, data)
	return &cluster.Request{Verb: cluster.Status, Job: next}, err
}

// A status write with the resource version of the last live read is stored if the Job has
// not changed in between. So a controller that reads before each write reaches the same
// ends as one that does not.
func TestLiveRead(t *testing.T) {
	c := jobOf(1, perIndex)
	c.Pods = 2
	plain := ends(t, c)
	for _, updates := range []bool{false, true} {
		c.New = func() Searchable { return reader{FromCaller(jobtest.NewCaller()), updates} }
		if got := ends(t, c); !maps.Equal(got, plain) {
			t.Errorf("updates %t: the Job ends in %d ways, want %d", updates, len(got), len(plain))
		}
	}
}

// ends runs a complete search, and returns the stored objects of the states in which the
// Job is at rest.
func ends(t *testing.T, c Config) map[string]bool {
	t.Helper()
	x, _ := searched(t, c)
	found := map[string]bool{}
	for i := range x.states {
		if s := &x.states[i]; x.quiescent(s) {
			text := encoded(x.jobs.values[s.job])
			for _, p := range s.pods {
				text += encoded(x.pods.values[p.stored])
			}
			found[text] = true
		}
	}
	return found
}

// A controller that reads live violates no property if answers are lost, the controller
// restarts, or the Job is edited or deleted.
func TestLiveRead_faults(t *testing.T) {
	c := jobOf(1, parallelism(1))
	c.Pods, c.Limit = 2, 6_000
	c.Faults, c.Kinds = 1, []Kind{KillAfter, Refuse, Lose, DeleteJob, DeleteJobForeground}
	c.Edits = []func(*batchv1.JobSpec){parallelism(2)}
	c.New = func() Searchable { return reader{FromCaller(jobtest.NewCaller()), true} }
	r, err := Search(c)
	if err != nil || r.Found != nil || r.Ends == 0 {
		t.Errorf("got %+v (%v), want no violation", r, err)
	}
}

// A status write with a resource version that was read before another client changed the
// Job is a conflict. One with the resource version after that change is not.
func TestLiveRead_conflict(t *testing.T) {
	c := jobOf(1, parallelism(1))
	c.Pods, c.Edits = 1, []func(*batchv1.JobSpec){parallelism(2), parallelism(3)}
	c.New = func() Searchable { return reader{FromCaller(jobtest.NewCaller()), true} }
	x := searchFor(t, c)
	s := x.states[0]
	s.at, s.mark = x.begin(&s), asSeen
	edit := func() { s.edits++; s.storeJob(x.edited(s.job, s.edits-1), unknown) }
	next := func(verb cluster.Verb) answer {
		t.Helper()
		if got := x.positions[s.at].request.Verb; got != verb {
			t.Fatalf("the controller sends %s, want %s", got, verb)
		}
		a, v := x.serve(&s)
		if v != nil {
			t.Fatal(v)
		}
		x.proceed(&s, a)
		return a
	}
	next(cluster.Create)
	edit()
	before := s
	next(cluster.Get)
	if a := next(cluster.Status); a.kind != fine {
		t.Errorf("a status write after a live read gets the answer %d, want %d", a.kind, fine)
	}
	s = before
	next(cluster.Get)
	edit()
	if a := next(cluster.Status); a.kind != conflict {
		t.Errorf("a status write with an old version gets the answer %d, want %d", a.kind, conflict)
	}
}
