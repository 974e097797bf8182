package explore

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/cluster"
)

// searchWithOneName returns the search for a controller that gives all its pods the same name, and
// the number of pods that were rejected.
func searchWithOneName(t *testing.T) (x *search, refused *int) {
	c := jobOf(2, indexed)
	refused = new(int)
	c.Pods = 3
	c.New = changing(func(caller Searchable, client *cluster.Client) (time.Duration, error) {
		send := client.Send
		client.Send = func(r *cluster.Request) (cluster.Answer, error) {
			if r.Verb != cluster.Create {
				return send(r)
			}
			pod := r.Pod.DeepCopy()
			pod.Name = "the-pod"
			a, err := send(&cluster.Request{Verb: cluster.Create, Pod: pod})
			if apierrors.IsAlreadyExists(err) {
				*refused++
			}
			return a, err
		}
		return caller.Sync(client)
	})
	return searchFor(t, c), refused
}

// The API server rejects a second pod with the same name. Ended pods stay, so a controller
// that uses one name gets stuck, and the search finds that.
func TestPodsWithTheSameName(t *testing.T) {
	x, refused := searchWithOneName(t)
	r, err := x.run()
	if err != nil || r.Found == nil || r.Found.Violation.Property != "L1" || *refused == 0 {
		t.Fatalf("got %+v (%v), and %d pods were rejected; want L1 and some", r, err, *refused)
	}
	for _, s := range x.states {
		if n := s.pods; n[0].stored != 0 && (n[1].stored != 0 || n[2].stored != 0) || n[1].stored != 0 && n[2].stored != 0 {
			t.Fatalf("there are two pods with the same name: %+v", s)
		}
	}
}

// A request applies to the pod that has the name now, even if the controller means another
// one.
func TestRequest_appliesToThePodWithTheName(t *testing.T) {
	x, _ := searchWithOneName(t)
	s := x.states[0]
	s.at = x.begin(&s)
	if a, v := x.serve(&s); v != nil || a.kind != fine {
		t.Fatalf("the first pod: got %+v (%v)", a, v)
	}
	s.pods[1], s.pods[0] = s.pods[0], place{}
	p := *x.positions[s.at]
	p.request = &cluster.Request{Verb: cluster.Patch, Name: "the-pod", UID: uids[0], Patch: []byte(`{"metadata":{"uid":"pod-9"}}`)}
	p.asks = asText(p.request)
	if a, v := x.servePod(&s, &p); v != nil || a.kind != conflict {
		t.Errorf("got %+v (%v), want a conflict: another pod has that name", a, v)
	}
	p.request.Name = "another"
	if a, v := x.servePod(&s, &p); v != nil || a.kind != gone {
		t.Errorf("got %+v (%v), want NotFound", a, v)
	}
}
