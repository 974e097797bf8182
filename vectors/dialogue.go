package vectors

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
)

// Dialogue is one line of a file of the folder vectors/dialogues: the syncs of one Machine from
// its start, with the requests, their answers and the results.
type Dialogue struct {
	ID      string   `json:"id"`
	Shows   []string `json:"shows"`
	Options Options  `json:"options,omitzero"`
	// Named says that the Machine chooses the names of its pods: a prefix, and a number from
	// 00001 on.
	Named bool `json:"named,omitempty"`
	// Orphans is set in a dialogue of a Machine that frees orphans. It has no syncs.
	Orphans *Orphans `json:"orphans,omitempty"`
	// Jobs and Pods are the versions of the Job and of the pods that the steps refer to.
	Jobs  map[string]*batchv1.Job `json:"jobs,omitempty"`
	Pods  map[string]*corev1.Pod  `json:"pods,omitempty"`
	Steps []Step                  `json:"steps"`
}

// Orphans are versions of the pods and the Jobs that the caches show. Of is the number of Machines
// that free the orphans. The dialogue is that of Machine number At, counted from 0.
type Orphans struct {
	Pods []string `json:"pods"`
	Jobs []string `json:"jobs,omitempty"`
	At   int      `json:"at"`
	Of   int      `json:"of"`
}

// Step is one step of a dialogue. One field is set.
type Step struct {
	Feed     *Feed     `json:"feed,omitempty"`
	Begin    *Begin    `json:"begin,omitempty"`
	Requests []Request `json:"requests,omitempty"` // the next batch of the Machine
	Answer   *Answer   `json:"answer,omitempty"`
	Result   *Result   `json:"result,omitempty"` // the Machine has no more requests
}

// Feed passes a version of a pod. Without a version the pod is gone.
type Feed struct {
	Name string `json:"name"`
	Pod  string `json:"pod,omitempty"`
}

// Begin is the input of a sync.
type Begin struct {
	Now         time.Time `json:"now"`
	Job         string    `json:"job,omitempty"` // a version; absent: the cache has no Job
	Pods        []string  `json:"pods,omitempty"`
	Fed         bool      `json:"fed,omitempty"`
	JobsVersion string    `json:"jobsVersion,omitempty"`
	PodsVersion string    `json:"podsVersion,omitempty"`
	Barrier     string    `json:"barrier,omitempty"`
}

// Request is a request of the Machine. ID numbers its requests from 1.
type Request struct {
	ID    uint64          `json:"id"`
	Verb  string          `json:"verb"`
	Name  string          `json:"name,omitempty"`
	UID   types.UID       `json:"uid,omitempty"`
	Pod   json.RawMessage `json:"pod,omitempty"` // the pod to create
	Patch json.RawMessage `json:"patch,omitempty"`
	// Precondition is the UID that the pod to delete must have.
	Precondition types.UID `json:"precondition,omitempty"`
}

// Answer is the answer to a request: a version of an object, a list of pods, or an error.
type Answer struct {
	To   uint64   `json:"to"`
	Job  string   `json:"job,omitempty"`
	Pod  string   `json:"pod,omitempty"`
	List *List    `json:"list,omitempty"`
	Fail *Failure `json:"fail,omitempty"`
}

// List is a list of versions of pods.
type List struct {
	Version string   `json:"version"`
	Pods    []string `json:"pods,omitempty"`
}

// Failure is the error of a request: one of the API server, or a broken connection.
type Failure struct {
	Broken bool           `json:"broken,omitempty"`
	Status *metav1.Status `json:"status,omitempty"`
}

// Result is the result of a sync.
type Result struct {
	Requeue    int64            `json:"requeueMs,omitempty"`
	RetryAfter int64            `json:"retryAfterMs,omitempty"`
	Failed     bool             `json:"failed,omitempty"`
	Gone       bool             `json:"gone,omitempty"`
	Ended      bool             `json:"ended,omitempty"`
	Events     []Event          `json:"events,omitempty"`
	Metrics    map[string]int64 `json:"metrics,omitempty"`
	Left       Left             `json:"left,omitzero"`
	// Unobserved is jobfate's text about the writes that are not observed yet.
	Unobserved string `json:"unobserved,omitempty"`
}

