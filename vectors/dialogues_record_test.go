package vectors_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/vectors"
)

// record returns the dialogues of the controllers of one random lifetime.
func record(t *testing.T, seed uint64) (all []*vectors.Dialogue) {
	dice := rand.New(rand.NewPCG(seed, 17))
	report := chaos.Run(chaos.Config{Seed: seed, Steps: 60, Retries: -1, Controller: func() cluster.Controller {
		d := &vectors.Dialogue{Jobs: map[string]*batchv1.Job{}, Pods: map[string]*corev1.Pod{}}
		if dice.IntN(4) == 0 {
			d.Options.MaxChanges, d.Options.MaxRemovals = dice.IntN(3), dice.IntN(3)
		}
		d.Named = dice.IntN(3) == 0
		all = append(all, d)
		return &recorder{Dialogue: d, T: t, machine: d.Machine(), dice: dice, feeding: dice.IntN(2) == 0, all: &all}
	}})
	// The referee does not know which answers the recorder holds back, so it expects statuses that
	// count these writes.
	if v := report.Violation; v != nil && v.Property != "S21" {
		t.Errorf("seed %d: %v", seed, v)
	}
	return all
}

// recorder is a controller that records the requests of its Machine and the answers of the
// API server.
type recorder struct {
	*vectors.Dialogue
	*testing.T
	machine *jobfate.Machine
	dice    *rand.Rand
	feeding bool
	fed     map[string]string // the versions of the pods that were fed to the Machine
	syncs   int
	all     *[]*vectors.Dialogue // also gets the dialogues about orphans
}

// step performs a step, and records it with the reaction of the Machine.
func (r *recorder) step(s vectors.Step) vectors.Step {
	s, err := r.Play(r.machine, s)
	if err != nil {
		r.Fatalf("%v\n%s", err, text(r.T, s))
	}
	if r.syncs <= mostSyncs {
		r.Steps = append(r.Steps, s)
	}
	return s
}

// Sync implements cluster.Controller.
func (r *recorder) Sync(client *cluster.Client) (time.Duration, error) {
	if err := r.free(client); err != nil {
		return 0, err
	}
	r.syncs++
	r.step(vectors.Step{Begin: r.begin(&client.View)})
	return r.drive(client)
}

// drive sends the requests of the Machine until there are no more.
func (r *recorder) drive(client *cluster.Client) (time.Duration, error) {
	for {
		s := r.step(vectors.Step{})
		if s.Result != nil {
			return r.machine.Result().Requeue, r.machine.Result().Err
		}
		for _, i := range r.dice.Perm(len(s.Requests)) {
			if err := r.send(client, s.Requests[i]); err != nil {
				return 0, err
			}
		}
	}
}

