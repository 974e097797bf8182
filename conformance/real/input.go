package real

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/featuregate"
)

// An Input is everything that one sync depends on. Nothing in it is changed.
type Input struct {
	Job *batchv1.Job // as in the controller's cache; it needs a name, a namespace and a UID
	// Pods are in the controller's cache, in the order in which the cache
	// returns them. Those of another owner or another namespace are there but
	// the controller does not get to see them.
	Pods []*corev1.Pod
	Now  time.Time
	Memory

	Live     *batchv1.Job // what the server holds, when the cache is stale; nil: Job
	Validate bool         // the server refuses a status that its validation refuses
	Fail     Faults
	Limits   Limits
	Off      []featuregate.Feature // gates to see as off, whatever their stage
	On       []featuregate.Feature // gates to see as on
}

// Memory is what the controller keeps of a Job between two syncs.
type Memory struct {
	Creations int         // pods created and not yet seen
	Deletions int         // pods deleted and not yet seen to be
	Stripped  []types.UID // pods whose finalizer was removed, which was not yet seen; sorted in an Output
	Backoff   *Record     // nil: none; after a first status it is there, perhaps zero
	Finished  bool        // the Job was written as finished, which was not yet seen
}

// A Record is the entry of a Job in the backoff store.
type Record struct {
	Failures    int32 // since the last success
	LastFailure *time.Time
}

// Limits are the package variables of the controller; zero leaves one at its
// default.
type Limits struct {
	MaxUncounted    int           // MaxUncountedPods
	MaxCreateDelete int           // MaxPodCreateDeletePerSync
	Base            time.Duration // DefaultJobPodFailureBackOff
	Cap             time.Duration // MaxJobPodFailureBackOff
	BatchPeriod     time.Duration // SyncJobBatchPeriod
}

// Faults says which calls fail, and with which error. A call that fails has no
// effect.
type Faults struct {
	// Create is by ordinal, from 0, in the canonical order: by completion
	// index. The controller sends creations in batches of 1, 2, 4, … and skips
	// the batches after one with a failure.
	Create map[int]error

	// By the name of the pod.
	Adopt         map[string]error
	Release       map[string]error
	StripToDelete map[string]error
	Delete        map[string]error
	Strip         map[string]error

	Status map[int]error // by ordinal, from 0
	Get    error         // of the Job, before the first adoption
}

// Errors to use as faults. The controller takes any other as it takes
// ErrInternal.
var (
	ErrInternal             error = apierrors.NewInternalError(errors.New("injected"))
	ErrNotFound             error = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "injected")
	ErrConflict             error = apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, "injected", errors.New("injected"))
	ErrInvalid              error = apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "injected", nil)
	ErrNamespaceTerminating error = namespaceTerminating()
)

func namespaceTerminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "injected", errors.New("namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