// Play carries out a step with a Machine. It returns the step with the actual requests or the actual
// result of the Machine.
func (d *Dialogue) Play(m *jobfate.Machine, s Step) (Step, error) {
	switch {
	case s.Feed != nil:
		m.Feed(s.Feed.Name, d.Pods[s.Feed.Pod])
	case s.Begin != nil:
		b := s.Begin
		return s, m.Begin(jobfate.View{Job: d.Jobs[b.Job], Pods: d.pods(b.Pods), Fed: b.Fed, Now: b.Now,
			JobsVersion: b.JobsVersion, PodsVersion: b.PodsVersion, Barrier: b.Barrier})
	case s.Answer != nil:
		object, err := d.answer(s.Answer)
		return s, m.Answer(jobfate.Request{ID: s.Answer.To}, object, err)
	default:
		return next(m), nil
	}
	return s, nil
}

// Machine returns the Machine of the dialogue, before its first step. It returns nil if the number of
// Machines for orphans differs from that in the dialogue.
func (d *Dialogue) Machine() *jobfate.Machine {
	options := (&Case{Options: d.Options}).JobfateOptions()
	if d.Named {
		n := 0
		options = append(options, jobfate.Names(func(prefix string) string {
			n++
			return fmt.Sprintf("%s%05d", prefix, n)
		}))
	}
	if d.Orphans == nil {
		return jobfate.NewMachine(options...)
	}
	var jobs []*batchv1.Job
	for _, v := range d.Orphans.Jobs {
		jobs = append(jobs, d.Jobs[v])
	}
	all := jobfate.OrphansIn(d.pods(d.Orphans.Pods), jobs, options...)
	if len(all) != d.Orphans.Of {
		return nil
	}
	return all[d.Orphans.At]
}

func (d *Dialogue) pods(versions []string) (pods []*corev1.Pod) {
	for _, v := range versions {
		pods = append(pods, d.Pods[v])
	}
	return pods
}

// answer returns the object and the error of a client.
func (d *Dialogue) answer(a *Answer) (runtime.Object, error) {
	switch {
	case a.Fail != nil && a.Fail.Broken:
		return nil, errors.New("the connection was lost")
	case a.Fail != nil:
		return nil, &apierrors.StatusError{ErrStatus: *a.Fail.Status}
	case a.Job != "":
		return d.Jobs[a.Job].DeepCopy(), nil
	case a.Pod != "":
		return d.Pods[a.Pod].DeepCopy(), nil
	case a.List == nil:
		return nil, nil
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: a.List.Version}}
	for _, pod := range d.pods(a.List.Pods) {
		list.Items = append(list.Items, *pod.DeepCopy())
	}
	return list, nil
}

// next returns the next requests of a Machine as a step, or its result.
func next(m *jobfate.Machine) (s Step) {
	for _, r := range m.Next() {
		q := Request{ID: r.ID, Verb: r.Verb.String(), Name: r.Name, UID: r.UID, Pod: objectOf(r.Pod),
			Patch: patchOf(r.Patch)}
		if p := r.Options.Preconditions; p != nil && p.UID != nil {
			q.Precondition = *p.UID
		}
		s.Requests = append(s.Requests, q)
	}
	if s.Requests == nil {
		s.Result = resultOf(m)
	}
	return s
}

func resultOf(m *jobfate.Machine) *Result {
	r := m.Result()
	out := &Result{
		Requeue: r.Requeue.Milliseconds(), RetryAfter: r.RetryAfter.Milliseconds(),
		Failed: r.Err != nil, Gone: r.Gone, Ended: r.Ended, Metrics: CountsOf(r.Metrics),
		Left: Left(r.Decision.Deferred),
	}
	for _, e := range r.Events {
		out.Events = append(out.Events, Event{e.Type, e.Reason, e.Message})
	}
	if !m.Idle() {
		out.Unobserved = m.String()
	}
	return out
}