// free removes the finalizers of orphans, each with a separate Machine and dialogue.
func (r *recorder) free(client *cluster.Client) error {
	of := len(jobfate.OrphansIn(client.Pods, client.Jobs))
	for at := range of {
		d := &vectors.Dialogue{Jobs: map[string]*batchv1.Job{}, Pods: map[string]*corev1.Pod{}, Orphans: &vectors.Orphans{At: at, Of: of}}
		o := &recorder{Dialogue: d, T: r.T, dice: r.dice}
		for _, pod := range client.Pods {
			d.Orphans.Pods = append(d.Orphans.Pods, o.pod(pod))
		}
		for _, job := range client.Jobs {
			d.Orphans.Jobs = append(d.Orphans.Jobs, o.job(job))
		}
		o.machine = d.Machine()
		*r.all = append(*r.all, d)
		if _, err := o.drive(client); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the content of the caches.
func (r *recorder) begin(v *cluster.View) *vectors.Begin {
	b := &vectors.Begin{Now: v.Now, JobsVersion: v.JobsVersion, PodsVersion: v.PodsVersion, Barrier: v.Barrier, Fed: r.fed != nil}
	if v.Job != nil {
		b.Job = r.job(v.Job)
	}
	shows := map[string]string{}
	for _, pod := range v.Pods {
		version := r.pod(pod)
		if shows[pod.Name] = version; !b.Fed {
			b.Pods = append(b.Pods, version)
		} else if r.fed[pod.Name] != version {
			r.step(vectors.Step{Feed: &vectors.Feed{Name: pod.Name, Pod: version}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.fed)) {
		if shows[name] == "" {
			r.step(vectors.Step{Feed: &vectors.Feed{Name: name}})
		}
	}
	if r.feeding {
		r.fed = shows
	}
	return b
}

// send sends a request, and passes the answer to the Machine or not. It
// returns an error if the sync cannot continue.
func (r *recorder) send(client *cluster.Client, q vectors.Request) error {
	if r.dice.IntN(100) == 0 {
		return cluster.ErrGivenUp
	}
	object, err := r.do(client, q)
	a := vectors.Answer{To: q.ID}
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, cluster.ErrKilled), errors.Is(err, cluster.ErrGivenUp):
		return err
	case errors.Is(err, cluster.ErrNoAnswer):
		if r.dice.IntN(2) == 0 {
			return nil
		}
		a.Fail = &vectors.Failure{Broken: true}
	case errors.As(err, &status):
		of := status.Status()
		a.Fail = &vectors.Failure{Status: &of}
	case err != nil:
		r.Fatal(err)
	case reads(q.Verb) || r.dice.IntN(50) > 0: // the object of a write may be missing
		r.answer(&a, object)
	}
	if r.dice.IntN(30) == 0 { // it arrives too late
		return nil
	}
	r.step(vectors.Step{Answer: &a})
	return nil
}

func reads(verb string) bool {
	return verb == jobfate.GetJob.String() || verb == jobfate.ListPods.String() || verb == jobfate.GetPod.String()
}

// do sends a request. It answers some creations as if the namespace were being deleted.
func (r *recorder) do(client *cluster.Client, q vectors.Request) (runtime.Object, error) {
	if q.Verb == jobfate.CreatePod.String() && r.dice.IntN(50) == 0 {
		err := apierrors.NewForbidden(corev1.Resource("pods"), q.Name, errors.New("the namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return nil, err
	}
	return client.Do(r.request(q))
}

// request returns a recorded request as the caller of a Machine gets it.
func (r *recorder) request(q vectors.Request) jobfate.Request {
	out := jobfate.Request{ID: q.ID, Verb: jobfate.GetJob, Name: q.Name, UID: q.UID, Patch: q.Patch}
	for out.Verb.String() != q.Verb {
		out.Verb++
	}
	if q.Pod != nil {
		out.Pod = new(corev1.Pod)
		if err := json.Unmarshal(q.Pod, out.Pod); err != nil {
			r.Fatal(err)
		}
	}
	if q.Precondition != "" {
		out.Options.Preconditions = metav1.NewUIDPreconditions(string(q.Precondition))
	}
	return out
}

func (r *recorder) answer(a *vectors.Answer, object runtime.Object) {
	switch object := object.(type) {
	case *batchv1.Job:
		a.Job = r.job(object)
	case *corev1.Pod:
		a.Pod = r.pod(object)
	case *corev1.PodList:
		a.List = &vectors.List{Version: object.ResourceVersion}
		for i := range object.Items {
			a.List.Pods = append(a.List.Pods, r.pod(&object.Items[i]))
		}
	}
}

// job and pod store an object as it is after encoding and decoding, and return its version.
func (r *recorder) job(job *batchv1.Job) string {
	if r.Jobs[job.ResourceVersion] == nil {
		r.Jobs[job.ResourceVersion] = sent(r.T, job)
	}
	return job.ResourceVersion
}

func (r *recorder) pod(pod *corev1.Pod) string {
	if r.Pods[pod.ResourceVersion] == nil {
		r.Pods[pod.ResourceVersion] = sent(r.T, pod)
	}
	return pod.ResourceVersion
}

func sent[T any](t *testing.T, object *T) *T {
	out := new(T)
	if err := json.Unmarshal([]byte(text(t, object)), out); err != nil {
		t.Fatal(err)
	}
	return out
}
