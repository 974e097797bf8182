package vectors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/inside"
	"github.com/jobfate/jobfate/machine"
)

// Sync is one sync of a Machine on a case.
type Sync struct {
	machine.Result
	Calls       []Call        // the writes
	ClaimFailed bool          // an adoption, a release or the read before them
	Requeue     time.Duration // 0 if a claim failed
	Backoff     Backoff       // the record in the memory; empty for a finished Job
	// Events are those about the Job, PodEvents those about single pods.
	Events, PodEvents []Event

	job     *batchv1.Job
	pods    []*corev1.Pod
	machine *machine.Machine
	fail    func(Call) error
	numbers map[Verb]int
}

// Call is a request of a Machine and its answer.
type Call struct {
	machine.Request      // with the name that the server gives to a new pod
	Purpose         Verb // a verb of Write, or Read
	Number          int  // among the calls with this purpose, from 0
	Err             error
}

// Read is the purpose of the read of the Job before the first adoption.
const Read Verb = "read"

// Sync runs one sync of a Machine, whose calls get the errors that fail returns. The memory of the
// Machine contains the pending writes; adjust, if not nil, may change it. Sync fails if jobfate comes
// to no decision.
func (c *Case) Sync(fail func(Call) error, adjust func(*memory.Memory)) (*Sync, error) {
	in := &c.Snapshot
	s := &Sync{job: in.Job, pods: in.Pods, machine: machine.New(c.JobfateOptions()...), fail: fail,
		numbers: map[Verb]int{}}
	if in.Job.ResourceVersion == "" { // a cache shows a version, also if the case leaves it out
		s.job = in.Job.DeepCopy()
		s.job.ResourceVersion = shown
	}
	m := inside.Memory(s.machine)
	*m = c.memory()
	if adjust != nil {
		adjust(m)
	}
	inside.Decide(s.machine, inside.DeletingFirst)
	err := s.machine.Begin(machine.View{Job: s.job, Pods: s.pods, Now: in.Now, JobsVersion: shown,
		PodsVersion: shown, Barrier: shown})
	if err != nil {
		return nil, err
	}
	s.Result = s.machine.Run(s.answer)
	if s.Decision.Facts() == nil {
		return nil, s.Err
	}
	if !s.ClaimFailed {
		s.Requeue = s.Decision.Requeue
	}
	if jobstatus.Finished(in.Job) == nil { // the record of a finished Job is deleted
		s.Backoff = BackoffOf(m.Backoff)
	}
	for _, e := range s.Result.Events {
		list := &s.Events
		if strings.HasSuffix(e.Reason, "Create") || strings.HasSuffix(e.Reason, "Delete") {
			list = &s.PodEvents
		}
		*list = append(*list, Event(e))
	}
	return s, nil
}

// answer records a request, and answers it.
func (s *Sync) answer(r machine.Request) (runtime.Object, error) {
	var object runtime.Object
	purpose := Delete
	switch r.Verb {
	case machine.GetJob:
		purpose, object = Read, s.job.DeepCopy()
	case machine.PatchPod:
		i := slices.IndexFunc(s.pods, func(p *corev1.Pod) bool { return p.UID == r.UID })
		pod := s.pods[i].DeepCopy()
		pod.ResourceVersion = PendingVersion
		purpose, object = s.purpose(r), pod
	case machine.DeletePod:
		if uid := r.Options.Preconditions.UID; uid == nil || *uid != r.UID {
			panic(fmt.Sprintf("the deletion of %s does not name its UID", r.Name))
		}
	case machine.CreatePod:
		pod := r.Pod.DeepCopy()
		pod.Name = fmt.Sprintf("%s%05d", pod.GenerateName, s.numbers[Create])
		pod.UID, pod.ResourceVersion = types.UID(pod.Name), PendingVersion
		r.Name, purpose, object = pod.Name, Create, pod
	case machine.PatchStatus:
		job := s.job.DeepCopy()
		job.Status, job.ResourceVersion = *r.Status.DeepCopy(), PendingVersion
		purpose, object = Status, job
	default:
		panic(fmt.Sprintf("a Machine with fresh caches sends the request %s", r.Verb))
	}
	call := Call{Request: r, Purpose: purpose, Number: s.numbers[purpose]}
	call.Err = s.fail(call)
	s.numbers[purpose]++
	if purpose != Read {
		s.Calls = append(s.Calls, call)
	}
	s.ClaimFailed = s.ClaimFailed || call.failedClaim()
	return object, call.Err
}

// failedClaim reports whether the call is a claim that failed. A pod that is gone, or whose release
// is invalid, needs no claim.
func (c *Call) failedClaim() bool {
	switch c.Purpose {
	case Read:
		return c.Err != nil
	case Adopt, Release:
		return c.Err != nil && !apierrors.IsNotFound(c.Err) && (c.Purpose == Adopt || !apierrors.IsInvalid(c.Err))
	}
	return false
}

// purpose returns the purpose of a patch of a pod.
func (s *Sync) purpose(r machine.Request) Verb {
	patch := string(r.Patch)
	free := func(claim decide.Claim) bool { return claim.Action == decide.ClaimFree && claim.Pod.UID == r.UID }
	switch {
	case jobstatus.Finished(s.job) != nil:
		return Free
	case strings.Contains(patch, `"$patch":"delete"`):
		return Release
	case strings.Contains(patch, `"ownerReferences"`):
		return Adopt
	case slices.ContainsFunc(s.machine.Result().Decision.Claim, free):
		return Free
	case strings.Contains(patch, `"resourceVersion"`):
		return Untrack
	}
	return Strip
}
