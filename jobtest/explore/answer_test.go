package explore

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// twice returns a controller that patches each pod twice. The first patch sets an annotation.
// The second is the patch of the caller, with the resource version of the first answer.
func twice(heard func(*cluster.Request, cluster.Answer)) func() Searchable {
	return changing(func(caller Searchable, client *cluster.Client) (time.Duration, error) {
		send := client.Send
		client.Send = func(r *cluster.Request) (cluster.Answer, error) {
			if r.Verb == cluster.Patch {
				first := *r
				first.Patch = []byte(`{"metadata":{"uid":"` + string(r.UID) + `","annotations":{"noted":"yes"}}}`)
				a, err := send(&first)
				if err != nil {
					return cluster.Answer{}, err
				}
				heard(&first, a)
				if a.Pod != nil {
					then := *r
					then.Patch = []byte(`{"metadata":{"uid":"` + string(r.UID) + `","resourceVersion":"` + a.Pod.ResourceVersion +
						`","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`)
					r = &then
				}
			}
			a, err := send(r)
			if err == nil {
				heard(r, a)
			}
			return a, err
		}
		return caller.Sync(client)
	})
}

// The answers to a patch and to a deletion have the stored pod, and a later patch may use
// its resource version. All pods succeed here, because it makes no difference how a pod
// ends.
func TestPodAnswers(t *testing.T) {
	c := jobOf(2, all(indexed, withSuccess))
	c.Pods, c.Codes = 3, []int32{0}
	heard := map[cluster.Verb]int{}
	c.New = twice(func(r *cluster.Request, a cluster.Answer) {
		if r.Verb == cluster.Status || r.Verb == cluster.Create || a.Pod == nil {
			return
		}
		heard[r.Verb]++
		if r.Verb == cluster.Patch && a.Pod.Annotations["noted"] != "yes" {
			t.Errorf("%s is answered with a pod that has the annotations %v", r.Patch, a.Pod.Annotations)
		}
		if r.Verb == cluster.Delete && a.Pod.DeletionTimestamp == nil {
			t.Errorf("the deletion of %s is answered with a pod that is not being deleted", r.UID)
		}
	})
	searched(t, c)
	if heard[cluster.Patch] == 0 || heard[cluster.Delete] == 0 {
		t.Errorf("pods in answers: %v, want some to patches and some to deletions", heard)
	}
}

// A patch with the resource version of an earlier answer is a conflict, and changes
// nothing, if another client has changed the pod.
func TestPodAnswers_conflict(t *testing.T) {
	c := jobOf(1, indexed)
	c.Pods = 1
	c.New = twice(func(*cluster.Request, cluster.Answer) {})
	x := searchFor(t, c)
	for _, changed := range []bool{false, true} {
		s := toPatch(t, x)
		if a, v := x.serve(&s); v != nil || a.kind != fine || a.pod == 0 {
			t.Fatalf("the first patch is answered with %+v (%v), want a pod", a, v)
		} else {
			x.proceed(&s, a)
		}
		if changed {
			s.storePod(0, x.agedPod(s.pods[0].stored, time.Minute))
		}
		a, v := x.serve(&s)
		if v != nil || (a.kind == conflict) != changed {
			t.Errorf("changed %t: the second patch is answered with %+v (%v)", changed, a, v)
		}
		if tracked := slices.Contains(x.pods.values[s.pods[0].stored].Finalizers, batchv1.JobTrackingFinalizer); tracked != changed {
			t.Errorf("changed %t: the pod has its finalizer: %t", changed, tracked)
		}
	}
}

// toPatch lets a pod succeed, and proceeds until the controller is about to patch it.
func toPatch(t *testing.T, x *search) state {
	t.Helper()
	s := x.states[0]
	for range 100 {
		if s.at == 0 {
			if n := s.pods[0].stored; n != 0 {
				s.storePod(0, x.podNumber(cluster.EndPod(x.pod(n, versionOther), 0, noon)))
			}
			s = x.show(&s, s.lagging())
			x.beginMove(&s, func(_ move, next state, _ *referee.Violation) { s = next })
			continue
		}
		if x.positions[s.at].request.Verb == cluster.Patch {
			return s
		}
		a, v := x.serve(&s)
		if v != nil {
			t.Fatal(v)
		}
		x.proceed(&s, a)
	}
	t.Fatal("the controller does not patch the pod")
	return s
}
