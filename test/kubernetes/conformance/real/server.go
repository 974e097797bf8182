package real

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
)

// A server takes the place of the API server. It records each write, and answers with the faults.
type server struct {
	in     *Input
	stored *batchv1.Job
	gate   gate
	// A forgetful server records nothing. A Stopwatch uses it.
	forgetful bool

	mu     sync.Mutex // guards what follows: the controller writes from goroutines
	writes []write
	status int            // the number of status writes so far
	places map[string]int // the positions of pods in the input, by name; built on first use
}

// A write is a call with its position in the canonical order.
type write struct {
	Call
	batch int // the controller sends the calls of a batch in any order
	rank  int // within the batch
}

func newServer(in *Input) *server {
	s := &server{in: in, stored: in.Live}
	if s.stored == nil {
		s.stored = in.Job
	}
	return s
}

// record adds a call to the log and returns its error.
func (s *server) record(c Call, rank int) error {
	if s.forgetful {
		return c.Err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := 0
	if n := len(s.writes); n > 0 {
		last := s.writes[n-1]
		batch = last.batch
		if family(last.Kind) != family(c.Kind) || sequential(c.Kind) {
			batch++
		}
	}
	s.writes = append(s.writes, write{c, batch, rank})
	return c.Err
}

// recordPod records a call for a pod of the input.
func (s *server) recordPod(c Call) error {
	if s.forgetful {
		return c.Err
	}
	s.mu.Lock()
	if s.places == nil {
		s.places = make(map[string]int, len(s.in.Pods))
		for i, p := range s.in.Pods {
			s.places[p.Name] = i
		}
	}
	rank := s.places[c.Pod]
	s.mu.Unlock()
	return s.record(c, rank)
}

// family maps the kinds that come from the same goroutines to one kind: each goroutine removes the
// finalizer of a pod and then deletes it.
func family(k Kind) Kind {
	if k == StripToDelete {
		return Delete
	}
	return k
}

func sequential(k Kind) bool {
	return k == Adopt || k == Release || k == WriteStatus || k == CreateWorkload || k == CreatePodGroup
}

// sorted returns the writes in the canonical order.
func (s *server) sorted() []write {
	slices.SortStableFunc(s.writes, func(a, b write) int {
		// The removal of the finalizer stays before the deletion of the same pod.
		return cmp.Or(a.batch-b.batch, a.rank-b.rank)
	})
	return s.writes
}

// A client is the part of the clientset that a sync uses. A call to any other
// part panics.
type client struct {
	clientset.Interface
	s *server
}

func (c client) CoreV1() coreclient.CoreV1Interface    { return coreV1{s: c.s} }
func (c client) BatchV1() batchclient.BatchV1Interface { return batchV1{s: c.s} }

type coreV1 struct {
	coreclient.CoreV1Interface
	s *server
}

func (c coreV1) Pods(namespace string) coreclient.PodInterface {
	return pods{s: c.s, namespace: namespace}
}

type batchV1 struct {
	batchclient.BatchV1Interface
	s *server
}

func (c batchV1) Jobs(string) batchclient.JobInterface { return jobs{s: c.s} }

type pods struct {
	coreclient.PodInterface
	s         *server
	namespace string
}

// Create records the pod and gives it a name.
func (p pods) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	ordinal := p.s.gate.pass(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	created := *pod
	created.Namespace = p.namespace
	created.Name = fmt.Sprintf("%s%05d", pod.GenerateName, ordinal)
	err := p.s.record(Call{Kind: Create, Pod: created.Name, Object: pod, Err: p.s.in.Fail.Create[ordinal]}, ordinal)
	if err != nil {
		return nil, err
	}
	return &created, nil
}

// Delete records the deletion.
func (p pods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return p.s.recordPod(Call{Kind: Delete, Pod: name, Err: p.s.in.Fail.Delete[name]})
}

// Patch records the patch. The caller in the controller determines its kind.
func (p pods) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions,
	_ ...string) (*corev1.Pod, error) {
	if p.s.forgetful {
		return &corev1.Pod{}, nil
	}
	kind := purpose()
	err := p.s.recordPod(Call{Kind: kind, Pod: name, Patch: data, Err: p.s.in.Fail.Of(kind, name, 0)})
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}, err
}

// purposes lists the functions that patch pods.
var purposes = []struct {
	caller string
	kind   Kind
}{
	{".AdoptPod", Adopt},
	{".ReleasePod", Release},
	{".deleteJobPods.", StripToDelete},
	{".removeTrackingFinalizerFromPods.", Strip},
	{".handleSingleOrphanPod", Strip},
}

// purpose returns the kind of a patch, by the function that sends it. The patch itself does not
// show it: StripToDelete and Strip have the same patch, and a pod can get both.
func purpose() Kind {
	var pcs [8]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		for _, p := range purposes {
			if strings.Contains(frame.Function, p.caller) {
				return p.kind
			}
		}
		if !more {
			panic("real: a patch from an unknown function of the controller")
		}
	}
}

type jobs struct {
	batchclient.JobInterface
	s *server
}

// Get returns the stored Job.
func (j jobs) Get(context.Context, string, metav1.GetOptions) (*batchv1.Job, error) {
	if err := j.s.in.Fail.Get; err != nil {
		return nil, err
	}
	return j.s.stored.DeepCopy(), nil
}

// UpdateStatus records the status and returns a copy of the Job.
func (j jobs) UpdateStatus(_ context.Context, job *batchv1.Job, _ metav1.UpdateOptions) (*batchv1.Job, error) {
	err := j.s.in.Fail.Status[j.s.status]
	j.s.status++
	if err == nil && j.s.in.Validate {
		if errs := apiserver.AcceptStatus(j.s.stored, job); len(errs) > 0 {
			err = apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), job.Name, errs)
		}
	}
	sent := job.DeepCopy()
	if err := j.s.record(Call{Kind: WriteStatus, Status: &sent.Status, Err: err}, 0); err != nil {
		return nil, err
	}
	j.s.stored = sent
	return sent.DeepCopy(), nil
}
